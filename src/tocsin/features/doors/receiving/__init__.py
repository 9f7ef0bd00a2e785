"""Requests as they arrive: limited, verified and stored before they are answered, then sent by a worker."""
