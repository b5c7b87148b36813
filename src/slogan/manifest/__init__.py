"""The manifest: the public description of a release, its promise, its labels and its uses."""
