"""Requests that try to say something in a header after the head, or to smuggle in a second request.

`FORGED` is what every one of them tries to make the gateway believe; the honest value is set by the proxy.
"""

FORGED = b"X-Forwarded-Proto: https\r\n"
_CLIENT = b"X-Forwarded-For: 203.0.113.77\r\n"
_HEAD = b"POST /send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n"
_SMUGGLED = b"GET /channels HTTP/1.1\r\nHost: localhost\r\n" + FORGED + _CLIENT + b"\r\n"
_BODY = b"2\r\n{}\r\n"


def trailers(*fields: bytes, announced: bytes = b"") -> bytes:
    """Return a chunked request that ends with trailer fields."""
    head = _CHUNKED + (b"Trailer: " + announced + b"\r\n" if announced else b"")
    return head + b"\r\n" + _BODY + b"0\r\n" + b"".join(fields) + b"\r\n"


# Trailer fields: sent by whoever speaks to the gateway, so each must hold without any proxy in front.
TRAILERS = {
    "proto": trailers(FORGED),
    "proto announced": trailers(FORGED, announced=b"X-Forwarded-Proto"),
    "proto and client": trailers(FORGED, _CLIENT),
    "client": trailers(_CLIENT),
    "lower case": trailers(FORGED.lower()),
    "upper case": trailers(FORGED.upper()),
    "no blank": trailers(b"X-Forwarded-Proto:https\r\n"),
    "many blanks": trailers(b"X-Forwarded-Proto: \t  https  \t\r\n"),
    "twice": trailers(FORGED, FORGED),
    "a thousand times": trailers(FORGED * 1000),
    "after an extension": _CHUNKED + b"\r\n2;x=y\r\n{}\r\n0;last\r\n" + FORGED + b"\r\n",
    "without a body": _CHUNKED + b"\r\n0\r\n" + FORGED + b"\r\n",
    "long zero": _CHUNKED + b"\r\n" + _BODY + b"000000\r\n" + FORGED + b"\r\n",
    "after a hundred chunks": _CHUNKED + b"\r\n" + b"1\r\n \r\n" * 100 + b"0\r\n" + FORGED + b"\r\n",
    "host": trailers(b"Host: evil.example\r\n", FORGED),
    "length": trailers(b"Content-Length: 0\r\n", FORGED),
    "coding": trailers(b"Transfer-Encoding: chunked\r\n", FORGED),
    "token": trailers(b"Authorization: Bearer gateway-token-for-test-000000\r\n", FORGED),
    "expect": trailers(b"Expect: 100-continue\r\n", FORGED),
    "upgrade": trailers(b"Connection: upgrade\r\nUpgrade: h2c\r\n", FORGED),
    "continued line": trailers(b"X-A: 1\r\n X-Forwarded-Proto: https\r\n"),
    "smuggled request": trailers(FORGED) + _SMUGGLED.replace(FORGED + _CLIENT, b""),
}

# Framing that two parsers in a row may read in two ways.
AMBIGUOUS = {
    "both lengths, CL first": _HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _SMUGGLED,
    "both lengths, TE first": _CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n" + _SMUGGLED,
    "two lengths": _HEAD + b"Content-Length: 2\r\nContent-Length: 90\r\n\r\n{}" + _SMUGGLED,
    "a list of lengths": _HEAD + b"Content-Length: 2, 90\r\n\r\n{}" + _SMUGGLED,
    "plus": _HEAD + b"Content-Length: +2\r\n\r\n{}" + _SMUGGLED,
    "minus": _HEAD + b"Content-Length: -2\r\n\r\n{}" + _SMUGGLED,
    "hex length": _HEAD + b"Content-Length: 0x2\r\n\r\n{}" + _SMUGGLED,
    "length with a blank": _HEAD + b"Content-Length: 2 2\r\n\r\n{}" + _SMUGGLED,
    "length over 64 bits": _HEAD + b"Content-Length: 18446744073709551618\r\n\r\n{}" + _SMUGGLED,
    "xchunked": _HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + _SMUGGLED,
    "chunked twice": _HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _SMUGGLED,
    "chunked, identity": _HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + _SMUGGLED,
    "identity and a length": _HEAD + b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}" + _SMUGGLED,
    "tab before the coding": _HEAD + b"Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + _SMUGGLED,
    "vertical tab": _HEAD + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + _SMUGGLED,
    "blank before the colon": _HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + _SMUGGLED,
    "continued coding": _HEAD + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + _SMUGGLED,
    "line feeds alone": _CHUNKED.replace(b"\r\n", b"\n") + b"\n0\n\n" + _SMUGGLED,
    "line feed in a value": _HEAD + b"X-A: 1\nX-Forwarded-Proto: https\r\nContent-Length: 2\r\n\r\n{}",
    "return in a value": _HEAD + b"X-A: 1\rX-Forwarded-Proto: https\r\nContent-Length: 2\r\n\r\n{}",
    "NUL in a value": _HEAD + b"X-A: 1\x00\r\n" + FORGED + b"Content-Length: 2\r\n\r\n{}",
    "underscores": _HEAD + b"X_Forwarded_Proto: https\r\nContent-Length: 2\r\n\r\n{}",
    "line end in an extension": _CHUNKED + b"\r\n2;a\n0\r\n\r\n" + _SMUGGLED,
    "bare return in an extension": _CHUNKED + b"\r\n2;a\rb\r\n{}\r\n0\r\n\r\n" + _SMUGGLED,
    "negative chunk": _CHUNKED + b"\r\n-2\r\n{}\r\n0\r\n\r\n" + _SMUGGLED,
    "chunk with 0x": _CHUNKED + b"\r\n0x2\r\n{}\r\n0\r\n\r\n" + _SMUGGLED,
    "chunk over 64 bits": _CHUNKED + b"\r\n10000000000000002\r\n{}\r\n0\r\n\r\n" + _SMUGGLED,
    "chunk too long for its data": _CHUNKED + b"\r\n3\r\n{}\r\n0\r\n\r\n" + _SMUGGLED,
    "chunk too short for its data": _CHUNKED + b"\r\n1\r\n{}\r\n0\r\n\r\n" + _SMUGGLED,
    "no line end after a chunk": _CHUNKED + b"\r\n2\r\n{}0\r\n\r\n" + _SMUGGLED,
    "old version with chunks": _CHUNKED.replace(b"1.1", b"1.0") + b"\r\n0\r\n\r\n" + _SMUGGLED,
    "version 0.9": b"GET /channels\r\n" + _SMUGGLED,
    "head in the path": b"GET /channels%20HTTP/1.1%0d%0aX-Forwarded-Proto:%20https HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "absolute address": b"GET https://localhost/channels HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "two hosts": b"GET /channels HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    "blank before the first header": b"GET /channels HTTP/1.1\r\n " + FORGED + b"Host: localhost\r\n\r\n",
    "upgrade and more": _HEAD + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}" + _SMUGGLED,
    "CONNECT and more": b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n" + _SMUGGLED,
    "length on a GET": b"GET /channels HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(_SMUGGLED)
    + _SMUGGLED,
    "proxy preface": b"PROXY TCP4 203.0.113.77 127.0.0.1 1 443\r\n" + _SMUGGLED,
    "connection names the header": _HEAD
    + b"Connection: X-Forwarded-Proto, X-Forwarded-For\r\nContent-Length: 2\r\n\r\n{}",
}
