"""The description of forms that have the files of a message."""

from typing import Any


def describe_form(message: dict[str, Any]) -> dict[str, Any]:
    """Return the media type object of a form whose part `message` has the schema `message`. See RFC 7578."""
    return {
        "schema": {
            "type": "object",
            "description": "The message, and its files. Every part with a file name is attached, in their order.",
            "properties": {
                "message": message,
                "file": {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}},
            },
            "required": ["message"],
        },
        "encoding": {"message": {"contentType": "application/json"}},
    }
