"""Write the documentation as a site that any web server can serve: `python -m tools.site [FOLDER]`."""

import shutil
import sys
from pathlib import Path

from tocsin.web.documentation.site import DOCS, load_text, names

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Write all pages, with pictures and schemas beside them."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    for name in names():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(load_text(name) or "", "utf-8")
    for attached in DOCS.attachments():
        target = place / attached.relative_to(DOCS.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(attached, target)
    print(f"{place}: {len(list(place.rglob('*.html')))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
