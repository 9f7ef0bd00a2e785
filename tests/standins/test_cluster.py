import asyncio
import json
import signal
import smtplib
import ssl
import subprocess
import sys

import aiohttp
import pytest
from tests.waiting import PATIENCE_S

from tocsin_standins import Recorder, open_standins
from tocsin_standins.teamchat.server import TeamChat


def send_mail(town):
    context = ssl.create_default_context(cafile=str(town.ca_file))
    with smtplib.SMTP(town.mail.host, town.mail.port, timeout=PATIENCE_S) as session:
        session.starttls(context=context)
        session.login(town.mail.user, town.mail.password)
        session.sendmail("t@mail.example", ["a@x.example"], "Subject: Hi\r\n\r\n<b>body</b>\r\n")


async def send_everywhere(town, http):
    headers = {"Authorization": f"Bearer {town.teamchat.token}"}
    body = {"channel": "#general", "text": "to teamchat"}
    async with http.post(f"{town.teamchat.api_url}/chat.postMessage", json=body, headers=headers) as answer:
        assert answer.ok
    url = f"{town.botchat.api_url}/bot{town.botchat.token}/sendMessage"
    async with http.post(url, json={"chat_id": 1001, "text": "to botchat"}) as answer:
        assert answer.ok
    headers = {"Authorization": f"Bot {town.guildchat.token}", "User-Agent": "DiscordBot (x, 1)"}
    url = f"{town.guildchat.api_url}/channels/100000000000000001/messages"
    async with http.post(url, json={"content": "to guildchat"}, headers=headers) as answer:
        assert answer.ok
    await asyncio.to_thread(send_mail, town)


async def test_one_recorder_hears_all_four(town, http):
    await send_everywhere(town, http)
    messages = await town.recorder.wait_for(4, timeout_s=PATIENCE_S)
    assert [(m.n, m.channel) for m in messages] == [
        (1, "teamchat"),
        (2, "botchat"),
        (3, "guildchat"),
        (4, "email"),
    ]


async def test_the_environment_points_at_the_stand_ins(town):
    environment = town.environment()
    assert environment["TEAMCHAT_API_URL"] == f"{town.teamchat.url}/api"
    assert environment["GUILDCHAT_API_URL"].endswith("/api/v10")
    assert environment["SMTP_PORT"] == str(town.mail.port)
    assert town.ca_file.read_text().startswith("-----BEGIN CERTIFICATE-----")


async def test_the_page_loads_nothing_from_elsewhere(town, http):
    async with http.get(town.page.url) as answer:
        page, policy = await answer.text(), answer.headers["Content-Security-Policy"]
    assert answer.content_type == "text/html"
    assert "default-src 'none'" in policy
    nonce = policy.partition("'nonce-")[2].partition("'")[0]
    assert page.count(f'nonce="{nonce}"') == 2
    assert "{nonce}" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "innerHTML" not in page
    assert "color-scheme: light dark" in page


async def test_the_pages_data_lists_what_came_and_waits_for_more(town, http):
    async with http.get(f"{town.page.url}/received.json") as answer:
        assert (await answer.json())["received"] == []

    async def following():
        async with http.get(f"{town.page.url}/received.json?after=0") as answer:
            return (await answer.json())["received"]

    waiting = asyncio.ensure_future(following())
    town.recorder.add("email", "a@x.example", "<script>alert(1)</script>", id="1")
    assert [item["text"] for item in await waiting] == ["<script>alert(1)</script>"]
    async with http.get(f"{town.page.url}/received.json?after=x") as answer:
        assert answer.status == 400


async def test_the_page_lets_somebody_write_to_the_bot(town, http):
    async with http.post(f"{town.page.url}/_standin/say", json={"chat_id": 1001, "text": "hi"}) as answer:
        assert answer.status == 201
    url = f"{town.botchat.api_url}/bot{town.botchat.token}/getUpdates"
    async with http.get(url) as answer:
        assert (await answer.json())["result"][0]["message"]["text"] == "hi"
    assert [(i.kind, i.account) for i in town.recorder.items] == [("inbound", "Alice")]


async def test_the_mail_servers_faults_are_scripted_on_the_page(town, http):
    url = f"{town.page.url}/_standin/email/faults"
    fault = {"kind": "error", "code": "451 4.3.0 Try again later", "operation": "MAIL"}
    async with http.post(url, json=[fault]) as answer:
        assert answer.status == 201
    with pytest.raises(smtplib.SMTPSenderRefused):
        await asyncio.to_thread(send_mail, town)
    async with http.post(url, json={"hold": fault}):
        pass
    async with http.delete(url):
        pass
    await asyncio.to_thread(send_mail, town)
    async with http.get(f"{town.page.url}/_standin/received?kind=message") as answer:
        assert [item["channel"] for item in (await answer.json())["received"]] == ["email"]


async def test_stopping_is_quick_while_the_page_follows(http, until):
    async with open_standins() as town:
        waiting = asyncio.ensure_future(http.get(f"{town.page.url}/received.json?after=0"))
        await until(lambda: town.page.requests)
    (await waiting).close()


async def test_stopping_leaves_no_task_behind():
    before = asyncio.all_tasks()
    async with open_standins():
        pass
    assert asyncio.all_tasks() == before


async def test_a_stand_in_works_alone_with_its_own_recorder(http):
    recorder = Recorder()
    async with TeamChat(recorder) as teamchat:
        assert teamchat.recorder is recorder
        async with http.get(f"{teamchat.api_url}/auth.test") as answer:
            assert (await answer.json())["error"] == "not_authed"


async def test_an_outage_ends_on_the_same_port_with_the_same_state(town, http):
    await send_everywhere(town, http)
    standins = (town.teamchat, town.botchat, town.guildchat, town.mail)
    for standin in standins:
        await standin.stop()
    with pytest.raises(aiohttp.ClientConnectorError):
        await http.post(town.botchat.url)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.to_thread(smtplib.SMTP, town.mail.host, town.mail.port)
    for standin in standins:
        await standin.start()
    await send_everywhere(town, http)
    assert len(town.recorder.of()) == 8


def test_the_stand_ins_run_as_a_process_of_their_own():
    process = subprocess.Popen([sys.executable, "-m", "tocsin_standins"], stdout=subprocess.PIPE, text=True)
    try:
        told = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert told["control"].keys() == {"teamchat", "botchat", "guildchat", "chatmodel", "page"}
    assert told["environment"]["SMTP_TLS"] == "starttls"


def test_the_stand_ins_load_without_the_mail_packages():
    script = "import sys; sys.modules['aiosmtpd'] = sys.modules['trustme'] = None; import tocsin_standins"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
