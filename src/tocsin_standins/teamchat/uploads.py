"""Uploads of files in three steps: get an address, send the bytes there, share what was sent."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tocsin_standins.serving import RefusalError

if TYPE_CHECKING:
    from tocsin_standins.teamchat.server import TeamChat

MAX_ALT = 1_000


class Uploads:
    """The files of one workspace."""

    def __init__(self, workspace: TeamChat) -> None:
        self._workspace = workspace
        self._begun: dict[str, tuple[str, int, str]] = {}  # by secret: ID, length, name
        self._sent: dict[str, tuple[str, bytes]] = {}  # by ID: name and content
        self.shared: dict[str, bytes] = {}

    def begin(self, request: web.Request, args: Mapping[str, Any]) -> dict[str, Any]:
        """files.getUploadURLExternal."""
        self._check_form(request)
        self._workspace.check_scope("files.getUploadURLExternal")
        name, length = str(args.get("filename") or ""), str(args.get("length") or "")
        if not name or not length.isdecimal() or not int(length) or len(str(args.get("alt_txt") or "")) > MAX_ALT:
            raise self._refusal("invalid_arguments")
        secret, file_id = secrets.token_urlsafe(24), f"F{secrets.token_hex(5).upper()}"
        self._begun[secret] = (file_id, int(length), name)
        return {"ok": True, "upload_url": f"{self._workspace.url}/upload/{secret}", "file_id": file_id}

    async def receive(self, request: web.Request) -> web.Response:
        """Take the bytes of a file."""
        file_id, length, name = self._begun.get(request.match_info["secret"], ("", 0, ""))
        data = await request.read()
        if not file_id or len(data) != length:
            return web.Response(status=400, text="bad upload")
        self._sent[file_id] = (name, data)
        return web.Response(text=f"OK - {length}")

    def answer(self, request: web.Request, method: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a call that concerns files."""
        if method == "files.getUploadURLExternal":
            return self.begin(request, args)
        return (self.delete if method == "files.delete" else self.complete)(request, args)

    def complete(self, request: web.Request, args: Mapping[str, Any]) -> dict[str, Any]:
        """files.completeUploadExternal."""
        self._check_form(request)
        workspace = self._workspace
        workspace.check_scope("files.completeUploadExternal")
        channel, thread = str(args.get("channel_id") or ""), str(args.get("thread_ts") or "")
        workspace.known_channel(channel)
        if thread and (channel, thread) not in workspace.posted:
            raise self._refusal("invalid_thread_ts")
        files = json.loads(str(args.get("files") or "[]"))
        if not files or any(file.get("id") not in self._sent for file in files):
            raise self._refusal("file_not_found")
        for file in files:
            name, data = self._sent[file["id"]]
            self.shared[file["id"]] = data
            shown = {name: value for name, value in args.items() if name != "token"}
            workspace.record(request, channel, name, id=file["id"], thread=thread, kind="file", body=shown)
        return {"ok": True, "files": [{"id": file["id"], "title": file.get("title", "")} for file in files]}

    def delete(self, request: web.Request, args: Mapping[str, Any]) -> dict[str, Any]:
        self._workspace.check_scope("files.delete")
        file = str(args.get("file") or "")
        if file not in self.shared:
            raise self._refusal("file_not_found")
        del self.shared[file]
        self._workspace.record(request, "", "", id=file, kind="file deletion", body={"file": file})
        return {"ok": True}

    def _check_form(self, request: web.Request) -> None:
        # JSON is answered like this, although other methods accept it.
        if request.content_type == "application/json":
            raise self._refusal("invalid_arguments")

    def _refusal(self, code: str) -> RefusalError:
        return RefusalError(web.json_response({"ok": False, "error": code}))
