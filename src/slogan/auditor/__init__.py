"""Attacks on one's own configuration: what planted users find out, beside what is claimed."""
