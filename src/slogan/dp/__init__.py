"""End-to-end differential privacy: exact noise, and what is built on it."""
