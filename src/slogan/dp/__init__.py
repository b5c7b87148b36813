"""End-to-end differential privacy: noise, accounting, selection."""
