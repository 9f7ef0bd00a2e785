"""Office documents: what is read of them, and that hostile ones end nothing but their reader."""

import io
from pathlib import Path
from zipfile import ZIP_BZIP2, ZipFile

import pytest
from tests.bot.files.office_files import MIME, archive, docx, odt, paragraph, pptx, relations, row, xlsx

from tocsin.bot.contract import Prepared
from tocsin.bot.files.attachments import Attachments
from tocsin.channels.inbound import Attachment, InboundMessage, MessageKind
from tocsin.providers.files.file_reader import MAX_CHARS, MAX_PAGES, READERS, ExtractedText
from tocsin.providers.files.reading import read_in_child
from tocsin.providers.files.speech import Speech

HUGE = 80 * 1024 * 1024  # more than is unpacked


@pytest.fixture
def read(tmp_path: Path):
    def read(kind: str, content: bytes) -> ExtractedText:
        path = tmp_path / "file"
        path.write_bytes(content)
        return READERS[kind](path)

    return read


async def prepared(name: str, mime: str, content: bytes) -> Prepared:
    """Return what becomes of a file that somebody sends, child process included."""

    async def fetch(attachment: Attachment) -> bytes:
        return content

    sent = (Attachment("document", "f", mime=mime, name=name),)
    message = InboundMessage("botchat", MessageKind.MESSAGE, "1", ("k",), "7", attachments=sent)
    return await Attachments(fetch, Speech(Path("/nonexistent"), read_in_child)).prepare(message)


# What is read


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("docx", docx(paragraph("Grüße &amp; more"))),
        ("odt", odt("<text:p>Grüße &amp; more</text:p>")),
        ("xlsx", xlsx({"One": row("Grüße &amp; more")})),
        ("pptx", pptx(["Grüße &amp; more"])),
    ],
)
@pytest.mark.parametrize("told", [True, False])
async def test_a_document_that_is_sent_is_read_by_its_type_or_else_by_its_name(
    kind: str, content: bytes, *, told: bool
):
    found = await prepared(f"Report.{kind.upper()}", MIME[kind] if told else "application/octet-stream", content)
    assert found.notes == ()
    assert found.text.startswith(f"[File Report.{kind.upper()}]\n")
    assert "Grüße & more" in found.text


def test_of_a_word_document_paragraphs_tabs_breaks_and_tables_are_read(read):
    body = (
        "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>"
        "</w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>d</w:t></w:r></w:p></w:tc><w:tc>"
        f"{paragraph('e')}</w:tc></w:tr></w:tbl>{paragraph('f')}"
    )
    assert read("docx", docx(body))["text"] == "a\tb\nc\nd \te \t\nf"


def test_what_was_deleted_from_a_word_document_or_stands_there_twice_is_not_read(read):
    body = (
        f"<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p><w:moveFrom>{paragraph('moved')}</w:moveFrom>"
        f"<m:AlternateContent><m:Choice>{paragraph('box')}</m:Choice><m:Fallback>{paragraph('box')}</m:Fallback>"
        "</m:AlternateContent>"
    )
    assert read("docx", docx(body))["text"] == "box"


def test_of_an_opendocument_text_headings_blanks_and_tables_are_read(read):
    body = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h>Title</text:h>"
        '<text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/><text:span>d</text:span></text:p>'
        "<table:table><table:table-row><table:table-cell><text:p>e</text:p></table:table-cell>"
        "<table:table-cell><text:p>f</text:p></table:table-cell></table:table-row></table:table>"
    )
    assert read("odt", odt(body))["text"] == "Title\na   b\tc\nd\ne \tf"


def test_slides_are_read_in_the_order_in_which_they_are_shown(read):
    assert read("pptx", pptx(["first", "", "third"]))["text"] == "[Slide 1]\nfirst\n\n[Slide 3]\nthird"


