"""Settings: the only reader of the environment.

Order of precedence: environment, `NAME_FILE`, one `.env` file, and for secrets the layers of features, such as the
vault. The file is the one that was named, else the first that exists of `.env` in the working directory and `.env` in
the data directory. An empty value counts as not set.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from tocsin.core.config.core_variables import (
    CORE_VARIABLES,
    DATA_DIR,
    ENVIRONMENT,
    FORCE_HTTPS,
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
    OTEL_SDK_DISABLED,
)
from tocsin.core.config.variables import Variable
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.text.redaction import SHORTEST_SECRET, Redactor

T = TypeVar("T")

# systemd.exec(5): a child must neither notify the manager nor take its own output for the journal.
_FOR_THIS_PROCESS = frozenset({"JOURNAL_STREAM", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"})
# Files of certificates that OpenSSL, curl and requests accept.
_CERTIFICATES = frozenset({"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"})

if TYPE_CHECKING:
    from dotenv.parser import Original


@dataclass(frozen=True, eq=False, repr=False)  # no repr: it would show secrets
class Values:
    """Immutable, typed values of some variables: `values[GATEWAY_PORT]` is an `int`."""

    _found: Mapping[str, object]
    variables: tuple[Variable[Any], ...]

    def __getitem__(self, variable: Variable[T]) -> T:
        return cast("T", self._found.get(variable.name, variable.default))

    def missing(self) -> list[str]:
        """Return the names of required variables that are not set, secrets last."""
        return [v.name for v in sorted(self.variables, key=lambda v: v.secret) if v.required and not self[v]]

    def secrets(self) -> Iterator[str]:
        """Yield every secret value that is set."""
        for variable in self.variables:
            if variable.secret and (value := self[variable]):
                yield str(value)


class Layer(NamedTuple):
    """A source of settings; `lines` are the line numbers of names in a file."""

    name: str
    values: Mapping[str, str]
    lines: Mapping[str, int] = MappingProxyType({})


class SecretStore(Protocol):
    """Stores secrets outside the settings."""

    def by_name(self) -> Mapping[str, str]:
        """Return all values; raise TocsinError."""

    def further(self) -> Iterable[str]:
        """Return the values added since the last call; called often, and never raises."""

    def unreadable(self) -> bool:
        """Whether some values may be unreadable."""


class LateLayer(NamedTuple):
    """The last source of secrets, read only if one is not set elsewhere, or a text must be masked.

    `open` gets the data directory and the settings found so far.
    """

    name: str
    open: Callable[[Path, Values], SecretStore]


class Setting(NamedTuple):
    """A value and its source."""

    value: object
    source: str


@dataclass(frozen=True, eq=False, repr=False)
class Settings(Values):
    """All settings of a process: values, their sources, and the data directory."""

    sources: Mapping[str, str]
    layers: tuple[Layer, ...]
    data_dir: Path
    env_file: Path | None = None  # the file that was read
    unread_env_file: Path | None = None  # the data directory's file, if the working directory's was read
    problems: tuple[TocsinError, ...] = ()  # errors of late layers, whose values count as not set
    stores: tuple[SecretStore, ...] = ()  # of the late layers

    @classmethod
    def load(
        cls,
        variables: Iterable[Variable[Any]] = (),
        *,
        environ: Mapping[str, str] | None = None,
        data_dir: Path | None = None,
        env_file: Path | None = None,
        late: Iterable[LateLayer] = (),
        ask_late: bool = True,
    ) -> "Settings":
        """Load all settings; `env_file` replaces any `.env` file, `data_dir` overrides every source.

        Without `ask_late`, late layers set nothing; their values are masked nevertheless. A malformed value raises
        ConfigError with the variable's name, the value (never a secret), and the accepted values.
        """
        table = (*CORE_VARIABLES, *variables)
        layers = [Layer("environment", dict(os.environ if environ is None else environ))]
        if data_dir is not None:
            layers.insert(0, Layer("--data-dir", {DATA_DIR.name: str(data_dir)}))
        named = env_file
        env_file = named or next(filter(_to_be_read, _usual_env_files(layers)), None)
        if env_file is not None:
            layers.append(read_env_file(env_file))
        found = {v.name: setting for v in table if (setting := _resolve(v, layers)) is not None}
        chosen = found.get(DATA_DIR.name)
        place = Path(str(chosen.value)) if chosen else default_data_dir()
        so_far = Values({name: setting.value for name, setting in found.items()}, table)
        stores = {layer.name: layer.open(place, so_far) for layer in late}
        problems = tuple(_look_up_late(found, table, stores)) if ask_late else ()
        values = {name: setting.value for name, setting in found.items()}
        sources = {name: setting.source for name, setting in found.items()}
        usual = place / ".env"
        hidden = env_file is not None and named is None and _to_be_read(usual) and usual.resolve() != env_file.resolve()
        return cls(
            values,
            table,
            sources,
            tuple(layers),
            place,
            env_file,
            usual if hidden else None,
            problems,
            (*stores.values(),),
        )

    def with_values(self, given: Mapping[str, str], source: Path) -> "Settings":
        """Return the settings with other values, as if they had been read from the file `source`.

        Secrets among them are masked from now on. Raises ConfigError for a malformed value.
        """
        chosen = [variable for variable in self.variables if variable.name in given]
        values = {variable.name: _parse(variable, given[variable.name], str(source)) for variable in chosen}
        self.redact.learn(str(values[variable.name]) for variable in chosen if variable.secret)
        sources = {**self.sources, **dict.fromkeys(values, str(source))}
        changed = replace(self, _found={**self._found, **values}, sources=sources)
        changed.__dict__["redact"] = self.redact  # the one that the whole program shares
        return changed

    def find_secret(self, name: str) -> str:
        """Return a secret that is not a declared setting, from the environment, `NAME_FILE` or a `.env` file.

        Empty if it is not set. Raises ConfigError if the file of `NAME_FILE` cannot be read.
        """
        found = _resolve(Variable(name, str, "", "", secret=True), self.layers)
        return self._mask(str(found.value)) if found else ""

    def find_stored_secret(self, name: str) -> str:
        """Return a secret from a store, such as the vault; empty if no store has it. Blocks; raises TocsinError."""
        return self._mask(next((found for store in self.stores if (found := store.by_name().get(name))), ""))

    def _mask(self, secret: str) -> str:
        self.redact.learn([secret])
        return secret

    @property
    def own_file(self) -> Path:
        """The file to which a missing setting should be added: the one that was read, else the one of `tocsin init`."""
        return self.env_file or self.data_dir / ".env"

    @property
    def read_from(self) -> str:
        """The files that were read, as a clause for errors about a missing setting."""
        if self.env_file is None:
            return f"settings were read from the environment; {self.own_file} does not exist"
        unread = f"; {self.unread_env_file} was not read" if self.unread_env_file else ""
        return f"settings were read from the environment and {self.env_file}{unread}"

    @cached_property
    def redact(self) -> Redactor:
        """The redactor of all secrets in these settings; the whole program shares it, so that it can learn others."""
        return Redactor(self.secrets(), [store.further for store in self.stores])

    def masks_all(self) -> bool:
        """Whether `redact` knows the values of every store; False while one is unreadable."""
        return not any(store.unreadable() for store in self.stores)

    def only(self, variables: Iterable[Variable[Any]]) -> Values:
        """Return the values of only these variables, for an adapter."""
        chosen = tuple(variables)
        names = {variable.name for variable in chosen}
        return Values({name: value for name, value in self._found.items() if name in names}, chosen)

    def from_parent(self, name: str) -> str:
        """Return a variable by which the caller of a process, such as systemd, describes its start; empty if unset."""
        values = (layer.values.get(name, "") for layer in self.layers if layer.name == "environment")
        return next(values, "")

    def inheritable(self) -> dict[str, str]:
        """Return the environment for child processes: our own, without our secrets.

        This removes the variables of secrets, their `NAME_FILE`, copies of them under other names, our addresses that
        contain a password, and what the service manager told this process alone.
        """
        own = {variable.name for variable in self.variables}
        names = {form for v in self.variables if v.secret for form in (v.name, f"{v.name}_FILE")} | _FOR_THIS_PROCESS
        values = {secret for secret in self.secrets() if len(secret) >= SHORTEST_SECRET}
        masked = Redactor()
        return {
            name: value
            for layer in self.layers
            if layer.name == "environment"
            for name, value in layer.values.items()
            if name not in names and value not in values and not (name in own and masked(value) != value)
        }

    @property
    def https_enforced(self) -> bool:
        """Whether plain HTTP is rejected; an explicit setting overrides the default of the environment."""
        forced = self[FORCE_HTTPS]
        return self[ENVIRONMENT] == "production" if forced is None else forced

    @property
    def exports_traces(self) -> bool:
        """Whether traces are exported to a collector."""
        endpoint = self[OTEL_EXPORTER_OTLP_TRACES_ENDPOINT] or self[OTEL_EXPORTER_OTLP_ENDPOINT]
        return bool(endpoint) and not self[OTEL_SDK_DISABLED]


def default_data_dir() -> Path:
    """Return the platform's per-user data directory."""
    # Costs 6 ms to import and is not needed if TOCSIN_DATA_DIR is set.
    import platformdirs

    return Path(platformdirs.user_data_dir("tocsin", appauthor=False))


