"""What Tocsin does beside messaging. Features do not know each other; app.py introduces them."""
