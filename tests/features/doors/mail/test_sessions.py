"""Sessions: encryption, LMTP, and clients that are hostile, slow or many."""

import asyncio
import logging
import os
import smtplib
import socket
import ssl
import stat
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import trustme
from tests.features.doors.conftest import open_front
from tests.features.doors.mail.conftest import MAIL, MailBench, answer, open_mail
from tests.ports import free_port
from tests.waiting import eventually

from tocsin.core.errors import ConfigError
from tocsin.features.doors.mail.listener import MAX_PER_ADDRESS, MailListener, mail_tls
from tocsin.features.doors.mail.receiver import MailReceiver
from tocsin.features.doors.metrics import METRICS, REFUSED_MAIL


@pytest.fixture
def authority(tmp_path: Path) -> trustme.CA:
    return trustme.CA()


def certified(authority: trustme.CA, tmp_path: Path) -> Mapping[str, str]:
    """Write a certificate, and return the settings for it."""
    found = authority.issue_cert("localhost", "127.0.0.1")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(b"".join(each.bytes() for each in found.cert_chain_pems))
    key.write_bytes(found.private_key_pem.bytes())
    return {"SMTP_IN_TLS_CERT": str(cert), "SMTP_IN_TLS_KEY": str(key)}


@pytest.fixture
async def encrypted(authority: trustme.CA, tmp_path: Path) -> AsyncIterator[MailBench]:
    async with open_mail(tmp_path, certified(authority, tmp_path)) as mail:
        yield mail


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_with_a_certificate_tokens_are_taken_only_encrypted(encrypted: MailBench, authority: trustme.CA):
    token = await encrypted.add()

    def work(client: smtplib.SMTP) -> list[object]:
        client.ehlo()
        found: list[object] = ["auth" in client.esmtp_features, client.docmd("AUTH PLAIN AG5hcwB4")[0]]
        client.mail("a@example.org")
        found.append(client.rcpt(f"oncall+{token}@x")[0])
        client.starttls(context=trusting(authority))
        client.login("nas", token)
        return [*found, client.sendmail("a@example.org", ["oncall@x"], MAIL)]

    assert await encrypted.talk(work) == [False, 538, 530, {}]
    assert len(await encrypted.front.work()) == 1


async def test_a_renewed_certificate_is_used_without_a_restart(
    encrypted: MailBench, tmp_path: Path, authority: trustme.CA
):
    other = trustme.CA()
    certified(other, tmp_path)
    os.utime(tmp_path / "cert.pem", (2_000_000_000, 2_000_000_000))
    encrypted.front.clock.advance(61)

    def work(client: smtplib.SMTP) -> int:
        return client.starttls(context=trusting(other))[0]

    async def is_renewed() -> bool:
        try:
            return await encrypted.talk(work) == 220
        except ssl.SSLError:
            return False

    assert await eventually(is_renewed)


async def test_clients_may_begin_with_tls(authority: trustme.CA, tmp_path: Path):
    settings = {**certified(authority, tmp_path), "SMTP_IN_TLS_PORT": str(free_port())}
    async with open_mail(tmp_path, settings) as mail:
        token = await mail.add()

        def work() -> tuple[int, dict[str, object]]:
            port, context = int(settings["SMTP_IN_TLS_PORT"]), trusting(authority)
            with smtplib.SMTP_SSL("127.0.0.1", port, timeout=60, context=context) as client:
                client.ehlo()
                again = client.docmd("STARTTLS")[0]
                client.login("nas", token)
                return again, client.sendmail("a@example.org", ["oncall@x"], MAIL)

        assert await asyncio.to_thread(work) == (454, {})
        assert [each.target for each in await mail.front.work()] == ["alerts"]


async def test_a_port_for_tls_needs_a_certificate(tmp_path: Path):
    async with open_front(tmp_path, {"SMTP_IN_TLS_PORT": str(free_port())}) as front:
        with pytest.raises(ConfigError, match="SMTP_IN_TLS_PORT needs a certificate"):
            mail_tls(front.bench.app.settings)
        assert any("SMTP_IN_TLS_PORT" in str(each) for each in await front.bench.findings())


