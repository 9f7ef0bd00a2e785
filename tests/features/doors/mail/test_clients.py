"""Mail clients that people have, as Debian ships them."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest
import trustme
from tests.features.doors.clients.conftest import unavailable, unpacked_programs
from tests.features.doors.mail.conftest import MailBench, open_mail
from tests.features.doors.mail.test_sessions import certified

BODY = b"Subject: from a client\n\nhello\n"


async def run(*words: str, content: bytes = BODY, home: Path) -> None:
    """Run a client in an environment of its own; `tools/bootstrap.py dev` installs it."""
    program = shutil.which(words[0], path="/usr/bin:/bin")
    if program is None:
        unavailable(f"{words[0]} is not installed")
    child = await asyncio.create_subprocess_exec(
        program, *words[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "HELOHOST": "localhost"}, cwd=home,
    )  # fmt: skip
    said, _ = await child.communicate(content)
    assert child.returncode == 0, said.decode()


async def the_only_text(mail: MailBench) -> str:
    [sent] = await mail.front.work()
    return str(sent.message)


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
async def test_swaks(mail: MailBench, tmp_path: Path, mechanism: str):
    token = await mail.add()
    server = ("--server", f"127.0.0.1:{mail.port}", "--from", "a@x", "--to", "oncall@x", "--body", "hello")
    await run("swaks", *server, "--auth", mechanism, "--auth-user", "nas", "--auth-password", token, home=tmp_path)
    assert await the_only_text(mail) == "hello"


async def test_swaks_with_starttls_and_msmtp_with_starttls(tmp_path: Path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    async with open_mail(tmp_path, certified(authority, tmp_path)) as mail:
        token = await mail.add()
        server = ("--server", f"localhost:{mail.port}", "--from", "a@x", "--to", f"oncall+{token}@x", "--body", "hello")
        await run("swaks", *server, "--tls", "--tls-verify", "--tls-ca-path", str(tmp_path / "ca.pem"), home=tmp_path)
        assert await the_only_text(mail) == "hello"
        settings = msmtp_settings(mail, token, f"tls on\ntls_starttls on\ntls_trust_file {tmp_path / 'ca.pem'}\n")
        await run("msmtp", f"--file={settings_file(tmp_path, settings)}", "oncall.ok@x", home=tmp_path)
        assert {each.message for each in await mail.front.work()} == {"hello"}


@pytest.mark.parametrize("mechanism", ["plain", "login"])
async def test_msmtp(mail: MailBench, tmp_path: Path, mechanism: str):
    token = await mail.add()
    settings = msmtp_settings(mail, token, "tls off\n").replace("auth plain", f"auth {mechanism}")
    await run("msmtp", f"--file={settings_file(tmp_path, settings)}", "oncall@x", home=tmp_path)
    assert await the_only_text(mail) == "hello"


def msmtp_settings(mail: MailBench, token: str, tls: str) -> str:
    return f"account default\nhost localhost\nport {mail.port}\nauth plain\nuser nas\npassword {token}\nfrom a@x\n{tls}"


def settings_file(directory: Path, text: str) -> Path:
    path = directory / "client.conf"
    path.touch(0o600)
    path.write_text(text)
    return path


async def test_s_nail(mail: MailBench, tmp_path: Path):
    token = await mail.add()
    options = ("-S", "v15-compat", "-S", f"mta=smtp://nas:{token}@127.0.0.1:{mail.port}", "-S", "smtp-auth=plain")
    words = ("-:/", *options, "-r", "a@x.example", "-s", "from a client", "oncall@x.example")
    await run("s-nail", *words, content=b"hello\n", home=tmp_path)
    assert await the_only_text(mail) == "hello"


async def test_the_program_that_sends_for_nullmailer(mail: MailBench, tmp_path: Path):
    token, program = await mail.add(), unpacked_programs() / "usr" / "lib" / "nullmailer" / "smtp"
    queued = settings_file(tmp_path, f"a@x.example\noncall@x.example\n\n{BODY.decode()}")
    options = f"host=127.0.0.1\nport={mail.port}\nuser=nas\npass={token}\n".encode()
    await run("sh", "-c", f'exec {program} 3< "$0"', str(queued), content=options, home=tmp_path)
    assert await the_only_text(mail) == "hello"
