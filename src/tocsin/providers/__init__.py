"""Chat models: Anthropic, and any service that speaks OpenAI's interface."""