async def test_refused_mail_is_counted_by_its_reason(tmp_path: Path):
    async with open_mail(tmp_path, {"SMTP_IN_MAX_MB": "1"}) as mail:
        token = await mail.add(rate=1)

        def work(client: smtplib.SMTP) -> None:
            client.ehlo()
            with pytest.raises(smtplib.SMTPAuthenticationError):
                client.login("nas", "wrong")
            client.mail("a@example.org")
            client.rcpt("nobody@x")
            client.rcpt(f"oncall+{token}@x")
            client.data(b"x" * (1024 * 1024 + 10))
            client.mail("a@example.org")
            client.rcpt(f"oncall+{token}@x")

        await mail.talk(work)
        found = await METRICS.read(mail.front.doors)

    assert {each.labels: each.value for each in found if each.metric is REFUSED_MAIL} == {
        ("login",): 2, ("recipient",): 1, ("size",): 1, ("limit",): 1
    }  # fmt: skip


async def test_what_is_sent_before_tls_begins_is_not_read(encrypted: MailBench, authority: trustme.CA):
    def work() -> bytes:
        with socket.create_connection(("127.0.0.1", encrypted.port), timeout=60) as plain:
            answers = plain.makefile("rb", buffering=0)  # reads not a byte of what follows
            answer(answers)
            plain.sendall(b"EHLO x\r\n")
            answer(answers)
            plain.sendall(b"STARTTLS\r\nEHLO hidden\r\nMAIL FROM:<hidden@example.org>\r\n")
            assert answer(answers).startswith(b"220 ")
            with trusting(authority).wrap_socket(plain, server_hostname="localhost") as client:
                client.sendall(b"RCPT TO:<oncall@x>\r\n")
                return client.recv(4096)

    assert (await asyncio.to_thread(work)).startswith(b"503 ")  # neither EHLO nor MAIL was seen


@pytest.mark.parametrize("end", [b"\n.\n", b"\r\n.\n", b"\n.\r\n", b"\r.\r", b"\n..\r\n"])
async def test_no_mail_hides_another_one(mail: MailBench, end: bytes):
    token = await mail.add()
    hidden = (
        b"MAIL FROM:<evil@example.org>\r\nRCPT TO:<quiet+%s@x>\r\nDATA\r\nSubject: hidden\r\n\r\nx" % token.encode()
    )
    answers = await mail.raw(
        b"EHLO x\r\n",
        b"MAIL FROM:<a@example.org>\r\n",
        b"RCPT TO:<oncall+%s@x>\r\n" % token.encode(),
        b"DATA\r\n",
        b"Subject: s\r\n\r\nfirst" + end + hidden + b"\r\n.\r\n",
    )

    [sent] = await mail.front.work()

    assert answers.count(b"250 2.0.0") == 1
    assert (sent.target, "MAIL FROM:<evil@example.org>" in sent.message) == ("alerts", True)


async def test_of_a_thousand_recipients_the_first_hundred_are_accepted(mail: MailBench):
    token = await mail.add()

    def work(client: smtplib.SMTP) -> list[int]:
        client.login("nas", token)
        client.mail("a@example.org")
        codes = [client.rcpt("oncall@x")[0] for _ in range(1_000)]
        return [*codes, client.data(MAIL)[0]]

    codes = await mail.talk(work)
    assert (codes.count(250), codes.count(452)) == (101, 900)
    assert len(await mail.front.work()) == 1  # one target is named a hundred times


async def test_a_mail_beyond_the_limit_is_refused(tmp_path: Path):
    async with open_mail(tmp_path, {"SMTP_IN_MAX_MB": "1"}) as mail:
        token = await mail.add()
        large = MAIL + b"x" * 500 + b"\r\n" + (b"y" * 70 + b"\r\n") * 15_000

        def announced(client: smtplib.SMTP) -> int:
            client.ehlo()
            return client.mail("a@example.org", ["SIZE=2000000"])[0]

        def unannounced(client: smtplib.SMTP) -> int:
            client.login("nas", token)
            client.mail("a@example.org")
            client.rcpt("oncall@x")
            return client.data(large)[0]

        assert await mail.talk(announced) == 552
        assert await mail.talk(unannounced) == 552
        assert await mail.front.work() == []


