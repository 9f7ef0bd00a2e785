"""Checks whether the program of a skill can start, without starting it."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from tocsin.features.skill_records import SkillWarning

Find = Callable[[str], str]  # the path of a program, empty where it is not found

# A word that the shell takes as it is written, but for its quotes.
_WORD = re.compile(r"""((?:[\w./+@%,:=-]|'[^'\n]*'|"[^"$`\\\n]*")+)(?:[ \t]+|(?=[;&|\n])|\Z)""")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# What the shell does itself: POSIX.1-2017, sections 2.4 (reserved words), 2.14 and 1.6 (built-in utilities).
_OF_THE_SHELL = frozenset((
    "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until", "while", "function",
    "select", "time", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set", "shift",
    "times", "trap", "unset", "alias", "bg", "cd", "command", "fc", "fg", "getopts", "hash", "jobs", "kill",
    "read", "type", "ulimit", "umask", "unalias", "wait", "local", "source", "shopt", "declare", "test", "echo",
    "printf", "true", "false", "pwd", ".", ":",
))  # fmt: skip
_SHELLS = re.compile(r"(ba|da|z|k)?sh")
_INTERPRETERS = re.compile(rf"{_SHELLS.pattern}|python[0-9.]*|perl|ruby|node")
_CORRECT = "correct `command` in skill.yaml"
_FIRST_LINE = 256  # bytes; Linux reads as many


def doubts_about(folder: Path, command: str, find: Find, find_confined: Find) -> Iterator[SkillWarning]:
    """Yield the problems of the first program of a command line that starts in `folder`.

    `find` looks as an ordinary run would, `find_confined` as a sandboxed one. What only the shell can know, such as
    the value of a variable, is no doubt.
    """
    words = _words(command)
    word = words[0] if words else ""
    if not word or word in _OF_THE_SHELL:
        return
    if "/" in word:
        yield from _look_at_file(folder, word, find, find_confined)
        return
    yield from _look_for(word, find, find_confined)
    script = _script(words) if _INTERPRETERS.fullmatch(word) else ""
    if script and not (folder / script).exists():
        yield SkillWarning(f"file not found: {script}", f"put it into {folder}, or {_CORRECT}")
    elif script and _SHELLS.fullmatch(word):
        yield from _look_at_line_end(folder / script, script)


def _words(command: str) -> list[str]:
    """Return the words at the beginning of a command line that need no shell to be read, from the program on."""
    rest, words = command.lstrip(), list[str]()
    while found := _WORD.match(rest):
        rest = rest[found.end() :]
        if words or not (_ASSIGNMENT.match(found[1]) or found[1] == "exec"):
            words += shlex.split(found[1])
    return words


def _script(words: list[str]) -> str:
    """Return the script that an interpreter is to read; empty if it reads none."""
    rest = words[1:]
    while rest and re.fullmatch(r"-[eux]+", rest[0]):  # these take no value
        del rest[0]
    return rest[0] if rest and not rest[0].startswith("-") else ""


def _look_for(program: str, find: Find, find_confined: Find) -> Iterator[SkillWarning]:
    if not find(program):
        yield SkillWarning(f"program not found: {program}", f"install it, or {_CORRECT}")
    elif not find_confined(program):
        detail = f"program {program} is not available in the sandbox"
        yield SkillWarning(detail, f"install {program} into a system directory")


def _look_at_file(folder: Path, name: str, find: Find, find_confined: Find) -> Iterator[SkillWarning]:
    path = folder / name
    if not path.exists():
        yield SkillWarning(f"file not found: {name}", f"create it, or {_CORRECT}")
    elif path.is_dir():
        yield SkillWarning(f"{name} is a folder", _CORRECT)
    elif not find(str(path)):
        yield SkillWarning(f"{name} is not executable", f"chmod +x {shlex.quote(str(path))}")
    else:
        yield from _look_at_shebang(path, name, find, find_confined)


def _look_at_shebang(path: Path, name: str, find: Find, find_confined: Find) -> Iterator[SkillWarning]:
    line = _beginning(path)
    if not line.startswith(b"#!"):
        return
    if line.endswith(b"\r"):
        yield from _look_at_line_end(path, name)
        return
    words = line[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if words and not find(words[0]):
        detail = f"the interpreter of {name} was not found: {words[0]}"
        yield SkillWarning(detail, f"install it, or correct the first line of {name}")
    elif words and not find_confined(words[0]):
        detail = f"the interpreter of {name} is not available in the sandbox: {words[0]}"
        yield SkillWarning(detail, f"install it into a system directory, or correct the first line of {name}")


def _look_at_line_end(path: Path, name: str) -> Iterator[SkillWarning]:
    if _beginning(path).endswith(b"\r"):
        detail = f"{name} has Windows line endings: its first line ends with CR LF"
        yield SkillWarning(detail, rf"sed -i 's/\r$//' {shlex.quote(str(path))}")


def _beginning(path: Path) -> bytes:
    """Return the first line of a file without its LF; empty for one that cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(_FIRST_LINE).partition(b"\n")[0]
    except OSError:  # a program need not be readable
        return b""
