"""Write every page and table that is made from the code: `python -m tools.docs [--check]`.

A page below `docs/reference` is generated as a whole; in other pages, what stands between
`<!-- name -->` and `<!-- /name -->` is. `--check` writes nothing and exits 1 when a file is stale.
"""

import argparse
import importlib
import pkgutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from tests.web.dashboard.contract.curl import PREAMBLE, curl_of
from tools.manpage import man_page
from tools.operations import DescribedOperation, dashboard_api, described_operations
from tools.ui_types import types_file
from tools.ui_vendor import VendorError, vendored_files

from tocsin.bot.commands import ADMIN_DESCRIPTIONS, DESCRIPTIONS
from tocsin.bot.door.metrics import BOT_METRICS
from tocsin.channels.contract import ChannelSpec, OutboundAdapter
from tocsin.channels.model import BASE_ABILITIES, Ability, Support
from tocsin.channels.registry import discover
from tocsin.cli.main import build_parser
from tocsin.cli.setup.env_template import default_text, env_template
from tocsin.core.audit.actions import AuditAction, AuditField, AuditSource
from tocsin.core.config.core_variables import CORE_VARIABLES
from tocsin.core.config.variables import Variable, directory, password
from tocsin.core.metrics import Metric
from tocsin.core.storage import redis_failures
from tocsin.core.text.measures import code_points, escaped_code_points, utf8_bytes, utf16_units
from tocsin.core.time.ratelimit import SHARE, Rate
from tocsin.delivery.model import OPEN, REPLAYABLE, SCHEDULE_S, WAITING, DeliveryStatus, Policy
from tocsin.features.contract import Feature, GeneratedFiles, load_module
from tocsin.features.file_schemas import as_text, load_schema, written_files
from tocsin.features.hooks import load_metrics
from tocsin.features.registry import find_features
from tocsin.rest.problems import PROBLEMS
from tocsin.runs.engine.metrics import RUN_METRICS
from tocsin.web.http.metrics import CORE_METRICS
from tocsin.web.http.stored_metrics import SOURCE_UP

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "tocsin"
NOTICE = "<!-- Made by `make docs` from the tables in the code. Do not edit. -->"

MEASURES = {
    code_points: "characters",
    utf16_units: "UTF-16 units",
    escaped_code_points: "characters once escaped",
    utf8_bytes: "bytes in UTF-8",
}


# state: what it means for the sender.
STATES = {
    DeliveryStatus.QUEUED: "accepted; waits for its turn, the rate limit or `not_before`",
    DeliveryStatus.SENDING: "a worker is sending it",
    DeliveryStatus.RETRY_WAIT: "an attempt failed temporarily; the next one is at `next_attempt_at`",
    DeliveryStatus.SENT: "accepted by the provider; `provider_id` is the provider's ID of the message",
    DeliveryStatus.DEAD: "not delivered, and not retried; `error` has the reason",
    DeliveryStatus.UNCERTAIN: "the outcome is unknown; not sent again automatically",
    DeliveryStatus.CANCELLED: "cancelled before it was sent",
    DeliveryStatus.EXPIRED: "not sent before its `expires_at`",
    DeliveryStatus.SUPERSEDED: "not sent: a later message with the same `key` took its place",
}


class DocsError(Exception):
    """The code has something that this script has no words for, or a page lacks its markers."""


