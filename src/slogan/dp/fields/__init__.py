"""Time, rank and session of a synthetic log: private sums over users, and rows made from them."""
