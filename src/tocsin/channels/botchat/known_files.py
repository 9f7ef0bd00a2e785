"""The IDs of files that a bot has sent, so that the same file goes to further chats without an upload.

Source: docs/facts/botchat.md, "Files".
"""

from collections import OrderedDict
from typing import Any

from tocsin.channels.attached import AttachedFile
from tocsin.channels.botchat.draft import Draft

REMEMBERED = 128


class KnownFiles:
    """The IDs of the files that were sent last, in memory: a lost one costs an upload."""

    def __init__(self) -> None:
        self._ids: OrderedDict[tuple[str, str, str], str] = OrderedDict()

    def fill(self, draft: Draft) -> None:
        """Give a draft the IDs of its files that are known."""
        keys = [_key(file, draft) for file in draft.files]
        draft.file_ids = {number: self._ids[key] for number, key in enumerate(keys) if key in self._ids}

    def keep(self, draft: Draft, sent: object) -> None:
        """Remember the IDs that the answer to a draft names."""
        album = sent if isinstance(sent, list) else [sent]
        for file, message in zip(draft.files, album, strict=False):
            file_id = _file_id(message, draft.kind)
            if file.hash and file_id:
                self._ids[_key(file, draft)] = file_id
                self._ids.move_to_end(_key(file, draft))
        while len(self._ids) > REMEMBERED:
            self._ids.popitem(last=False)

    def forget(self, draft: Draft) -> None:
        """Forget the IDs that the server does not know any more."""
        for number in draft.file_ids:
            self._ids.pop(_key(draft.files[number], draft), None)
        draft.file_ids = {}


def _key(file: AttachedFile, draft: Draft) -> tuple[str, str, str]:
    return file.hash, file.name, draft.kind  # the product shows the name of the first upload


def _file_id(message: Any, kind: str) -> str:
    try:
        found = message[kind]
        file_id = (found[-1] if isinstance(found, list) else found)["file_id"]  # of a picture: the largest one
    except (KeyError, IndexError, TypeError):
        return ""
    return file_id if isinstance(file_id, str) else ""
