"""The command line, each time in a separate process, on a small log."""

from tests.commands import slogan

__all__ = ["BUDGET", "ROWS", "SECRET", "slogan"]

ROWS = [(u, f"query {n}", f"www.s{n}.com", 1) for u in range(1, 9) for n in range(3)]
SECRET = (1, "my secret illness", "www.doc.com", 2)
BUDGET = ("--exp-epsilon", "2", "--delta", "0.5", "--time-limit", "5")
