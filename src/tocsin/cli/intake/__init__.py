"""The command that fulfils the request in a text with skills."""
