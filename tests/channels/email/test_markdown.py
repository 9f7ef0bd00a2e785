"""Markdown as mail: subject, plain text and HTML (docs/facts/email.md)."""

from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import given
from tests.core.text.markup.soup import markdown_soup

from tocsin.channels.contract import COMMONMARK, PLAIN, Outgoing
from tocsin.channels.email import EmailAdapter
from tocsin.channels.email.markdown import mail_from
from tocsin.channels.email.message import Mailbox, compose
from tocsin.channels.email.subject import GENERIC_SUBJECT
from tocsin.testing import FakeClock, build_adapter
from tocsin_standins.mail import PASSWORD, USER, MailServer

READER = Mailbox("reader", "example.org")
SENDER = Mailbox("tocsin", "mail.example")


def html(source: str) -> str:
    """Return the body of the HTML that a mail with `source` has."""
    return mail_from(f"Subject\n{source}").html.partition("<body>\n")[2].removesuffix("</body></html>\n").rstrip("\n")


def written(source: str) -> EmailMessage:
    raw = compose(source, sender=SENDER, recipient=READER, message_id="<1@a.b>", unix_time=0, markdown=True)
    return message_from_bytes(raw, policy=policy.default)


async def arrived(text: str, mode: str) -> EmailMessage:
    async with MailServer(mode="plain") as server:
        env = {"SMTP_HOST": server.host, "SMTP_PORT": str(server.port), "SMTP_USER": USER, "SMTP_PASS": PASSWORD}
        adapter = build_adapter(EmailAdapter, {**env, "SMTP_TLS": "none"}, clock=FakeClock())
        receipt = await adapter.transmit(Outgoing("reader@example.org", text, parse_mode=mode))
        assert receipt.result.ok, receipt.result.error
        (received,) = server.recorder.of("email")
    return message_from_bytes(str(received.body).encode("utf-8", "surrogateescape"), policy=policy.default)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("**a** *b* ~~c~~ `d`", "a b c d"),
        ("[a](https://b.c) ![d](https://e.f)", "a (https://b.c) d (https://e.f)"),
        ("# Títle *x*\n\n## 漢字\n\ntext", "Títle x\n=======\n\n漢字\n----\n\ntext"),
        ("- a\n  - b\n\n10. c\n    - d", "- a\n  - b\n\n10. c\n    - d"),
        ("> a\n> b", "> a\n> b"),
        ("```py\na\n\n  b\n```", "    a\n\n      b"),
        ("|a|b|\n|-|-|\n|1|2|", "    a | b\n    --+--\n    1 | 2"),
    ],
)
def test_the_text_of_a_mail_is_as_people_write_it(source: str, text: str):
    assert mail_from(f"Subject\n{source}").text == text


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("**a** *b* ~~c~~ `<d>`", "<p><strong>a</strong> <em>b</em> <s>c</s> <code>&lt;d&gt;</code></p>"),
        ("## a", "<h2>a</h2>"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
        ("```py\na < b\n```", '<pre><code class="language-py">a &lt; b\n</code></pre>'),
        ('[a](https://b.c?d&e "t")', '<p><a href="https://b.c?d&amp;e" title="t">a</a></p>'),
        ("[a](mailto:b@c.d)", '<p><a href="mailto:b@c.d">a</a></p>'),
        ("[a](javascript:b) [c](data:text/html,d)", "<p>a c</p>"),
        ("![a](https://b.c/d.png)", '<p><a href="https://b.c/d.png">a</a></p>'),
        ("[![a](https://b.c/d.png)](https://e.f)", '<p><a href="https://e.f">a</a></p>'),
        ("![a](javascript:b)", "<p>a</p>"),
        ("<script>a</script> <b onclick=c>", "<p>&lt;script&gt;a&lt;/script&gt; &lt;b onclick=c&gt;</p>"),
        ("> " * 200 + "a <b>", f"<pre>{'&gt; ' * 200}a &lt;b&gt;</pre>"),
    ],
)
def test_the_html_shows_the_same_and_nothing_dangerous(source: str, shown: str):
    assert html(source) == shown


@pytest.mark.parametrize(
    ("source", "subject", "text"),
    [
        ("**Backup** `done`\nall *well*", "Backup done", "all well"),
        ("# Title\n\ntext", "Title", "text"),
        ("no newline **here**", GENERIC_SUBJECT, "no newline here"),
        ("\ntext", GENERIC_SUBJECT, "text"),
        ("only a subject\n", "only a subject", ""),
        ("```sh\nls\n```", GENERIC_SUBJECT, "    ls"),
    ],
)
def test_the_first_line_of_the_source_is_the_subject(source: str, subject: str, text: str):
    mail = mail_from(source)
    assert (mail.subject, mail.text) == (subject, text)


async def test_a_mail_from_markdown_has_both_forms():
    mail = await arrived("Report\n**all** [well](https://a.b)", COMMONMARK)
    assert mail.get_content_type() == "multipart/alternative"
    text, page = mail.iter_parts()
    assert [mail["Subject"], text.get_content_type(), page.get_content_type()] == ["Report", "text/plain", "text/html"]
    assert text.get_content().strip() == "all well (https://a.b)"
    assert '<strong>all</strong> <a href="https://a.b">well</a>' in page.get_content()


@pytest.mark.parametrize("mode", [PLAIN, ""])
async def test_any_other_mail_is_the_plain_text_it_was(mode: str):
    mail = await arrived("Report\n  **all** `well`\n", mode)
    assert mail.get_content_type() == "text/plain"
    assert (mail["Subject"], mail.get_content().rstrip("\r\n")) == ("Report", "  **all** `well`")


@given(markdown_soup())
def test_any_markdown_gives_a_sound_mail(source: str):
    raw = compose(source, sender=SENDER, recipient=READER, message_id="<1@a.b>", unix_time=0, markdown=True)
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    mail = message_from_bytes(raw, policy=policy.default)
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    assert 0 < len(str(mail["Subject"])) <= 200
    assert "<script" not in mail_from(source).html
