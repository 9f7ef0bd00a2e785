"""The features: everything that Tocsin does beyond messaging. Features do not import each other."""
