"""Common parts of all HTTP operations: problems, strict parsing, pages, conditional requests, idempotency keys."""
