"""Settings of git that keep a repository from starting programs of its own.

A repository may come from a stranger: its configuration names hooks, filters, monitors and diff programs, and each of
these is a command line. Settings of the command scope win over those of the repository (git-config(1), SCOPES). Those
of filters have names that only the repository knows, so git is asked for them first: `LIST_PROGRAMS`.
"""

from collections.abc import Mapping

QUIET = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "diff.external": "",
    "submodule.recurse": "false",
    "log.showSignature": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
NO_HOOKS = {"core.hooksPath": "/dev/null"}
# Ends with 1 where there is none.
LIST_PROGRAMS = ("config", "-z", "--name-only", "--get-regexp", r"^(filter|hook)\.")
# What a program that is named so gets instead: an empty command line is none (gitattributes(5), git-config(1)).
_NO_PROGRAM = {
    "filter": {"process": "", "smudge": "", "clean": "", "required": "false"},
    "hook": {"command": "", "enabled": "false"},
}


def guards_of(listed: str) -> dict[str, str]:
    """Return the settings that switch off each program in the output of `LIST_PROGRAMS`."""
    named = set()
    for key in listed.split("\0"):  # such as `filter.lfs.smudge`; the name between may hold dots
        kind, _, rest = key.partition(".")
        name, dot, _ = rest.rpartition(".")
        if dot and kind in _NO_PROGRAM:
            named.add((kind, name))
    return {f"{kind}.{name}.{key}": value for kind, name in sorted(named) for key, value in _NO_PROGRAM[kind].items()}


def variables_of(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the environment that carry these settings; their names may hold anything."""
    numbered = {
        name: value
        for number, (key, setting) in enumerate(settings.items())
        for name, value in ((f"GIT_CONFIG_KEY_{number}", key), (f"GIT_CONFIG_VALUE_{number}", setting))
    }
    return {"GIT_CONFIG_COUNT": str(len(settings)), **numbered}
