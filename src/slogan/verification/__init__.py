"""Looking at a release from outside: what it keeps of its promise."""
