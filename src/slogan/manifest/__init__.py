"""The manifest: what a release says of itself, and what it promises."""
