"""The configuration files of Apprise, Alertmanager, ntfy and Mailrise, read into a plan."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tocsin.core.errors import ConfigError
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.features.doors.importing.plan import ImportPlan, name_of, plain

_TARGET_KEYS = ("channel", "chat_id", "to", "topic", "room_id", "room")  # of Alertmanager's receivers
# Receivers of Alertmanager as addresses of Apprise; what is in files is not read.
_SERVICES = {
    "pushover_configs": ("pover://{}@{}", "user_key", "token"),
    "opsgenie_configs": ("opsgenie://{}", "api_key"),
    # Events API v2 asks for no API key, but the form of Apprise does.
    "pagerduty_configs": ("pagerduty://{0}@{0}", "routing_key"),
    "victorops_configs": ("victorops://{}@{}", "routing_key", "api_key"),
}
_PAGERDUTY = {
    "https://events.pagerduty.com/v2/enqueue": "",
    "https://events.eu.pagerduty.com/v2/enqueue": "?region=eu",
}
_ADDRESS = re.compile(r"(?:(?P<tags>[^=:/]+)=)?\s*(?P<address>[a-z0-9]+://\S+)", re.IGNORECASE)


def read_apprise(text: str, path: Path, plan: ImportPlan) -> None:
    """Read a configuration of Apprise, as text or YAML: a profile per tag, and one door that has all targets."""
    name = name_of(path.stem) or "apprise"
    is_yaml = re.search(r"^\s*(?:urls|version)\s*:", text, re.MULTILINE)
    for line, address, tags in _of_yaml(text, path, plan) if is_yaml else _of_lines(text, plan):
        for profile in dict.fromkeys([name, *filter(None, map(name_of, tags))]):
            plan.add_address(profile, address, line)
    plan.add_door(name, "apprise")


def _of_lines(text: str, plan: ImportPlan) -> list[tuple[str, str, list[str]]]:
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.strip()
        if not said or said.startswith(("#", ";")):
            continue
        if match := _ADDRESS.fullmatch(said):
            found.append((f"line {number}", match["address"], _words(match["tags"])))
        else:
            plan.leave_out(f"line {number}", "it is no address: groups and includes are not taken over")
    return found


def _of_yaml(text: str, path: Path, plan: ImportPlan) -> list[tuple[str, str, list[str]]]:
    document = _document(text, path)
    everywhere, found = _words(document.get("tag")), []
    for key in document.keys() - {"version", "urls", "tag"}:
        plan.leave_out(key, "it is not taken over")
    for number, item in enumerate(_list(document.get("urls")), start=1):
        entries = [(item, None)] if isinstance(item, str) else list(item.items()) if isinstance(item, dict) else []
        if isinstance(item, dict) and "url" in item:
            entries = [(item["url"], item)]
        for address, options in entries:
            tags = [tag for each in _list(options) if isinstance(each, dict) for tag in _words(each.get("tag"))]
            found.append((f"address {number}", str(address), [*everywhere, *tags]))
    return found


def read_alertmanager(text: str, path: Path, plan: ImportPlan) -> None:
    """Read `alertmanager.yml`: a profile and a door per receiver."""
    document = _document(text, path)
    everywhere = document.get("global")
    pagerduty = everywhere.get("pagerduty_url") if isinstance(everywhere, dict) else None
    for receiver in _list(document.get("receivers")):
        if not isinstance(receiver, dict) or not receiver.get("name"):
            continue
        name = str(receiver["name"])
        for key, configs in receiver.items():
            for number, config in enumerate(_list(configs) if key.endswith("_configs") else (), start=1):
                what = f"{name}: {key} {number}"
                if address := _service(key, config, pagerduty):
                    plan.add_service(name_of(name), address, what)
                    continue
                given = [config[each] for each in _TARGET_KEYS if isinstance(config, dict) and config.get(each)]
                targets = [each.strip() for value in given for each in str(value).split(",")]
                for target in targets or [""]:
                    plan.add_target(name_of(name), key.removesuffix("_configs"), [target], what)
        plan.add_door(name, "alertmanager")


def _service(key: str, config: Any, pagerduty: Any) -> str:
    """Return the address of Apprise for a receiver; empty if there is none, or it sends elsewhere than to PagerDuty."""
    form, *names = _SERVICES.get(key, ("", ""))
    if isinstance(config, dict) and config.get("api_url"):
        return ""  # another region or server, which the address does not name
    given = [quote(str(config.get(name) or ""), safe="") for name in names] if isinstance(config, dict) else [""]
    if not all(given):
        return ""
    region = ""
    if key == "pagerduty_configs":
        url = str(config.get("url") or pagerduty or next(iter(_PAGERDUTY)))
        if (found := _PAGERDUTY.get(url)) is None:
            return ""
        region = found
    return form.format(*given) + region


def read_ntfy(text: str, path: Path, plan: ImportPlan) -> None:
    """Read ntfy's `server.yml` or `client.yml`: a door per topic that it names."""
    document = _document(text, path)
    topics = [
        str(each["topic"]) for each in _list(document.get("subscribe")) if isinstance(each, dict) and each.get("topic")
    ]
    for rule in _list(document.get("auth-access")):
        who, _, rest = str(rule).partition(":")
        topic, _, rights = rest.rpartition(":")
        if not re.fullmatch(r"[\w-]+", topic):
            plan.leave_out(f"auth-access of {who}", f"{topic} is a pattern: add a door for each topic")
        elif rights in {"rw", "read-write", "wo", "write-only"}:
            topics.append(topic)
    for topic in dict.fromkeys(each.rpartition("/")[2] for each in topics):
        plan.add_door(topic, "ntfy")
    if any(isinstance(each, dict) and each.get("command") for each in _list(document.get("subscribe"))):
        plan.leave_out("subscribe: command", "a trigger runs commands for messages: see docs/triggers.md")
    for key in sorted(document.keys() & {"auth-users", "auth-tokens", "auth-file"}):
        plan.leave_out(key, "each door has a token of its own")
    if not topics:
        plan.leave_out(path.name, "it names no topics: add a door for each with `tocsin doors add --protocol ntfy`")


