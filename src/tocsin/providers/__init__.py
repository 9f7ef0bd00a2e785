"""Chat models: Anthropic, and any service with an OpenAI-compatible API."""
