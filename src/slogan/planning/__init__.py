"""Planning: what the paper does in its sections 4 and 5, and the gate that decides."""
