"""The e-mail channel against real SMTP servers on loopback."""

import asyncio
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.waiting import LIMITS_S, PATIENCE_S, eventually

from tocsin.channels.contract import Outgoing, Receipt, SendResult
from tocsin.channels.email import EmailAdapter
from tocsin.channels.email.message import Mailbox, compose, read_address
from tocsin.channels.email.session import Session
from tocsin.channels.email.subject import GENERIC_SUBJECT, split_subject
from tocsin.core.errors import ChannelError, ConfigError, FailureKind
from tocsin.testing import FakeClock, build_adapter
from tocsin_standins import mail
from tocsin_standins.faults import Fault
from tocsin_standins.mail import MailServer, Mode
from tocsin_standins.recorder import RecordedRequest

USER, PASSWORD = mail.USER, mail.PASSWORD
READER = "reader@example.org"
SENDER = Mailbox("tocsin", "mail.example")


def impatient(seconds: float) -> type[EmailAdapter]:
    """Return the same channel with such deadlines."""
    return type(
        "Impatient",
        (EmailAdapter,),
        {"spec": replace(EmailAdapter.spec, send_timeout_s=seconds, test_timeout_s=seconds)},
    )


class PatientAdapter(EmailAdapter):
    """The same channel with deadlines no test can wait for."""

    spec = replace(EmailAdapter.spec, send_timeout_s=86_400, test_timeout_s=86_400)


def adapter_for(
    port: int, *, host: str = "127.0.0.1", adapter: type[EmailAdapter] = EmailAdapter, **env: str
) -> EmailAdapter:
    settings = {"SMTP_HOST": host, "SMTP_PORT": str(port), "SMTP_USER": USER, "SMTP_PASS": PASSWORD, **env}
    return build_adapter(adapter, settings, clock=FakeClock())


def adapter_of(server: MailServer, *, adapter: type[EmailAdapter] = EmailAdapter, **env: str) -> EmailAdapter:
    tls = {"starttls": "starttls", "implicit": "implicit", "plain": "none"}[server.mode]
    settings = {"SMTP_TLS": tls, "SMTP_CA_FILE": str(server.ca_file), **env}
    return adapter_for(server.port, host=server.host, adapter=adapter, **settings)


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with MailServer(mode="plain") as running:
        yield running


@pytest.fixture
async def secure_server() -> AsyncIterator[MailServer]:
    async with MailServer(mode="starttls") as running:
        yield running


def only(server: MailServer) -> RecordedRequest:
    """Return the one mail the server took in."""
    (received,) = server.recorder.of("email")
    return received


def parsed(received: RecordedRequest) -> EmailMessage:
    return message_from_bytes(str(received.body).encode("utf-8", "surrogateescape"), policy=policy.default)


EHLO = "250-mail.example\r\n250-AUTH PLAIN LOGIN\r\n250 SIZE 1000000"
GOOD = {
    "greeting": "220 ready",
    "EHLO": EHLO,
    "AUTH": "235 2.7.0 welcome",
    "MAIL": "250 ok",
    "RCPT": "250 ok",
    "DATA": "354 go on",
    ".": "250 2.0.0 queued",
    "QUIT": "221 bye",
}
HANG, CLOSE = "hang", "close"


