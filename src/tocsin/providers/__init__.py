"""Chat models: Anthropic and whatever speaks the interface of OpenAI."""