def read_env_file(path: Path) -> Layer:
    """Read a `.env` file; a line that is not `NAME=value` raises ConfigError with its number."""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            # Costs 5 ms to import and is not needed without such a file.
            from dotenv.parser import parse_stream

            bindings = list(parse_stream(stream))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"cannot read {path}: {reason}", hint="check the file and its permissions") from None
    for binding in bindings:
        if binding.error or (binding.key and binding.value is None):
            sentence = f"{path}:{_line(binding.original)}: expected NAME=value"
            raise ConfigError(sentence, hint="quote values that contain spaces or quotes")
    values = {b.key: b.value or "" for b in bindings if b.key}
    return Layer(str(path), values, {b.key: _line(b.original) for b in bindings if b.key})


def _line(original: "Original") -> int:
    """Return the line of a binding; the parser counts from the blank lines before it."""
    blank = original.string[: -len(original.string.lstrip())]
    return original.line + blank.count("\n")


def _usual_env_files(layers: list[Layer]) -> Iterator[Path]:
    """Yield the candidates for `.env`: in the working directory, then in the data directory."""
    with suppress(FileNotFoundError):  # the working directory was deleted
        yield Path.cwd() / ".env"
    chosen = _resolve(DATA_DIR, layers)
    yield Path(str(chosen.value if chosen else default_data_dir())) / ".env"


