"""The distributed solver: programs whose histogram stays in Spark."""
