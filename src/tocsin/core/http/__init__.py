"""HTTP client: transport, addresses, downloads."""
