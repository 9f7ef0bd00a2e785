"""The process that uses the library: `python -I -m tocsin.channels.apprise.child`.

A request is a line of JSON on standard input, an answer one on standard output; the first is empty. It ends with its
input. It reports facts; `outcomes` decides what they mean. Source: docs/facts/apprise.md.
"""

import json
import logging
import os
import re
import sys
from typing import Any
from urllib.parse import unquote

from tocsin.channels.apprise.settings import REFUSED_SCHEMES
from tocsin.core.process.limited import limit_this_process

MEMORY_BYTES = 768 * 1024 * 1024  # of addresses: 300 MiB for a start, and a file of 25 MiB is copied several times
MAX_PIECES = 10
_MAX_WORDS = 300
_CODE = re.compile(r"\b(?:error[=:] ?|failed: )(\d{3,5})\b")
_NO_CONNECTION = re.compile(r"connection error|timed? ?out", re.IGNORECASE)


class RequestWatch:
    """Whether a request has left this process, by audit events of Python: the log of the library does not say."""

    def __init__(self) -> None:
        self.tried = self.left = False
        sys.addaudithook(self._note)

    def restart(self) -> None:
        """Begin with a new message."""
        self.tried = self.left = False

    def _note(self, event: str, details: tuple[Any, ...]) -> None:
        if event in {"socket.getaddrinfo", "socket.connect"}:
            self.tried = True
        elif event == "http.client.send":  # raised once there is a connection; the line to a proxy is no request yet
            data = details[1]
            self.left = self.left or not (isinstance(data, bytes) and data.startswith(b"CONNECT "))


class Log(logging.Handler):
    """The warnings of the library; lines of lower levels contain addresses and messages."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store the line, without a traceback."""
        self.lines.append(record.getMessage())


class LibraryChild:
    """Answers requests."""

    def __init__(self) -> None:
        import apprise

        self.library = apprise
        self.log, self.departure = Log(), RequestWatch()
        apprise.logger.setLevel(logging.WARNING)
        apprise.logger.addHandler(self.log)
        self.asset = apprise.AppriseAsset(async_mode=False, storage_mode="memory", allow_templates=False)
        self.asset.app_id = self.asset.app_desc = "Tocsin"
        self.asset.http_redirects = False

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        self.log.lines.clear()
        self.departure.restart()
        if not request:
            return {}
        if request["do"] == "services":
            found = map(describe, self.library.Apprise().details()["schemas"])
            return {"services": sorted(filter(is_accepted, found), key=by_name)}
        service = self.library.Apprise.instantiate(request["url"], asset=self.asset)
        if service is None:
            return {"unusable": True, "words": self._words(request["url"])}
        name = str(service.service_name)
        if len(service) != 1:
            return {"service": name, "recipients": len(service)}
        return {"service": name} if request["do"] == "check" else {"service": name, **self._send(service, request)}

    def _send(self, service: Any, request: dict[str, Any]) -> dict[str, Any]:
        title, text = request["title"], request["text"]
        pieces = 1 + (len(title) + len(text) + 2) // max(service.body_maxlen, 1)
        if pieces > MAX_PIECES:
            return {"longest": service.body_maxlen * MAX_PIECES}
        if request["files"] and not service.attachment_support:
            return {"files": False}
        # Texts of an address must not change how often, or where to, a message is sent.
        service.redirects = service.interpret_emojis = service.optional = False
        service.service_retry = 0
        service.overflow_mode = self.library.OverflowMode.SPLIT
        sender = self.library.Apprise(asset=self.asset)
        sender.add(service)
        done = sender.notify(
            text,
            title=title,
            notify_type=request["type"],
            body_format=request["format"],
            attach=[self._file(each) for each in request["files"]] or None,
            interpret_escapes=False,
        )
        left = self.departure.left or not uses_http(service)
        if done and left:  # a service may take no message of this type, which the library counts as a success
            return {"sent": True}
        return {
            "words": self._words(request["url"]),
            "codes": [int(code) for line in self.log.lines for code in _CODE.findall(line)],
            "tried": self.departure.tried,
            "left": left,
            "broken": any(map(_NO_CONNECTION.search, self.log.lines)),
            "partial": pieces > 1 or bool(request["files"]),
        }

    def failed(self, error: Exception) -> dict[str, Any]:
        """Return the answer for an exception, whose text may contain the address."""
        facts = {"codes": [], "tried": False, "left": self.departure.left, "broken": False, "partial": True}
        return {"service": "Apprise", "words": f"the library failed with {type(error).__name__}", **facts}

    def _file(self, file: dict[str, str]) -> Any:
        from apprise.attachment.file import AttachFile

        return AttachFile(file["path"], name=file["name"], mimetype=file["type"].partition(";")[0])  # type: ignore[no-untyped-call]  # as in 2.3

    def _words(self, url: str) -> str:
        """Return the warnings without any part of the address."""
        return mask(" ".join(" ".join(self.log.lines).split()), url)[:_MAX_WORDS].rstrip(". ")


def mask(text: str, url: str) -> str:
    """Replace every part of an address, as it is and decoded, and every other address."""
    parts = {part for part in re.split(r"[/?&=@:,;#+]+", url.partition("://")[2]) if part}
    text = text.replace(url, "***")
    for part in sorted(parts | set(map(unquote, parts)), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)" if len(part) < 4 else re.escape(part), "***", text)
    return re.sub(r"\w+://[^\s'\"]+", "***", text)


def uses_http(service: Any) -> bool:
    """Whether a service sends with the HTTP library whose requests `RequestWatch` sees."""
    return any(hasattr(sys.modules.get(each.__module__), "requests") for each in type(service).__mro__)


def describe(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what `tocsin channels --services` shows of a service."""
    schemes = [*(schema["protocols"] or ()), *(schema["secure_protocols"] or ())]
    return {
        "service": str(schema["service_name"]),
        "schemes": schemes,
        "forms": [form.replace("{schema}", schemes[-1]) for form in schema["details"]["templates"]],
        "files": bool(schema["attachment_support"]),
        "page": str(schema["setup_url"] or schema["service_url"] or ""),
    }


def is_accepted(service: dict[str, Any]) -> bool:
    """Whether a target may be of this service."""
    return not REFUSED_SCHEMES.keys() & set(service["schemes"])


def by_name(service: dict[str, Any]) -> str:
    """Return the key by which services are sorted."""
    return str(service["service"]).lower()


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what the library or a service prints is not an answer, and may be a secret
        os.dup2(nowhere, stream)
    limit_this_process(memory_bytes=MEMORY_BYTES, cpu_s=None)
    child: LibraryChild | None = None
    for line in sys.stdin:
        try:
            child = child or LibraryChild()
            answer = child.answer(json.loads(line))
        except ModuleNotFoundError as error:  # of the library, or one that a service needs
            answer = {"missing": (error.name or "apprise").partition(".")[0]}
        except Exception as error:  # the library and its services may raise anything
            if child is None:
                raise
            answer = child.failed(error)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
