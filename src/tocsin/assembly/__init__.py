"""The only place where parts are put together."""
