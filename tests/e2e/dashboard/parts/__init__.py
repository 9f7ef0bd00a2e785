"""A feature with nothing but a page, at `#/parts`, which shows every part that pages are made of."""

from tocsin.features.contract import Feature

FEATURE = Feature(name="parts", summary="every part", package=__name__)
