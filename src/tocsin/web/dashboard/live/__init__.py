"""Live updates: changes made by any process reach every open page within a second."""
