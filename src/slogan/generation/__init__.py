"""Generation: made-up logs with the shape of a real one."""
