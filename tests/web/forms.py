"""Forms with files, as clients write them."""

BOUNDARY = "----a-boundary"
FORM_TYPE = f"multipart/form-data; boundary={BOUNDARY}"


def field(name: str, value: str, kind: str = "") -> bytes:
    more = f"Content-Type: {kind}\r\n" if kind else ""
    return f'Content-Disposition: form-data; name="{name}"\r\n{more}\r\n{value}'.encode()


def file(name: str, data: bytes, kind: str = "text/plain") -> bytes:
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'
    return head.encode() + data


def form(*parts: bytes) -> bytes:
    delimiter = f"--{BOUNDARY}\r\n".encode()
    return b"".join(delimiter + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()
