"""The language of `when`."""