def _to_be_read(path: Path) -> bool:
    """Return whether the path is a file, or a dangling link; a folder may be called `.env`."""
    return path.is_file() or (path.is_symlink() and not path.exists())


def _look_up_late(
    found: dict[str, Setting], table: Iterable[Variable[Any]], stores: Mapping[str, SecretStore]
) -> Iterator[TocsinError]:
    """Add the secrets of late layers to `found`; yield the error of each unreadable one."""
    table = tuple(table)
    for name, store in stores.items():
        unset = [variable for variable in table if variable.secret and variable.name not in found]
        if not unset:
            return
        try:
            values = store.by_name()
        except TocsinError as error:
            yield error
            continue
        layer = Layer(name, {variable.name: values.get(variable.name, "") for variable in unset})
        found.update({v.name: setting for v in unset if (setting := _resolve(v, [layer]))})


def _resolve(variable: Variable[Any], layers: Iterable[Layer]) -> Setting | None:
    """Return the first value of `variable`: under its name, under its former name, or from `NAME_FILE`."""
    for layer in layers:
        raw = layer.values.get(variable.name, "")
        if raw.strip():
            return Setting(_parse(variable, raw, layer.name), layer.name)
        raw = layer.values.get(variable.former, "") if variable.former else ""
        if raw.strip():
            source = f"{layer.name} ({variable.former})"
            return Setting(_parse(variable, raw, source), source)
        path = layer.values.get(f"{variable.name}_FILE", "").strip() if variable.secret else ""
        if path:
            value = _parse(variable, _read_secret(variable, path), path)
            return Setting(value, f"{path} ({variable.name}_FILE)")
    return None


def _parse(variable: Variable[Any], raw: str, source: str) -> object:
    try:
        return variable.parse(raw)
    except ValueError as error:
        # An address may contain a password.
        shown = Redactor()(repr(raw if len(raw) <= 60 else raw[:59] + "…"))
        found = "a value" if variable.secret else shown
        where = "the environment" if source == "environment" else source
        sentence = f"{variable.name} is set to {found} in {where}"
        raise ConfigError(sentence, hint=f"expected {error}") from None


def _read_secret(variable: Variable[Any], path: str) -> str:
    try:
        value = Path(path).expanduser().read_text(encoding="utf-8-sig").rstrip("\r\n")
        reason = "" if value.strip() else "empty file"
    except (OSError, RuntimeError) as error:  # the second: `~` without a home directory
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
    except UnicodeDecodeError:
        reason = "not UTF-8 text"
    if reason:
        raise ConfigError(
            f"cannot read {path}, the value of {variable.name}_FILE: {reason}",
            hint="correct the file or its permissions, or unset the variable",
        )
    return value


def may_need_proxy() -> bool:
    """Whether a proxy may be configured, in the environment or in the system's settings."""
    return sys.platform in {"darwin", "win32"} or any(name.lower().endswith("_proxy") for name in os.environ)


def network_environment() -> dict[str, str]:
    """Return the variables that say which proxy and which certificates a program of others uses."""
    return {name: each for name, each in os.environ.items() if name in _CERTIFICATES or name.lower().endswith("_proxy")}


def platform() -> str:
    """Return the platform identifier of this machine, such as `linux` or `darwin`."""
    return sys.platform
