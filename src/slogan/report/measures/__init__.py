"""How much of a log a release keeps. Every measure depends on the log: for the curator alone.

Each file is one idea. A measure takes D and O as histograms that number users and pairs alike,
and looks at integers only.
"""