@dataclass
class ScriptedServer:
    """Speaks SMTP in clear from a table and writes down every line; HANG and CLOSE are answers too."""

    answers: Mapping[str, str]
    port: int = 0
    lines: list[str] = field(default_factory=list)
    ends: list[asyncio.Event] = field(default_factory=list)
    hung: bool = False

    @property
    def verbs(self) -> list[str]:
        return [line.split()[0] for line in self.lines]

    def adapter(self, adapter: type[EmailAdapter] = EmailAdapter, **env: str) -> EmailAdapter:
        return adapter_for(self.port, adapter=adapter, **{"SMTP_TLS": "none", **env})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.ends.append(asyncio.Event())
        end = self.ends[-1]
        try:
            alive = await self._answer("greeting", reader, writer)
            while alive and (line := await reader.readline()):
                self.lines.append(line.decode().rstrip())
                alive = await self._answer(self.verbs[-1], reader, writer)
                if alive and self.verbs[-1] == "DATA" and self.answers["DATA"].startswith("354"):
                    await reader.readuntil(b"\r\n.\r\n")
                    alive = await self._answer(".", reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
            end.set()

    async def _answer(self, key: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        answer = self.answers.get(key, "502 5.5.1 what?")
        if answer == HANG:
            self.hung = True
            await reader.read()
        if answer in {HANG, CLOSE}:
            return False
        writer.write(f"{answer}\r\n".encode())
        return True


@asynccontextmanager
async def scripted(changes: Mapping[str, str] | None = None) -> AsyncIterator[ScriptedServer]:
    script = ScriptedServer({**GOOD, **(changes or {})})
    listener = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.port = listener.sockets[0].getsockname()[1]
    try:
        yield script
        async with asyncio.timeout(PATIENCE_S):  # the channel closes its connection: every conversation ends
            await asyncio.gather(*(end.wait() for end in script.ends))
    finally:
        listener.close()


async def failed(adapter: EmailAdapter, text: str = "Subject\nbody") -> Receipt:
    receipt = await adapter.transmit(Outgoing(READER, text))
    assert receipt.failure is not None
    assert not receipt.result.ok
    assert PASSWORD not in receipt.result.error
    return receipt


async def failed_at(script: ScriptedServer) -> Receipt:
    """Send to what breaks off; if it hangs, in little time, or as much as a busy machine takes to get there."""
    if HANG not in script.answers.values():
        return await failed(script.adapter())
    for seconds in LIMITS_S:
        receipt = await failed(script.adapter(impatient(seconds)))
        # On a machine that stood still, the limit of the whole call may come before that of the session.
        if script.hung and "no response in time (" in receipt.result.error:
            break
    return receipt


async def until_idle(server: MailServer) -> None:
    """Let the server see the end of every connection: it cannot be closed amid a TLS handshake."""
    await eventually(lambda: not server.sessions)


async def refused(changes: Mapping[str, str]) -> Receipt:
    """Return what a send comes to when the server answers like this."""
    async with scripted(changes) as script:
        return await failed(script.adapter())


def kind(receipt: Receipt) -> FailureKind:
    assert receipt.failure is not None
    return receipt.failure.kind


# --- A mail arrives -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["starttls", "implicit", "plain"])
async def test_a_mail_arrives_over_every_kind_of_connection(mode: Mode):
    async with MailServer(mode=mode) as server:
        result = await adapter_of(server).send(READER, "Disk full\n/var has 2 % left")
        received = only(server)
    assert result == SendResult(True, "email", READER, message=f"message-id={received.id}")
    assert (received.target, received.subject, received.text) == (READER, "Disk full", "/var has 2 % left")
    assert received.account == USER


async def test_connecting_by_host_name_works_too(secure_server: MailServer):
    adapter = adapter_of(secure_server, SMTP_HOST="localhost")
    assert (await adapter.send(READER, "hello")).ok


async def test_a_second_mail_reuses_nothing_of_the_first(secure_server: MailServer):
    adapter = adapter_of(secure_server)
    results = await asyncio.gather(*(adapter.send(READER, f"n{n}\nx") for n in range(5)))
    assert all(result.ok for result in results)
    assert len({received.id for received in secure_server.recorder.of("email")}) == 5


async def test_the_mail_has_exactly_the_headers_of_the_fact_book(server: MailServer):
    await adapter_of(server).send(READER, "Subject line\nbody")
    message = parsed(only(server))
    assert sorted(message.keys()) == sorted(
        [
            *("From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Auto-Submitted"),
            *("Content-Type", "Content-Transfer-Encoding"),
        ]
    )
    assert message["From"] == USER
    assert message["To"] == READER
    assert message["Date"].datetime.timestamp() == 1_700_000_000
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Content-Type"] == 'text/plain; charset="utf-8"'
    assert message["Content-Transfer-Encoding"] in {"quoted-printable", "base64"}


async def test_the_message_id_has_the_domain_of_the_sender(server: MailServer):
    await adapter_of(server, SMTP_FROM="alerts@ops.example").send(READER, "hello")
    assert re.fullmatch(r"<[0-9a-f]{32}@ops\.example>", only(server).id)


async def test_every_attempt_at_a_message_carries_the_same_message_id(server: MailServer):
    adapter = adapter_of(server)
    for _ in range(2):
        await adapter.transmit(Outgoing(READER, "hello", key="one"))
    await adapter.transmit(Outgoing(READER, "hello", key="two"))
    await adapter.transmit(Outgoing("other@example.org", "hello", key="one"))
    ids = [received.id for received in server.recorder.of("email")]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


async def test_the_sender_may_have_a_name(server: MailServer):
    await adapter_of(server, SMTP_FROM="Wächter, Nacht <alerts@ops.example>").send(READER, "hello")
    received = only(server)
    (address,) = parsed(received)["From"].addresses
    assert (address.display_name, address.addr_spec) == ("Wächter, Nacht", "alerts@ops.example")
    assert received.headers["mail_from"] == "alerts@ops.example"


async def test_lines_that_start_with_a_dot_arrive_unchanged(server: MailServer):
    body = ".\n..\n.x\nend\n.\nQUIT"
    await adapter_of(server).send(READER, f"dots\n{body}")
    assert only(server).text == body


async def test_a_long_text_arrives_in_one_piece(secure_server: MailServer):
    body = "\n".join(f"line {n} für alle" for n in range(20_000))
    assert (await adapter_of(secure_server).send(READER, f"long\n{body}")).ok
    assert only(secure_server).text == body


async def test_the_server_is_greeted_with_an_address_and_not_with_a_host_name():
    async with scripted() as script:
        await script.adapter().send(READER, "hello")
    assert script.lines[0] == "EHLO [127.0.0.1]"


async def test_the_commands_come_in_order_and_each_of_them_once():
    async with scripted() as script:
        assert (await script.adapter().send(READER, "hello")).ok
    assert script.verbs == ["EHLO", "AUTH", "MAIL", "RCPT", "DATA", "QUIT"]


async def test_it_works_on_the_event_loop_of_the_services(secure_server: MailServer):
    code = (
        "import uvloop, sys; from tests.channels.test_email import adapter_for, READER\n"
        "a = adapter_for(int(sys.argv[1]), SMTP_TLS='starttls', SMTP_CA_FILE=sys.argv[2])\n"
        "r = uvloop.run(a.send(READER, 'long\\n' + 'x' * 300_000))\n"
        "print(r)\nassert r.ok"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(secure_server.port), str(secure_server.ca_file),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await child.communicate()
    assert child.returncode == 0, output.decode()
    assert len(only(secure_server).text) == 300_000


# --- Subject and body -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "subject", "body"),
    [
        ("Disk full\n/var\n/tmp", "Disk full", "/var\n/tmp"),
        ("Disk full\r\n/var", "Disk full", "/var"),
        ("Disk full\r/var", "Disk full", "/var"),
        ("only one line", GENERIC_SUBJECT, "only one line"),
        ("\nbody", GENERIC_SUBJECT, "body"),
        ("  \t\nbody", GENERIC_SUBJECT, "body"),
        ("\x07\x1b\nbody", GENERIC_SUBJECT, "body"),
        ("subject\n", "subject", ""),
        ("a\x00b\x07c\x85d\u2028e\tf\nbody", "abcde f", "body"),
        ("x" * 200 + "\nbody", "x" * 200, "body"),
        ("x" * 201 + "\nbody", "x" * 199 + "…", "x" * 201 + "\nbody"),
    ],
)
def test_the_first_newline_divides_subject_and_body(text: str, subject: str, body: str):
    assert split_subject(text) == (subject, body)


@pytest.mark.parametrize(
    "text",
    [
        "Hi\r\nBcc: evil@example.org\r\n\r\nbody",
        "Hi\x0bBcc: evil@example.org\nbody",
        "Hi\x0cBcc: evil@example.org\nbody",
        "Hi\x1cBcc: evil@example.org\nbody",
        "Hi\x85Bcc: evil@example.org\nbody",
        "Hi\u2028Bcc: evil@example.org\nbody",
        "=?utf-8?q?Hi=0D=0ABcc:_evil@example.org?=\nbody",
    ],
)
async def test_no_text_becomes_a_header(server: MailServer, text: str):
    assert (await adapter_of(server).send(READER, text)).ok
    assert [received.target for received in server.recorder.of("email")] == [READER]
    assert parsed(only(server))["Bcc"] is None


async def test_a_subject_that_looks_encoded_is_shown_as_it_was_written(server: MailServer):
    await adapter_of(server).send(READER, "=?utf-8?q?hi?= there\nbody")
    assert only(server).subject == "=?utf-8?q?hi?= there"


PIECES = [
    *(
        "=?utf-8?q?a=0D=0A?=",
        "\r",
        "\n",
        "\r\n",
        "\x0b",
        "\x85",
        "\u2028",
        "\t",
        "  ",
        "Bcc: x@y.example",
        ".",
    ),
    *("From ", "ä", "😀", "e\u0301", "x" * 90, "ü" * 120, "=?", "?=", "<", ">", ",", '"', "(", "\\", "wort "),
]
TEXTS = st.one_of(
    st.text(),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.text(min_size=150, max_size=400),
)


def visible(text: str) -> str:
    """Return the text without blanks and control characters, which a mail may drop."""
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]", "", text)


@given(TEXTS)
def test_any_text_gives_a_sound_mail_with_one_reader_and_nothing_lost(text: str):
    raw = compose(text, sender=SENDER, recipient=read_address(READER), message_id="<1@mail.example>", unix_time=0)
    assert raw.isascii()
    assert raw.endswith(b"\r\n")
    assert b"\r" not in raw.replace(b"\r\n", b"")
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert max(map(len, raw.split(b"\r\n"))) <= 998  # RFC 5322, 2.1.1
    message = message_from_bytes(raw, policy=policy.default)
    assert len(message.keys()) == len(set(message.keys())) == 9
    assert [address.addr_spec for address in message["To"].addresses] == [READER]
    assert not message.defects
    subject = str(message["Subject"])
    assert len(subject) <= 200
    assert visible(text) in visible(subject + message.get_content())


@given(
    st.text("abcXYZ09!#$%&'*+/=?^_`{|}~-", min_size=1, max_size=64),
    st.lists(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?", fullmatch=True), min_size=1, max_size=5),
)
def test_any_address_stands_in_its_header_as_it_was_given(local: str, labels: list[str]):
    address = f"{local}@{'.'.join(labels)}"
    mailbox = read_address(address)
    assert mailbox.address == address
    raw = compose("hi", sender=mailbox, recipient=mailbox, message_id=f"<1@{mailbox.domain}>", unix_time=0)
    message = message_from_bytes(raw, policy=policy.default)
    assert [a.addr_spec for name in ("From", "To") for a in message[name].addresses] == [address, address]
    assert message["Message-ID"] == f"<1@{mailbox.domain}>"


# --- Targets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "remedy"),
    [
        ("a@x.example, b@y.example", "send to each address separately,"),
        ("a@x.example;b@y.example", "send to each address separately,"),
        ("a@x.example b@y.example", "write one address"),
        ("not-an-address", "write one address"),
        ("Bob <a@b.example>", "give only the address,"),
        ("<a@b.example>", "give only the address,"),
        ("@example.org", "write one address"),
        ("a@", "write one address"),
        ("a@b@c.example", "write one address"),
        (".a@b.example", "write one address"),
        ("a..b@c.example", "write one address"),
        ("a@-b.example", "write one address"),
        ("a@b..example", "write one address"),
        ("a@b_c.example", "write one address"),
        ("a@xn--\u00fc.example", "write one address"),
        ('"a b"@c.example', "write one address"),
        ("mailto:a@b.example", "write one address"),
        ("a" * 65 + "@b.example", "write one address"),
        ("a@" + "b" * 64 + ".example", "write one address"),
        ("a@" + "b.example" * 40, "write one address"),
    ],
)
async def test_a_target_that_is_not_one_address_is_refused_without_a_connection(target: str, remedy: str):
    async with scripted() as script:
        result = await script.adapter().send(target, "hello")
    assert not result.ok
    assert remedy in result.error
    assert script.lines == []


@pytest.mark.parametrize("control", ["\r\n", "\n", "\r", "\0", "\x0b", "\u2028"])
async def test_a_target_with_a_line_end_or_a_null_reaches_no_server(control: str):
    target = f"a@b.example{control}RCPT TO:<evil@example.org>"
    async with scripted() as script:
        adapter = script.adapter()
        result = await adapter.send(target, "hello")
        with pytest.raises(ChannelError):
            adapter.check_target(target)
    assert not result.ok
    assert script.lines == []


async def test_a_domain_with_other_letters_travels_as_xn(server: MailServer):
    result = await adapter_of(server).send("reader@straße.example", "hello")
    received = only(server)
    assert result.target == "reader@straße.example"
    assert received.target == "reader@xn--strae-oqa.example"
    assert parsed(received)["To"].addresses[0].addr_spec == "reader@xn--strae-oqa.example"


async def test_a_local_part_with_other_letters_arrives_where_the_server_takes_them(server: MailServer):
    assert (await adapter_of(server).send("jürgen@münchen.example", "Grüße\nhallo")).ok
    received = only(server)
    assert received.target == "jürgen@xn--mnchen-3ya.example"
    assert received.subject == "Grüße"
    assert "To: jürgen@xn--mnchen-3ya.example" in str(received.body)


async def test_a_local_part_with_other_letters_is_refused_where_the_server_does_not_take_them(
    server: MailServer,
):
    server.smtputf8 = False
    result = await adapter_of(server).send("jürgen@example.org", "hello")
    assert not result.ok
    assert "SMTPUTF8" in result.error
    assert len(server.recorder) == 0


# --- Security of the connection -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("port", "chosen", "security"),
    [
        ("465", "auto", "implicit"),
        ("587", "auto", "starttls"),
        ("25", "auto", "starttls"),
        ("2525", "auto", "starttls"),
        ("465", "starttls", "starttls"),
        ("587", "implicit", "implicit"),
    ],
)
def test_port_465_means_implicit_tls_and_every_other_one_starttls(port: str, chosen: str, security: str):
    assert adapter_for(int(port), SMTP_TLS=chosen).security == security


