"""`tocsin ask`: one question to the configured chat model."""

import base64
import os
import select
import signal
from random import Random

import pytest
from tests.cli.conftest import Cli, end
from tests.cli.test_terminal import SPINNER, on_terminal, run
from tests.facts import mentions
from tests.waiting import PATIENCE_S

from tocsin_standins import Fault, StandinCluster
from tocsin_standins.chatmodel.server import CAPABLE, MODEL

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def asked(town: StandinCluster) -> list[dict]:
    return [item.body for item in town.recorder.of("chatmodel", kind="question")]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_answer_is_printed(wired: Cli, town: StandinCluster, provider):
    town.chatmodel.will_answer("Killed by a **signal**.")
    done = wired("ask", "What does exit code 137 mean?", env={"CHAT_PROVIDER": provider})
    assert (done.code, done.out, done.err) == (0, "Killed by a **signal**.\n", "")
    assert asked(town)[0]["turns"] == [["user", "What does exit code 137 mean?"]]


def test_a_dash_reads_the_question_from_standard_input(wired: Cli, town: StandinCluster):
    assert wired("ask", "-", stdin="Grüße, 世界\n".encode()).code == 0
    assert asked(town)[0]["turns"] == [["user", "Grüße, 世界"]]


def test_json_is_one_document_with_what_it_cost(wired: Cli, town: StandinCluster):
    town.chatmodel.will_answer("Because of this.")
    done = wired("ask", "Why?", "--json")
    assert done.json() == {
        "text": "Because of this.",
        "model": MODEL,
        "provider": "openai",
        "input_tokens": 1,
        "output_tokens": 3,
        "truncated": False,
    }


def test_pictures_belong_to_the_question(wired: Cli, town: StandinCluster):
    for name in ("a.png", "b.data"):
        (wired.home / name).write_bytes(PIXEL)
    assert wired("ask", "--image", "a.png", "--image", "b.data", "What is odd?").code == 0
    assert asked(town)[0]["images"] == 2


def test_a_picture_that_is_too_large_for_models_is_scaled_down(wired: Cli, town: StandinCluster):
    pictures = pytest.importorskip("PIL.Image")  # of the extra `chat`
    pictures.frombytes("RGB", (1400, 1000), Random(1).randbytes(4_200_000)).save(wired.home / "a.png")
    assert wired("ask", "--image", "a.png", "What is odd?").code == 0
    (question,) = asked(town)
    assert question["images"] == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        (b"%PDF-1.7", "is not a supported"),
        (b"", "is not a supported"),
        (PIXEL + b"x" * 2**25, "20 MiB"),
    ],
    ids=["missing", "pdf", "empty", "huge"],
)
def test_what_is_no_picture_is_refused_before_anybody_is_asked(wired: Cli, town: StandinCluster, content, said):
    if content is not None:
        (wired.home / "a.png").write_bytes(content)
    done = wired("ask", "--image", "a.png", "What?")
    assert done.code == 2
    assert said in done.err
    assert asked(town) == []


@pytest.mark.parametrize(("name", "model"), [(CAPABLE, CAPABLE), ("vendor-capable-4", CAPABLE)])
def test_another_model_may_be_named(wired: Cli, town: StandinCluster, name, model):
    assert wired("ask", "Why?", "--model", name, "--json").json()["model"] == model


def test_without_a_chat_model_the_settings_to_write_are_named(cli: Cli):
    done = cli("ask", "Why?")
    assert done.code == 2
    assert mentions(
        done.err, "CHAT_PROVIDER", "CHAT_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", cli.data_dir / ".env"
    )


def test_a_half_configured_chat_model_is_told_with_what_is_missing(cli: Cli):
    done = cli("ask", "Why?", "--json", env={"CHAT_PROVIDER": "anthropic"})
    assert done.code == 2
    assert done.json()["error"] == "CHAT_PROVIDER=anthropic needs CHAT_MODEL and ANTHROPIC_API_KEY"


@pytest.mark.parametrize("question", ["", " "])
def test_an_empty_question_is_wrong_usage(wired: Cli, town: StandinCluster, question):
    done = wired("ask", question)
    assert (done.code, asked(town)) == (2, [])


