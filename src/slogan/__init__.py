"""Search-log anonymization."""