async def test_without_starttls_on_offer_no_login_is_sent():
    async with scripted() as script:
        receipt = await failed(script.adapter(SMTP_TLS="auto"))
    assert script.verbs == ["EHLO"]
    assert "STARTTLS" in receipt.result.error
    assert kind(receipt) is FailureKind.PERMANENT


async def test_a_refused_starttls_sends_no_login_either():
    async with scripted({"EHLO": EHLO.replace("SIZE", "STARTTLS"), "STARTTLS": "454 4.7.0 not now"}) as script:
        receipt = await failed(script.adapter(SMTP_TLS="starttls"))
    assert "AUTH" not in script.verbs
    assert kind(receipt) is FailureKind.TRANSIENT


@pytest.mark.parametrize("mode", ["starttls", "implicit"])
async def test_a_certificate_of_unknown_origin_is_refused(mode: Mode):
    async with MailServer(mode=mode) as server:
        receipt = await failed(adapter_of(server, SMTP_CA_FILE=""))
        await until_idle(server)
    assert "SMTP_CA_FILE" in receipt.result.error
    assert len(server.recorder) == 0


@pytest.mark.parametrize("mode", ["starttls", "implicit"])
async def test_a_certificate_for_another_host_is_refused(mode: Mode):
    async with MailServer(mode=mode, host="127.0.0.2") as server:
        receipt = await failed(adapter_of(server))
        await until_idle(server)
    assert "mismatch" in receipt.result.error


