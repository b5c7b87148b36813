"""The ledger: what was released on whom, and what it cost."""
