"""Times, ranks and sessions of a released log: read, written and checked with separate code."""
