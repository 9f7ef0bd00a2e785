"""Descriptions of operations: their responses in the OpenAPI document, and the tools of language models."""
