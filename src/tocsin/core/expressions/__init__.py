"""The language of conditions and of `${…}` templates, for the files of every feature."""
