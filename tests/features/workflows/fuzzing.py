"""Texts that might be workflows: valid files, changed at random, and repeated pieces that are costly to read."""

import random
from collections.abc import Iterator
from pathlib import Path

from tests.features.workflows.mistakes import MISTAKES

from tocsin.features.workflows.language.reading import MAX_FILE_BYTES

_FILES = sorted((Path(__file__).parent / "golden").glob("*.yaml"))
GOLDEN = tuple(path.read_text().replace(f"name: {path.stem}\n", "name: fuzzed\n", 1) for path in _FILES)
SEEDS = (*GOLDEN, *(mistake.text for mistake in MISTAKES))
HEAD = "name: fuzzed\n"
STEP = HEAD + "steps:\n  - name: a\n    command: "
SCRIPT = HEAD + "params: {x: {}}\nsteps:\n  - name: a\n    command: |\n      "
SCRIPT = HEAD + "params: {a: {}}\nsteps:\n  - name: a\n    shell: bash\n    command: |\n      "
# What comes before, what is repeated (`#` counts), and what comes after.
REPEATED = (
    ("", "k#: v\n", ""),
    ("", "'a': \"b\"\n", ""),
    (HEAD, "\n", "  x"),
    (HEAD + "description: ", "a ", ""),
    (HEAD + "description: 'a\n", "b\n", ""),
    (HEAD + "description: >\n", "  a\n", ""),
    (HEAD + 'description: "', "\\u0041", '"'),
    (HEAD + "steps: ", "[", ""),
    (HEAD + "steps: [", "[[[[[[]]]]]],", "]"),
    (HEAD + "steps: [", "{},", "]"),
    (HEAD + "steps:\n", "- \n", ""),
    (HEAD + "steps:\n", "  - {name: s#, command: x}\n", ""),
    (HEAD + "parallel: true\nsteps:\n", "  - {name: s#, command: x, depends_on: [s0, s1, s2, s3, s9]}\n", ""),
    (HEAD + "steps:\n", "  - {name: s#, comand: x, tipe: y, wen: z}\n", ""),
    (HEAD + "steps:\n", "  - {name: s#, type: workflow, command: fuzzed}\n", ""),
    (
        HEAD + "steps:\n",
        '  - {name: s#, command: x, when: \'steps.s#.status == params.p# or matches("a", "b#")\'}\n',
        "",
    ),
    (
        HEAD + "params:\n",
        "  param_number_#: {default: x}\n",
        "\nsteps: [{name: a, command: '${params.param_numbr_1}'}]",
    ),
    (HEAD + "params: {p: {default: zzz, enum: [", "value_#,", "]}}\n"),
    (STEP, "${params.p#}", ""),
    (STEP, "$${", ""),
    (STEP, "${", ""),
    (STEP, "--token=abcdefgh ", ""),
    (SCRIPT, "$(`", ""),
    (SCRIPT, "(( $PARAM_A ", ""),
    (SCRIPT, "[[ $PARAM_A -gt ", ""),
    (SCRIPT, "let a[", ""),
    (SCRIPT, "<<a\n      ", ""),
    (STEP, "://a:", ""),
    *(
        (SCRIPT, piece, "")
        for piece in (
            "((",
            "}",
            "))",
            "${a[",
            "${PARAM_X:",
            "[[ $PARAM_X -gt ",
            "a#=$PARAM_X;",
            "$a#",
            "let PARAM_X ",
            "${params.x} ",
            "PARAM_X[",
        )
    ),
    (
        HEAD + "params: {x: {}}\nsteps:\n",
        "  - {name: s#, command: 'echo $((PARAM_X + 1))', outputs: {o: stdout}}\n",
        "",
    ),
    (HEAD + "steps:\n  - {name: a, command: df}\nparams:\n", "  p#: {}\n", ""),
    (HEAD + "steps:\n  - {name: a, command: df}\nenv:\n", "  E#: '${params.x}'\n", "params: {x: {}}\n"),
    (HEAD + "steps:\n  - name: a\n    command: [sh, -c, '$1'", ", '${run.id}'", "]\n"),
    (STEP + "x\n    outputs: {o: 'stdout", " ", "x'}"),
    (STEP + 'x\n    outputs: {o: "stdout', " | trim", '"}'),
    (STEP + 'x\n    outputs: {o: "', "'a", '"}'),
    (STEP + "x\n    outputs:\n", "      o#: stdout | regex:'(\\pL{1,9}){1,9}#'\n", ""),
    (STEP + 'x\n    when: "', "(", '"'),
    (STEP + 'x\n    when: "', "not ", 'true"'),
    (STEP + 'x\n    when: "', "a == ", 'b"'),
    (STEP + "x\n    for_each: [", "a,", "]"),
    (HEAD + "steps:\n  - {name: a, type: http, url: 'http://x', json: [", "1,", "]}"),
    (HEAD + "steps:\n  - {name: a, type: http, url: 'http://x', expect_body: '", "[\\pL]", "'}"),
)
_PIECES = (
    "${params.a}", "${", "$${", "${vault:A}", "steps:\n", "- ", ": ", "'", '"', "|\n", ">\n", "[", "]", "{", "}", "#",
    "&a ", "*a ", "!t ", "\t", "\n", "\r", "  ", "name: a\n", "type: http\n", "when: success()\n", "depends_on: [a]\n",
    "---\n", "%YAML 1.1\n", "\\", "\0", "\u2028", "é", "😀", "9" * 400, "a" * 5_000, "(" * 300, "<<: x\n", "? ",
    "| regex:'(a'",
)  # fmt: skip


def repeated(before: str, piece: str, after: str, size: int) -> str:
    """Return a text of at most `size` bytes that repeats a piece."""
    count = max(0, size - len(before) - len(after)) // max(1, len(piece.encode().replace(b"#", b"0000")))
    return before + "".join(piece.replace("#", str(number)) for number in range(count)) + after


def texts(count: int, seed: int, largest: int = MAX_FILE_BYTES) -> Iterator[bytes]:
    """Yield so many texts, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        if chance.random() < 0.4:
            text = repeated(*chance.choice(REPEATED), chance.choice((200, 3_000, 20_000, largest)))
        else:
            text = chance.choice(SEEDS)
        for _ in range(chance.choice((0, 1, 1, 2, 5, 30))):
            text = _changed(text, chance)
        yield text.encode(errors="replace")[:largest]


def _changed(text: str, chance: random.Random) -> str:
    start, end = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
    end = min(end, start + chance.choice((0, 1, 5, 40)))
    match chance.randrange(5):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text[:start] + chance.choice(_PIECES) + text[start:]
        case 2:
            return text[:start] + text[start:end] * chance.choice((2, 5, 50)) + text[end:]
        case 3:
            return text[:start] + chance.choice(SEEDS)[: chance.choice((10, 200))] + text[end:]
    return text[:start] + chr(chance.choice((0, 9, 10, 32, 39, 58, 0x85, 0x2028, 0xFFFD, 0x1F600))) + text[end:]
