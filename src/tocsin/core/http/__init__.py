"""HTTP as a client: transport, addresses, downloads."""
