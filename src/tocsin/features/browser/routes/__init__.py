"""The operations on browser profiles."""

from tocsin.features.browser.routes.operations import browser_operations
from tocsin.features.browser.service import Browsers
from tocsin.features.hooks import OperationsOf

OPERATIONS: OperationsOf[Browsers] = browser_operations
