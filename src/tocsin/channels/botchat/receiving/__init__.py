"""How updates are fetched: long polling or webhook, and how well that goes."""
