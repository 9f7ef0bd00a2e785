"""apprise: what services get, what their answers mean, and what becomes of a process that misbehaves."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.channels.apprise.conftest import StayingProcesses
from tests.channels.apprise.interceptor import Interceptor
from tests.channels.apprise.services import SERVICES, Service

from tocsin.channels.apprise import AppriseAdapter
from tocsin.channels.apprise.content import list_services
from tocsin.channels.apprise.outcomes import ADVICE, check_sent
from tocsin.channels.apprise.sending import AppriseProcesses
from tocsin.channels.apprise.standin import GotifyServer
from tocsin.channels.attached import text_file
from tocsin.channels.contract import COMMONMARK, OutboundAdapter, Outgoing, Part, Receipt
from tocsin.core.errors import ChannelError, ConfigError, FailureKind
from tocsin.testing import build_adapter
from tocsin.testing.channel_contract import ChannelContract
from tocsin_standins.faults import Fault

CANARY = "c4n4ry-0f-th3-4ddr3ss"
# Services that misbehave, in the words of the library for services of one's own.
ROGUES = f"""
import logging, os, signal, time
from apprise.decorators import notify

SECRET = "{CANARY[::-1]}"[::-1]  # this text is an argument

@notify(on="well")
def well(body, title, *args, **kwargs):
    return True

@notify(on="hanging")
def hang(body, title, *args, **kwargs):
    while True:
        time.sleep(1)

@notify(on="greedy")
def eat(body, title, *args, **kwargs):
    kept = []
    while "there is memory":
        kept.append(bytearray(2**26))

