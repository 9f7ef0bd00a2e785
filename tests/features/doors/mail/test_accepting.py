"""Mail to doors: who may send, to whom, and when it is accepted."""

import asyncio
import smtplib
from collections.abc import Awaitable, Callable

import pytest
from tests.features.doors.conftest import TEST
from tests.features.doors.mail.conftest import MAIL, MailBench


async def test_a_mail_with_a_login_becomes_a_message_of_the_profile(mail: MailBench):
    token = await mail.add()

    assert await mail.send("oncall@tocsin", login=("nas", token)) == {}
    [sent] = await mail.front.work()

    assert (sent.channel, sent.target, sent.message) == ("echo", "alerts", "/var has 1 % left")
    assert sent.content == {"title": "Disk full", "type": "info"}


async def test_a_mail_is_on_disk_before_it_is_accepted(mail: MailBench):
    token = await mail.add()
    await mail.send(f"oncall+{token}@tocsin")
    assert await mail.front.deliveries() == []

    mail.front.open()  # another process takes over
    assert [each.message for each in await mail.front.work()] == ["/var has 1 % left"]


@pytest.mark.parametrize(
    ("word", "type_", "priority"),
    [("ok", "success", 2), ("info", "info", 3), ("warning", "warning", 4), ("critical", "failure", 5)],
)
async def test_the_address_has_the_severity(mail: MailBench, word: str, type_: str, priority: int):
    token = await mail.add()
    await mail.send(f"oncall+{token}.{word}@tocsin")
    await mail.send(f"oncall.{word}@elsewhere.example", login=("nas@tocsin", token))

    found = {(each.content["type"], each.content.get("priority", 3)) for each in await mail.front.work()}
    assert found == {(type_, priority)}


async def test_each_recipient_gets_a_message(mail: MailBench):
    token = await mail.add()
    await mail.send("oncall.critical@x", "quiet@x", "nas@x", login=("nas", token))

    sent = await mail.front.work()
    assert sorted((each.target, each.content["type"]) for each in sent) == [
        ("alerts", "failure"),
        ("alerts", "info"),
        ("quiet", "info"),
    ]
    assert (await mail.front.last("nas")).note.startswith("3 messages")


async def test_without_a_token_mail_is_refused(mail: MailBench):
    await mail.add()
    with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
        await mail.send("oncall@tocsin")
    [(code, text)] = refused.value.recipients.values()
    assert (code, b"relays no mail" in text) == (550, True)


@pytest.mark.parametrize("to", ["oncall+nonsense@x", "someone@example.org", "nobody@example.org"])
async def test_nothing_is_relayed(mail: MailBench, to: str):
    token = await mail.add()
    login = ("nas", token) if "+" not in to else None
    with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
        await mail.send(to, login=login)
    assert [code for code, _ in refused.value.recipients.values()] == [550]


async def test_a_listed_address_needs_no_token_and_others_are_refused_even_with_one(mail: MailBench):
    await mail.add("near", sources=["127.0.0.0/8"])
    far = await mail.add("far", sources=["10.0.0.0/8"])

    assert await mail.send("oncall@x") == {}
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        await mail.send(f"oncall+{far}@x")
    assert (await mail.front.last("far")).state == "refused"


@pytest.mark.parametrize("user", ["other", "", "nas"])
async def test_a_wrong_login_is_refused(mail: MailBench, user: str):
    token = await mail.add()
    webhook = await mail.front.add("hook")
    for wrong in ("nonsense", webhook.token, token if user != "nas" else "", token.upper()):
        with pytest.raises(smtplib.SMTPAuthenticationError):
            await mail.send("oncall@x", login=(user, wrong))


async def test_a_removed_door_takes_no_more_mail_of_an_open_connection(mail: MailBench):
    token = await mail.add()

    def remove() -> Awaitable[object]:
        return mail.front.doors.remove("nas", TEST)

    assert await codes_around(mail, token, remove) == [250, 550, 451]
    assert await mail.front.work() == []


async def test_a_store_that_fails_asks_the_client_to_try_again(mail: MailBench):
    token = await mail.add()
    assert await codes_around(mail, token, mail.front.bench.app.stores.database.aclose) == [250, 451, 451]


async def codes_around(mail: MailBench, token: str, event: Callable[[], Awaitable[object]]) -> list[int]:
    """Return the answers to a recipient, and after the event to another one and to the content."""
    loop = asyncio.get_running_loop()

    async def happen() -> None:
        await event()

    def work(client: smtplib.SMTP) -> list[int]:
        client.login("nas", token)
        client.mail("a@example.org")
        codes = [client.rcpt("oncall@x")[0]]
        asyncio.run_coroutine_threadsafe(happen(), loop).result()
        codes.append(client.rcpt("quiet@x")[0])
        try:
            return [*codes, client.data(MAIL)[0]]
        except smtplib.SMTPDataError as error:
            return [*codes, error.smtp_code]

    return await mail.talk(work)


async def test_beyond_the_limit_of_a_door_clients_are_asked_to_try_again(mail: MailBench):
    token = await mail.add(rate=1)
    await mail.send(f"oncall+{token}@x", f"quiet+{token}@x")  # one mail
    with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
        await mail.send(f"oncall+{token}@x")
    assert [code for code, _ in refused.value.recipients.values()] == [451]


async def test_a_mail_that_is_sent_again_after_a_lost_answer_is_one_message(mail: MailBench):
    token = await mail.add()
    dated = b"Message-ID: <1@nas>\r\nDate: Fri, 27 Nov 2026 12:00:00 +0000\r\n" + MAIL
    for raw in (dated, dated, MAIL, MAIL):
        await mail.send(f"oncall+{token}@x", mail=raw)

    assert len(await mail.front.work()) == 3


async def test_a_mail_of_a_device_with_eight_bit_headers_and_no_date_is_taken(mail: MailBench):
    token = await mail.add()
    device = "Subject: Störung im Gerät\r\nX-Device: Café\r\n\r\nLüfter 2 ist ausgefallen\r\n"
    for encoding in ("utf-8", "latin-1"):
        assert await mail.send(f"oncall+{token}@x", mail=device.encode(encoding)) == {}

    sent = await mail.front.work()

    assert [(each.content["title"], each.message) for each in sent] == [
        ("Störung im Gerät", "Lüfter 2 ist ausgefallen")
    ] * 2