async def test_implicit_tls_on_a_port_that_starts_in_clear_names_port_587(secure_server: MailServer):
    receipt = await failed(adapter_of(secure_server, SMTP_TLS="implicit"))
    assert "TLS failed" in receipt.result.error
    assert "587" in receipt.result.error
    assert kind(receipt) is FailureKind.TRANSIENT


async def test_starttls_on_a_port_of_implicit_tls_names_the_setting():
    async with MailServer(mode="implicit") as server:
        for seconds in LIMITS_S:
            receipt = await failed(adapter_of(server, adapter=impatient(seconds), SMTP_TLS="starttls"))
            if "SMTP_TLS=implicit" in receipt.result.error:  # else it was not even connected in time
                break
    assert "SMTP_TLS=implicit" in receipt.result.error


async def test_no_tls_is_refused_for_a_public_address_before_any_connection(monkeypatch: pytest.MonkeyPatch):
    connections: list[object] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", lambda *to, **_: connections.append(to))
    receipt = await failed(adapter_for(25, host="8.8.8.8", SMTP_TLS="none"))
    assert "8.8.8.8" in receipt.result.error
    assert connections == []


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_an_unusable_ca_file_is_named(tmp_path: Any, content: str | None):
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    receipt = await failed(adapter_for(587, SMTP_CA_FILE=str(path)))
    assert "SMTP_CA_FILE" in receipt.result.error


