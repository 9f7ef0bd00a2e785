"""Live updates: what happens in any process reaches every open page within a second."""
