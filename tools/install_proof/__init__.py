"""Install, upgrade and restore Tocsin in empty Debian roots, in each way of running that the documents describe."""
