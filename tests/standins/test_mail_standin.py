import asyncio
import smtplib
import ssl
from email.message import EmailMessage

import pytest
from tests.waiting import PATIENCE_S, eventually

from tocsin_standins import Fault, mail
from tocsin_standins.mail import MailServer


@pytest.fixture
async def server():
    async with MailServer() as server:
        yield server


def letter(subject="Disk full", body="92 %\nof /var"):
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "t@mail.example", "a@x.example", subject
    message["Message-ID"] = "<1@mail.example>"
    message.set_content(body)
    return message


class Client:
    """smtplib in a thread; each call is one whole session."""

    def __init__(self, server):
        self.server = server

    def connect(self, *, login=True, tls=True):
        context = ssl.create_default_context(cafile=str(self.server.ca_file))
        where = {"host": self.server.host, "port": self.server.port, "timeout": PATIENCE_S}
        if self.server.mode == "implicit":
            session = smtplib.SMTP_SSL(**where, context=context)
        else:
            session = smtplib.SMTP(**where)
            if tls and self.server.mode == "starttls":
                session.starttls(context=context)
        if login:
            try:
                session.login(self.server.user, self.server.password)
            except OSError:
                session.close()
                raise
        return session

    async def send(self, message=None, to=("a@x.example",), **connecting):
        def run():
            with self.connect(**connecting) as session:
                return session.send_message(message or letter(), "t@mail.example", list(to))

        return await asyncio.to_thread(run)

    async def do(self, act, **connecting):
        def run():
            with self.connect(**connecting) as session:
                return act(session)

        return await asyncio.to_thread(run)


@pytest.mark.parametrize("mode", ["starttls", "implicit", "plain"])
async def test_a_message_arrives_in_every_mode(mode):
    async with MailServer(mode=mode) as server:
        assert await Client(server).send() == {}
        [received] = server.recorder.of("email")
    assert (received.target, received.subject, received.text) == (
        "a@x.example",
        "Disk full",
        "92 %\nof /var",
    )
    assert (received.id, received.account) == ("<1@mail.example>", server.user)
    assert received.headers["mail_from"] == "t@mail.example"
    assert "Subject: Disk full\r\n" in received.body


async def test_every_recipient_has_an_entry(server):
    await Client(server).send(to=("a@x.example", "b@x.example"))
    assert [m.target for m in server.recorder.of("email")] == ["a@x.example", "b@x.example"]


async def test_encoded_text_is_shown_decoded(server):
    await Client(server).send(letter("Größe ☃", "naïve\n\nü"))
    [received] = server.recorder.of("email")
    assert (received.subject, received.text) == ("Größe ☃", "naïve\n\nü")


async def test_the_certificate_comes_from_the_shown_authority_only(server):
    def without_authority():
        with smtplib.SMTP(server.host, server.port, timeout=PATIENCE_S) as session:
            session.starttls(context=ssl.create_default_context())

    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.to_thread(without_authority)


async def test_nothing_goes_before_starttls(server):
    answer = await Client(server).do(lambda s: s.docmd("MAIL FROM:<t@mail.example>"), login=False, tls=False)
    assert answer[0] == 530


async def test_nothing_goes_without_a_login(server):
    def try_mail(session):
        session.ehlo()
        return session.mail("t@mail.example")

    assert await Client(server).do(try_mail, login=False) == (530, b"5.7.0 Authentication required")


async def test_the_plain_server_offers_no_starttls():
    async with MailServer(mode="plain") as server:

        def offers(session):
            session.ehlo()
            return session.has_extn("starttls")

        assert await Client(server).do(offers, login=False) is False


@pytest.mark.parametrize("mechanism", ["LOGIN", "PLAIN"])
async def test_both_ways_to_log_in_work_and_a_wrong_password_does_not(server, mechanism):
    def log_in(session):
        session.ehlo()
        session.user, session.password = server.user, server.password
        return session.auth(mechanism, getattr(session, f"auth_{mechanism.lower()}"))

    assert (await Client(server).do(log_in, login=False))[0] == 235
    with pytest.raises(smtplib.SMTPAuthenticationError) as refused:
        await Client(server).do(lambda s: s.login(server.user, "wrong"), login=False)
    assert refused.value.smtp_code == 535
    assert refused.value.smtp_error.startswith(b"5.7.8")


async def test_smtputf8_is_offered_unless_switched_off(server):
    def offers(session):
        session.ehlo()
        return session.has_extn("smtputf8")

    assert await Client(server).do(offers) is True
    server.smtputf8 = False
    assert await Client(server).do(offers) is False


async def test_a_refused_login_can_be_scripted(server):
    server.faults.push(mail.LOGIN_REFUSED, mail.LOGIN_REFUSED)  # smtplib tries PLAIN, then LOGIN
    with pytest.raises(smtplib.SMTPAuthenticationError) as refused:
        await Client(server).send()
    assert (refused.value.smtp_code, refused.value.smtp_error[:5]) == (535, b"5.7.8")


async def test_a_recipient_can_be_refused(server):
    server.faults.push(mail.NO_SUCH_USER)
    assert await Client(server).send(to=("gone@x.example", "a@x.example")) == {
        "gone@x.example": (550, b"5.1.1 No such user here")
    }
    assert [m.target for m in server.recorder.of("email")] == ["a@x.example"]


async def test_a_temporary_failure_passes(server):
    server.faults.push(mail.TRY_LATER)
    with pytest.raises(smtplib.SMTPSenderRefused) as refused:
        await Client(server).send()
    assert refused.value.smtp_code == 451
    assert await Client(server).send() == {}


async def test_content_can_be_refused(server):
    server.faults.push(Fault.error("552 5.3.4 Message too big").only("DATA"))
    with pytest.raises(smtplib.SMTPDataError) as refused:
        await Client(server).send()
    assert refused.value.smtp_code == 552


@pytest.mark.parametrize("mode", ["starttls", "implicit", "plain"])
@pytest.mark.parametrize(
    ("fault", "recorded"),
    [
        (mail.DROP_BEFORE_MAIL, 0),
        (mail.DROP_AFTER_RCPT, 0),
        (mail.DROP_IN_DATA, 0),
        (mail.DROP_AFTER_FINAL_DOT, 1),
    ],
)
async def test_a_dropped_connection_leaves_the_message_only_after_the_final_dot(mode, fault, recorded):
    async with MailServer(mode=mode) as server:
        server.faults.push(fault)
        with pytest.raises((smtplib.SMTPServerDisconnected, OSError)):
            await Client(server).send()
        assert len(server.recorder.of("email")) == recorded
        assert all(m.fault == "reset_after_accept" for m in server.recorder.of("email"))
        assert await Client(server).send() == {}


async def test_a_stall_delays_the_answer(server):
    server.faults.push(Fault.stall(0.01).only("DATA"), Fault.stall(86_400).only("DATA"))
    assert await Client(server).send() == {}
    sending = asyncio.create_task(Client(server).send())
    await eventually(lambda: not server.faults.as_json()["faults"])
    assert await Client(server).send() == {}
    assert not sending.done()
    await server.stop()
    await asyncio.gather(sending, return_exceptions=True)


async def test_stopping_ends_open_sessions(caplog):
    async with MailServer() as server:
        session = await asyncio.to_thread(Client(server).connect)
    with pytest.raises((smtplib.SMTPServerDisconnected, OSError)):
        await asyncio.to_thread(session.docmd, "NOOP")
    session.close()
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


async def test_an_ordinary_session_leaves_the_log_quiet(server, caplog):
    await Client(server).send()
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