@pytest.mark.parametrize("content", [b"x" * 3_000_000, b"\r\n" * 1_500_000, b""], ids=["one line", "lines", "nothing"])
async def test_content_of_lines_of_any_length_is_taken(mail: MailBench, content: bytes):
    token = await mail.add()
    assert await mail.send(f"oncall+{token}@x", mail=content) == {}
    assert len(await mail.front.work()) == 1


async def test_commands_that_follow_a_mail_at_once_are_read_and_leading_dots_are_restored(mail: MailBench):
    token = (await mail.add()).encode()
    head = b"MAIL FROM:<a@x>\r\nRCPT TO:<oncall+%s@x>\r\n" % token
    both = b"..one\r\n.two\r\n.\r\nMAIL FROM:<a@x>\r\nRCPT TO:<quiet+%s@x>\r\nDATA\r\n" % token
    answers = await mail.raw(
        b"EHLO x\r\n", head, b"", b"DATA\r\n", b"\r\n" + both, b"", b"", b"", b".\r\n", b"QUIT\r\n"
    )

    assert (answers.count(b"250 2.0.0"), answers.count(b"354 ")) == (2, 2)
    assert {each.target: each.message for each in await mail.front.work()} == {
        "alerts": ".one\ntwo",
        "quiet": "(empty)",
    }


async def test_mail_without_a_sender_is_taken(mail: MailBench):
    token = await mail.add()

    def work(client: smtplib.SMTP) -> dict:
        client.ehlo()
        return client.sendmail("", [f"oncall+{token}@x"], MAIL)

    assert await mail.talk(work) == {}


async def test_nonsense_ends_no_service(mail: MailBench):
    token = await mail.add()
    for junk in (
        b"\x00\xff\r\n",
        b"\r\n",
        b"GET / HTTP/1.1\r\n",
        b"AUTH PLAIN %%%\r\n",
        b"A" * 10_000 + b"\r\n",
        b"EHLO \xff\r\n",
        b"MAIL FROM:<" + b"a" * 600 + b">\r\n",
        b'RCPT TO:<"' + b"x" * 300 + b"\r\n",
        b"\x16\x03\x01\x02\x00\n",
    ):
        assert (await mail.raw(junk)).count(b"\r\n") >= 2
    assert await mail.send(f"oncall+{token}@x") == {}


async def test_after_three_wrong_passwords_the_connection_ends(mail: MailBench):
    await mail.add()
    wrong = b"AUTH PLAIN AG5hcwB4\r\n"
    answers = await mail.raw(b"EHLO x\r\n", wrong, wrong, wrong)
    assert (answers.count(b"535 "), answers.count(b"421 ")) == (2, 1)


async def test_an_address_that_is_refused_too_often_is_turned_away(tmp_path: Path):
    async with open_mail(tmp_path, {"RATE_LIMIT_PER_IP": "2"}) as mail:
        await mail.add()
        answers = await mail.raw(b"EHLO x\r\n", b"MAIL FROM:<a@x>\r\n", *[b"RCPT TO:<a@x>\r\n"] * 3)
        assert (answers.count(b"550 "), answers.count(b"421 ")) == (2, 1)


async def test_one_address_cannot_take_all_connections(mail: MailBench):
    clients = [await asyncio.open_connection("127.0.0.1", mail.port) for _ in range(MAX_PER_ADDRESS + 1)]
    greetings = [await reader.readline() for reader, _ in clients]
    for _, writer in clients:
        writer.close()
    assert [each[:3] for each in greetings] == [b"220"] * MAX_PER_ADDRESS + [b"421"]


