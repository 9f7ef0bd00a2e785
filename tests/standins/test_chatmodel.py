"""The stand-in of a chat model, seen by a plain client of either interface."""

import base64
import json

import aiohttp
import pytest

from tocsin_standins import Fault
from tocsin_standins.chatmodel.server import KEY, MODEL, ChatModel
from tocsin_standins.chatmodel.wire import Prompt, build_example

PNG = base64.b64encode(b"\x89PNG").decode()
SCHEMA = {
    "type": "object",
    "properties": {
        "what": {"$ref": "#/$defs/Thing"},
        "many": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "kind": {"enum": ["a", "b"]},
        "sure": {"type": "boolean"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "lone": {"type": "null"},
        "usual": {"type": "string", "default": "x"},
    },
    "$defs": {"Thing": {"type": "object", "properties": {"name": {"type": "string"}}}},
}
EXAMPLE = {
    "what": {"name": "hi"},
    "many": 1,
    "tags": ["hi"],
    "kind": "a",
    "sure": False,
    "note": "hi",
    "lone": None,
    "usual": "x",
}


@pytest.fixture
async def model():
    async with ChatModel() as model:
        yield model


@pytest.fixture(params=["openai", "anthropic"])
def call(request, model, http):
    """Ask by either interface; the rest of the body is as the product's users write it."""

    def post(text="hi", *, key=KEY, headers=None, **body):
        usual = {"model": MODEL, "messages": [{"role": "user", "content": text}]}
        if request.param == "openai":
            url, headers = f"{model.openai_url}/chat/completions", {"Authorization": f"Bearer {key}"}
        else:
            url, headers = f"{model.anthropic_url}/v1/messages", {"x-api-key": key}
            usual["max_tokens"] = 100
        return http.post(url, json=usual | body, headers=headers, allow_redirects=False)

    post.interface = request.param
    return post


def said(interface, document):
    """Return text and reason of a whole answer."""
    if interface == "anthropic":
        return "".join(block["text"] for block in document["content"]), document["stop_reason"]
    [choice] = document["choices"]
    return choice["message"]["content"], choice["finish_reason"]


def events(raw):
    """Return the data of server-sent events."""
    lines = raw.decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def pieces(interface, raw):
    if interface == "anthropic":
        return [e["delta"]["text"] for e in events(raw) if e["type"] == "content_block_delta"]
    return [c["delta"]["content"] for e in events(raw) for c in e["choices"] if c["delta"].get("content")]


async def test_it_says_again_what_it_was_told(call, model):
    async with call("one\ntwo") as answer:
        text, reason = said(call.interface, await answer.json())
    assert text == "**You said:**\n\n> one\n> two"
    assert reason in {"stop", "end_turn"}
    [asked] = model.recorder.of(kind="question")
    assert (asked.target, asked.text, asked.body["images"]) == (MODEL, "one\ntwo", 0)
    assert model.recorder.of() == []  # no message to a person


async def test_it_says_what_it_is_given_to_say_in_turn(call, model):
    model.will_answer("first", {"a": 1})
    for expected in ("first", '{"a": 1}', "**You said:**\n\n> hi"):
        async with call() as answer:
            assert said(call.interface, await answer.json())[0] == expected


async def test_a_stream_has_the_same_words_one_by_one_and_an_end(call, model):
    model.will_answer("one two\n\nthree ")
    async with call(stream=True, stream_options={"include_usage": True}) as answer:
        assert answer.content_type == "text/event-stream"
        raw = await answer.read()
    assert pieces(call.interface, raw) == ["one", " two", "\n\nthree", " "]
    found = events(raw)
    if call.interface == "openai":
        assert raw.endswith(b"data: [DONE]\n\n")
        assert found[-1]["usage"]["completion_tokens"] == 4
        assert found[-2]["choices"][0]["finish_reason"] == "stop"
    else:
        assert [found[0]["type"], found[-1]["type"]] == ["message_start", "message_stop"]
        assert found[-2]["delta"]["stop_reason"] == "end_turn"


async def test_pictures_are_counted_and_checked(call):
    def picture(data):
        if call.interface == "openai":
            return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    text = {"type": "text", "text": "what?"}
    async with call([text, picture(PNG), picture(PNG)]) as answer:
        assert said(call.interface, await answer.json())[0].endswith("*Images: 2*")
    async with call([text, picture("no base64!")]) as answer:
        assert answer.status == 400


async def test_a_function_that_must_be_called_is_called_with_what_fits_its_schema(call):
    if call.interface == "openai":
        tool = {"type": "function", "function": {"name": "fill", "parameters": SCHEMA}}
        body = {"tools": [tool], "tool_choice": "required"}
    else:
        body = {"tools": [{"name": "fill", "input_schema": SCHEMA}], "tool_choice": {"type": "any"}}
    async with call(**body) as answer:
        document = await answer.json()
    if call.interface == "openai":
        [made] = document["choices"][0]["message"]["tool_calls"]
        assert json.loads(made["function"]["arguments"]) == EXAMPLE
    else:
        assert document["content"][0]["input"] == EXAMPLE
    async with call(stream=True, **body) as answer:
        found = events(await answer.read())
    if call.interface == "openai":
        calls = [c["delta"]["tool_calls"][0] for e in found for c in e["choices"] if "tool_calls" in c["delta"]]
        written = "".join(made["function"]["arguments"] for made in calls)
    else:
        written = "".join(e["delta"]["partial_json"] for e in found if e["type"] == "content_block_delta")
    assert json.loads(written) == EXAMPLE


async def test_a_text_that_must_fit_a_schema_does(model, http):
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "hi"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}},
    }
    headers = {"Authorization": f"Bearer {KEY}"}
    async with http.post(f"{model.openai_url}/chat/completions", json=body, headers=headers) as answer:
        assert json.loads(said("openai", await answer.json())[0]) == EXAMPLE


