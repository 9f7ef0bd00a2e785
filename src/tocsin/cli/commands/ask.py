"""ask: send one question to the configured chat model."""

import argparse
from pathlib import Path

from tocsin.cli.opening import open_settings
from tocsin.core.errors import ConfigError, MissingSettingError
from tocsin.core.time.clock import SystemClock
from tocsin.providers.chat import HOW_TO_CONFIGURE, NOT_CONFIGURED, open_chat
from tocsin.providers.contract import ChatProvider, Completion, Image, Question, Turn
from tocsin.providers.files.pictures import detect_type, fit
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, Console, is_terminal
from tocsin.terminal.text import read_message, readable

MAX_IMAGE_BYTES = 20 * 1024 * 1024  # as for the bot; images that are larger than models accept are scaled down


def configure_ask(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        '  tocsin ask "What does exit code 137 mean?"\n'
        "  journalctl -u backup -n 50 | tocsin ask -\n"
        '  tocsin ask --image graph.png "What is odd here?"\n\n'
        "Set CHAT_PROVIDER, CHAT_MODEL and ANTHROPIC_API_KEY or OPENAI_API_KEY. OPENAI_BASE_URL selects another\n"
        "service with an OpenAI-compatible API."
    )
    parser.add_argument("question", help="question; `-` reads standard input")
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="JPEG, PNG, GIF or WebP image to send with the question; may be repeated",
    )
    parser.add_argument("--model", default="", metavar="NAME", help="model to use instead of CHAT_MODEL")
    parser.set_defaults(run=_ask, free_text="question")


def _ask(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    import asyncio

    settings, _ = open_settings(options, out)
    chat = open_chat(settings, SystemClock(), out.redact, model=readable(arguments.model))
    if chat is None:
        raise MissingSettingError(NOT_CONFIGURED, hint=HOW_TO_CONFIGURE)
    images = tuple(asyncio.run(_image(path)) for path in arguments.image)
    text = read_message(arguments.question, out)
    if not text.strip() and not images:
        raise ConfigError("the question is empty", hint="pass it as the argument, or pipe it in and pass `-`")
    answer = asyncio.run(_answer(chat, Question((Turn("user", text, images),)), out))
    if out.as_json:
        out.document(answer)
    if answer.truncated:
        out.note("tocsin: the answer is incomplete: the model reached its length limit or a content filter stopped it")
    return DONE


async def _answer(chat: ChatProvider, question: Question, out: Console) -> Completion:
    import sys

    label = f"Asking {chat.model} …"
    try:
        if not out.as_json and is_terminal(sys.stdout):
            return await _stream(chat, question, out, label)
        answer = await out.while_waiting(label, chat.ask(question))
        out.text(answer.text)
        return answer
    finally:
        await chat.aclose()


async def _stream(chat: ChatProvider, question: Question, out: Console, label: str) -> Completion:
    """Print the answer as it is streamed; show progress until its first piece."""
    import asyncio

    flow, begun = _Flow(out), asyncio.Event()

    def show(piece: str) -> None:
        begun.set()
        flow.add(piece)

    asking = asyncio.ensure_future(chat.ask(question, show, flow.restart))
    asking.add_done_callback(lambda _: begun.set())
    try:
        await out.while_waiting(label, begun.wait())
        flow.open()
        answer = await asking
    finally:
        asking.cancel()
        await asyncio.wait([asking])
        flow.end()
    return answer


class _Flow:
    """Prints whole words, because a secret that is split over two pieces is only recognised in a whole word."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._held = ""
        self._is_open = False
        self._printed = ""  # the last printed piece

    def add(self, piece: str) -> None:
        """Print the words that this piece completes."""
        self._held += piece
        end = max(self._held.rfind(" "), self._held.rfind("\n")) + 1
        if self._is_open:
            self._print(self._held[:end])
            self._held = self._held[end:]

    def open(self) -> None:
        self._is_open = True
        self.add("")

    def restart(self) -> None:
        """Report that the text printed so far is void."""
        self._held = ""
        if self._printed:
            self._print("\n")
            self._out.note("tocsin: the answer was interrupted; it starts again")

    def end(self) -> None:
        """Print the rest and end the line."""
        self._print(self._held)
        if not self._printed.endswith("\n"):
            self._print("\n")

    def _print(self, text: str) -> None:
        if text:
            self._out.text(text, end="")
            self._printed = text


async def _image(path: Path) -> Image:
    """Load an image and scale it down for models; its type is detected from the content, not the name."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_IMAGE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", hint="pass the path of an existing image") from None
    if len(data) > MAX_IMAGE_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_IMAGE_BYTES // 2**20} MiB", hint="reduce the size of the image")
    if not detect_type(data):
        raise ConfigError(f"{path} is not a supported image", hint="use JPEG, PNG, GIF or WebP")
    return await fit(data)
