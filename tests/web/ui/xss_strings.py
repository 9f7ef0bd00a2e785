"""Two hundred texts that become code, or a part of the page, wherever text is taken for markup.

Each holds its number as `x000`, by which a test finds it where it is shown, and notes itself in `window.hit` or opens a
dialog where it runs.
"""

from collections.abc import Iterator
from itertools import product

_TAGS = "script", "SCRIPT", "ScRiPt", "script/x", "script type=module", "script\n", "svg/script", "math><script"
_EVENTS = (
    "onerror",
    "onload",
    "onfocus autofocus",
    "onmouseover",
    "ontoggle open",
    "onanimationstart",
    "onbegin",
    "ONERROR",
)
_ELEMENTS = "img src=x", "body", "input", "details", "video src=x", "iframe", "select", "marquee"
_SVG = (
    "<svg onload={code}>",
    "<svg><script>{code}</script></svg>",
    "<svg><animate onbegin={code} attributeName=x dur=1s>",
    "<svg><a xlink:href='javascript:{code}'><text y=9>{mark}</text></a></svg>",
    "<svg><foreignObject><img src=x onerror={code}></foreignObject></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload={code}>#x'></svg>",
    "<svg><set attributeName=href to='javascript:{code}'></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror={code}>",
)
_ADDRESSES = (
    "javascript:{code}",
    "JaVaScRiPt:{code}",
    " javascript:{code}",
    "java&#115;cript:{code}",
    "javascript://x.example/%0a{code}",
    "data:text/html,<script>{code}</script>",
    "vbscript:msgbox({mark})",
    "//x.example/{mark}",
)
_TEMPLATES = (
    "{{{{constructor.constructor('{code}')()}}}}",
    "${{{code}}}",
    "<%= {code} %>",
    "#{{{code}}}",
    "{{{{{{{code}}}}}}}",
    "[[${{{code}}}]]",
    "`${{{code}}}`",
    "</textarea></title></style></noscript><img src=x onerror={code}>",
)
_UNICODE = (
    "\uff1cscript\uff1e{code}\uff1c/script\uff1e",
    "<img src=x onerror\u200b={code}>",
    "\ufeff<script>{code}</script>",
    "<\u0131mg src=x onerror={code}>",
    "\u2028<script>{code}</script>\u2029",
    "z\u0334\u0353\u0347a\u0315\u031bl\u0328\u0321g\u0322o {mark} <b>{code}</b>",
    "\U0001f469\u200d\U0001f692 {mark} <img src=x onerror={code}>",
    "\ud7ff\ue000\ufffd {mark} <svg/onload={code}>",
)
_DIRECTIONS = (
    "\u202e<script>{code}</script>",
    "\u05e9\u05dc\u05d5\u05dd <img src=x onerror={code}>",
    "\u0645\u0631\u062d\u0628\u0627 {mark} <b>x</b>",
    "\u2067{mark}\u2069 <svg onload={code}>",
    "\u200f{mark} \u202bexe.txt\u202c",
)
_ANSI = (
    "\x1b[31m<script>{code}</script>\x1b[0m",
    "\x1b]8;;javascript:{code}\x07{mark}\x1b]8;;\x07",
    "\x1b]0;{code}\x07 {mark}",
    "\x1b[2J\x1b[H<img src=x onerror={code}>",
    "\x1b[38;2;255;0;0m{mark}\x1b[1;999;7m<svg onload={code}>",
)
_MARKDOWN = (
    "[{mark}](javascript:{code})",
    '![{mark}](x"onerror="{code})',
    "<javascript:{code}>",
    "[{mark}]: javascript:{code}\n\n[{mark}]",
    "```html\n<script>{code}</script>\n```",
    "| a |\n|---|\n| <img src=x onerror={code}> |",
    "<details open ontoggle={code}>{mark}</details>",
    "[{mark}](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "**<img src=x onerror={code}>**",
    '# <a href="javascript:{code}">{mark}</a>',
)
_BEFORE = "<!--", "<![CDATA[", "<noscript>", "<template>", "<style>", "<textarea>", "<title>", "<xmp>"


def _forms() -> Iterator[str]:
    for before, tag in product(("", '">', "'>", "-->", "</script>"), _TAGS):
        yield f"{before}<{tag}>{{code}}</script>"
    for element, event in product(_ELEMENTS, _EVENTS):
        yield f'"><{element} {event}={{code}}>'
    yield from (*_SVG, *_ADDRESSES, *_TEMPLATES, *_UNICODE, *_DIRECTIONS, *_ANSI, *_MARKDOWN)
    for before, wrapped in product(_BEFORE, _SVG[:4]):
        yield f"{before}{wrapped}"
    for quote, event in product(("' ", '" ', "` ", "&quot; "), ("onclick", "onfocus autofocus", "style=x:expression")):
        yield f"{quote}{event}={{code}} x={quote}"


def _filled(form: str, number: int) -> str:
    mark = f"x{number:03}"
    return form.format(mark=mark, code=f"alert(window.hit='{mark}')")


STRINGS = tuple(_filled(form, number) for number, form in enumerate(_forms()))
"""All of them."""
PLAIN = tuple(text for text in STRINGS if all(letter.isprintable() for letter in text))
"""Those without control characters and line ends, which many fields refuse."""