def test_a_failure_is_one_sentence_with_a_remedy_and_exit_code_1(wired: Cli, town: StandinCluster):
    town.chatmodel.faults.push(Fault.error("x", http_status=401))
    done = wired("ask", "Why?")
    assert (done.code, done.out) == (1, "")
    assert mentions(done.err, town.chatmodel.url[7:], "(401)", "OPENAI_API_KEY")


def test_an_answer_that_breaks_off_is_not_printed_into_a_file(wired: Cli, town: StandinCluster):
    town.chatmodel.will_answer("one two three four five")
    town.chatmodel.faults.push(Fault.answer("unfinished"))
    done = wired("ask", "Why?")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"tocsin: {town.chatmodel.url[7:]} ")


def test_an_answer_that_is_not_whole_is_printed_with_a_note(wired: Cli, town: StandinCluster):
    town.chatmodel.will_answer("a long story of many words")
    town.chatmodel.faults.push(Fault.answer("shortened"))
    done = wired("ask", "Why?")
    assert (done.code, done.out) == (0, "a long story \n")
    assert done.err.count("\n") == 1


def test_control_characters_of_a_model_do_not_reach_the_terminal(wired: Cli, town: StandinCluster):
    town.chatmodel.will_answer("red \x1b[31m and\ttab\nline")
    assert wired("ask", "Why?").out == "red \\u001b[31m and\ttab\nline\n"


def test_the_key_is_in_no_output_even_where_the_model_says_it(wired: Cli, town: StandinCluster):
    key = town.chatmodel.key
    town.chatmodel.will_answer(f"The key is {key}.", f"The key is {key}.")
    done = wired("ask", "Why?", "-v")
    assert key not in done.out + done.err
    assert "[secret]" in done.out
    code, screen = run(wired, "ask", "Why?")
    assert code == 0
    assert key not in screen


def test_on_a_terminal_the_answer_is_shown_while_it_is_written(wired: Cli, town: StandinCluster):
    town.chatmodel.will_answer("one two three four five six seven eight")
    town.chatmodel.faults.push(Fault.answer("hang", 60))
    with on_terminal(wired, "ask", "Why?") as session:
        seen = ""
        while "one two three" not in seen:
            assert select.select([session.screen], [], [], 10)[0], seen
            seen += os.read(session.screen, 65536).decode()


def test_on_a_terminal_the_answer_ends_with_one_line_end(wired: Cli, town: StandinCluster):
    town.chatmodel.will_answer("one two\n\nthree")
    code, screen = run(wired, "ask", "Why?")
    assert code == 0
    assert SPINNER.sub("", screen).endswith("one two\r\n\r\nthree\r\n")


def test_on_a_terminal_what_is_void_is_marked_when_the_fallback_begins_anew(wired: Cli, town: StandinCluster):
    town.chatmodel.will_answer("one two three four five six", "the whole answer")
    town.chatmodel.faults.push(Fault.answer("unfinished"))
    env = {"CHAT_FALLBACK_PROVIDER": "anthropic", "CHAT_FALLBACK_MODEL": CAPABLE}
    code, screen = run(wired, "ask", "Why?", **env)
    assert code == 0
    before, note, after = screen.partition("tocsin: the answer was interrupted; it starts again")
    assert note
    assert "one two" in before
    assert after.strip() == "the whole answer"


def test_ctrl_c_ends_the_question(wired: Cli, town: StandinCluster, until):
    town.chatmodel.faults.push(Fault.stall(60))
    before = town.chatmodel.requests
    with wired.running("ask", "Why?") as child:
        until(lambda: town.chatmodel.requests > before, within_s=4 * PATIENCE_S)  # it loads a large package first
        code, out, _ = end(child, signal.SIGINT)
    assert (code, out) == (130, "")


def test_the_help_shows_examples(cli: Cli):
    done = cli("ask", "--help")
    assert done.code == 0
    assert 'tocsin ask "What does exit code 137 mean?"' in done.out
