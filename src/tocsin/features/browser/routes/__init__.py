"""The operations on browser profiles."""

from tocsin.features.browser.routes.operations import browser_operations

__all__ = ["browser_operations"]
