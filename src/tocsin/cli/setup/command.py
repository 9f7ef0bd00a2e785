"""init, setup, config, completion: the commands that set Tocsin up."""

import argparse

from tocsin.cli.main import build_parser
from tocsin.cli.opening import open_settings
from tocsin.cli.setup.env_file import LOGIN_NAME, channel_pages, create_env_file
from tocsin.cli.setup.questions import ask_for_channel
from tocsin.core.config.core_variables import DASHBOARD_HOST, DASHBOARD_PORT, DATA_DIR, GATEWAY_PORT
from tocsin.core.config.settings import Settings
from tocsin.core.config.spelling import display_value
from tocsin.core.config.variables import Variable
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.text import own_command

SHELLS = ("bash", "zsh", "tcsh")


def configure_init(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  tocsin init\n  tocsin init --here"
    parser.add_argument(
        "--here",
        action="store_true",
        help="write to the working directory instead of the data directory",
    )
    parser.set_defaults(run=_init)


def configure_setup(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin setup"
    parser.add_argument("channel", nargs="?", help="channel or alias to connect; default: ask")
    parser.set_defaults(run=ask_for_channel)


def configure_config(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin config`."""
    parser.epilog = "example: tocsin config show"
    commands = add_subcommands(
        parser, {"show": "show the settings that are set, with their sources; secrets are masked"}
    )
    commands["show"].epilog = "example: tocsin config show --json"
    commands["show"].add_argument("--all", action="store_true", help="include settings that have their default value")
    commands["show"].set_defaults(run=_config_show)


def configure_completion(parser: argparse.ArgumentParser) -> None:
    parser.epilog = 'example: eval "$(tocsin completion bash)"'
    parser.add_argument("shell", choices=SHELLS, help="shell for which to print the script")
    parser.set_defaults(run=_completion)


def _init(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    path, before, problem = create_env_file(options, here=arguments.here)
    out.effect_done(f"{path} was written")
    if problem:
        out.note(f"tocsin: {problem}")
    if out.as_json:
        out.document({"env_file": str(path), "dashboard_user": LOGIN_NAME})
        return DONE
    command = own_command(options)
    out.line(f"wrote {path} (readable only by you) with a random dashboard password and gateway token")
    if not options.env_file and path.parent != before.data_dir:
        out.note("tocsin: only commands that run in this directory read this file")
    elif not options.env_file and before.env_file not in {None, path}:
        out.note(f"tocsin: in this directory, Tocsin reads {before.env_file} instead of the new file")
    gateway, dashboard = (f"http://{DASHBOARD_HOST.default}:{port.default}" for port in (GATEWAY_PORT, DASHBOARD_PORT))
    out.line("next steps:")
    out.line(f"  1. {command} setup               # connects a channel; {channel_pages()} has the details")
    out.line(f"  2. {command} doctor              # shows what is missing or wrong, and how to fix it")
    out.line(f"  3. {command} up                  # gateway {gateway}, dashboard {dashboard}")
    out.line(f"  4. {command} dashboard link      # prints a sign-in link")
    return DONE


def _config_show(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    settings, _ = open_settings(options, out)
    told = {DATA_DIR.name, *settings.sources}
    chosen = [v for v in settings.variables if out.as_json or arguments.all or v.name in told]
    if out.as_json:
        out.document([_document(settings, variable) for variable in chosen])
        out.tell_doubts()
        return DONE
    rows = [(v.name, display_value(settings, v), settings.sources.get(v.name, "default")) for v in chosen]
    out.table(("setting", "value", "source"), rows)
    if not arguments.all:
        out.note(settings.read_from)
        out.note("use `--all` to include the settings that have their default value")
    out.tell_doubts()
    return DONE


def _document(settings: Settings, variable: Variable[object]) -> dict[str, object]:
    return {
        "name": variable.name,
        "value": display_value(settings, variable),
        "source": settings.sources.get(variable.name, "default"),
        "secret": variable.secret,
        "description": variable.doc,
    }


def _completion(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    import shtab

    script = shtab.complete(build_parser([], everything=True), shell=arguments.shell)
    if out.as_json:
        out.document({"shell": arguments.shell, "script": script})
    out.text(script)
    return DONE
