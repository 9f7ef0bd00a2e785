"""Text: measuring, splitting, markup, redaction."""
