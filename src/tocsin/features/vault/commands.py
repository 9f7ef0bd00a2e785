"""vault: store secrets, show their ages, and manage who can read them."""

import argparse
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tocsin.core.config.settings import Settings, platform, read_env_file
from tocsin.core.errors import ConfigError
from tocsin.core.records.as_json import to_json
from tocsin.core.storage.files import read_limited, write_atomically
from tocsin.core.text.strings import number_of
from tocsin.features.contract import Commands
from tocsin.features.vault.hooks import open_service
from tocsin.features.vault.model import MAX_VALUE_BYTES, OlderVaultError, VaultError, timestamp, validate_name
from tocsin.features.vault.rotation import RotationState, SecretAgeRecord
from tocsin.features.vault.service import Vault, generate_value
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.secret_input import secret_input
from tocsin.terminal.text import readable

_CLI = "cli"
_WORDS = {RotationState.OK: "ok", RotationState.WARNING: "warning", RotationState.EXPIRED: "error: expired"}
Command = Callable[[argparse.Namespace, Console, Program], int]


def configure_vault(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin vault`."""
    parser.epilog = "example: tocsin vault set GATEWAY_TOKEN"
    subcommands: dict[str, tuple[str, str, Command]] = {
        "init": ("create an identity and an empty vault", "init", _init),
        "set": ("store a value from a prompt or standard input, or replace it", "set GATEWAY_TOKEN", _set),
        "get": ("print a value", "get GATEWAY_TOKEN", _get),
        "delete": ("delete a secret, after a question", "delete GATEWAY_TOKEN", _delete),
        "list": ("list the names and the age of the values", "list", _list),
        "status": ("show whether the vault is readable, and which secrets are old", "status", _status),
        "rotate": ("replace the value of a secret, which resets its age", "rotate GATEWAY_TOKEN --generate", _rotate),
        "accept": ("accept an older copy of the vault that was restored", "accept", _accept),
        "rekey": ("encrypt the vault for a new identity", "rekey", _rekey),
        "import": ("move the secrets of a .env file into the vault", "import", _import),
    }
    shown = {name: help_ for name, (help_, _, _) in subcommands.items()}
    commands = add_subcommands(
        parser, {**shown, "recipients": "list, add or remove public keys that can read the vault"}
    )
    for name, (_, example, run) in subcommands.items():
        commands[name].epilog = f"example: tocsin vault {example}"
        commands[name].set_defaults(run=run)
    for name in ("set", "get", "delete", "rotate"):
        commands[name].add_argument("name", help="name: letters, digits and _, for example GATEWAY_TOKEN")
    for name in ("set", "rotate"):
        commands[name].set_defaults(asks_for_secret=True)
    commands["rotate"].add_argument(
        "--generate", action="store_true", help="generate a random value instead of asking for one"
    )
    commands["import"].add_argument(
        "file", nargs="?", type=Path, help="path of the .env file (default: the one that Tocsin reads)"
    )
    for name in ("delete", "accept", "rekey", "import"):
        _add_yes(commands[name])
    _configure_recipients(commands["recipients"])


def _configure_recipients(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin vault recipients list"
    commands = add_subcommands(
        parser,
        {
            "list": "list the public keys that can read the vault",
            "add": "encrypt the vault for an additional public key",
            "remove": "stop encrypting the vault for a public key",
        },
    )
    commands["list"].epilog = "example: tocsin vault recipients list"
    commands["list"].set_defaults(run=_list_recipients)
    for name, run in (("add", _add_recipient), ("remove", _remove_recipient)):
        commands[name].epilog = f"example: tocsin vault recipients {name} age1…"
        commands[name].add_argument("key", help="age public key; starts with age1")
        commands[name].set_defaults(run=run)
    commands["add"].add_argument("--note", default="", help="owner of the key")
    _add_yes(commands["remove"])


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")


def _opened(program: Program) -> tuple[Vault, Settings]:
    """Open the vault without the rest of the program, which would double the start-up time."""
    settings = program.settings(late=False)
    return open_service(settings.data_dir, settings, partial(program.audit, settings), time.time), settings


def _confirm(arguments: argparse.Namespace, out: Console, question: str) -> None:
    import asyncio

    asyncio.run(out.confirm(question, yes=arguments.yes))


def _name_of(arguments: argparse.Namespace) -> str:
    name, equals, _ = readable(arguments.name).partition("=")
    if equals:  # the rest may be a secret
        hint = "type the value at the prompt, or pipe it in"
        raise ConfigError(f"{name}=… is not a valid name: secret values are not accepted as arguments", hint=hint)
    return validate_name(name)


def _init(_: argparse.Namespace, out: Console, program: Program) -> int:
    from tocsin.core.config.data_dir import require_usable  # it loads hashlib, which listing does not need

    vault, settings = _opened(program)
    require_usable(settings.data_dir)
    recipient = vault.init(source=_CLI)
    out.effect_done("the vault was created")
    out.answer(
        {"recipient": recipient, "vault": str(vault.store.vault), "identity": str(vault.store.identity)},
        f"created {vault.store.vault} and its identity {vault.store.identity}, readable only by you",
        "back up the identity in another place: without it or another recipient, the vault cannot be opened",
    )
    if platform() == "darwin" and vault.store.identity.parent != settings.data_dir:
        from tocsin.features.vault.programs import note_identity

        note_identity(settings.data_dir, vault.store.identity)
    return DONE


def _set(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    vault, settings = _opened(program)
    name = _name_of(arguments)
    vault.store.require()  # before the prompt for the value
    value = _entered(f"Value of {name}", settings)
    vault.set(name, value, source=_CLI)
    return _done(out, name, f"{name} was stored in the vault")


def _entered(label: str, settings: Settings) -> str:
    value = secret_input(label, MAX_VALUE_BYTES)
    settings.redact.learn([value])
    return value


def _done(out: Console, name: str, sentence: str) -> int:
    out.effect_done(sentence)
    return out.answer({"name": name, "ok": True}, sentence)


def _get(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    vault, _ = _opened(program)
    name = _name_of(arguments)
    out.secret({"name": name, "value": vault.get(name, source=_CLI, reader=_CLI)}, "value")
    return DONE


def _delete(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    vault, _ = _opened(program)
    name = _name_of(arguments)
    vault.store.read().secret(name)  # before the prompt for the value
    _confirm(arguments, out, f"Delete {name} from the vault?")
    vault.delete(name, source=_CLI)
    return _done(out, name, f"{name} was deleted")


def _rotate(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    vault, settings = _opened(program)
    name = _name_of(arguments)
    vault.store.read().secret(name)
    value = generate_value() if arguments.generate else _entered(f"New value of {name}", settings)
    settings.redact.learn([value])
    vault.rotate(name, value, source=_CLI)
    return _done(out, name, f"{name} has a new value" + ("; print it with `tocsin vault get`" * arguments.generate))


def _accept(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    vault, _ = _opened(program)
    try:
        vault.store.read()
    except OlderVaultError as older:
        _confirm(arguments, out, f"{older}. Use it? Secrets changed since then have their old values.")
    else:
        raise VaultError("the vault is not an older copy")
    vault.accept(source=_CLI)
    accepted = "the older copy is now in use"
    out.effect_done(accepted)
    return out.answer({"accepted": True}, accepted)


def _rekey(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    vault, _ = _opened(program)
    vault.store.require()
    _confirm(
        arguments, out, "Encrypt the vault for a new identity? The old identity will then open only older backups."
    )
    recipient = vault.rekey(source=_CLI)
    out.effect_done("the vault has a new identity")
    return out.answer(
        {"recipient": recipient}, f"the vault has a new identity; back up {vault.store.identity} in another place"
    )


def _list(_: argparse.Namespace, out: Console, program: Program) -> int:
    vault, _settings = _opened(program)
    ages = vault.ages()
    _tell_policies(vault, out)
    times = ({"created_at": timestamp(age.created_at), "rotated_at": timestamp(age.rotated_at)} for age in ages)
    return out.listing(
        [{**to_json(age), **more} for age, more in zip(ages, times, strict=True)],
        ("name", "state", "age", "expires"),
        map(_row, ages),
        empty="the vault is empty; store a secret with `tocsin vault set NAME`",
    )


def _row(age: SecretAgeRecord) -> Sequence[str]:
    days = f"{age.age_days} of {age.max_age_days} days"
    return age.name, _WORDS[age.status], days, timestamp(age.expires_at)[:10]


def _tell_policies(vault: Vault, out: Console) -> None:
    _, problem = vault.policies()
    if problem:
        out.error(f"all secrets use the default maximum age of 90 days: {problem}", problem.hint or "correct the file")


def _status(_: argparse.Namespace, out: Console, program: Program) -> int:
    vault, _settings = _opened(program)
    status = vault.status()
    _tell_policies(vault, out)
    if out.as_json:
        out.document(to_json(status))
        return FAILED if status.problem else DONE
    if not status.initialized:
        out.line("no vault exists; create one with `tocsin vault init`")
        return DONE
    if status.problem:
        out.failure(status.problem)
        return FAILED

    ok, warning, expired, ages = status.rotation
    changed = "" if status.updated_at is None else timestamp(status.updated_at)
    out.line(f"{number_of(len(ages), 'secret')}: {ok} ok, {warning} warning, {expired} expired")
    out.line(f"vault     {vault.store.vault} (mode {status.vault_mode}, changed {changed})")
    out.line(f"identity  {vault.store.identity} (mode {status.identity_mode})")
    out.line(f"backend   {status.backend}")
    due = [age for age in ages if age.status is not RotationState.OK]
    if due:
        out.table(("name", "state", "age", "expires"), [_row(age) for age in due])
        out.note("replace a value with `tocsin vault rotate NAME`")
    return DONE


def _import(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    from stat import S_IMODE

    vault, settings = _opened(program)
    vault.store.require()
    names = [variable.name for variable in settings.variables if variable.secret]
    path = arguments.file or settings.env_file
    file = _read_secrets(path, names) if path else None
    if file is None or not file.secrets:
        raise VaultError(
            f"no secret settings to import in {path or settings.read_from}", hint="give the path of the file"
        )
    settings.redact.learn(file.secrets.values())
    found = ", ".join(file.secrets)
    _confirm(arguments, out, f"Move {found} from {file.path} into the vault, and remove the values from the file?")
    vault.import_values(file.secrets, origin=str(file.path), source=_CLI)
    _remove_secrets(file, S_IMODE(file.path.stat().st_mode))
    moved = f"moved {found} from {file.path} into the vault"
    out.effect_done(moved)
    out.line(moved)
    return out.answer([{"file": str(file.path), "names": list(file.secrets)}])


def _list_recipients(_: argparse.Namespace, out: Console, program: Program) -> int:
    vault, _settings = _opened(program)
    found = vault.recipients()
    return out.listing(
        [{"key": other.key, "note": other.note} for other in found],
        ("public key", "note"),
        ((other.key, other.note) for other in found),
        empty="only the identity of the vault can read it",
    )


def _add_recipient(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    vault, _ = _opened(program)
    key = vault.add_recipient(readable(arguments.key), readable(arguments.note), source=_CLI)
    return _done(out, key, f"{key} can now read the vault")


def _remove_recipient(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    vault, _ = _opened(program)
    key = readable(arguments.key).strip()
    vault.store.read().without_recipient(key)
    _confirm(
        arguments,
        out,
        f"Stop encrypting the vault for {key}? Its owner may have kept copies of the secrets: rotate them.",
    )
    vault.remove_recipient(key, source=_CLI)
    return _done(out, key, f"{key} can no longer read the vault; rotate the secrets that it could read")


class _EnvFile(NamedTuple):
    """The contents of a `.env` file when it was read."""

    path: Path
    content: bytes
    secrets: Mapping[str, str]  # the values of the requested settings


def _read_secrets(path: Path, names: Collection[str]) -> _EnvFile:
    """Return the values of these names in a file; raise ConfigError if it cannot be read."""
    content = read_limited(path)
    values = read_env_file(path).values
    return _EnvFile(path, content, {name: values[name] for name in names if values.get(name, "").strip()})


def _remove_secrets(file: _EnvFile, mode: int) -> None:
    """Replace the bindings of the secrets with comments; raise ConfigError if the file has changed."""
    from io import StringIO

    from dotenv.parser import parse_stream

    if read_limited(file.path) != file.content:
        raise ConfigError(
            f"{file.path} was changed during the import",
            hint="run the import again; the vault already contains the values",
        )
    kept = []
    for binding in parse_stream(StringIO(file.content.decode("utf-8-sig"), newline="")):
        text = binding.original.string
        if binding.key in file.secrets:
            blank = text[: len(text) - len(text.lstrip())]
            text = f"{blank}# {binding.key} is in the vault\n"
        kept.append(text)
    write_atomically(file.path, "".join(kept), mode)


COMMANDS: Commands = {"vault": configure_vault}
