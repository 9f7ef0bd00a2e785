"""Reusable compact JSON encoders: `json.dumps` and `JSONEncoder.encode` create an encoder for every call."""

import json
from collections.abc import Callable


def _no_json(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def make_encoder(*, ascii_only: bool, default: Callable[[object], object] = _no_json) -> Callable[[object], str]:
    """Return a compact encoder, in C where Python has it; `default` converts other types.

    It rejects NaN and infinities. A value that contains itself raises RecursionError.
    """
    encoder = json.JSONEncoder(
        ensure_ascii=ascii_only, allow_nan=False, check_circular=False, separators=(",", ":"), default=default
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    quote = json.encoder.encode_basestring_ascii if ascii_only else json.encoder.encode_basestring
    compiled = make(None, default, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(compiled(value, 0))


to_json = make_encoder(ascii_only=True)