def test_of_a_sheet_rows_and_columns_stay_in_their_places(read):
    rows = (
        '<row r="1"><c r="A1" t="s"><v>1</v></c><c r="C1" t="s"><v>0</v></c></row>'
        '<row r="5"><c r="B5"><f>1+1</f><v>2</v></c><c t="b"><v>1</v></c><c t="inlineStr"><is><t>in</t></is></c>'
        '<c t="str"><v>text</v></c><c t="e"><v>#DIV/0!</v></c></row>'
    )
    content = xlsx({"One": rows, "Empty": "", "Two": row("7")}, ["Name", "City\nand more"])
    assert read("xlsx", content)["text"] == (
        "[Sheet One]\nCity and more\t\tName\n\t2\tTRUE\tin\ttext\t#DIV/0!\n\n[Sheet Two]\n7"
    )


@pytest.mark.parametrize(
    ("properties", "shown"),
    [
        ("", "2024-02-29\t2024-02-29 18:00\t06:30\t45351\t2024-02-29\t45351"),
        ('<workbookPr date1904="1"/>', "2028-03-01\t2028-03-01 18:00\t06:30\t45351\t2028-03-01\t45351"),
    ],
)
def test_dates_are_written_out(read, properties: str, shown: str):
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="[Red]dd\\.mm\\.yyyy"/>'
        '<numFmt numFmtId="165" formatCode="0.0 &quot;days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/>'
        '</cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/>'
        "</cellXfs>"
    )
    cells = [(1, "45351"), (1, "45351.75"), (1, "0.2708333333"), (0, "45351"), (2, "45351"), (3, "45351")]
    rows = "".join(f'<c s="{style}"><v>{value}</v></c>' for style, value in cells)
    assert (
        read("xlsx", xlsx({"One": f"<row>{rows}</row>"}, styles=styles, properties=properties))["text"]
        == f"[Sheet One]\n{shown}"
    )


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("docx", docx(paragraph("é" * 100) * 200)),
        ("odt", odt(f"<text:p>{'é' * 100}</text:p>" * 200)),
        ("xlsx", xlsx({"One": row("é" * 100) * 200})),
        ("pptx", pptx(["é" * 20_000])),
    ],
)
def test_a_document_is_cut_after_ten_thousand_characters(read, kind: str, content: bytes):
    reading = read(kind, content)
    assert len(reading["text"]) == MAX_CHARS == 10_000
    assert reading["cut"]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("xlsx", xlsx({f"S{i}": row(f"page {i}.") for i in range(1, 26)})),
        ("pptx", pptx([f"page {i}." for i in range(1, 26)])),
    ],
)
def test_of_sheets_and_slides_the_first_twenty_are_read(read, kind: str, content: bytes):
    reading = read(kind, content)
    assert "page 20." in reading["text"]
    assert "page 21." not in reading["text"]
    assert reading["cut"]
    assert MAX_PAGES == 20


@pytest.mark.parametrize(
    ("kind", "content"), [("docx", docx("")), ("odt", odt("")), ("xlsx", xlsx({"One": ""})), ("pptx", pptx([""]))]
)
def test_a_document_without_text_is_told_as_such(read, kind: str, content: bytes):
    assert read(kind, content).keys() == {"refused"}


# What is hostile


async def test_a_document_that_unpacks_to_a_thousand_times_its_size_is_refused():
    bomb = f'<w:document xmlns:w="x"><w:p>{" " * HUGE}'.encode()
    parts = {"_rels/.rels": relations({"r1": ("officeDocument", "word/document.xml")}), "word/document.xml": bomb}
    assert len(archive(parts)) < 200_000
    found = await prepared("a.docx", MIME["docx"], archive(parts))
    assert found.text == ""
    assert ["a.docx" in note for note in found.notes] == [True]


def test_what_was_read_before_the_limit_of_bytes_is_kept(read):
    reading = read("docx", docx(f"{paragraph('begin')}{' ' * HUGE}{paragraph('end')}"))
    assert (reading["text"], reading["cut"]) == ("begin", True)


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("prolog", [LAUGHS, OUTSIDE, '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd">'])
def test_entities_are_refused_where_they_are_declared(read, prolog: str):
    assert "DTD" in read("docx", docx(paragraph("&a;"), prolog))["refused"]


