"""What a release looks like to a person."""
