"""Releases: what a run gives back, until it is saved."""