def read_mailrise(text: str, path: Path, plan: ImportPlan) -> None:
    """Read `mailrise.conf`: a profile and a door for mail per configuration."""
    document = _document(text, path)
    configs = document.get("configs")
    for name, config in (configs if isinstance(configs, dict) else {}).items():
        if "*" in str(name):
            plan.leave_out(str(name), "a pattern of recipients: add a door with `tocsin doors add --protocol mail`")
            continue
        door = str(name).partition("@")[0]
        for number, item in enumerate(_list(config.get("urls") if isinstance(config, dict) else None), start=1):
            address = next(iter(item), "") if isinstance(item, dict) else item
            plan.add_address(name_of(door), str(address), f"{name}: address {number}")
        if isinstance(config, dict) and config.get("mailrise"):
            plan.leave_out(f"{name}: mailrise", "write titles and texts as rules in doors.yaml")
        plan.add_door(door, "mail")
    for key in sorted(document.keys() - {"configs"}):
        plan.leave_out(str(key), "the listener for mail has settings of its own")


READERS: Mapping[str, Callable[[str, Path, ImportPlan], None]] = {
    "apprise": read_apprise,
    "alertmanager": read_alertmanager,
    "ntfy": read_ntfy,
    "mailrise": read_mailrise,
}


def _document(text: str, path: Path) -> dict[str, Any]:
    found = parse_yaml(text.encode(), path, plain)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{path} is not a mapping", hint="check that it is the right file")
    return found


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else () if value is None else [value]


def _words(value: Any) -> list[str]:
    listed = [str(each) for each in value] if isinstance(value, list) else re.split(r"[,\s]+", str(value or ""))
    return [each for each in listed if each]
