"""New databases of these tests are copies."""

from tests.databases import copied_tables

__all__ = ["copied_tables"]