def main() -> int:
    """Write what is stale, or with `--check` name it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    check = parser.parse_args().check
    try:
        changed = stale()
    except (DocsError, VendorError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for path, text in changed.items():
        print(f"{'stale' if check else 'wrote'} {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if check and changed else 0


def stale() -> dict[Path, str]:
    """Return every generated file that is not as it should be, with the text it should have."""
    wanted = generated()
    return {path: text for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text}


def generated() -> dict[Path, str]:
    """Return all generated files with their text."""
    # A plug-in that happens to be installed here is documented by its own authors.
    adapters = [adapter for adapter in discover().classes if adapter.__module__.startswith("tocsin.")]
    specs = [adapter.spec for adapter in adapters]
    features = [feature for feature in find_features().features if is_built_in(feature)]
    reference = ROOT / "docs" / "reference"
    api = dashboard_api(adapters, features)
    files = {
        ROOT / ".env.example": env_template(specs, features, {}),
        reference / "settings.md": settings_page(specs, features),
        reference / "features.md": features_page(features),
        reference / "commands.md": commands_page(),
        reference / "channels.md": channels_page(specs),
        ROOT / "packaging" / "tocsin.1": man_page(global_options(build_parser([]))),
        reference / "problems.md": problems_page(),
        reference / "files.md": files_page(features),
        **schema_files(features, reference / "schemas"),
        reference / "operations.md": operations_page(described_operations(api)),
        SOURCE / "web" / "ui" / "types" / "api.d.ts": types_file(api),
        **vendored_files(),
        reference / "audit-actions.md": audit_actions_page(),
        ROOT / "README.md": filled(ROOT / "README.md", {"channels": readme_channels(specs)}),
        ROOT / "docs" / "delivery.md": filled(ROOT / "docs" / "delivery.md", delivery_blocks(specs)),
        ROOT / "docs" / "messages.md": filled(ROOT / "docs" / "messages.md", {"abilities": abilities_table(specs)}),
        ROOT / "docs" / "metrics.md": filled(ROOT / "docs" / "metrics.md", {"metrics": metrics_table()}),
        ROOT / "docs" / "bot.md": filled(ROOT / "docs" / "bot.md", bot_blocks()),
    }
    for feature in features:
        module = load_module(feature, "generated")
        made: GeneratedFiles = module.GENERATED if module else {}
        files |= {SOURCE / "features" / feature.name / path: text() for path, text in made.items()}
    for adapter in adapters:
        page = ROOT / "docs" / "channels" / f"{adapter.spec.kind}.md"
        blocks = {"settings": settings_table(adapter.spec.variables), "errors": advice_table(adapter)}
        files[page] = filled(page, {name: block for name, block in blocks.items() if block})
    return files


_NOT_RENDERED = {"ttl", "if_gone", "unable"}  # fields that say what the queue does


def abilities_table(specs: Sequence[ChannelSpec]) -> str:
    """Return how each channel shows the fields of a message."""
    rows = [
        [f"`{name}`", *(_ability(spec.ability(name)) for spec in specs), _ability(BASE_ABILITIES[name])]
        for name in BASE_ABILITIES
        if name not in _NOT_RENDERED
    ]
    return table(["field", *(spec.label for spec in specs), "other channels"], rows)


def _ability(ability: Ability) -> str:
    if ability.support in {Support.IGNORED, Support.REFUSED}:
        return "–" if ability.support is Support.IGNORED else "refused"
    return ability.note or "yes"


def filled(path: Path, blocks: Mapping[str, str]) -> str:
    """Return the page with each block between its markers."""
    if not path.is_file():
        raise DocsError(f"{path} is missing; write it with the markers {', '.join(blocks)}")
    text = path.read_text("utf-8")
    for name, block in blocks.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, found, rest = text.partition(start)
        _, found_end, after = rest.partition(end)
        if not found or not found_end:
            raise DocsError(f"{path} lacks the markers {start.strip()} and {end}")
        text = f"{before}{start}\n{block}\n\n{end}{after}"
    return text


# Settings


def settings_page(specs: Iterable[ChannelSpec], features: Iterable[Feature]) -> str:
    """Return the page of all settings."""
    lines = [
        "# Settings",
        NOTICE,
        "Tocsin reads each setting from the environment, then from one `.env` file: the file given with "
        "`--env-file`, else "
        "`.env` in the working directory, else `.env` in the data directory. "
        "For a secret, `NAME_FILE` can give the path of a file "
        "that contains it; in each of these places, `NAME` takes precedence over `NAME_FILE`. An empty value "
        "counts as not set. "
        "Settings are read once, at the start. `tocsin config show` prints the effective values and their sources.",
        "HTTP requests to providers also use `HTTPS_PROXY` and `NO_PROXY`.",
        "## Core",
        settings_table(CORE_VARIABLES),
    ]
    for spec in specs:
        title = f"## {spec.label} (`{spec.kind}`)"
        lines += [title, f"How to get them: [{spec.kind}](../channels/{spec.kind}.md).", settings_table(spec.variables)]
    for feature in features:
        if feature.variables:
            more = f"Description: [{feature.name}](../{feature.page})."
            lines += [f"## {feature.label}", more, settings_table(feature.variables)]
    return document(lines)


def is_built_in(feature: Feature) -> bool:
    """Whether a feature is a folder of the product; others are documented by their own authors."""
    return (SOURCE / "features" / feature.name).is_dir()


def features_page(features: Iterable[Feature]) -> str:
    """Return the page of all features."""
    rows = [
        (
            f"[{feature.name}](../{feature.page})",
            f"{feature.summary[0].upper()}{feature.summary[1:]}.",
            ", ".join(
                f"`{command.words}`" if command.under else f"`tocsin {command.name}`" for command in feature.commands
            ),
            ", ".join(f"`{variable.name}`" for variable in feature.variables),
        )
        for feature in features
    ]
    return document(
        [
            "# Features",
            NOTICE,
            "A feature is a folder of its own, or a package that you install: "
            "[writing a feature](../writing-a-feature.md).",
            table(("Feature", "What it is", "Commands", "Settings"), rows),
        ]
    )


def settings_table(variables: Iterable[Variable[Any]]) -> str:
    """Return the table of some settings."""
    return table(
        ("Setting", "Default", "Accepted", "Meaning"),
        ([f"`{v.name}`", shown_default(v), accepted(v), meaning(v)] for v in variables),
    )


def shown_default(variable: Variable[Any]) -> str:
    """Return the default as a person would write it."""
    if variable.shown_default:
        return variable.shown_default
    text = default_text(variable)
    return f"`{text}`" if text else ""


def accepted(variable: Variable[Any]) -> str:
    """Return what a setting accepts: its parser says so when it is given something impossible."""
    if variable.parse is directory:
        return "a path"
    if variable.parse is password:
        return "text, blanks included"
    try:
        variable.parse("\0 \0")
    except ValueError as error:
        return str(error)
    return "text"


def meaning(variable: Variable[Any]) -> str:
    """Return the description and what else a person must know."""
    marks = [word for word, applies in (("required", variable.required), ("secret", variable.secret)) if applies]
    return f"{variable.doc} *({', '.join(marks)})*" if marks else variable.doc


# Files that people write


def files_page(features: Iterable[Feature]) -> str:
    """Return the page of all files that people write."""
    rows = (
        (f"`{file.place}`", f"{file.summary[0].upper()}{file.summary[1:]}", f"[{name}](schemas/{name}.json)")
        for name, file in written_files(features).items()
    )
    return document(
        [
            "# Files",
            NOTICE,
            "The YAML files of the [data directory](../guide.md#data-directory) that you write. "
            "[Editors](../guide.md#schemas-for-editors) can check and complete them by their JSON Schema.",
            table(("File", "What it is", "Schema"), rows),
        ]
    )


def schema_files(features: Iterable[Feature], folder: Path) -> dict[Path, str]:
    """Return the JSON Schemas of these files, by path."""
    return {folder / f"{name}.json": as_text(load_schema(file)) for name, file in written_files(features).items()}


# Commands


def commands_page() -> str:
    """Return the page of all commands."""
    parser = build_parser([], everything=True)
    lines = [
        "# Commands",
        NOTICE,
        "Exit codes: 0 done, 1 the operation failed (a message that was not sent, an unknown channel), 2 wrong usage "
        "or configuration, 130 stopped by Ctrl-C. Results go to standard output, errors as one sentence and a hint "
        "to standard error.",
        "## Global options",
        "They may stand before the command or after it.",
        table(("Option", "Meaning"), [option_row(action) for action in global_options(parser)]),
    ]
    for name, command in subparsers(parser).items():
        lines += command_section(f"tocsin {name}", command, level=2)
    return document(lines)


def command_section(name: str, parser: argparse.ArgumentParser, *, level: int) -> Iterator[str]:
    """Yield heading, description, arguments and example of a command and of its subcommands."""
    own = [action for action in actions(parser) if action.dest not in shared_names()]
    positionals = [action for action in own if not action.option_strings and not is_group(action)]
    options = [action for action in own if action.option_strings]
    yield f"{'#' * level} {name}"
    yield str(parser.description)
    below = subparsers(parser)
    usage = " ".join([name, *(f"<{action.dest}>" for action in positionals), *(["[options]"] if options else [])])
    if not below or runs_alone(parser):
        yield fenced(usage, "text")
    if positionals:
        yield table(("Argument", "Meaning"), [(f"`{a.dest}`", described(a)) for a in positionals])
    if options:
        yield table(("Option", "Meaning"), [option_row(action) for action in options])
    yield from examples(str(parser.epilog or ""), usage)
    for sub, command in below.items():
        yield from command_section(f"{name} {sub}", command, level=level + 1)


def examples(epilog: str, usage: str) -> Iterator[str]:
    """Yield the paragraphs of an epilog: code after a label, unless it only repeats the usage, or a sentence."""
    for paragraph in filter(None, epilog.split("\n\n")):
        label, _, text = paragraph.partition(":")
        example = textwrap.dedent(text.strip("\n")).strip()
        commands = label in {"example", "examples"}
        if not (commands or text.startswith("\n")):
            sentences = " ".join(paragraph.replace("\nexit code", "\nExit code").split())
            yield f"{sentences[0].upper()}{sentences[1:].rstrip('.')}."
        elif example != usage:
            yield f"{label.capitalize()}:"
            yield fenced(example, "sh" if commands else "text")


def described(action: argparse.Action) -> str:
    """Return what a positional argument means."""
    choices = f"one of: {', '.join(map(str, action.choices))}" if action.choices else ""
    return action.help or choices


def option_row(action: argparse.Action) -> tuple[str, str]:
    """Return one row of a table of options."""
    value = f" {action.metavar}" if action.metavar else ""
    return ", ".join(f"`{option}{value}`" for option in action.option_strings), action.help or ""


def global_options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the options that every command has, and `--version`."""
    return [action for action in actions(parser) if action.option_strings and action.dest != "help"]