# --- Login ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["starttls", "implicit"])
async def test_the_connection_test_names_the_account_and_begins_no_mail(mode: Mode):
    async with MailServer(mode=mode) as server:
        result = await adapter_of(server).test_connection()
    assert result == SendResult(True, "email", "", message=f"connected as {USER}")
    assert len(server.recorder) == 0


async def test_the_connection_test_ends_after_the_login():
    async with scripted() as script:
        result = await script.adapter(SMTP_USER="apikey", SMTP_FROM="a@b.example").test_connection()
    assert script.verbs == ["EHLO", "AUTH", "QUIT"]
    assert result.message == "connected as apikey@127.0.0.1"


async def test_the_connection_test_shows_a_bad_login(secure_server: MailServer):
    result = await adapter_of(secure_server, SMTP_PASS="wrong-password").test_connection()
    assert not result.ok
    assert result.error.startswith("535 5.7.8 Authentication credentials invalid: login failed; ")
    assert "wrong-password" not in result.error


async def test_a_refused_login_is_tried_once_by_one_method():
    async with scripted({"AUTH": "535 5.7.8 no"}) as script:
        await failed(script.adapter())
    assert script.verbs.count("AUTH") == 1


async def test_a_server_with_the_older_login_method_alone_works():
    changes = {"EHLO": "250-mail.example\r\n250 AUTH LOGIN"}
    user, secret = b64encode(USER.encode()).decode(), b64encode(PASSWORD.encode()).decode()
    async with scripted({**changes, "AUTH": "334 UGFzc3dvcmQ6", secret: "235 ok"}) as script:
        assert (await script.adapter().send(READER, "hello")).ok
    assert script.lines[1:3] == [f"AUTH LOGIN {user}", secret]


