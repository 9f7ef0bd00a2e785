"""Find names in the environment and in `.env` files that resemble our settings but are unknown or outdated."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from tocsin.core.config.core_variables import DATA_DIR
from tocsin.core.config.settings import Settings

# A first word that this many settings share, such as GATEWAY_, counts as ours alone. Words of fewer settings, such as
# REDIS_, are prefixes in many other programs.
_SETTINGS_OF_A_PREFIX = 3
_COMMON_WORDS = {"AUDIT", "LOG", "OTEL"}  # shared by enough of ours, but also used by other programs
# The similarity of two names, from 0 to 1, as difflib measures it.
_NEAR = 0.885  # one error in a short name, two in a long one
_SIMILAR = 0.6
_OF_OTHERS = (
    # Kubernetes sets these for each service in the namespace, as Docker did for linked containers.
    r".*_SERVICE_(HOST|PORT)(_\w+)?|.*_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?"
    # Set by a web server for CGI programs: RFC 3875, section 4.1.4.
    r"|GATEWAY_INTERFACE"
)
_EXPECTED = {"TOCSIN_HOME": DATA_DIR.name}  # names that do not resemble the setting, as other programs call it


class UnknownSetting(NamedTuple):
    """A name that is not a setting; `line` is 0 outside files, `meant` is empty if no setting is similar.

    A `former` name of a setting still works.
    """

    name: str
    source: str
    line: int = 0
    meant: str = ""
    former: bool = False

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        if self.former:
            return f"{place}: {self.name} is the former name of {self.meant}"
        return f"{place}: unknown setting {self.name}"

    @property
    def hint(self) -> str:
        """The remedy."""
        if self.former:
            return f"rename it to {self.meant}; if one place sets both, {self.meant} takes precedence"
        return f"did you mean {self.meant}?" if self.meant else "`tocsin config show --all` lists all settings"


def unknown_settings(settings: Settings) -> Iterator[UnknownSetting]:
    """Yield former names, and unknown names that have one of our prefixes or resemble an unset setting."""
    known = {form for v in settings.variables for form in ((v.name, f"{v.name}_FILE") if v.secret else (v.name,))}
    former = {variable.former: variable.name for variable in settings.variables if variable.former}
    words = Counter(name.partition("_")[0] for name in (*(v.name for v in settings.variables), *former))
    prefixes = {word for word, count in words.items() if count >= _SETTINGS_OF_A_PREFIX}
    prefixes = prefixes - _COMMON_WORDS | {DATA_DIR.name.partition("_")[0]}
    for layer in settings.layers:
        for name in sorted(layer.values.keys() - known, key=lambda name: (layer.lines.get(name, 0), name)):
            if not layer.values[name].strip() or re.fullmatch(_OF_OTHERS, name):
                continue
            if name in former:
                yield UnknownSetting(name, layer.name, layer.lines.get(name, 0), former[name], former=True)
                continue
            is_ours = name.partition("_")[0] in prefixes
            meant = _meant(name, known, _SIMILAR if is_ours else _NEAR)
            if is_ours or (meant and meant.removesuffix("_FILE") not in settings.sources):
                yield UnknownSetting(name, layer.name, layer.lines.get(name, 0), meant)


def _meant(name: str, known: Collection[str], cutoff: float) -> str:
    """Return the known name most similar to `name`, or an empty text."""
    spelled = name.upper().replace("-", "_")
    if spelled in _EXPECTED:
        return _EXPECTED[spelled]
    plain = spelled.removesuffix("_FILE")  # only secrets can be read from a file
    if exact := next((form for form in (spelled, plain) if form in known), ""):
        return exact
    letters, length, differing = set(spelled), len(spelled), 1 - cutoff
    # The maximum of the ratio, from what is cheap to compare: the lengths and the letters.
    candidates = [
        form
        for form in known
        if abs(len(form) - length) <= (most := differing * (len(form) + length)) and len(letters ^ set(form)) <= most
    ]
    # The number of common letters; get_close_matches uses this, too.
    candidates = [
        form
        for form in candidates
        if 2 * sum(min(spelled.count(letter), form.count(letter)) for letter in letters)
        >= cutoff * (len(form) + length)
    ]
    if not candidates:
        return ""
    # difflib takes 3 ms to import, and names of other programs rarely get here.
    from difflib import get_close_matches

    return next(iter(get_close_matches(spelled, candidates, 1, cutoff)), "")
