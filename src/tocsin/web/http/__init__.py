"""HTTP for every service: ASGI layers, limits, bodies and problem documents."""