@pytest.mark.parametrize("ehlo", ["250-mail.example\r\n250 AUTH XOAUTH2", "250 mail.example"])
async def test_a_server_without_a_login_by_password_gets_no_password(ehlo: str):
    async with scripted({"EHLO": ehlo}) as script:
        receipt = await failed(script.adapter())
    assert (script.verbs, receipt.failure.provider_code) == (["EHLO"], "no AUTH")


async def test_the_password_is_masked_in_what_the_server_says():
    plain = b64encode(f"\0{USER}\0{PASSWORD}".encode()).decode()
    alone = b64encode(PASSWORD.encode()).decode()
    receipt = await refused({"AUTH": f"535 5.7.8 {PASSWORD} {alone} {plain} " + "x" * 500})
    assert receipt.failure is not None
    for text in (receipt.result.error, str(receipt.failure)):
        assert PASSWORD not in text
        assert alone not in text
        assert plain not in text
        assert "[secret]" in text
    assert len(receipt.result.error) < 400


# --- Refusals: one sentence with the code and the remedy --------------------------------------------


@pytest.mark.parametrize(
    ("verb", "answer", "remedy"),
    [
        ("AUTH", "535 5.7.8 Username and Password not accepted", "app password"),
        ("AUTH", "534 5.7.9 Application-specific password required", "app password"),
        ("AUTH", "534 5.7.14 Please log in via your web browser", "web login"),
        ("MAIL", "530 5.7.0 Must issue a STARTTLS command first", "SMTP_TLS"),
        (
            "AUTH",
            "550 5.7.30 Basic authentication is not supported",
            "Exchange Online no longer accepts passwords;",
        ),
        ("RCPT", "550 5.1.1 No such user here", "unknown recipient"),
        (".", "552 5.3.4 Message too big", "the message is too large; "),
        ("RCPT", "552 5.2.2 Over quota", "the mailbox is full; "),
        ("RCPT", "552 Too much", "too large or the mailbox is full"),
        ("MAIL", "553 5.7.1 Sender address rejected", "SMTP_FROM"),
        (".", "550 5.7.60 Client does not have permissions to send as this sender", "SMTP_FROM"),
        ("MAIL", "550 Go away", "ask its operator"),
        ("DATA", "554 5.5.1 No valid recipients", "the server does not accept this message"),
        (".", "554 5.7.1 Message rejected as spam", "refuses the content"),
        ("RCPT", "599 odd", "the server rejected"),
    ],
)
async def test_a_refusal_names_its_code_and_the_remedy(verb: str, answer: str, remedy: str):
    receipt = await refused({verb: answer})
    assert receipt.result.error.startswith(f"{answer}: ")
    assert remedy in receipt.result.error
    assert kind(receipt) is FailureKind.PERMANENT
    assert receipt.attempts == 1