async def test_of_ten_thousand_sheets_twenty_are_read():
    found = await prepared("a.xlsx", MIME["xlsx"], xlsx({f"S{i}": row("x") for i in range(10_000)}))
    assert found.text.count("[Sheet ") == 20
    assert "beginning" in found.text


@pytest.mark.parametrize(
    "target", ["../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "word/missing.xml", "", "../" * 5000]
)
def test_a_part_is_looked_for_in_the_archive_and_nowhere_else(read, target: str):
    assert read("docx", docx(paragraph("x"), main=target)).keys() == {"refused"}


def test_an_archive_in_the_archive_is_not_opened(read):
    inner = docx(paragraph("inner"))
    parts = {"_rels/.rels": relations({"r1": ("officeDocument", "word/document.xml")}), "word/document.xml": inner}
    assert read("docx", archive(parts)).keys() == {"refused"}


def with_password(content: bytes) -> bytes:
    """Set the mark of encryption on every part, in both places where it stands."""
    marked = bytearray(content)
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = -1
        while (at := content.find(signature, at + 1)) >= 0:
            marked[at + offset] |= 1
    return bytes(marked)


SECRET = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600) + "EncryptedPackage".encode("utf-16-le")
LOCKED = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"


@pytest.mark.parametrize(
    ("kind", "content"),
    [("docx", with_password(docx(paragraph("x")))), ("docx", SECRET), ("xlsx", SECRET), ("odt", odt("", LOCKED))],
)
def test_a_document_with_a_password_is_told_as_such(read, kind: str, content: bytes):
    assert "password" in read(kind, content)["refused"]


def test_a_document_of_the_old_format_is_told_as_such(read):
    old = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)
    assert ".docx" in read("docx", old)["refused"]


def test_a_packing_that_cannot_be_bounded_is_refused(read):
    parts = {"_rels/.rels": relations({"r1": ("officeDocument", "word/document.xml")})}
    assert read("docx", archive(parts, ZIP_BZIP2)).keys() == {"refused"}


@pytest.mark.parametrize("kind", ["docx", "odt", "xlsx", "pptx"])
def test_whatever_is_cut_off_or_changed_gives_text_or_a_sentence(read, kind: str):
    whole = {"docx": docx(paragraph("x") * 50), "odt": odt("<text:p>x</text:p>" * 50), "xlsx": xlsx({"A": row("1")}),
             "pptx": pptx(["x", "y"])}[kind]  # fmt: skip
    broken = [whole[:at] for at in range(0, len(whole), 37)]
    broken += [whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in range(0, len(whole), 11)]
    for content in broken:
        reading = read(kind, content)
        assert reading.get("text") or reading["refused"]


@pytest.mark.parametrize(
    "rows",
    [
        '<row><c r="ZZZ1"><v>x</v></c><c r="A1"><v>y</v></c></row>',
        '<row><c r="9" t="s"><v>99999999999</v></c><c t="s"><v>-1</v></c><c><v>x</v></c></row>',
        f'<row><c s="{"9" * 4000}"><v>x</v></c></row>',
        f'<row><c><v>x</v></c><c t="s"><v>{"9" * 9000}</v></c></row>',
        "<c><v>x</v></c>",
    ],
)
def test_cells_with_impossible_numbers_do_no_harm(read, rows: str):
    reading = read("xlsx", xlsx({"One": rows}))
    assert "x" in reading.get("text", "") or reading["refused"]


def test_elements_that_are_nested_without_end_do_no_harm(read):
    assert read("docx", docx("<w:p>" * 200_000 + "<w:t>x</w:t>" + "</w:p>" * 200_000))["text"] == "x"


def test_nothing_of_an_archive_is_written(read, tmp_path: Path):
    buffer = io.BytesIO(docx(paragraph("x")))
    with ZipFile(buffer, "a") as packed:
        packed.writestr("../outside.txt", "x")
        packed.writestr("/tmp/outside-of-tocsin.txt", "x")
    assert read("docx", buffer.getvalue())["text"] == "x"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert not (tmp_path.parent / "outside.txt").exists()
