"""How a message looks on its product: a description that the dashboard draws, made from what would be sent."""
