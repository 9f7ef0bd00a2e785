import json
from math import inf

import pytest

from tocsin.core.text.compact_json import make_encoder, to_json

DOCUMENT = {"text": "é\u2028\U0001f600\ud800", "list": [1, 2.5, None, True], "empty": {}, "7": ['"\\']}


def test_the_text_is_what_json_writes_without_blanks():
    assert to_json(DOCUMENT) == json.dumps(DOCUMENT, separators=(",", ":"))
    wide = make_encoder(ascii_only=False)
    assert wide(DOCUMENT) == json.dumps(DOCUMENT, separators=(",", ":"), ensure_ascii=False)


def test_the_pure_python_encoder_writes_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert make_encoder(ascii_only=True)(DOCUMENT) == to_json(DOCUMENT)


@pytest.mark.parametrize("value", [inf, object(), {object(): 1}])
def test_what_json_lacks_is_refused(value: object):
    with pytest.raises((TypeError, ValueError)):
        to_json(value)