def test_an_example_repeats_the_text():
    assert build_example({"type": "string"}, "hi") == "hi"
    assert build_example({"const": 7}, "hi") == 7


def test_an_example_names_what_the_instructions_list_and_the_text_asks_for():
    prompt = Prompt(MODEL, "Installed:\n- disk-space: x\n- greet: y", (), 0, False, False, "", None)
    schema = {"type": "string", "default": ""}
    assert build_example(schema, "please greet me", names=prompt.names) == "greet"
    assert build_example(schema, "hello", names=prompt.names) == ""


async def test_a_wrong_key_is_refused(call, model):
    async with call(key="wrong") as answer:
        assert answer.status == 401
        document = await answer.json()
    assert document["error"]
    assert len(model.recorder) == 0


@pytest.mark.parametrize("body", [{"messages": []}, {"messages": 7}, {"messages": [7]}, {"model": "unknown"}])
async def test_what_is_not_understood_is_refused(call, body):
    async with call(**body) as answer:
        assert answer.status == (404 if "model" in body else 400)
        assert (await answer.json())["error"]["message"]


async def test_a_conversation_that_the_assistant_begins_is_refused_by_anthropic_alone(call):
    turns = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    async with call(messages=turns) as answer:
        assert answer.status == (200 if call.interface == "openai" else 400)


async def test_throttling_speaks_the_products_language(call, model):
    model.faults.push(Fault.rate_limited(2.5), Fault.error("overloaded_error", "Busy", http_status=529))
    async with call() as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
        error = (await answer.json())["error"]
    assert "rate_limit" in (error["type"] + str(error.get("code")))
    async with call() as answer:
        assert (answer.status, (await answer.json())["error"]["message"]) == (529, "Busy")


async def test_a_stream_may_be_cut(call, model):
    model.will_answer("one two three four")
    model.faults.push(Fault.answer("cut"))
    async with call(stream=True) as answer:
        with pytest.raises(aiohttp.ClientError):
            await answer.read()


@pytest.mark.parametrize("kind", ["unfinished", "broken_event", "error_event"])
async def test_a_stream_may_end_wrongly(call, model, kind):
    model.will_answer("one two three four")
    model.faults.push(Fault.answer(kind))
    async with call(stream=True) as answer:
        raw = await answer.read()
    assert b"one" in raw
    assert b"four" not in raw
    assert b'stop_reason": "end' not in raw
    assert b"[DONE]" not in raw
    assert (b"overloaded" in raw) == (kind == "error_event")


async def test_a_stream_may_fall_silent_until_its_reader_leaves(call, model, until):
    model.will_answer("one two three four")
    model.faults.push(Fault.answer("hang", 60))
    async with call(stream=True) as answer:
        while b"one" not in await answer.content.readany():
            pass
        assert not answer.content.at_eof()
        assert not model.given_up
        answer.close()
    await until(lambda: model.given_up)


async def test_a_stream_may_be_slow(call, model):
    model.will_answer("one two")
    model.faults.push(Fault.answer("slow", 0.005))
    async with call(stream=True) as answer:
        assert "".join(pieces(call.interface, await answer.read())) == "one two"


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_may_be_empty_or_shortened(call, model, stream):
    model.faults.push(Fault.answer("empty"), Fault.answer("shortened"))
    async with call(stream=stream) as answer:
        raw = await answer.read()
    text = "".join(pieces(call.interface, raw)) if stream else said(call.interface, json.loads(raw))[0]
    assert text == ""
    async with call(stream=stream) as answer:
        raw = await answer.read()
    assert b'"length"' in raw or b'"max_tokens"' in raw


@pytest.mark.parametrize("kind", ["cut", "hang", "slow", "broken_event", "unfinished", "error_event"])
async def test_an_answer_in_one_piece_goes_wrong_too(call, model, kind):
    model.faults.push(Fault.answer(kind, 0.01))
    if kind == "cut":
        with pytest.raises(aiohttp.ClientError):
            await call()
        return
    async with call() as answer:
        raw = await answer.read()
    if kind in {"hang", "slow"}:
        assert said(call.interface, json.loads(raw))[0]
    elif kind == "error_event":
        assert answer.status == 503
    else:
        with pytest.raises(json.JSONDecodeError):
            json.loads(raw)


async def test_faults_of_an_answer_can_be_scripted_from_outside(call, model, http):
    async with http.post(f"{model.url}/_standin/faults", json=[{"kind": "empty"}]) as scripted:
        assert scripted.status == 201
    async with call() as answer:
        assert said(call.interface, await answer.json())[0] == ""


async def test_the_town_has_one_and_says_where(town):
    environment = town.environment()
    assert environment["CHAT_PROVIDER"] == "openai"
    assert environment["OPENAI_BASE_URL"] == town.chatmodel.openai_url
    assert environment["ANTHROPIC_BASE_URL"] == town.control()["chatmodel"]