@cache
def shared_names() -> set[str]:
    """Return the names of the options that are not a command's own."""
    return {"help", *(action.dest for action in global_options(build_parser([])))}


def actions(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    """Return all arguments of a parser, which argparse does not expose."""
    return parser._actions  # noqa: SLF001  # there is no public way


def runs_alone(parser: argparse.ArgumentParser) -> bool:
    """Whether a command with subcommands does something without one."""
    return not all(action.required for action in actions(parser) if is_group(action))


def is_group(action: argparse.Action) -> bool:
    """Whether an argument stands for the subcommands."""
    return isinstance(action, argparse._SubParsersAction)  # noqa: SLF001  # there is no public name


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands of a parser by name."""
    groups = [action.choices for action in actions(parser) if is_group(action)]
    return dict(groups[0] or {}) if groups else {}


# Channels


def channels_page(specs: Sequence[ChannelSpec]) -> str:
    """Return the comparison of all channels."""
    head = ("", *(f"[`{spec.kind}`](../channels/{spec.kind}.md)" for spec in specs))
    rows = {
        "Product": [spec.product for spec in specs],
        "Also called": [", ".join(f"`{alias}`" for alias in spec.aliases) for spec in specs],
        "Target": [spec.target_format for spec in specs],
        "Longest text": [longest(spec) for spec in specs],
        "Split at": [split_at(spec) for spec in specs],
        "Formatting": [", ".join(spec.parse_modes) or "plain text" for spec in specs],
        "Receives by": [", ".join(spec.inbound) or "–" for spec in specs],
        "Needs": [needs(spec) for spec in specs],
        "Further tries after a failure that delivered nothing": [str(spec.retry.transient) for spec in specs],
        "Further tries after “too many requests”": [rate_limited(spec) for spec in specs],
        "Time limit of one attempt": [f"{spec.send_timeout_s:g} s" for spec in specs],
        "Time limit of `test`": [f"{spec.test_timeout_s:g} s" for spec in specs],
    }
    return document(["# Channels", NOTICE, table(head, [(name, *cells) for name, cells in rows.items()])])


def readme_channels(specs: Iterable[ChannelSpec]) -> str:
    """Return the channel table of the README."""
    head = ("Channel", "Product", "Also called", "Target", "Longest text", "It needs")
    return table(
        head,
        (
            [
                f"[`{spec.kind}`](docs/channels/{spec.kind}.md)",
                spec.product,
                ", ".join(f"`{alias}`" for alias in spec.aliases),
                spec.target_format,
                longest(spec),
                needs(spec),
            ]
            for spec in specs
        ),
    )


def longest(spec: ChannelSpec) -> str:
    """Return the limit of a text in the channel's own units."""
    return f"{spec.max_length:,} {measured(spec)}" if spec.max_length else "no limit"


def measured(spec: ChannelSpec) -> str:
    """Return what the channel counts."""
    return next(
        (words for measure, words in MEASURES.items() if measure is spec.measure),
        spec.measure.__name__.replace("_", " "),
    )


def split_at(spec: ChannelSpec) -> str:
    """Return where longer texts are split."""
    if spec.chunk_at:
        return f"{spec.chunk_at:,} {measured(spec)}"
    return "never: longer texts are refused" if spec.max_length else "never"


def needs(spec: ChannelSpec) -> str:
    """Return what makes the channel usable."""
    if spec.platform:
        return f"the platform `{spec.platform}`"
    found = [f"`{variable.name}`" for variable in spec.required]
    found += ["a target in `targets.yaml`"] if spec.targets else []
    return ", ".join([*found, f"`{spec.requirement}`"] if spec.requirement else found)


def rate_limited(spec: ChannelSpec) -> str:
    """Return how often, and up to which wait, a refusal for too many requests is repeated."""
    if not spec.retry.rate_limited:
        return "0"
    return f"{spec.retry.rate_limited}, if told to wait at most {spec.retry.longest_wait_s:g} s"


def advice_table(adapter: type[OutboundAdapter]) -> str:
    """Return what a channel advises for the words or codes of its provider: its tables called ADVICE…"""
    rows: dict[str, str] = {}
    for module in modules_of(adapter):
        for name in sorted(vars(module)):
            if name.startswith("ADVICE"):
                found = vars(module)[name]
                pairs = found.items() if isinstance(found, Mapping) else found
                rows |= {str(word): advice for word, advice in pairs}
    return table(("The provider says", "What to do"), ((f"`{word}`", advice) for word, advice in rows.items()))


def modules_of(adapter: type[OutboundAdapter]) -> Iterator[Any]:
    """Yield the modules that a channel is made of, its package's own ones included."""
    module = importlib.import_module(f"tocsin.channels.{adapter.spec.kind}")
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield importlib.import_module(f"{module.__name__}.{found.name}")


# The bot


def bot_blocks() -> dict[str, str]:
    """Return the tables of the page about the bot."""
    rows = [(f"`/{name}`", description, "") for name, description in DESCRIPTIONS.items()]
    further = [command for feature in find_features().features for command in feature.bot_commands]
    rows += [(f"`/{command.name}`", command.help, "") for command in further]
    rows += [(f"`/{name}`", description, "the admin chat") for name, description in ADMIN_DESCRIPTIONS.items()]
    return {"commands": table(("Command", "Description", "Only in"), rows)}


# The queue


def all_metrics() -> list[Metric]:
    """Return every metric, those of the core first."""
    features = [feature for feature in find_features().features if is_built_in(feature)]
    own = [metrics for feature in features if (metrics := load_metrics(feature))]
    return [*CORE_METRICS, SOURCE_UP, *RUN_METRICS, *BOT_METRICS, *(each for found in own for each in found.metrics)]


def metrics_table() -> str:
    """Return the table of all metrics."""
    return table(
        ("Metric", "Type", "Labels", "Meaning", "Kept"),
        [
            (
                f"`{metric.name}`",
                metric.type,
                ", ".join(f"`{label}`" for label in metric.labels),
                metric.help,
                "process" if metric.per_process else "store",
            )
            for metric in all_metrics()
        ],
    )


def delivery_blocks(specs: Sequence[ChannelSpec]) -> dict[str, str]:
    """Return the tables of the page about the queue."""
    return {
        "states": states_table(),
        "policies": policies_table(specs),
        "pacing": pacing_table(specs),
        "schedule": schedule(),
        "redis": redis_table(),
    }


def states_table() -> str:
    """Return what each state means, and what can be done with a delivery that is in it."""
    same_keys("state", DeliveryStatus, STATES)
    return table(
        ("State", "Meaning", "Open", "Can be"),
        (
            [f"`{status}`", words, "yes" if status in OPEN else "no", allowed(status)]
            for status, words in STATES.items()
        ),
    )


def allowed(status: DeliveryStatus) -> str:
    """Return what a person may do with a delivery in this state."""
    return "cancelled" if status in WAITING else "replayed" if status in REPLAYABLE else ""


def policies_table(specs: Iterable[ChannelSpec]) -> str:
    """Return the policy that each channel has by default."""
    return table(
        ("Channel", "Default policy", "The provider recognises a repeat"),
        ([f"`{spec.kind}`", f"`{usual_policy(spec)}`", "yes" if spec.recognises_repeats else "no"] for spec in specs),
    )


def usual_policy(spec: ChannelSpec) -> Policy:
    """Return what a channel does about messages that may have arrived."""
    return Policy.AT_MOST_ONCE if spec.at_most_once else Policy.AT_LEAST_ONCE


def pacing_table(specs: Iterable[ChannelSpec]) -> str:
    """Return how fast the queue sends, as the provider allows it."""
    return (
        table(
            ("Channel", "To one target", "To one group", "On the whole account"),
            ([f"`{spec.kind}`", paced(spec.target_rate), of_groups(spec), paced(spec.account_rate)] for spec in specs),
        )
        + f"\n\nTocsin uses {SHARE:.0%} of each rate, so that the provider does not throttle it. A burst (at once) is"
        " available after a pause."
    )


def paced(rate: Rate | None) -> str:
    """Return a rate in words."""
    if not rate:
        return "no limit"
    burst = f", {rate.burst} at once" if rate.burst > 1 else ""
    return f"{rate.count:g} in {rate.period_s:g} s{burst}"


def of_groups(spec: ChannelSpec) -> str:
    """Return the further rate of targets that are groups."""
    if not spec.group_rate:
        return ""
    return f"{paced(spec.group_rate)} (targets that begin with `{spec.group_prefix}`)"


def schedule() -> str:
    """Return the waits between the tries, and their sum."""
    waits = ", ".join(map(duration, SCHEDULE_S))
    hours = sum(SCHEDULE_S) / 3600
    return (
        f"Waits after temporary failures: **{waits}**, each up to 10 % longer. After {len(SCHEDULE_S) + 1} tries in "
        f"about {hours:.0f} hours the delivery is `dead`."
    )


def duration(seconds: float) -> str:
    """Return a time in the largest unit that it fills."""
    size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "min"), (1, "s")) if seconds >= size)
    return f"{seconds / size:g} {unit}"


