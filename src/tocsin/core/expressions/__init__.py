"""The one language of conditions and of texts with `${…}`, for the files of every feature."""
