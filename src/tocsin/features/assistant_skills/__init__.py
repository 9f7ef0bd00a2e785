"""Assistant skills: instructions by which a chat model, or fixed rules, check files."""