def redis_table() -> str:
    """Return what Redis may refuse, in our words; several of its words mean the same."""
    rows = {f"Redis at … {meaning}": hint for _, meaning, hint in redis_failures.REFUSALS}
    return table(("Error", "What to do"), ((f"`{error}`", hint) for error, hint in rows.items()))


# Problems and audit actions


def problems_page() -> str:
    """Return the page of all problem codes."""
    return document(
        [
            "# Problems",
            NOTICE,
            "The response to a failed request is an RFC 9457 document, `application/problem+json`. "
            "Programs should use `code`; titles and details may change. A message that the "
            "provider rejected is reported as a [send result](../http.md#post-send), not as a problem document.",
            table(
                ("Code", "Status", "Title", "What to do"),
                ([f"`{code}`", str(found.status), found.title, found.advice] for code, found in PROBLEMS.items()),
            ),
        ]
    )


def operations_page(operations: Sequence[DescribedOperation]) -> str:
    """Return the page of all operations of the REST API."""
    areas = {operation.area: [each for each in operations if each.area == operation.area] for operation in operations}
    parts = [
        "# Operations of the REST API",
        NOTICE,
        "The dashboard serves these operations; [dashboard](../dashboard.md#rest-api) describes their common "
        "rules. *Scope* is "
        "the scope that a [token](../dashboard.md#tokens) needs; signed-in users may call all operations. "
        "`tocsin openapi` prints "
        "the full OpenAPI document, with the fields of requests and responses; it marks extensions with "
        "`x-extension`.",
        "Below each table are examples. They use these variables; `$TOKEN` is a token, "
        "and other variables, such as `$CRON_JOB`, are IDs or names:",
        f"```sh\n{PREAMBLE}\n```",
    ]
    for area, found in areas.items():
        rows = (
            [f"`{each.method} {each.path}`", each.scope or "none", each.summary, "yes" if each.is_extension else ""]
            for each in found
        )
        lines = "\n".join(curl_of(each.method, each.path) for each in found)
        parts += [
            f"## {area}",
            table(("Operation", "Scope", "Description", "Extension"), rows),
            f"```sh\n{lines}\n```",
        ]
    return document(parts)


