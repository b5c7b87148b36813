"""Charts as SVG without any reference to elsewhere, each with the table it was drawn from."""
