"""Trigger rules: `triggers.yaml` is a list of rules of which the first that matches wins."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.facts import mentions

from tocsin.core.reading.yaml_node import YamlError
from tocsin.core.storage.files import write_atomically
from tocsin.features.triggers.captures import notes_on, substitute
from tocsin.features.triggers.patterns import MAX_GROUPS, MAX_LENGTH, Pattern, PatternError, searchable
from tocsin.features.triggers.rules import MatchStatus, TriggerAction, TriggerEvent, Triggers

GOOD = r"""
- pattern: '^deploy (\w+)(?: to (\w+))?$'
  command: ./deploy "$1" "$2"
- pattern: deploy
  action: claude
  command: Explain how to deploy.
  reply: false
- pattern: forecast (.*)
  action: skill
  command: weather --place "in $1"
"""

Write = Callable[[str], Triggers]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    triggers = Triggers(tmp_path / "triggers.yaml")

    def write(content: str) -> Triggers:
        write_atomically(triggers.path, content)
        return triggers

    return write


def mistakes(triggers: Triggers) -> list[str]:
    problem = triggers.problem
    assert isinstance(problem, YamlError), problem
    return [str(mistake) for mistake in problem.problems]


def fired(triggers: Triggers, text: str) -> tuple[int, tuple[str, ...]] | None:
    match = triggers.match(text)
    return match and (match.rule.number, match.groups)


def test_the_first_rule_that_matches_wins(write: Write):
    triggers = write(GOOD)
    assert fired(triggers, "deploy web to prod") == (1, ("web", "prod"))
    assert fired(triggers, "please deploy web") == (2, ())
    assert fired(triggers, "hello") is None


def test_a_group_that_took_no_part_is_empty(write: Write):
    assert fired(write(GOOD), "deploy web") == (1, ("web", ""))


@pytest.mark.parametrize("text", ["DEPLOY", "now Deploy it", "x\ndeploy\ny", "/deploy", "dEpLoY"])
def test_a_pattern_is_found_anywhere_in_any_letter_case(write: Write, text: str):
    assert fired(write("- {pattern: DePloy, command: x}"), text) == (1, ())


def test_letter_case_does_not_count_beyond_ascii_either(write: Write):
    assert fired(write("- {pattern: ÜBER (é+), command: x}"), "über ÉÉ") == (1, ("ÉÉ",))


def test_action_and_reply_have_their_defaults(write: Write):
    rules = write(GOOD).all()
    assert [(rule.action, rule.reply) for rule in rules] == [
        (TriggerAction.SHELL, True),
        (TriggerAction.CLAUDE, False),
        (TriggerAction.SKILL, True),
    ]


def test_a_skill_is_named_first_and_its_arguments_are_quoted_as_in_a_shell(write: Write):
    assert write(GOOD).all()[2].words == ("weather", "--place", "in $1")


@pytest.mark.parametrize("content", ["", "# nothing yet\n", "[]"])
def test_a_file_without_rules_matches_nothing_and_is_no_problem(write: Write, content: str):
    triggers = write(content)
    assert (triggers.all(), triggers.problem, triggers.match("x")) == ((), None, None)


def test_a_missing_file_is_no_problem(tmp_path: Path):
    triggers = Triggers(tmp_path / "triggers.yaml")
    assert (triggers.all(), triggers.problem) == ((), None)


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        ("- {patern: a, command: b}", "1:4: [0]: unknown key 'patern' (did you mean 'pattern'?)"),
        ("- pattern: a\n", "1:3: [0]: key 'command' is missing"),
        ("- {command: a}", "1:3: [0]: key 'pattern' is missing"),
        ("- {pattern: a, command: ''}", "1:25: [0].command: expected text, found only whitespace"),
        ("- {pattern: a, command: b, action: shel}",
         "1:36: [0].action: 'shel' is not one of: shell, claude, skill (did you mean 'shell'?)"),
        ("- {pattern: a, command: b, reply: maybe}", "1:35: [0].reply: expected true or false, found text"),
        ("- {pattern: a, command: b, reply: 'true'}", "1:35: [0].reply: expected true or false, found text"),
        ("- {pattern: true, command: b}",
         "1:13: [0].pattern: expected text, found true (in quotes it would be text)"),
        ("pattern: a\ncommand: b\n", "1:1: expected a list, found a mapping"),
        ("- ping\n", "1:3: [0]: expected a mapping, found text"),
        ('- {pattern: a, command: "x\\0y"}', "1:25: [0].command: a command must not contain a NUL character"),
        ("- {pattern: a, command: " + "x" * 10_001 + "}",
         "1:25: [0].command: a command can have at most 10,000 characters; put longer commands into a file"),
        ("- {pattern: a, action: skill, command: 'x \"y'}", "1:40: [0].command: a quote is not closed"),
        ("- {pattern: (.*), action: skill, command: $1 now}",
         "1:43: [0].command: expected the name of a skill first; it cannot be taken from the message"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_line_column_and_key(write: Write, content: str, mistake: str):
    assert mistake in mistakes(write(content))


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", "back-references such as \\1 are not supported"),
        (r"(?P<n>a)(?P=n)", "back-references such as (?P=name) are not supported"),
        (r"a(?=b)", "look-ahead, (?=…), is not supported"),
        (r"a(?!b)", "look-ahead, (?!…), is not supported"),
        (r"(?<=a)b", "look-behind, (?<=…), is not supported"),
        (r"(?<!a)b", "look-behind, (?<!…), is not supported"),
        (r"(?>a)b", "atomic groups, (?>…), are not supported and not needed"),
        (r"(?(1)a|b)", "(?( is not supported"),
        (r"a++b", "++ has two repetition operators; possessive repetition is not supported and not needed"),
        (r"a**", "** has two repetition operators"),
        (r"*a", r"* has no expression to repeat; write \* for the character"),
        (r"a{2000}", "{2000} has a repeat count that is too large; the limit is 1,000 in total"),
        (r"(a", "a ( is not closed; write \\( for the character"),
        (r"a)", "a ) has no opening parenthesis; write \\) for the character"),
        (r"[a", "a [ is not closed; write \\[ for the character"),
        (r"[z-a]", "invalid class or range z-a"),
        (r"\p{Klingon}", "invalid class or range \\p{Klingon}"),
        (r"end\Z", r"the end of the text is \z, not \Z"),
        (r"\h", "\\h is not a valid escape; write \\\\ for a backslash"),
        ("a\\", "it ends with a backslash; write \\\\ for a backslash"),
        (r"[\pL\pN]{1000}x", "it is too large after its repetitions are expanded; use smaller"),
        (r"(.{0,900}b)(.{0,900}c)", "it is too large after its repetitions are expanded; use smaller"),
        ("()" * (MAX_GROUPS + 1), f"it has {MAX_GROUPS + 1} groups, limit {MAX_GROUPS}"),
        ("a" * (MAX_LENGTH + 1), "it has 1,001 characters, limit 1,000"),
    ],
)
def test_a_pattern_that_re2_cannot_take_is_refused_in_plain_words(pattern: str, reason: str):
    with pytest.raises(PatternError) as raised:
        Pattern.compile(pattern)
    assert str(raised.value).startswith(reason)


def test_a_refused_pattern_is_named_with_its_line_and_column(write: Write):
    triggers = write("- pattern: ok\n  command: x\n- pattern: '(a)\\1'\n  command: x\n")
    assert [mentions(each, "3:12: [1].pattern: ", "\\1") for each in mistakes(triggers)] == [True]
    assert str(triggers.problem).startswith(f"{triggers.path}:3:12: ")


@given(st.text(max_size=60))
def test_any_text_as_a_pattern_is_taken_or_refused_with_a_reason(pattern: str):
    try:
        Pattern.compile(searchable(pattern).decode())
    except PatternError as error:
        assert str(error)  # noqa: PT017  # both ways are fine; neither is any other exception


def test_one_bad_rule_leaves_the_whole_last_good_file_in_force(write: Write):
    assert fired(write("- {pattern: old, command: x}"), "old") == (1, ())
    triggers = write("- {pattern: new, command: x}\n- {pattern: '(', command: x}\n")
    assert (fired(triggers, "old"), fired(triggers, "new")) == ((1, ()), None)
    assert len(mistakes(triggers)) == 1
    triggers = write("- {pattern: new, command: x}\n")
    assert (fired(triggers, "old"), fired(triggers, "new"), triggers.problem) == (None, (1, ()), None)


@pytest.mark.parametrize("text", ["\ud83d", "a\udcffb", "\ud83d\ude00", "\0", "a\0b", "\x00" * 9, ""])
def test_a_text_that_is_no_clean_unicode_is_matched_all_the_same(write: Write, text: str):
    match = write("- {pattern: (?s)^(.*)$, command: x}").match(text)
    assert match is not None
    assert "\0" not in match.groups[0]
    match.groups[0].encode()


def test_a_byte_of_a_character_is_a_replacement_character_in_its_capture(write: Write):
    assert fired(write(r"- {pattern: '^(\C)', command: x}"), "é") == (1, ("\ufffd",))


@given(st.text())
def test_what_a_group_captures_is_the_text_itself(text: str):
    found = Pattern.compile("(?s)^(.*)$").find(searchable(text))
    assert found == (text.replace("\0", ""),) * 2


EVIL_PATTERNS = (
    r"(a+)+$", r"(a|aa)+$", r"(a|a?)+$", r"(.*)*b$", r"(x+x+)+y", r"^(a?){500}a{500}$", r"([a-z]+)*!", r"(.*a){20}",
    r"^(([a-z])+.)+[A-Z]([a-z])+$", r"^(?:(?:a*)*)*$", r"(.*)(.*)(.*)(.*)(.*)=", r"\s+$", r"(\w+\s?)*$",
    r"(a{1,30}){30}b",
)  # fmt: skip
EVIL_TEXTS = ("a" * 65536, "a" * 65535 + "!", " " * 65536 + "x", "x" * 65536, "é" * 32768, "ab " * 21845)


@pytest.mark.parametrize("pattern", EVIL_PATTERNS)
def test_an_evil_pattern_comes_to_an_end_on_64_kilobytes(pattern: str):
    compiled = Pattern.compile(pattern)
    for text in EVIL_TEXTS:
        compiled.find(text.encode())  # a backtracking engine needs longer than the universe has


def test_explain_says_of_every_rule_whether_it_fires_and_why_not(write: Write):
    triggers = write(GOOD)
    found = triggers.explain("deploy web")
    assert (found.matched, found.rule, found.groups) == (True, triggers.all()[0], ("web", ""))
    assert [rule.outcome for rule in found.rules] == [MatchStatus.FIRES, MatchStatus.COVERED, MatchStatus.NO_MATCH]


def test_a_rule_keeps_its_number_and_pattern_in_its_id(write: Write):
    first, second = write("- {pattern: a, command: x}\n- {pattern: a, command: y}\n").all()
    assert (first.id[:2], second.id[:2]) == ("1-", "2-")
    assert first.id[2:] == second.id[2:]
    assert len(first.id) == 10


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("tell $1", "tell one"),
        ("$2$1", "twoone"),
        ("${1}0 $10 ${10}", "one0 one0 "),
        ("[$3] ${99}", "[] "),
        ("$0, ${0}", "all, all"),
        ("$x ${x} $$ $ ${01}", "$x ${x} $$ $ ${01}"),
    ],
)
def test_captures_are_put_in_as_a_shell_would(text: str, made: str):
    assert substitute(text, ("all", "one", "two")) == made


def test_what_a_capture_holds_is_not_looked_at_again():
    assert substitute("$1", ("", "$2", "secret")) == "$2"


@pytest.mark.parametrize("command", ['echo "$1"', "echo", "echo '$x'", r"echo \$1", 'echo "$(date "+%F $1")"', "ls *"])
def test_a_careful_command_gets_no_advice(command: str):
    assert notes_on(command) == ()


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("echo $(($1 + 1))", "as code in $((…))"),
        ("[[ $TRIGGER_MESSAGE -gt 3 ]]", "as code in [[ -gt ]]"),
        ('eval "$1"', "as code again"),
        ('bash -c "echo $1"', "as code again"),
        ('bash -lc "echo $1"', "as code again"),
        ('ssh web "restart $1"', "as code again"),
    ],
)
def test_a_careless_command_gets_advice(command: str, advice: str):
    assert advice in " ".join(notes_on(command))


@given(st.text(alphabet="$1\"'\\(){} @a", max_size=40))
def test_any_command_can_be_looked_at(command: str):
    assert isinstance(notes_on(command), tuple)


@pytest.mark.parametrize(
    ("escape", "shown"), [(r"\b", r"\x08"), (r"\f", r"\x0c"), (r"\P", r"\u2029"), (r"\x1b", r"\x1b")]
)
def test_an_escape_that_yaml_makes_a_control_character_of_is_told(write: Write, escape: str, shown: str):
    triggers = write(f'- pattern: "{escape}disk"\n  command: df\n')
    assert [mentions(each, "1:12: [0].pattern: ", f"'{shown}'") for each in mistakes(triggers)] == [True]
    assert write(f"- pattern: '{escape.replace('P', 'PL')}disk'\n  command: df\n").problem is None


def test_a_backslash_in_double_quotes_is_told_with_its_place_and_the_quotes_to_use(write: Write):
    triggers = write('- pattern: "^disk (\\d+)$"\n  command: df\n')
    assert [mentions(each, "1:21: ", r"\d", "single quotes") for each in mistakes(triggers)] == [True]


def test_a_command_takes_no_placeholder(write: Write):
    [mistake] = mistakes(write("- {pattern: a, command: 'echo ${params.x}'}\n"))
    assert "shell" in mistake
    assert write("- {pattern: a, action: claude, command: 'What is ${params.x}?'}\n").problem is None


# --- pressed buttons


def pressed(triggers: Triggers, name: str) -> int | None:
    match = triggers.match(name, TriggerEvent.ACTION)
    return match and match.rule.number


def test_a_rule_for_actions_matches_the_whole_name_of_a_button_and_no_message(write: Write):
    triggers = write("- {on: action, name: 'ack|note', command: x}\n- {on: action, command: y}\n")
    assert [pressed(triggers, name) for name in ("ack", "note", "back.ack", "noted")] == [1, 1, 2, 2]
    assert triggers.match("ack") is None


def test_a_rule_for_messages_matches_no_button(write: Write):
    assert pressed(write("- {pattern: ack, command: x}"), "ack") is None


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("{on: action, pattern: x, command: x}", ("pattern", "name")),
        ("{name: x, command: x}", ("name", "pattern")),
        ("{on: press, pattern: x, command: x}", ("on", "message", "action")),
        ("{on: action, name: '(', command: x}", ("name", "(")),
        ("{command: x}", ("pattern", "missing")),
    ],
)
def test_a_rule_whose_keys_do_not_fit_what_it_is_for_is_refused(write: Write, rule: str, words: tuple[str, ...]):
    triggers = write(f"- {rule}")
    assert triggers.all() == ()
    assert any(mentions(each, *words) for each in mistakes(triggers)), mistakes(triggers)
