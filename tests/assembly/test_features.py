"""What one feature does wrong, such as one of a plug-in, costs the others nothing."""

import sys
from collections.abc import Awaitable, Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

from tocsin.features.context import SubsystemState, SubsystemStatus
from tocsin.features.contract import Feature, Subsystem
from tocsin.features.hooks import FeatureHooks
from tocsin.testing.features import open_feature

Work = Callable[[object], Awaitable[None]]
Status = Callable[[object], Awaitable[SubsystemStatus]]
CALLED: list[str] = []


async def break_down(_: object) -> Any:
    raise ValueError("a bug")


async def note_call(_: object) -> None:
    CALLED.append("called")


async def tell_status(_: object) -> SubsystemStatus:
    return SubsystemStatus(SubsystemState.OK, "fine")


class Closing:
    """A service that notes that it is closed, and fails then if told so."""

    def __init__(self, name: str, *, fails: bool) -> None:
        self._name = name
        self._fails = fails

    async def aclose(self) -> None:
        CALLED.append(self._name)
        if self._fails:
            raise ValueError("a bug")


def _install(
    name: str,
    work: Work,
    status: Status,
    monkeypatch: pytest.MonkeyPatch,
    open_: Callable[[object], object] = lambda context: context,
) -> Feature:
    """Return a feature of a package that has one module."""
    hooks = ModuleType(f"{name}.hooks")
    hooks.HOOKS = FeatureHooks[object](  # type: ignore[attr-defined]
        open=open_, on_start=work, hourly=work, subsystems={name: status}
    )
    for module in (ModuleType(name), hooks):
        module.__spec__ = ModuleSpec(module.__name__, None)
        module.__path__ = []
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return Feature(name=name, summary="it is tested", page="x.md", package=name, subsystems=(Subsystem(name, name),))


async def test_a_bug_of_one_feature_ends_neither_the_work_nor_the_status_of_others(tmp_path, caplog, monkeypatch):
    CALLED.clear()
    broken = _install("broken", break_down, break_down, monkeypatch)
    sound = _install("sound", note_call, tell_status, monkeypatch)
    async with open_feature(broken, tmp_path, others=[sound]) as bench:
        await bench.features.start()
        await bench.features.each_hour()
        found = await bench.subsystems()
    assert CALLED == ["called", "called"]
    assert [(name, status.status) for name, [status] in found.items()] == [
        ("broken", SubsystemState.ERROR),
        ("sound", SubsystemState.OK),
    ]
    assert caplog.text.count("ValueError: a bug") == 3


async def test_an_error_of_closing_one_feature_leaves_no_other_one_open(tmp_path, caplog, monkeypatch):
    CALLED.clear()
    first = _install("first", note_call, tell_status, monkeypatch, lambda _: Closing("first", fails=False))
    second = _install("second", note_call, tell_status, monkeypatch, lambda _: Closing("second", fails=True))
    async with open_feature(first, tmp_path, others=[second]) as bench:
        for name in ("first", "second"):
            bench.features.opened(name)
    assert CALLED == ["second", "first"]
    assert caplog.text.count("ValueError: a bug") == 1
