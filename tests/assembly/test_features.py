"""What one feature does wrong, such as one of a plug-in, costs the others nothing."""

from tocsin.features.context import SubsystemState, SubsystemStatus
from tocsin.features.contract import Feature
from tocsin.testing.features import open_feature

_HERE = "tests.assembly.test_features"
CALLED: list[str] = []


async def break_down(_: object) -> SubsystemStatus:
    raise ValueError("a bug")


async def note_call(_: object) -> None:
    CALLED.append("called")


async def tell_status(_: object) -> SubsystemStatus:
    return SubsystemStatus(SubsystemState.OK, "fine")


def _feature(name: str, work: str, status: str) -> Feature:
    work, told = f"{_HERE}:{work}", {name: f"{_HERE}:{status}"}
    return Feature(name=name, summary="it is tested", page="x.md", on_start=work, hourly=work, subsystems=told)


async def test_a_bug_of_one_feature_ends_neither_the_work_nor_the_status_of_others(tmp_path, caplog):
    CALLED.clear()
    broken, sound = _feature("broken", "break_down", "break_down"), _feature("sound", "note_call", "tell_status")
    async with open_feature(broken, tmp_path, others=[sound]) as bench:
        await bench.features.start()
        await bench.features.each_hour()
        found = await bench.features.subsystems()
    assert CALLED == ["called", "called"]
    assert [(name, status.state) for name, [status] in found.items()] == [
        ("broken", SubsystemState.ERROR),
        ("sound", SubsystemState.OK),
    ]
    assert caplog.text.count("ValueError: a bug") == 3
