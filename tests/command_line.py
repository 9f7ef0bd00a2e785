"""`tocsin` inside the test process: what a command reads, prints and returns, at a tenth of what a process costs.

All that a process would have of its own is the command's: arguments, environment, directory, streams and log. What
belongs to the interpreter is shared: use a process where a test is about signals, pipes, terminals, plug-ins, or what
one process leaves to the next.
"""

import asyncio
import io
import json
import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from unittest.mock import patch

from tocsin.cli.main import run
from tocsin.features.registry import find_features
from tocsin.terminal.output import close_outputs

# What a new interpreter reads and a running one does not; PYTHONPATH can be had without a new one.
OF_INTERPRETERS = ("PYTHON", "LC_")
SITE = "PYTHONPATH"
CAPTURED = io.StringIO()


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return standard output as the one JSON document it must be."""
        return json.loads(self.out)


def call(
    arguments: Sequence[str | bytes],
    *,
    env: Mapping[str, str],
    cwd: Path,
    program: Path,
    stdin: bytes = b"",
    output: TextIO | None = CAPTURED,
) -> Done:
    """Run the command to its end in this process and thread, in which no event loop runs.

    Another `output` than that which is returned may be `None`: it is closed.
    """
    _refuse_what_needs_a_process(env)
    out, err, code = _stream(), _stream(), 0
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, env, clear=True))
        stack.enter_context(patch.object(sys, "argv", [str(program), *map(os.fsdecode, arguments)]))
        stack.enter_context(patch.object(sys, "stdin", _stream(stdin)))
        stack.enter_context(chdir(cwd))
        stack.enter_context(_plug_ins(env.get(SITE, "")))
        stack.enter_context(same_log_afterwards())
        stack.enter_context(redirect_stdout(out if output is CAPTURED else output))
        stack.enter_context(redirect_stderr(err))
        try:
            code = run(sys.argv[1:])
        except SystemExit as end:
            code = end.code
        finally:
            close_outputs()
    assert isinstance(code, int), f"it ended with {code!r} instead of an exit code"
    return Done(code, _printed(out), _printed(err))


def _refuse_what_needs_a_process(env: Mapping[str, str]) -> None:
    if threading.current_thread() is not threading.main_thread() or _loop_runs():
        raise RuntimeError("only the main thread can run a command here, and no event loop: call it with `process`")
    odd = [name for name in env if name.startswith(OF_INTERPRETERS) and name != SITE]
    if odd or Path(env.get(SITE, ""), "sitecustomize.py").is_file():
        raise ValueError(f"only a new process reads {', '.join(odd) or 'sitecustomize.py'}: call it with `process`")


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def _plug_ins(site: str) -> Iterator[None]:
    """Find and load the plug-ins of a directory, and forget them afterwards."""
    if not site:
        yield
        return
    find_features.cache_clear()
    with patch.object(sys, "path", [site, *sys.path]):
        try:
            yield
        finally:
            find_features.cache_clear()
            of_plug_ins = [n for n, m in sys.modules.items() if (getattr(m, "__file__", "") or "").startswith(site)]
            for name in of_plug_ins:
                del sys.modules[name]


@contextmanager
def same_log_afterwards() -> Iterator[None]:
    """Undo what a command does to the log of the process."""
    root = logging.getLogger()
    level, handlers, disabled = root.level, list(root.handlers), root.manager.disable
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
        logging.disable(disabled)


def _stream(content: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")


def _printed(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()
