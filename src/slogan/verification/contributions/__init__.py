"""How many pairs of a user counted: what was declared or looked at, and releases of one pair."""