def audit_actions_page() -> str:
    """Return the page of all audit actions and sources."""
    actions, sources = declared(AuditAction), declared(AuditSource)
    keys = {key.name: key for value in actions for key in (*value.fields, *value.optional)}
    keys |= {key.name: key for source in sources for key in source.optional}
    return document(
        [
            "# Audit actions",
            NOTICE,
            "Each operation writes one entry; a queued message writes one when it is accepted and one when it is "
            "sent. [Audit](../audit.md) describes the format and its verification.",
            table(("Action", "What happened", "Metadata"), map(action_row, actions)),
            "The `source` of an entry names the requester:",
            table(("Source", "Requester", "Additional metadata"), map(source_row, sources)),
            "Metadata keys have the same meaning in all actions:",
            table(("Key", "Value"), ([f"`{name}`", keys[name].doc] for name in sorted(keys))),
            "`error_class` shows whether a retry can help: `permanent` (it cannot), `transient` "
            "(not delivered, retry later), `rate_limited` (rejected for now), `ambiguous` (may have been "
            "delivered: check "
            "before you send again).",
        ]
    )


def action_row(action: AuditAction) -> list[str]:
    """Return the row of an action in the table of all."""
    always, sometimes = code_list(action.fields), code_list(action.optional)
    keys = "; ".join(filter(None, [always, f"sometimes {sometimes}" if sometimes else ""]))
    return [f"`{action.name}`", action.doc, ". ".join(filter(None, [keys, action.note]))]


