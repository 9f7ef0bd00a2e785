"""The vault: secrets in one encrypted file, and their ages."""
