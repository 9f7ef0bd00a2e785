"""Sixty ways out of a folder: paths that a model may ask for, and what may stand in the folder."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

SECRET = "kept outside"


class Escape(NamedTuple):
    """A path that must not be opened; `prepare` puts something into the folder."""

    title: str
    path: str
    prepare: Callable[[Path], None] = lambda folder: None


def escapes(outside: Path) -> list[Escape]:
    """Return the escapes to a directory that has a file `secret`."""
    return [*_paths(outside), *_links(outside), *_special(), *_closed()]


def _paths(outside: Path) -> Iterator[Escape]:
    up = "../" * 20
    for title, path in {
        "the parent": "../outside/secret",
        "the parent, further in": "a/../../outside/secret",
        "far up": f"{up}etc/passwd",
        "up and down again": "../folder/fine",
        "from a directory that does not exist": "none/../../outside/secret",
        "an absolute path": f"{outside}/secret",
        "the root": "/",
        "two slashes": f"/{outside}/secret",
        "the password file": "/etc/passwd",
        "the environment": "/proc/self/environ",
        "the own root": "/proc/self/root/etc/passwd",
        "the own directory": "/proc/self/cwd/../outside/secret",
        "an open file": "/proc/self/fd/0",
        "the memory": "/proc/self/mem",
        "a device": "/dev/zero",
        "the terminal": "/dev/tty",
        "the home directory": "~/.ssh/id_rsa",
        "another home directory": "~root/.bashrc",
        "the parent alone": "..",
        "the parent with a slash": "../",
        "the parent behind a dot": "./../outside/secret",
        "the parent in the middle": "a/b/../../../outside/secret",
        "the parent at the end": "a/..",
        "a NUL": "fine\0../../outside/secret",
        "only a NUL": "\0",
        "nothing": "",
        "the folder itself": ".",
        "a dot with a slash": "./",
        "a name of 256 bytes": "n" * 256,
        "a path of 65 levels": "/".join("d" * 65),
    }.items():
        yield Escape(title, path)


def _links(outside: Path) -> Iterator[Escape]:
    def link(name: str, to: str) -> Callable[[Path], None]:
        def prepare(folder: Path) -> None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(to)

        return prepare

    def chain(folder: Path) -> None:
        (folder / "first").symlink_to("second")
        (folder / "second").symlink_to(outside / "secret")

    def loop(folder: Path) -> None:
        (folder / "loop").symlink_to("loop")

    for title, path, name, to in (
        ("a link to a file", "link", "link", f"{outside}/secret"),
        ("a relative link", "link", "link", "../outside/secret"),
        ("a link to a directory", "link/secret", "link", str(outside)),
        ("a relative link to a directory", "link/secret", "link", "../outside"),
        ("a link to the parent", "link/outside/secret", "link", ".."),
        ("a link to the root", "link/etc/passwd", "link", "/"),
        ("a link further in", "a/b/link", "a/b/link", f"{outside}/secret"),
        ("a directory further in", "a/link/secret", "a/link", str(outside)),
        ("a link with a slash", "link/", "link", f"{outside}/secret"),
        ("a link and a dot", "link/./secret", "link", str(outside)),
        ("a link to a file of the folder", "link", "link", "fine"),
        ("a link to nowhere", "link", "link", "nowhere"),
        ("a link to the environment", "link", "link", "/proc/self/environ"),
        ("a link to an open file", "link", "link", "/proc/self/fd/0"),
        ("a link to a device", "link", "link", "/dev/zero"),
        ("a link to the own root", "link/etc/passwd", "link", "/proc/self/root"),
        ("a link to the own directory", "link/fine", "link", "/proc/self/cwd"),
    ):
        yield Escape(title, path, link(name, to))
    yield Escape("a chain of links", "first", chain)
    yield Escape("a link to itself", "loop", loop)


def _special() -> Iterator[Escape]:
    def pipe(folder: Path) -> None:
        os.mkfifo(folder / "pipe")

    def listening(folder: Path) -> None:
        here = Path.cwd()
        os.chdir(folder)  # the name of a socket has at most 108 bytes
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind("socket")
        finally:
            os.chdir(here)

    def directory(folder: Path) -> None:
        (folder / "directory").mkdir()

    yield Escape("a pipe", "pipe", pipe)
    yield Escape("a socket", "socket", listening)
    yield Escape("a directory as a file", "directory", directory)
    yield Escape("a file as a directory", "fine/secret")
    yield Escape("a file as a directory, with a dot", "fine/./secret")


def _closed() -> Iterator[Escape]:
    for title, path in {
        "the repository's settings": ".git/config",
        "a hook": ".git/hooks/pre-commit",
        "the repository in capitals": ".GIT/config",
        "the repository with a dot": ".git./config",
        "the repository with a blank": ".git /config",
        "the repository by its short name": "git~1/config",
        "the repository with a mark that is not shown": ".g\u200cit/config",
        "a repository further in": "a/.git/config",
        "a file called .git": "a/.git",
    }.items():
        yield Escape(title, path)
