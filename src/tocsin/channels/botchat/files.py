"""Download the files that people send to the bot. Source: docs/facts/botchat.md, "Files"."""

import asyncio
from math import ceil
from pathlib import Path

from tocsin.channels.botchat.api import BotApi
from tocsin.channels.botchat.settings import LOCAL_FILES_DIR
from tocsin.channels.inbound import Attachment
from tocsin.core.errors import ChannelError, ConfigError, FailureKind, RemoteError
from tocsin.core.storage.files import read_limited
from tocsin.core.time.clock import Clock

MAX_FILE_BYTES = 20 * 1024 * 1024  # getFile: the limit of the cloud server
AGAIN_AFTER_S = (1.0, 2.0, 4.0)
LONGEST_WAIT_S = 30.0  # a person is waiting for the answer


class BotFiles:
    """Downloads files through the Bot API, or reads them from one directory if the server runs in local mode."""

    def __init__(self, api: BotApi, clock: Clock, local_dir: Path | None = None) -> None:
        self._api = api
        self._clock = clock
        self._local_dir = local_dir

    async def read(self, attachment: Attachment) -> bytes:
        """Return the content of a file of at most 20 MiB.

        Raises ChannelError with a sentence for the person who sent it.
        """
        if (attachment.size or 0) > MAX_FILE_BYTES:
            raise too_large(attachment)
        for wait_s in AGAIN_AFTER_S:
            try:
                return await self._read(attachment)
            except RemoteError as error:  # a download can be repeated safely
                if error.kind is FailureKind.PERMANENT or (error.retry_after_s or 0.0) > LONGEST_WAIT_S:
                    raise
                await self._clock.sleep(max(wait_s, error.retry_after_s or 0.0))
        return await self._read(attachment)

    async def _read(self, attachment: Attachment) -> bytes:
        file = await self._api.call("getFile", file_id=attachment.file_id)
        path = file.get("file_path") if isinstance(file, dict) else None
        if not isinstance(path, str) or not path:
            raise ChannelError("the provider does not provide the file", hint="send it again")
        if path.startswith("/"):
            return await asyncio.to_thread(self._read_local, Path(path))
        return await self._download(path, attachment)

    async def _download(self, path: str, attachment: Attachment) -> bytes:
        if ".." in path.split("/") or not path.isprintable():
            raise ChannelError("the provider sent an invalid path for a file", hint="send it again")
        content = await self._api.download(path, MAX_FILE_BYTES)
        if content is None:
            raise too_large(attachment)
        return content

    def _read_local(self, path: Path) -> bytes:
        """Read a file stored by a Bot API server in local mode, only below the configured directory."""
        if self._local_dir is None:
            raise ChannelError("the Bot API server does not provide its files", hint=f"set {LOCAL_FILES_DIR.name}")
        place = path.resolve()
        if not place.is_relative_to(self._local_dir.resolve()):
            raise ChannelError("the file is outside the directory of the Bot API server")
        try:
            return read_limited(place, MAX_FILE_BYTES)
        except ConfigError as error:
            raise ChannelError("the file cannot be read", hint="check the permissions below it") from error


def too_large(attachment: Attachment) -> ChannelError:
    """Return the error for a file that exceeds the provider's limit."""
    # Rounded up, so that it is above the limit.
    size = f" ({ceil(attachment.size * 10 / 1024 / 1024) / 10:g} MB)" if attachment.size else ""
    return ChannelError(f"the file is too large{size}, limit 20 MB", hint="send a smaller file")
