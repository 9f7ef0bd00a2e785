"""A corpus of Markdown as chat models write it, with what they get wrong: made from a seed, so always the same."""

from collections.abc import Callable, Iterator
from random import Random

_WORDS = (
    "the gateway retries every message after a second, because the queue is durable; snake_case_name 2 * 3 * 4 < 5"
    " C# `inline` **bold** *italic* ~~gone~~ [link](https://example.org/a_b(c)) <https://example.org> a&b naïve 😀"
    " 👩‍👩‍👧 漢字 שלום f(x) __init__ {json: 1} $HOME 50% \\*no\\* ``a`b`` **bold *both* end** https://example.org/x_y_z"
)
LANGUAGES = ("python", "bash", "c++", "json", "", "a language that nobody has", "yaml")
CODE = (
    "def f(a, *args, **kwargs):\n    return a  # `x` **y** _z_\n\n\nclass A:\n\tpass",
    '{"a": [1, 2, {"b_c": "<d> & \\"e\\""}]}',
    'for f in *.txt; do\n  echo "$f" | sed "s/_/\\\\_/g" >> out\ndone',
    "\tif tabs:\n\t\tfirst()",
    "    four blanks first\nnone\n\ttab 😀 漢字",
    "| not | a table |\n|---|---|\n> no quote\n# no heading\n- no list\n1. none",
    "x = 1" + "\ny_{} = '*'" * 12,
)


def documents(how_many: int, seed: int = 7) -> Iterator[str]:
    """Yield so many documents; one in ten is as long as the longest answers are, 8 to 16 KB."""
    random = Random(seed)
    for number in range(how_many):
        least = random.randint(8_000, 12_000) if number % 10 == 0 else random.randint(1, 2_000)
        blocks = [random.choice(BLOCKS)(random)]
        while sum(map(len, blocks)) < least:
            blocks.append(random.choice(BLOCKS)(random))
        yield "\n\n".join(blocks)


def _sentence(random: Random, most: int = 25) -> str:
    return " ".join(random.choice(_WORDS.split()) for _ in range(random.randint(1, most)))


def _paragraph(random: Random) -> str:
    return random.choice((" ", "\n", "  \n")).join(_sentence(random) for _ in range(random.randint(1, 4)))


def _heading(random: Random) -> str:
    return f"{'#' * random.randint(1, 6)} {_sentence(random, 6)}"


def _fence(random: Random) -> str:
    mark = random.choice(("```", "~~~", "````"))
    end = "" if random.random() < 0.05 else f"\n{mark}"  # a model that was cut off
    return f"{mark}{random.choice(LANGUAGES)}\n{_code(random)}{end}"


def _code(random: Random) -> str:
    return "\n".join(random.choice(CODE) for _ in range(random.choice((1, 1, 1, 2, 25))))


def _indented_code(random: Random) -> str:
    return "\n".join(f"    {line}" for line in random.choice(CODE).split("\n"))


def _list(random: Random) -> str:
    lines = []
    for number in range(random.randint(1, 8)):
        mark = random.choice(("- ", "* ", f"{number + 1}. ", "- [ ] ", "- [x] "))
        lines.append(f"{'  ' * random.randint(0, 3)}{mark}{_sentence(random, 10)}")
    return "\n".join(lines)


def _list_with_code(random: Random) -> str:
    code = "\n".join(f"   {line}" for line in _fence(random).split("\n"))
    return f"1. {_sentence(random, 8)}\n\n{code}\n2. {_sentence(random, 8)}"


def _quote(random: Random) -> str:
    return "\n".join(f"{'> ' * random.randint(1, 2)}{line}" for line in random.choice(QUOTED)(random).split("\n"))


def _table(random: Random) -> str:
    width = random.randint(2, 5)
    rows = [[_sentence(random, 3) for _ in range(width)] for _ in range(random.randint(1, 6))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], ["---"] * width, *rows[1:]))


def _mistake(random: Random) -> str:
    return random.choice(("**never closed", "a `tick", "_ * [ ] ( ~", "[text](", "<div>a</div>", "***", "\\", "---"))


QUOTED: tuple[Callable[[Random], str], ...] = (_paragraph, _list, _fence)
BLOCKS: tuple[Callable[[Random], str], ...] = (
    _paragraph, _paragraph, _heading, _fence, _fence, _indented_code, _list, _list_with_code, _quote, _table, _mistake,
)  # fmt: skip
