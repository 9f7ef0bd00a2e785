import asyncio

import pytest

from tocsin_standins import Fault, FaultScript, Recorder


async def test_waiting_ends_when_enough_messages_have_come():
    recorder = Recorder()
    waiting = asyncio.ensure_future(recorder.wait_for(2, "email"))
    recorder.add("email", "a@x.example", "one", id="1")
    recorder.add("teamchat", "C0GENERAL", "elsewhere", id="2")
    recorder.add("email", "a@x.example", "two", id="3")
    assert [item.text for item in await waiting] == ["one", "two"]


async def test_waiting_in_vain_is_a_time_out():
    with pytest.raises(TimeoutError):
        await Recorder().wait_for(1, timeout_s=0.01)


async def test_only_messages_count_unless_another_kind_is_named():
    recorder = Recorder()
    recorder.add("botchat", "1", "typing", id="", kind="action")
    assert recorder.of("botchat") == []
    assert [item.text for item in recorder.of("botchat", kind="action")] == ["typing"]
    assert len(recorder.of(kind="")) == 1


async def test_clearing_keeps_the_numbers_rising():
    recorder = Recorder()
    recorder.add("email", "a@x.example", "one", id="1")
    recorder.clear()
    assert recorder.add("email", "a@x.example", "two", id="2").n == 2
    assert len(recorder) == 1


async def test_a_callback_hears_every_entry_until_it_is_taken_away():
    recorder, heard = Recorder(), []
    end = recorder.on_message(lambda item: heard.append(item.text))
    recorder.add("email", "a@x.example", "one", id="1")
    end()
    recorder.add("email", "a@x.example", "two", id="2")
    assert heard == ["one"]


async def test_following_gives_what_came_after_a_number():
    recorder = Recorder()
    recorder.add("email", "a@x.example", "one", id="1")
    recorder.add("email", "a@x.example", "two", id="2")
    assert [item.text for item in await recorder.after(1, timeout_s=1)] == ["two"]
    assert await recorder.after(2, timeout_s=0.01) == []


async def test_following_does_not_wait_for_a_number_of_an_earlier_recorder():
    assert await Recorder().after(57, timeout_s=60) == []


def test_faults_are_met_in_order_and_then_no_more():
    script = FaultScript()
    script.push(Fault.reset(), Fault.status(502), times=2)
    kinds = [fault.kind if (fault := script.take("any")) else None for _ in range(5)]
    assert kinds == ["reset", "status", "reset", "status", None]


def test_a_fault_for_one_operation_waits_for_it():
    script = FaultScript()
    script.push(Fault.reset().only("sendMessage"))
    assert script.take("getMe") is None
    assert script.take("sendmessage") == Fault.reset().only("sendMessage")


def test_a_held_fault_lasts_until_it_is_lifted():
    script = FaultScript()
    script.hold(Fault.reset())
    assert [script.take("any"), script.take("any")] == [Fault.reset(), Fault.reset()]
    script.hold(None)
    assert script.take("any") is None


def test_a_fault_from_json_has_the_defaults_of_its_kind():
    assert Fault.from_json({"kind": "reset_after_accept"}) == Fault.reset_after_accept()
    assert Fault.from_json({"kind": "rate_limited", "seconds": 7}) == Fault.rate_limited(7)
    assert Fault.from_json({"kind": "status"}) == Fault.status(502)
    assert Fault.from_json({"kind": "error", "code": 20016}) == Fault.error(20016)


@pytest.mark.parametrize(
    "data",
    [
        "text",
        {"fault": []},
        [{"kind": "flood"}],
        [{"kind": "reset", "when": "now"}],
        {"faults": [1]},
        {"faults": [], "times": "2"},
        {"hold": {"kind": ""}},
    ],
)
def test_a_malformed_script_is_refused_and_changes_nothing(data):
    script = FaultScript()
    with pytest.raises(ValueError, match=r"\w"):
        script.script(data)
    assert script.as_json() == {"faults": [], "hold": None}
