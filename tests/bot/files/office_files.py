"""Office documents as small as they can be, written by hand."""

import io
from collections.abc import Mapping, Sequence
from zipfile import ZIP_DEFLATED, ZipFile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MIME = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
}


def archive(parts: Mapping[str, str | bytes], compression: int = ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", compression) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """Return the part that says where things are, by ID: type and target."""
    links = "".join(f'<Relationship Id="{i}" Type="{R}/{kind}" Target="{to}"/>' for i, (kind, to) in targets.items())
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{links}</Relationships>'
    )


def docx(body: str, prolog: str = "", main: str = "word/document.xml") -> bytes:
    document = f'{prolog}<w:document xmlns:w="{W}" xmlns:m="urn:m"><w:body>{body}</w:body></w:document>'
    return archive({"_rels/.rels": relations({"r1": ("officeDocument", main)}), "word/document.xml": document})


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def xlsx(sheets: Mapping[str, str], strings: Sequence[str] = (), styles: str = "", properties: str = "") -> bytes:
    """Return a workbook; each sheet is given by the XML of its rows."""
    entries = "".join(f'<sheet name="{n}" sheetId="{i}" r:id="s{i}"/>' for i, n in enumerate(sheets, start=1))
    links = {f"s{i}": ("worksheet", f"worksheets/sheet{i}.xml") for i in range(1, len(sheets) + 1)}
    links |= {"x1": ("sharedStrings", "sharedStrings.xml"), "x2": ("styles", "/xl/styles.xml")}
    items = "".join(f"<si><t>{text}</t></si>" for text in strings)
    parts = {
        "_rels/.rels": relations({"r1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}">{properties}<sheets>{entries}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(links),
        "xl/sharedStrings.xml": f'<sst xmlns="{S}">{items}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{S}">{styles}</styleSheet>',
    }
    for number, rows in enumerate(sheets.values(), start=1):
        data = f'<worksheet xmlns="{S}"><sheetData>{rows}</sheetData></worksheet>'
        parts[f"xl/worksheets/sheet{number}.xml"] = data
    return archive(parts)


def row(*cells: str) -> str:
    return f"<row>{''.join(f'<c><v>{cell}</v></c>' for cell in cells)}</row>"


def pptx(slides: Sequence[str]) -> bytes:
    """Return a presentation of one paragraph on each slide; the files are numbered the other way round."""
    numbers = range(len(slides), 0, -1)
    ids = "".join(f'<p:sldId id="{255 + i}" r:id="s{i}"/>' for i in numbers)
    links = {f"s{i}": ("slide", f"slides/slide{i}.xml") for i in numbers}
    parts = {
        "_rels/.rels": relations({"r1": ("officeDocument", "/ppt/presentation.xml")}),
        "ppt/presentation.xml": (
            f'<p:presentation xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>'
        ),
        "ppt/_rels/presentation.xml.rels": relations(links),
    }
    for number, text in zip(numbers, slides, strict=True):
        shape = f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" if text else ""
        parts[f"ppt/slides/slide{number}.xml"] = f'<p:sld xmlns:p="{P}" xmlns:a="{A}">{shape}</p:sld>'
    return archive(parts)


def odt(body: str, manifest: str = "") -> bytes:
    office, text = "urn:oasis:names:tc:opendocument:xmlns:office:1.0", "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    table = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
    content = (
        f'<office:document-content xmlns:office="{office}" xmlns:text="{text}" xmlns:table="{table}">'
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    names = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    listed = f'<manifest:manifest xmlns:manifest="{names}">{manifest}</manifest:manifest>'
    return archive({"mimetype": MIME["odt"], "content.xml": content, "META-INF/manifest.xml": listed})
