"""What is read of a mail."""

import json
from email.message import EmailMessage

import pytest
from tests.features.doors.mail.conftest import MailBench

from tocsin.channels.layout.html import html_text
from tocsin.features.doors.mail.reading import read_mail

PAGE = (
    '<html><head><title>x</title><style>p{}</style><body><p>Disk&nbsp;<b>full</b><br>1 &lt; 2 <a href="https://x.org/?a&amp;b">'
    "here</a></p><!-- no --><ul><li>one<li>two</ul><![if !mso]>end<![endif]>"
)


def text_of(raw: bytes) -> str:
    return str(read_mail(raw).payload["text"])


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        (b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= =?utf-8?b?w6Q=?=", "Grüßeä"),
        ("Subject: Grüße".encode(), "Grüße"),
        ("Subject: Grüße".encode("latin-1"), "Grüße"),
        (b"Subject: =?nonsense?q?a=C3=A4?=", "aä"),
        (b"Subject: =?utf-8?b?w6Q?=", "ä"),
        (b"Subject: one\r\n two\r\n\tthree", "one two three"),
        (b"SUBJECT:none\r\nSubject: second", "none"),
        (b"X: y", ""),
        (b"", ""),
    ],
)
def test_subjects_of_all_kinds_are_read(raw: bytes, subject: str):
    assert read_mail(raw + b"\r\n\r\ntext").payload["subject"] == subject


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        (b"", b"plain\r\n\r\ntext", "plain\n\ntext"),
        (b"", "grüße".encode("latin-1"), "grüße"),
        (b"Content-Type: text/plain; charset=cp1252\r\n", b"5 \x80", "5 €"),
        (b"Content-Type: text/plain; charset=nonsense\r\n", "grüße".encode(), "grüße"),
        (b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n", b"Z3LDvMOfZQ==", "grüße"),
        (b"Content-Transfer-Encoding: quoted-printable\r\n", b"a=\r\nb=C3=A4", "abä"),
        (
            b"Content-Type: text/html\r\n",
            PAGE.encode(),
            "Disk full\n1 < 2 here (https://x.org/?a&b)\n\n• one\n• two\n\nend",
        ),
        (b"Content-Type: multipart/mixed; boundary=x\r\n", b"--x\r\n\r\nnever closed", "never closed"),
        (b"Content-Type: multipart/mixed\r\n", b"no boundary", "no boundary"),
    ],
)
def test_bodies_of_all_kinds_are_read(head: bytes, body: bytes, text: str):
    assert text_of(head + b"\r\n" + body) == text


def test_the_text_is_preferred_to_html_and_files_are_listed():
    mail = EmailMessage()
    mail["Subject"] = "Report"
    mail.set_content("the text")
    mail.add_alternative("<p>the page</p>", subtype="html")
    mail.add_attachment(b"x" * 2_000, maintype="application", subtype="pdf", filename="Übersicht.pdf")

    found = read_mail(mail.as_bytes())

    assert found.payload["text"] == "the text"
    assert [each.content for each in found.files] == [b"x" * 2_000]
    assert found.payload["attachments"] == [{"name": "Übersicht.pdf", "type": "application/pdf", "size": 2_000}]


def test_html_without_text_is_turned_into_text_also_beside_an_empty_one():
    mail = EmailMessage()
    mail.set_content("\n")
    mail.add_alternative("<div>Power<br>restored</div>", subtype="html")
    assert text_of(mail.as_bytes()) == "Power\nrestored"


@pytest.mark.parametrize(
    "part",
    [
        "<",
        "<!--",
        "<a ",
        "</",
        "<![",
        "&#",
        '<a href="',
        "<p>",
        "<ul><li>",
        "<b>",
        "<?",
        "<a b='",
        "<a href=x>y",
        "\x00",
    ],
)
def test_a_hostile_page_is_read_to_its_end(part: str):
    assert len(html_text(part * (128 * 1024 // len(part)))) <= 300 * 1024


DEEP = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(3_000))


@pytest.mark.parametrize(
    "raw",
    [
        DEEP,
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 500_000,
        b"Content-Type: message/rfc822\r\n\r\n" * 3_000,
        b"X: y\r\n" * 2_000_000,
        b"\r\n\r\n" * 4_000_000,
    ],
    ids=["levels", "parts", "mails within mails", "headers", "lines"],
)
def test_a_mail_that_would_take_minutes_to_read_is_sent_by_its_beginning(raw: bytes):
    found = read_mail(b"Subject: hostile\r\n" + raw)
    assert (found.payload["subject"], found.note) == ("hostile", "the mail has too many parts or lines to be read")


@pytest.mark.parametrize("kind", [b"a=b; " * 200_000, b"a=b;\r\n " * 20_000, b"\xff" * 100_000])
def test_a_header_without_end_is_cut(kind: bytes):
    assert text_of(b"Content-Type: text/plain; " + kind + b"\r\n\r\nx") == "x"


async def test_people_see_what_was_read_and_rules_can_use_it(mail: MailBench, tmp_path):
    token = await mail.add()
    body = b"Content-Transfer-Encoding: base64\r\nSubject: Backup\r\nX-Host: db1\r\n\r\nZmFpbGVk\r\n"
    rule = "title: ${payload.headers.x-host} ${payload.subject}"
    (tmp_path / "doors.yaml").write_text(f"nas:\n- match: payload.text == 'failed'\n  {rule}\n  severity: critical\n")
    await mail.send(f"oncall+{token}@x", mail=body)

    [sent] = await mail.front.work()
    shown = json.loads((await mail.front.last("nas")).payload)

    assert (sent.content["title"], sent.content["type"], sent.message) == ("db1 Backup", "failure", "failed")
    assert (shown["text"], shown["profile"]) == ("failed", "oncall")


async def test_a_token_in_a_header_is_not_stored(mail: MailBench):
    token = await mail.add()
    await mail.send(f"oncall+{token}@x", mail=f"To: oncall+{token}@x\r\nSubject: s\r\n\r\nx\r\n".encode())
    await mail.front.work()

    assert token not in (await mail.front.last("nas")).payload