@notify(on="dying")
def die(body, title, *args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

@notify(on="talking")
def talk(body, title, *args, **kwargs):
    for stream in (1, 2):
        os.write(stream, SECRET.encode())
    print(SECRET)
    logging.getLogger("apprise").debug("to https://x.example/" + SECRET)
    logging.getLogger("apprise").warning("cannot use %s at https://x.example/%s/x?y=z", SECRET, SECRET)
    return False

from tocsin.channels.apprise.child import main
main()
"""
WITHOUT_LIBRARY = """
import sys
sys.modules["apprise"] = None
from tocsin.channels.apprise.child import main
main()
"""


class RogueProcesses(AppriseProcesses):
    program = (sys.executable, "-I", "-c", ROGUES)


class RogueAdapter(AppriseAdapter):
    processes = f"{__name__}:RogueProcesses"


class TestApprise(ChannelContract):
    adapter = AppriseAdapter
    env: dict[str, str] = {}
    targets = {"ops": {"url": f"gotifys://push.example.org/{CANARY}"}}
    target = "ops"
    bad_targets = ("dev", "OPS", "gotify://push.example.org/token", "")

    @pytest.fixture(autouse=True)
    def use_processes_that_stay(self, library: StayingProcesses) -> None:
        self.library = library

    @asynccontextmanager
    async def opened(self, *, probing: bool = False) -> AsyncIterator[OutboundAdapter]:
        async with GotifyServer() as server:
            yield adapter_of(server.targets()["phone"]["url"], library=self.library)


def adapter_of(
    url: str, kind: type[AppriseAdapter] = AppriseAdapter, library: AppriseProcesses | None = None
) -> AppriseAdapter:
    adapter = build_adapter(kind, {}, targets={"ops": {"url": url}})
    if library:
        adapter.library = library
    return adapter


async def sent(adapter: AppriseAdapter, text: str = "hello", mode: str = "", **content: Any) -> Receipt:
    return await adapter.transmit(Outgoing("ops", text, parse_mode=mode, content=content), patient=False)


# --- thirty services


async def test_thirty_services_say_yes_no_and_later_and_each_is_understood(
    internet: Interceptor, abroad: StayingProcesses
):
    assert len(SERVICES) >= 30
    wrong: list[str] = []
    for name, service in SERVICES.items():
        found = await kinds_of(service, internet, abroad)
        if found != [None, FailureKind.PERMANENT, FailureKind.RATE_LIMITED, FailureKind.TRANSIENT]:
            wrong.append(f"{name}: {found}")
        hosts = {host for host, _, _ in internet.calls}
        if not hosts or not all(host.endswith(service.host) for host in hosts):
            wrong.append(f"{name}: called {hosts}")
        internet.calls.clear()
    assert wrong == []


async def kinds_of(
    service: Service, internet: Interceptor, processes: AppriseProcesses
) -> list[FailureKind | str | None]:
    """Return what becomes of a message that is accepted, refused, throttled, and met by a service that is down."""
    found: list[FailureKind | str | None] = []
    for status, body in (service.accepts, service.refuses, service.throttles, (503, b"down")):
        internet.status, internet.body = status, body
        before = len(internet.calls)
        try:
            url = service.url
            request = {"title": "Disk", "text": "91 %", "format": "text", "type": "warning", "files": []}
            check_sent(await processes.ask({"do": "send", "url": url, **request}))
            found.append(None)
        except ChannelError as error:
            shown = any(part in str(error) for part in url.split("/") if len(part) > 20)
            found.append("shows the address" if shown else error.kind)
        if len(internet.calls) == before:
            found.append("no call")
    return found


# --- what a service gets


async def test_title_text_and_type_are_the_services_own(library: StayingProcesses):
    async with GotifyServer() as server:
        adapter = adapter_of(server.targets()["phone"]["url"], library=library)
        receipt = await sent(adapter, "91 %", title="Disk", type="failure")
        assert receipt.result.message == "accepted by Gotify"
        [item] = server.recorder.of("apprise")
        assert item.body == {"priority": 5, "title": "Disk", "message": "91 %"}


@pytest.mark.parametrize(
    ("content", "kind"),
    [({}, "info"), ({"priority": 4}, "warning"), ({"priority": 5}, "failure"), ({"type": "success"}, "success")],
)
async def test_the_type_is_that_of_the_message_or_of_its_urgency(content: dict[str, Any], kind: str):
    adapter = adapter_of("json://hook.example.org/")
    shown = adapter.dresser.read({"title": "T", **content})
    assert adapter.body(Part("ops", "x", "key", content=shown))["type"] == kind


async def test_markdown_is_rendered_for_the_service(internet: Interceptor, abroad: StayingProcesses):
    await sent(adapter_of("json://hook.example.org/?format=html", library=abroad), "**91 %**", COMMONMARK)
    [(_, _, body)] = internet.calls
    assert b"<strong>91 %</strong>" in body


async def test_a_long_text_is_several_messages_of_the_service(internet: Interceptor, abroad: StayingProcesses):
    internet.status = 204
    adapter = adapter_of(SERVICES["Discord"].url, library=abroad)
    assert (await sent(adapter, "word " * 700)).result.ok
    assert len(internet.calls) == 2
    receipt = await sent(adapter, "word " * 6_000)
    assert "too long for Discord, which takes 20,000 characters" in receipt.result.error


async def test_files_are_passed_on_and_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, internet: Interceptor, abroad: StayingProcesses
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    adapter = adapter_of("form://hook.example.org/", library=abroad)
    note = await adapter.deliver(Part("ops", "log", "key", files=(text_file("log.txt", "line one"),)))
    [(_, _, body)] = internet.calls
    assert note == "accepted by Form"
    assert b'filename="log.txt"' in body
    assert b"line one" in body
    assert list(tmp_path.iterdir()) == []


async def test_a_service_without_files_refuses_them_before_a_call(library: StayingProcesses):
    async with GotifyServer() as server:
        adapter = adapter_of(server.targets()["phone"]["url"], library=library)
        with pytest.raises(ChannelError, match="Gotify takes no files"):
            await adapter.deliver(Part("ops", "log", "key", files=(text_file("log.txt", "line"),)))
        assert server.requests == 0


# --- what an answer means


ANSWERS = [
    (Fault.error("x", http_status=400), FailureKind.PERMANENT, "does not accept the message"),
    (Fault.error("x", http_status=401), FailureKind.PERMANENT, "make new ones"),
    (Fault.error("x", http_status=403), FailureKind.PERMANENT, "give it the right"),
    (Fault.error("x", http_status=404), FailureKind.PERMANENT, "does not know the recipient"),
    (Fault.error("x", http_status=410), FailureKind.PERMANENT, "has gone"),
    (Fault.error("x", http_status=413), FailureKind.PERMANENT, "send less"),
    (Fault.error("x", http_status=418), FailureKind.PERMANENT, "refuses the message"),
    (Fault.error("x", http_status=408), FailureKind.TRANSIENT, "try again later"),
    (Fault.status(502), FailureKind.TRANSIENT, "try again later"),
    (Fault.rate_limited(9), FailureKind.RATE_LIMITED, "slow down"),
    (Fault.redirect("https://elsewhere.example"), FailureKind.PERMANENT, "redirects are not followed"),
    (Fault.reset(), FailureKind.AMBIGUOUS, "outcome unknown"),
    (Fault.reset_after_accept(), FailureKind.AMBIGUOUS, "outcome unknown"),
]


async def test_each_answer_says_whether_a_repeat_is_safe(library: StayingProcesses):
    found, wrong = [], []
    async with GotifyServer() as server:
        adapter = adapter_of(server.targets()["phone"]["url"], library=library)
        for fault, _, words in ANSWERS:
            server.faults.push(fault)
            receipt = await sent(adapter)
            found.append(receipt.failure and receipt.failure.kind)
            if words not in receipt.result.error:
                wrong.append(f"{fault.kind} {fault.http_status}: {receipt.result.error}")
    assert found == [kind for _, kind, _ in ANSWERS]
    assert wrong == []


def test_every_remedy_is_tested():
    assert {int(code.removeprefix("HTTP ")) for code in ADVICE} == {400, 401, 403, 404, 410, 413}


async def test_a_connection_that_is_refused_is_not_sent(library: StayingProcesses):
    async with GotifyServer() as server:
        url = server.targets()["phone"]["url"]
    receipt = await sent(adapter_of(url, library=library))
    assert receipt.failure
    assert receipt.failure.kind is FailureKind.TRANSIENT
    assert receipt.result.error.startswith("not sent: ")


async def test_a_lost_answer_to_a_part_of_a_message_is_unknown(internet: Interceptor, abroad: StayingProcesses):
    internet.status = 503
    receipt = await sent(adapter_of(SERVICES["Discord"].url, library=abroad), "word " * 700)
    assert receipt.failure
    assert receipt.failure.kind is FailureKind.AMBIGUOUS


async def test_a_service_that_takes_no_message_of_this_type_is_a_failure(
    internet: Interceptor, abroad: StayingProcesses
):
    # Its type `info` closes an alarm that there is not.
    receipt = await sent(adapter_of("opsgenie://aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", library=abroad))
    assert internet.calls == []
    assert "the library has sent nothing" in receipt.result.error


# --- the entry


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("push.example.org", "not the address of a service"),
        ("gotify://push example", "not the address of a service"),
        ("mailto://me:pw@example.org", "a channel of its own"),
        ("apprises://relay.example.org/key", "may lead back here"),
        ("dbus://", "not the address of a service"),
        ("syslog://local", "of this machine"),
        ("matrixs://bot:pw@matrix.example.org/%23ops", "without `e2ee=yes`"),
        ("matrix://bot:pw@matrix.example.org/%23ops?e2ee=no", "without `e2ee=yes`"),
    ],
)
def test_a_wrong_address_is_refused_and_not_repeated(url: str, words: str):
    with pytest.raises(ConfigError) as refused:
        adapter_of(url)
    assert words in str(refused.value)
    assert url not in str(refused.value)


def test_an_address_of_matrix_is_accepted_by_an_operator_who_asks_for_encryption():
    assert adapter_of("matrixs://bot:pw@matrix.example.org/%23ops?e2ee=yes").check_target("ops") == "ops"


async def test_an_address_that_the_library_cannot_read_is_named_by_its_target(library: StayingProcesses):
    adapter = adapter_of(f"nosuch://{CANARY}", library=library)
    receipt = await sent(adapter)
    assert "not one of a service" in receipt.result.error
    tested = await adapter.test_connection()
    assert tested.error.startswith("ops: ")
    assert CANARY not in tested.error + receipt.result.error


async def test_an_address_with_several_recipients_is_refused(library: StayingProcesses):
    receipt = await sent(adapter_of("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#ops/#dev", library=library))
    assert "2 recipients" in receipt.result.error
    assert "profile" in receipt.result.error


async def test_a_test_names_the_service_of_each_target_and_calls_none(library: StayingProcesses):
    async with GotifyServer() as server:
        entry = server.targets()["phone"]
        adapter = build_adapter(AppriseAdapter, {}, targets={"phone": entry["url"], "tablet": entry})
        adapter.library = library
        assert (await adapter.test_connection()).message == "connected as phone (Gotify), tablet (Gotify)"
        assert server.requests == 0


# --- the process


async def test_a_process_stays_for_the_next_message_and_ends_after_idling():
    adapter = adapter_of("well://x", RogueAdapter)
    assert (await sent(adapter)).result.ok
    [first] = adapter.library.pool.idle
    assert (await sent(adapter)).result.ok
    assert adapter.library.pool.idle == [first]
    idling = adapter_of("well://x", type("Brief", (RogueAdapter,), {"processes": f"{__name__}:BriefProcesses"}))
    assert (await sent(idling)).result.ok
    await gone(idling)
    assert (await sent(idling)).result.ok


async def gone(adapter: AppriseAdapter) -> None:
    while adapter.library.pool.idle:  # noqa: ASYNC110  # the pool has no event for its end
        await asyncio.sleep(0)


class BriefProcesses(RogueProcesses):
    idle_s = 0.0


def test_no_process_outlives_the_command_that_needed_it():
    async def work() -> int:
        adapter = adapter_of("well://x", RogueAdapter)
        await sent(adapter)
        return adapter.library.pool.idle[0]

    assert not Path(f"/proc/{asyncio.run(work())}").exists()


@pytest.mark.parametrize(
    ("scheme", "words"), [("hanging", "has not answered"), ("greedy", ""), ("dying", "signal 9"), ("talking", "")]
)
async def test_a_process_that_misbehaves_is_ended_and_its_message_is_unknown(scheme: str, words: str):
    adapter = adapter_of(f"{scheme}://x", RogueAdapter)
    assert (await adapter.test_connection()).ok
    [pid] = adapter.library.pool.idle
    if scheme == "hanging":
        adapter.library.answer_s = 0.1  # type: ignore[misc]  # of this one
    receipt = await sent(adapter)
    assert receipt.failure
    assert (receipt.failure.kind, receipt.result.error.startswith("outcome unknown: ")) == (FailureKind.AMBIGUOUS, True)
    assert words in receipt.result.error
    assert not Path(f"/proc/{pid}").exists()
    assert adapter.library.pool.idle == []


async def test_a_killed_process_is_replaced_for_the_next_message():
    adapter = adapter_of("well://x", RogueAdapter)
    assert (await sent(adapter)).result.ok
    [pid] = adapter.library.pool.idle
    os.kill(pid, 9)
    await gone(adapter)
    assert (await sent(adapter)).result.ok


async def test_a_missing_library_is_named_with_the_extra_that_installs_it():
    adapter = adapter_of("gotify://x.example/token", type("Bare", (AppriseAdapter,), {"processes": f"{__name__}:Bare"}))
    for error in ((await sent(adapter)).result.error, (await adapter.test_connection()).error):
        assert "apprise: package not installed" in error
        assert 'pip install "tocsin[apprise]"' in error


class Bare(AppriseProcesses):
    program = (sys.executable, "-I", "-c", WITHOUT_LIBRARY)


# --- secrets


async def test_an_address_is_in_no_error_log_argument_or_environment(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, library: StayingProcesses
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TEAMCHAT_BOT_TOKEN", f"xoxb-{CANARY}")
    talking = adapter_of(f"talking://user:{CANARY}@x.example/{CANARY}", RogueAdapter)
    assert (await talking.test_connection()).ok
    [pid] = talking.library.pool.idle
    process = Path("/proc", str(pid))
    seen = (process / "cmdline").read_text() + (process / "environ").read_text()
    said = (await sent(talking)).result.error
    assert "cannot use ***" in said
    assert CANARY not in seen + said + caplog.text
    async with GotifyServer(token=CANARY) as server:
        url = f"gotify://{server.url.removeprefix('http://')}/{CANARY}"
        for fault in (Fault.error(1, f"no {CANARY}", http_status=401), Fault.reset(), Fault.status(502, CANARY)):
            server.faults.push(fault)
            receipt = await sent(adapter_of(url, library=library))
            assert not receipt.result.ok
            assert CANARY not in repr(receipt) + caplog.text


# --- the list


async def test_the_services_of_the_installed_version_are_listed_with_their_forms():
    found = {each["service"]: each for each in await list_services()}
    assert len(found) > 150
    assert found["Pushover"]["forms"][0] == "pover://{user_key}@{token}"
    assert (found["Pushover"]["files"], found["Pushover"]["page"][:8]) == (True, "https://")
    assert not {"E-Mail", "Syslog", "Apprise API"} & set(found)


# --- the stand-in is as strict as the server


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"title": "x"}', b'{"message": ""}', b'{"message": "x", "text": "y"}'])
async def test_the_stand_in_refuses_what_is_not_a_message(body: bytes):
    from tocsin.core.http.direct import DirectTransport

    http = DirectTransport()
    try:
        async with GotifyServer() as server:
            headers = {"X-Gotify-Key": server.token}
            reply = await http.request("POST", f"{server.url}/message", headers=headers, body=body)
            assert (reply.status, server.recorder.of("apprise")) == (400, [])
    finally:
        await http.aclose()
