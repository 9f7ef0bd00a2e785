"""Text: measuring, splitting, markup, masking."""
