"""Workflows: one page for each verb of the library."""
