"""Work: what is done in other processes, and how the server follows it."""
