"""Presses of `call` buttons, from their tokens to the handlers."""