def source_row(source: AuditSource) -> list[str]:
    """Return the row of a source in the table of all."""
    return [f"`{source.name}`", source.doc, code_list(source.optional)]


def code_list(fields: Iterable[AuditField]) -> str:
    """Return the names of fields as code."""
    return ", ".join(f"`{field.name}`" for field in fields)


def declared(kind: type[T]) -> list[T]:
    """Return the values of this kind that the modules of the product declare, by name."""
    names = (module_name(path) for path in SOURCE.rglob("*.py") if f"{kind.__name__}(" in path.read_text("utf-8"))
    found = {id(value): value for name in names for value in vars(importlib.import_module(name)).values()}
    return sorted((value for value in found.values() if isinstance(value, kind)), key=attrgetter("name"))


def module_name(path: Path) -> str:
    """Return the name by which a file of the product is imported."""
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


def same_keys(what: str, in_code: Iterable[str], described_here: Iterable[str]) -> None:
    """Raise DocsError unless the code's names are exactly those that this script describes."""
    names, described = set(in_code), set(described_here)
    if new := sorted(names - described):
        raise DocsError(f"tools/docs.py has no words for the {what} {', '.join(new)}")
    if gone := sorted(described - names):
        raise DocsError(f"tools/docs.py describes the {what} {', '.join(gone)}, which the code does not have")


# Markdown


def document(blocks: Iterable[str]) -> str:
    """Return a page: its blocks with an empty line between them."""
    return "\n\n".join(blocks) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, or nothing when there are no rows."""
    body = [line(row) for row in rows]
    return "\n".join([line(head), f"|{'---|' * len(head)}", *body]) if body else ""


def line(cells: Iterable[str]) -> str:
    """Return one row of a table."""
    return f"| {' | '.join(map(escaped, cells))} |"


def escaped(cell: str) -> str:
    """Return a cell whose `|` does not end it, and whose `<` outside of code begins no HTML."""
    pieces = cell.replace("|", r"\|").split("`")
    return "`".join(piece if number % 2 else piece.replace("<", "&lt;") for number, piece in enumerate(pieces))


def fenced(text: str, language: str = "sh") -> str:
    """Return a block of commands, or of something else."""
    return f"```{language}\n{text}\n```"


if __name__ == "__main__":
    sys.exit(main())