@pytest.mark.parametrize("code", ["421 4.7.0", "450 4.2.0", "451", "452 4.3.1"])
@pytest.mark.parametrize("verb", ["greeting", "EHLO", "AUTH", "MAIL", "RCPT", "DATA", "."])
async def test_a_temporary_refusal_certainly_delivered_nothing(verb: str, code: str):
    receipt = await refused({verb: f"{code} Try later"})
    assert receipt.result.error.startswith(f"{code} Try later: temporary")
    assert kind(receipt) is FailureKind.TRANSIENT
    assert receipt.attempts == 1


async def test_a_refusal_of_many_lines_becomes_one_short_line():
    receipt = await refused({"AUTH": "535-5.7.8 No.\r\n535 5.7.8  See\thelp " + "y" * 300})
    assert receipt.result.error.startswith("535 5.7.8 No. See help yyy")
    assert "…: login failed" in receipt.result.error
    assert receipt.failure is not None
    assert receipt.failure.provider_code == "535 5.7.8"


async def test_a_server_that_is_none_is_named():
    receipt = await refused({"greeting": "HTTP/1.1 400 Bad Request"})
    assert "unexpected response" in receipt.result.error
    assert "SMTP_HOST and SMTP_PORT" in receipt.result.error


# --- How far it came ------------------------------------------------------------------------------


async def test_a_port_where_nobody_listens_is_transient():
    async with scripted() as script:
        port = script.port
    receipt = await failed(adapter_for(port, SMTP_TLS="none"))
    assert f"127.0.0.1:{port}: Connection refused" in receipt.result.error
    assert kind(receipt) is FailureKind.TRANSIENT


async def test_a_host_that_does_not_exist_is_transient():
    receipt = await failed(adapter_for(587, host="mail.invalid", adapter=impatient(0.75)))
    assert "mail.invalid:587" in receipt.result.error
    assert kind(receipt) is FailureKind.TRANSIENT


@pytest.mark.parametrize(("ending", "reason"), [(HANG, "no response in time"), (CLOSE, "connection lost")])
async def test_what_breaks_off_before_the_final_dot_delivered_nothing(ending: str, reason: str):
    async def break_off(verb: str) -> None:
        async with scripted({verb: ending}) as script:
            receipt = await failed_at(script)
        assert kind(receipt) is FailureKind.TRANSIENT
        assert f"{reason} ({verb})" in receipt.result.error

    await asyncio.gather(*map(break_off, ["greeting", "EHLO", "AUTH", "MAIL", "RCPT", "DATA"]))


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (HANG, "no response in time"),
        (CLOSE, "connection lost"),
        ("!?", "unexpected response"),
        ("354 more", "354"),
    ],
)
async def test_what_breaks_off_after_the_final_dot_has_an_unknown_outcome(ending: str, reason: str):
    async with scripted({".": ending}) as script:
        receipt = await failed_at(script)
    assert receipt.result.error.startswith("outcome unknown: ")
    assert reason in receipt.result.error
    assert kind(receipt) is FailureKind.AMBIGUOUS
    assert receipt.attempts == 1


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (mail.DROP_BEFORE_MAIL, FailureKind.TRANSIENT),
        (mail.DROP_AFTER_RCPT, FailureKind.TRANSIENT),
        (mail.DROP_AFTER_FINAL_DOT, FailureKind.AMBIGUOUS),
        (mail.NO_SUCH_USER, FailureKind.PERMANENT),
        (mail.TRY_LATER, FailureKind.TRANSIENT),
        (mail.LOGIN_REFUSED, FailureKind.PERMANENT),
    ],
)
async def test_a_fault_over_tls_is_judged_in_the_same_way(
    secure_server: MailServer, fault: Fault, expected: FailureKind
):
    secure_server.faults.push(fault)
    receipt = await failed(adapter_of(secure_server))
    assert kind(receipt) is expected
    assert (await adapter_of(secure_server).send(READER, "the next one works")).ok


