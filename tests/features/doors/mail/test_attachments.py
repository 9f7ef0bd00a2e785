"""Attachments of mails, sent with each message of the mail."""

import smtplib
from email.message import EmailMessage
from pathlib import Path

import pytest
from tests.features.doors.conftest import names_of
from tests.features.doors.mail.conftest import MailBench, open_mail

MIB = 1024 * 1024


def scan(*files: tuple[str, bytes]) -> bytes:
    mail = EmailMessage()
    mail["Subject"] = "Scan"
    mail.set_content("two pages")
    for name, content in files:
        mail.add_attachment(content, maintype="application", subtype="pdf", filename=name)
    return mail.as_bytes()


async def test_attachments_of_a_mail_are_sent_to_each_recipient(mail: MailBench):
    token = await mail.add()
    await mail.send(f"oncall+{token}@x", f"quiet+{token}@x", mail=scan(("scan.pdf", b"%PDF"), ("b.pdf", b"%PDF2")))

    sent = await mail.front.work()

    assert [(each.target, each.message, names_of(each)) for each in sent] == [
        ("alerts", "two pages", ["scan.pdf", "b.pdf"]),
        ("quiet", "two pages", ["scan.pdf", "b.pdf"]),
    ]
    assert len(await mail.front.bench.app.files().store().hashes()) == 2
    assert [each["name"] for each in sent[0].content["attach"]] == ["scan.pdf", "b.pdf"]


async def test_attachments_beyond_the_limit_are_named_in_the_note(tmp_path: Path):
    async with open_mail(tmp_path, {"MAX_FILES_MB": "1"}) as mail:
        token = await mail.add()
        await mail.send(f"oncall+{token}@x", mail=scan(("a.pdf", b"%PDF"), ("big.pdf", bytes(MIB + 1))))
        [sent] = await mail.front.work()

        assert names_of(sent) == ["a.pdf"]
        assert "big.pdf" in (await mail.front.last("nas")).note


async def test_a_mail_whose_attachments_do_not_fit_in_is_tried_again_later(tmp_path: Path):
    async with open_mail(tmp_path, {"FILES_QUOTA_MB": "1"}) as mail:
        token = await mail.add()
        with pytest.raises(smtplib.SMTPDataError) as refused:
            await mail.send(f"oncall+{token}@x", mail=scan(("big.pdf", bytes(MIB + 1))))
        assert refused.value.smtp_code == 452

        await mail.send(f"oncall+{token}@x", mail=b"Subject: long\r\n\r\n" + b"text\r\n" * MIB)
        await mail.send(f"oncall+{token}@x", mail=scan(("small.pdf", b"%PDF")))
        assert [names_of(each) for each in await mail.front.work()] == [[], ["small.pdf"]]
