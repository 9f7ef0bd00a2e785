"""YAML files are read strictly, and every mistake is named with file, line, column and key."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tocsin.core.errors import ConfigError
from tocsin.core.reading.yaml_file import MAX_DEPTH, load_yaml, parse_yaml
from tocsin.core.reading.yaml_node import MAX_PROBLEMS, Node, YamlError
from tocsin.core.storage.files import MAX_FILE_BYTES

PATH = Path("rules.yaml")


def everything(node: Node) -> object:
    """Read any document, asking nothing of it."""
    if node.absent:
        return None
    if isinstance(node.content, dict):
        return {key: everything(value) for key, value in node.mapping().items()}
    if isinstance(node.content, list):
        return [everything(item) for item in node.items()]
    return node.content and node.content.spelling


def mistakes(content: str | bytes, read: Callable[[Node], object] = everything) -> list[str]:
    with pytest.raises(YamlError) as raised:
        parse_yaml(content.encode() if isinstance(content, str) else content, PATH, read)
    return [str(problem) for problem in raised.value.problems]


def issues(content: str | bytes, read: Callable[[Node], object] = everything) -> list[str]:
    """Return place, key and code of each mistake."""
    with pytest.raises(YamlError) as raised:
        parse_yaml(content.encode() if isinstance(content, str) else content, PATH, read)
    return [f"{p.line}:{p.column} {p.wrong_key} {p.code}".replace("  ", " ") for p in raised.value.problems]


def parse(content: str, read: Callable[[Node], object] = everything) -> object:
    return parse_yaml(content.encode(), PATH, read)


def mistake_in(content: bytes) -> ConfigError | None:
    try:
        parse_yaml(content, PATH, everything)
    except ConfigError as error:
        return error
    return None


# The language


def test_mappings_lists_and_scalars_are_read():
    assert parse("a: [x, 'y']\nb:\n  c: |\n    two\n    lines\n") == {
        "a": ["x", "y"],
        "b": {"c": "two\nlines\n"},
    }


@pytest.mark.parametrize("content", ["", "\n", "# only a comment\n", "\ufeff", "---\n"])
def test_a_file_without_content_has_an_absent_root_that_is_an_empty_list_and_mapping(content: str):
    assert parse(content, lambda root: (root.absent, root.items(), root.mapping())) == (True, [], {})


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        ("a: &x 1\n", "1:4: a: anchors are not supported; put a value that starts with & in quotes"),
        ("a: *x\n", "1:4: a: aliases are not supported; put a value that starts with * in quotes"),
        ("a: !!str 1\n", "1:4: a: tags are not supported; put a value that starts with ! in quotes"),
        ("a: ! 1\n", "1:4: a: tags are not supported; put a value that starts with ! in quotes"),
        ("a: !!python/none x\n", "1:4: a: tags are not supported; put a value that starts with ! in quotes"),
        ("a: !x [1]\n", "1:4: a: tags are not supported; put a value that starts with ! in quotes"),
        ("a: &x {b: 1}\n", "1:4: a: anchors are not supported; put a value that starts with & in quotes"),
        ("a:\n  <<: {b: 1}\n", "2:3: a: merge keys are not supported"),
        ("a: 1\n---\nb: 2\n", "2:1: the file contains a second document; only one is allowed"),
        ("%YAML 1.1\n---\na: yes\n", "2:1: only YAML 1.2 is supported; remove the %YAML line"),
        ("a: 1\nb: 2\na: 3\n", "3:1: duplicate key 'a' (first in line 1)"),
        ("1: a\n'1': b\n", "2:1: duplicate key '1' (first in line 1)"),
        ("true: a\n", "1:1: keys must be text, found true: put it in quotes"),
        (": a\n", "1:1: keys must be text, found an empty key: put it in quotes"),
        ("[a]: b\n", "1:1: keys must be text"),
        ("? {a: b}\n: c\n", "1:3: keys must be text"),
        ("a:\n\tb: 1\n", "2:1: tabs cannot be used for indentation; use spaces"),
        ("a: @b\n", "1:4: put a value that starts with @ in quotes"),
        ("a: `b\n", "1:4: put a value that starts with ` in quotes"),
        ("a: b: c\n", "1:5: a key is not allowed here: put a value that contains a colon and a space in quotes"),
        ("a: [1\n", "1:4: a comma or a closing ] is missing; put text with brackets in quotes"),
        ('a: "b\n', "1:4: the quote is not closed"),
        ("a: 'b\nc: d\n", "1:4: the quote is not closed"),
        ('a: "\\d+"\n', ("1:6: \\d is not a valid escape sequence in double quotes: use single "
                        "quotes")),
        ('a: "x\\.y"\n', ("1:7: \\. is not a valid escape sequence in double quotes: use single "
                         "quotes")),
        ('a: "C:\\Users"\n', "1:9: incomplete escape sequence in double quotes: "),
        ("a: 'it's'\n", "1:8: unexpected text after a value: put the whole value in quotes"),
        ("a: [0-9]+\n", "1:9: unexpected text after a value: put the whole value in quotes"),
        ("a: b\n  c: d\n", "2:4: a key is not allowed here: put a value that contains a colon and a space in quotes"),
        ("- a: b\n c: d\n", "2:2: this line is not indented like the lines it belongs to"),
        ("a: b\n- c\n", "2:1: this line is not indented like the lines it belongs to"),
        ("a: b\nc\n", "2:1: the colon after a key is missing, or a line is not indented like the lines it belongs to"),
        ("a: [1,,2]\n", "1:7: a value is missing here: put text with brackets or commas in quotes"),
        ("a: {b: 1, c: #d}\n", "1:14: put a value that starts with # in quotes"),
        ("a: [#b]\nc: 1\n", "1:5: put a value that starts with # in quotes"),
        ("a:\n- {b: #c}\n- {b: d}\n", "2:7: put a value that starts with # in quotes"),
        ("a: {b: ', #c', d: [}\n", "1:20: a value is missing here"),
        ("{a: b\n", "1:1: a comma or a closing } is missing; put text with brackets in quotes"),
        ('a: "\\ud83d"\n', "1:4: an escape sequence encodes half of a surrogate pair"),
        ("a: \0b\n", "1:4: the character '\\x00' is not allowed"),
        ("a: b\nc: \x1b[0m\n", "2:4: the character '\\x1b' is not allowed"),
    ],
)  # fmt: skip
def test_what_is_outside_the_accepted_language_is_refused_with_its_place(content: str, mistake: str):
    assert [found for found in mistakes(content) if found.startswith(mistake)], mistakes(content)


def test_text_that_is_not_utf8_is_refused_with_its_place():
    assert issues("a: b\nc: ä\n".encode("latin-1")) == ["2:4 syntax"]
    assert issues("a: b\n".encode("utf-16")) == ["1:1 syntax"]
    assert issues(b"\xef\xbb\xbfa: \xff\n") == ["1:4 syntax"]


def test_a_byte_order_mark_and_any_line_end_are_accepted():
    for end in ("\n", "\r\n", "\r"):
        assert parse(f"\ufeffa: 1{end}b: 2{end}") == {"a": "1", "b": "2"}


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: "])
def test_nesting_beyond_the_limit_is_refused_before_the_rest_is_read(opening: str):
    found = mistakes(opening * 100_000)
    assert len(found) == 1
    assert found[0].endswith((f"lists and mappings are nested more than {MAX_DEPTH} levels deep", "keys must be text"))


def test_nesting_up_to_the_limit_is_read():
    depth = MAX_DEPTH
    assert str(parse("[" * depth + "]" * depth)) == "[" * depth + "]" * depth


def test_a_file_up_to_one_mebibyte_is_read_and_a_larger_one_refused(tmp_path: Path):
    path = tmp_path / "large.yaml"
    path.write_text("a: 1\n" + "#" * (MAX_FILE_BYTES - 5))
    assert load_yaml(path, everything) == {"a": "1"}
    with path.open("a") as stream:
        stream.write("#")
    with pytest.raises(ConfigError, match=r"large\.yaml .*1,048,576 bytes"):
        load_yaml(path, everything)


def test_a_missing_file_is_reported(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"none\.yaml: No such file"):
        load_yaml(tmp_path / "none.yaml", everything)


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
@example(b'"\\UFFFFFFFF"')
@example(b'"\\x"')
@example(b"%YAML 99999999999999999999.1\n--- a")
@example(b"%TAG ! x\n--- !y a")
@example(b"!<%ff> a")
def test_whatever_stands_in_a_file_is_read_or_refused_and_nothing_else(content: bytes):
    error = mistake_in(content)
    assert error is None or str(error).startswith("rules.yaml:")
    assert "\n" not in str(error)


yaml_like = st.lists(
    st.sampled_from([*"abn:-[]{}#&*!|>'\"%@`?,. \t\n01~<\\", "\n  ", ": ", "- ", "---\n", "...", "<<", "\\U"])
).map("".join)


@given(yaml_like)
def test_whatever_looks_like_yaml_is_read_or_refused_and_nothing_else(content: str):
    error = mistake_in(content.encode())
    assert error is None or str(error).startswith("rules.yaml:")


# The questions of a reader


def test_a_text_and_a_number_are_text_as_they_are_spelled():
    assert parse("[abc, 007, -100, '', yes, 1.50]", lambda root: [n.text() for n in root.items()[:3]]) == [
        "abc",
        "007",
        "-100",
    ]


def test_quotes_make_text_of_anything():
    content = "['true', \"null\", '7', '~']"
    assert parse(content, lambda root: [n.text() for n in root.items()]) == ["true", "null", "7", "~"]


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "y", "N", "1:30", "0b1", "=", "12e03x"])
def test_what_only_yaml_1_1_takes_for_something_else_is_text(word: str):
    assert parse(word, lambda root: root.text()) == word


def test_other_things_where_text_belongs_are_named():
    content = "[true, null, ~, [], {}, ' ']"
    assert issues(content, lambda root: [node.text() for node in root.items()]) == [
        "1:2 [0] wrong-type",
        "1:8 [1] wrong-type",
        "1:14 [2] wrong-type",
        "1:17 [3] wrong-type",
        "1:21 [4] wrong-type",
        "1:25 [5] wrong-value",
    ]


@pytest.mark.parametrize(
    ("spelling", "number"), [("7", 7), ("+7", 7), ("007", 7), ("-1", -1), ("0o17", 15), ("0xff", 255)]
)
def test_whole_numbers_are_read_as_the_core_schema_spells_them(spelling: str, number: int):
    assert parse(spelling, lambda root: root.integer(0, -5, 300)) == number


@pytest.mark.parametrize(
    ("spelling", "mistake"),
    [
        ("0", "expected a whole number from 1 to 300, found 0"),
        ("301", "expected a whole number from 1 to 300, found 301"),
        ("9" * 5000, f"expected a whole number from 1 to 300, found {'9' * 59}…"),
        ("1.5", "expected a whole number, found a number"),
        ("'7'", "expected a whole number, found text"),
        ("seven", "expected a whole number, found text"),
        ("true", "expected a whole number, found true (in quotes it would be text)"),
    ],
)
def test_other_things_where_a_whole_number_belongs_are_named(spelling: str, mistake: str):
    assert mistakes(spelling, lambda root: root.integer(5, 1, 300)) == [f"1:1: {mistake}"]


def test_switches_are_true_or_false_in_three_spellings():
    content = "[true, True, TRUE, false, False, FALSE]"
    assert parse(content, lambda root: [n.boolean(False) for n in root.items()]) == [True] * 3 + [False] * 3


@pytest.mark.parametrize("word", ["yes", "1", "'true'", "~"])
def test_other_things_where_a_switch_belongs_are_named(word: str):
    assert issues(word, lambda root: root.boolean(True)) == ["1:1 wrong-type"]


def test_a_word_outside_a_choice_is_named_with_the_likely_one():
    def read(root: Node) -> str:
        return root.choice("shell", ("shell", "skill"))

    assert parse("skill", read) == "skill"
    assert issues("shel", read) == ["1:1 wrong-value"]
    assert issues("[]", read) == ["1:1 wrong-type"]
    assert parse("", read) == "shell"


def test_fields_have_every_known_key_and_absent_ones_give_their_default():
    def read(root: Node) -> object:
        field = root.fields(required=("a",), optional=("b", "c", "d", "e"))
        return (
            field["a"].text(),
            field["b"].text("x"),
            field["c"].integer(7, 0, 9),
            field["d"].boolean(True),
            field["e"].items(),
        )

    assert parse("a: 1", read) == ("1", "x", 7, True, [])


def test_missing_and_unknown_keys_are_refused_and_a_missing_one_only_once():
    def read(root: Node) -> object:
        field = root.mapping()["x"].fields(required=("pattern", "command"), optional=("reply",))
        return field["pattern"].text(), field["command"].text(), field["reply"].boolean(True)

    assert issues("x:\n  patern: a\n  zzz: b\n  command: c\n", read) == [
        "2:3 x.patern unknown-key",
        "2:3 x.pattern missing-key",
        "3:3 x.zzz unknown-key",
    ]


def test_a_key_that_is_there_already_is_not_suggested():
    found = issues("channel: a\nchanel: b\n", lambda root: root.fields(required=("channel",)))
    assert found == ["2:1 chanel unknown-key"]


def test_a_wrong_type_where_fields_belong_is_reported_once():
    assert issues("[1]", lambda root: root.fields(required=("a", "b"))["a"].text()) == ["1:1 wrong-type"]


def test_a_list_that_needs_an_entry_is_refused_when_it_is_empty():
    assert issues("[]", lambda root: root.items(allow_empty=False)) == ["1:1 wrong-value"]


def test_values_and_keys_keep_their_places_and_the_way_to_them():
    def read(root: Node) -> object:
        node = root.mapping()["ops"].items()[1].mapping()["to"]
        return node.place, node.key_place, node.key

    assert parse("ops:\n  - a\n  - to:   x\n", read) == ((3, 11), (3, 5), "ops[1].to")


def test_a_reader_can_refuse_a_value_or_its_key_in_its_own_words():
    def read(root: Node) -> None:
        node = root.mapping()["a"].mapping()["b"]
        node.refuse("no")
        node.refuse_key("nor this")

    assert mistakes("a:\n  b: 1\n", read) == ["2:3: a: nor this", "2:6: a.b: no"]


def test_the_mistakes_of_a_file_come_in_one_sentence_that_starts_with_its_name():
    with pytest.raises(YamlError) as raised:
        parse("a: 1\nb: 2\n", lambda root: root.fields(optional=("aa",)))
    assert raised.value.sentence() == (
        "rules.yaml:1:1: unknown key 'a' (did you mean 'aa'?); 2:1: unknown key 'b'; correct the file"
    )
    assert raised.value.code == "invalid-config"


def test_many_mistakes_are_counted_and_far_too_many_end_the_reading():
    with pytest.raises(YamlError) as raised:
        parse("\n".join(f"k{n}: 1" for n in range(12)), lambda root: root.fields())
    assert str(raised.value).endswith("10:1: unknown key 'k9'; and 2 more")
    with pytest.raises(YamlError) as raised:
        parse("\n".join(f"k{n}: 1" for n in range(5000)), lambda root: root.fields())
    assert len(raised.value.problems) == MAX_PROBLEMS


def test_a_huge_key_does_not_make_a_huge_error():
    key = "k" * 1000
    with pytest.raises(YamlError) as raised:
        parse(f"? {key}\n: {{{'x' * 500}: 1}}\n", lambda root: root.mapping()[key].fields(("a",)))
    assert len(str(raised.value)) < 500


def test_the_yaml_library_is_loaded_only_when_a_file_is_read():
    imports = "import sys, tocsin.core.reading.yaml_file, tocsin.core.storage.files"
    program = f"{imports}; sys.exit('ruamel' in str(sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_lists_of_mistakes_name_the_key_that_is_repeated_unknown_or_missing():
    def read(top: Node) -> None:
        top.fields(["b", "wanted"])["b"].mapping()

    with pytest.raises(YamlError) as raised:
        parse_yaml(b"a: 1\nb: {c: 2, c: 3}\n", PATH, read)
    assert [each.as_dict()["key"] for each in raised.value.problems] == ["a", "wanted", "b.c"]