async def test_a_server_that_hangs_up_amid_a_short_mail_delivered_nothing(
    secure_server: MailServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Session, "listen_s", PATIENCE_S)  # ends when the connection does
    secure_server.faults.push(mail.DROP_IN_DATA)
    receipt = await failed(adapter_of(secure_server, adapter=PatientAdapter))
    assert kind(receipt) is FailureKind.TRANSIENT
    assert "(DATA)" in receipt.result.error


async def test_a_server_that_stops_reading_amid_a_long_mail_delivered_nothing(
    secure_server: MailServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Session, "listen_s", PATIENCE_S)  # ends when the connection does
    secure_server.faults.push(mail.DROP_IN_DATA)
    receipt = await failed(adapter_of(secure_server, adapter=PatientAdapter), "long\n" + "x" * 20_000_000)
    assert kind(receipt) is FailureKind.TRANSIENT
    assert len(secure_server.recorder) == 0


@pytest.mark.parametrize("answer", [HANG, CLOSE, "500 5.5.1 what?", "421 4.3.2 closing"])
async def test_a_failing_quit_after_the_server_took_the_mail_is_success(answer: str):
    async with scripted({"QUIT": answer}) as script:
        assert (await script.adapter(PatientAdapter).send(READER, "hello")).ok
        for seconds in LIMITS_S:  # of which the shortest may not be enough for the mail itself
            result = await script.adapter(impatient(seconds)).send(READER, "hello")
            if result.ok:
                break
    assert result.ok


async def test_time_is_limited_over_the_whole_call_and_not_for_each_answer():
    async with MailServer(mode="plain") as server:
        for verb in ("MAIL", "RCPT", "DATA"):
            server.faults.push(Fault.stall(0.3).only(verb))
        receipt = await failed(adapter_of(server, adapter=impatient(0.75)))
    assert kind(receipt) is FailureKind.TRANSIENT


async def test_the_deadlines_are_those_of_the_specification():
    assert (EmailAdapter.spec.send_timeout_s, EmailAdapter.spec.test_timeout_s) == (15, 10)


async def test_a_connection_test_that_hangs_is_a_result():
    async with scripted({"AUTH": HANG}) as script:
        for seconds in LIMITS_S:
            result = await script.adapter(impatient(seconds)).test_connection()
            if script.hung:
                break
    assert not result.ok
    assert "(AUTH)" in result.error


# --- Settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["SMTP_HOST", "SMTP_USER", "SMTP_PASS"])
def test_an_adapter_without_a_required_value_is_a_channel_error(missing: str):
    with pytest.raises(ChannelError, match=missing):
        adapter_for(587, **{missing: ""})


def test_a_login_that_is_no_address_needs_a_sender():
    with pytest.raises(ChannelError, match="SMTP_USER"):
        adapter_for(587, SMTP_USER="apikey")


@pytest.mark.parametrize(
    "setting",
    [
        {"SMTP_HOST": "smtp://mail.example"},
        {"SMTP_HOST": "mail.example:587"},
        {"SMTP_FROM": "nobody"},
        {"SMTP_FROM": "a@b.example, c@d.example"},
        {"SMTP_FROM": "A\x0bB <a@b.example>"},
        {"SMTP_TLS": "ssl"},
        {"SMTP_PORT": "0"},
    ],
)
def test_a_malformed_setting_stops_the_start(setting: dict[str, str]):
    with pytest.raises(ConfigError, match=next(iter(setting))):
        adapter_for(587, **setting)


@pytest.mark.parametrize("host", ["mail.example", "mail", "10.0.0.1", "::1", "[::1]", "bücher.example"])
def test_a_host_is_a_name_or_an_address(host: str):
    adapter_for(587, host=host)


def test_loading_the_channel_costs_nothing_that_only_a_mail_needs():
    probe = (
        "import sys, tocsin.channels.email;"
        "print({m.partition('.')[0] for m in sys.modules} & {'email', 'ssl', 'asyncio', 'idna'})"
    )
    done = subprocess.run([sys.executable, "-I", "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


async def test_a_small_size_that_the_server_announces_is_said_in_bytes():
    async with scripted({"EHLO": EHLO.replace("1000000", "1000")}) as script:
        result = await script.adapter().send("a@b.example", "x" * 2_000)
    assert not result.ok
    assert re.search(r"the mail has 2,\d{3} bytes, \S+ takes 1,000 bytes", result.error), result.error
    assert "DATA" not in script.verbs
