"""Chat mode: history, prompt, answer and preview."""
