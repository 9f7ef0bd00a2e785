"""Find variables that a shell script evaluates as code.

In arithmetic, and where a name is expected, bash evaluates a value: `a[$(id)]` runs `id`. Source: bash(1), ARITHMETIC
EVALUATION ("the value of a variable is evaluated as an arithmetic expression when it is referenced") and Arrays.
"""

import re
from collections import Counter
from collections.abc import Collection

COMPARE_AS_TEXT = "use [ … ] to compare and expr to calculate"  # neither evaluates a value as code
_NAME = r"[A-Za-z_]\w*"
_TOKEN = re.compile(
    rf"""
      \\.
    | \$\{{ (?P<mark>[!\#]?) (?P<base>{_NAME}|\d+|[@*]) (?P<after>@P|\[|:(?![-=?+])|)
    | \$ (?P<name>{_NAME}|\d|[@*])
    | (?P<open> \$?\(\( | \$\[ | \[\[(?=\s) )
    | (?P<close> \)\) | \]\]? | \}} )
    | (?P<option> (?<=\s)-[A-Za-z]+ )
    | (?P<word> {_NAME}|\[(?=\s) ) (?P<tail>\[(?!\[)|\+?=|)
    | (?P<end> [\n;&|()`{{<] )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_REGIONS = {"((": "))", "$((": "))", "$[": "]", "[[": "]]"}
_LABELS = {"))": "$((…))", "]": "[…]", ":}": "${…:…}"}
_COMPARISONS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_DECLARATIONS = frozenset({"declare", "typeset", "local", "readonly", "export", "integer"})
_TAKES_NAMES = frozenset({"unset", "read", "mapfile", "readarray", "getopts", "eval"})
_BEFORE_COMMAND = frozenset({
    "then", "do", "else", "elif", "if", "while", "until", "time", "builtin", "command", "exec",
})  # fmt: skip


def evaluated_variables(script: str, names: Collection[str]) -> dict[str, str]:
    """Return the variables in `names` whose values bash may run as code in a script, each with the place.

    A heuristic in linear time: it follows assignments and `for`, but neither quotes nor comments. `names` may include
    positional parameters, such as `1` and `@`.
    """
    scan = _Scan(names)
    for token in _TOKEN.finditer(script):
        scan.read(token)
    scan.end_test()
    return scan.found


class _Scan:
    """The state of the scan: the open expressions, and the command whose words follow."""

    def __init__(self, names: Collection[str]) -> None:
        self.found: dict[str, str] = {}
        self._names = names
        self._copies: dict[str, str] = {}  # by variable of the script: the variable from which it was assigned
        self._integers: set[str] = set()  # declared with -i
        self._open: list[str] = []  # by closing token; `:}` closes an offset, `}` any other expansion
        self._count: Counter[str] = Counter()
        self._compared: list[str] | None = None  # in [[ … ]], since the last && or ||
        self._compares = ""
        self._start()

    def _start(self) -> None:
        self._command = self._assigned = ""
        self._at_command, self._takes_next, self._integer = True, False, False

    def read(self, token: re.Match[str]) -> None:
        if base := token["base"]:
            self._expansion(token, base)
        elif name := token["name"]:
            self._use(name, dollar=True)
        elif word := token["word"]:
            self._word(word, token["tail"])
        elif opened := token["open"]:
            self._push(_REGIONS[opened])
        elif closed := token["close"]:
            self._pop(closed)
        elif option := token["option"]:
            self._option(option)
        elif end := token["end"]:
            self._end(end)

    def _expansion(self, token: re.Match[str], base: str) -> None:
        if token["mark"] == "!" or token["after"] == "@P":
            self._note(base, "${!…}" if token["mark"] else "${…@P}")
        self._use(base, dollar=True)
        self._push(":}" if token["after"] == ":" else "}")
        if token["after"] == "[":
            self._push("]")

    def _word(self, word: str, tail: str) -> None:
        self._use(word, dollar=False)
        if tail.endswith("="):
            self._assigned = word
            if self._integer:
                self._integers.add(word)
        elif self._command == "for":
            self._assigned, self._command = word, "in"
        elif self._integer:
            self._integers.add(word)
        elif self._at_command:
            self._at_command = word in _BEFORE_COMMAND
            self._command = "" if self._at_command else word
            self._integer = word == "integer"
        self._takes_next = False
        if tail == "[":
            self._push("]")

    def _use(self, name: str, *, dollar: bool) -> None:
        """Record a variable if its value is evaluated here."""
        if name not in self._names and name not in self._copies:
            return
        for kind, label in _LABELS.items():
            if self._count[kind]:
                self._note(name, label)
        if self._compared is not None:
            self._compared.append(name)
        if self._command == "let":
            self._note(name, "let")
        if dollar:
            self._use_value(name)

    def _use_value(self, name: str) -> None:
        declares = self._command in _DECLARATIONS
        if self._takes_next or self._command in _TAKES_NAMES or (declares and (self._integer or not self._assigned)):
            self._note(name, f"{self._command} -v".lstrip() if self._takes_next else self._command)
        elif self._assigned in self._integers:
            self._note(name, "declare -i")
        self._takes_next = False
        if self._assigned:
            self._copies.setdefault(self._assigned, self._copies.get(name, name))

    def _note(self, name: str, place: str) -> None:
        if name in self._names or name in self._copies:
            self.found.setdefault(self._copies.get(name, name), place)

    def _option(self, option: str) -> None:
        if self._compared is not None and option in _COMPARISONS:
            self._compares = f"[[ {option} ]]"
        elif self._command in _DECLARATIONS and ("i" in option or "n" in option):
            self._integer = True
        elif option == "-v" and (self._compared is not None or self._command in {"printf", "test", "["}):
            self._takes_next = True

    def _push(self, end: str) -> None:
        if end == "]]":
            self.end_test()
            self._compared = []
        self._open.append(end)
        self._count[end] += 1

    def _pop(self, closed: str) -> None:
        if closed == "]]" and not self._count["]]"]:
            closed = "]"
        ends = {closed, ":}"} if closed == "}" else {closed}
        if closed == "]]":
            self.end_test()
        if not any(self._count[end] for end in ends):
            return
        while (last := self._open.pop()) not in ends:
            self._count[last] -= 1
        self._count[last] -= 1

    def _end(self, end: str) -> None:
        if self._compared is not None and end in "&|":
            self.end_test()
            self._compared = []
        if end == "<":
            self._command = ""  # a redirection: data follows
        else:
            self._start()

    def end_test(self) -> None:
        """Record the variables that a comparison of [[ … ]] evaluates."""
        if self._compares:
            for name in self._compared or ():
                self._note(name, self._compares)
        self._compared, self._compares = None, ""