async def test_a_client_that_says_nothing_is_cut_off(mail: MailBench):
    door = mail.front.at_the_door
    door.mail.stop()
    listener = MailListener(mail.front.bench.service.context, receiver_of(mail), idle_s=0.01)
    await eventually(lambda: _is_closed(mail.port))
    running = asyncio.create_task(listener.run())
    await eventually(lambda: listener.addresses)
    reader, writer = await asyncio.open_connection("127.0.0.1", mail.port)
    assert (await reader.read()).startswith(b"220 ")  # to its end
    writer.close()
    listener.stop()
    await running


def receiver_of(mail: MailBench) -> MailReceiver:
    door = mail.front.at_the_door
    return MailReceiver(mail.front.doors, door.receiver, door.worker)


def _is_closed(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


async def test_a_port_in_use_is_logged_and_tried_again(mail: MailBench, caplog: pytest.LogCaptureFixture):
    door, context = mail.front.at_the_door, mail.front.bench.service.context
    second = MailListener(context, receiver_of(mail))
    running = asyncio.create_task(second.run())
    await eventually(lambda: "cannot listen" in str([each.__dict__ for each in caplog.records]))
    door.mail.stop()
    await eventually(lambda: _is_closed(mail.port))
    mail.front.clock.advance(10)
    await eventually(lambda: second.addresses)
    second.stop()
    await running


async def test_no_token_appears_in_the_log(mail: MailBench, caplog: pytest.LogCaptureFixture):
    token = await mail.add()
    with caplog.at_level(logging.DEBUG):
        await mail.send("oncall@x", login=("nas", token))
        await mail.send(f"oncall+{token}@x")
        for wrong in (f"nobody+{token}@x", f"oncall+x{token}@x"):
            with pytest.raises(smtplib.SMTPRecipientsRefused):
                await mail.send(wrong)
        await mail.front.work()
    assert token not in str([each.__dict__ for each in caplog.records])


async def test_a_mail_server_on_this_machine_needs_no_token(tmp_path: Path):
    path = tmp_path / "lmtp"
    async with open_mail(tmp_path, {"LMTP_IN_SOCKET": str(path), "SMTP_IN_MAX_MB": "1"}) as mail:
        await mail.add()
        large = b"y" * 70 + b"\r\n"

        def work() -> list[int]:
            with smtplib.LMTP(str(path)) as client:
                client.ehlo()
                found = []
                for content in (MAIL, MAIL + large * 20_000):
                    client.mail("a@x")
                    found += [client.rcpt(each)[0] for each in ("oncall.warning@x", "nobody@x", "quiet@x")]
                    found += [client.data(content)[0], client.getreply()[0]]  # one for each accepted recipient
                return [*found, client.docmd("NOOP")[0], stat.S_IMODE(path.stat().st_mode)]

        codes = await asyncio.to_thread(work)
        sent = await mail.front.work()

    assert codes == [250, 550, 250, 250, 250, 250, 550, 250, 552, 552, 250, 0o660]
    assert sorted((each.target, each.content["type"]) for each in sent) == [("alerts", "warning"), ("quiet", "info")]
    assert not path.exists()


async def test_a_socket_that_a_crash_left_is_replaced(tmp_path: Path):
    path = tmp_path / "lmtp"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    async with open_mail(tmp_path, {"LMTP_IN_SOCKET": str(path)}):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


async def test_the_doctor_names_what_mail_lacks(tmp_path: Path, authority: trustme.CA):
    broken = {**certified(authority, tmp_path), "SMTP_IN_HOST": "0.0.0.0"}
    (tmp_path / "key.pem").write_text("nonsense")
    async with open_mail(tmp_path, {"SMTP_IN_HOST": "0.0.0.0"}) as mail:
        findings = [each.detail for each in await mail.front.bench.findings()]
        assert any("0.0.0.0" in each for each in findings)
        assert "mail is on, but no door takes it" in findings
    (tmp_path / "other").mkdir()
    async with open_front(tmp_path / "other", {**broken, "SMTP_IN_PORT": "2525"}) as front:
        assert any("cannot use the certificate" in each.detail for each in await front.bench.findings())
