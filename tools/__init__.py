"""Scripts that keep the project in order; nothing in ``src/`` imports them."""
