"""The vault: secrets in one encrypted file, and how old they are."""
