"""How the chart's texts of slurm.conf, slurmdbd.conf and of a node become settings. Pure.

What is written twice counts as it does for Slurm: of most parameters the last one, of NodeName= and PartitionName=, which
are settings of their own here, each. A sign before ``=``, as in ``+=``, is read and asked for nowhere, so that sets, too.
Source: ``s_p_parse_line``, ``keyvalue_pattern`` and ``_handle_common`` of parse_config.c, ``slurm_conf_options`` of
read_config.c.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac.conf_lines import conf_lines
from slinky_iac.config.chart.values import SAME, Left, Several, word
from slinky_iac.config.fields import host_conf, node_conf, partition_conf
from slinky_iac.config.paths import mapping
from slinky_iac.config.shown import hidden, name_of
from slinky_iac.config.slurm.owned import OWNED, OWNED_BY_DATABASE, set_instead
from slinky_iac.hostlist import split

_PAIR: Final = re.compile(r'\s*([A-Za-z0-9_.]+)\s*([-*+/]?)=\s*("[^"]*"|[^\s"]\S*|(?=\s|$))(?=\s|$)')
_EACH: Final = frozenset(
    {"downnodes", "epilog", "epilogslurmctld", "nodename", "nodeset", "partitionname", "poweraction", "prolog"}
    | {"prologslurmctld", "slurmctldhost"}
)
"""Parameters of slurm.conf of which Slurm reads each line, in lower case (S_P_ARRAY)."""
_NOT_A_PAIR: Final = "isn't Key=Value, and a mapping has nothing else"
_ITS_OWN: Final = "Slurm reads every one of these lines, but extraConf has a parameter once, with one value"
_NO_VALUE: Final = "has no value, and Slurm refuses a line that has such a word"
_NESTED: Final = "is a text, a number or a list of these in slurm.conf, and neither here"
_EMPTY: Final = '""'
"""How a setting has an empty value, in quotes on its line."""
_DIGITS: Final = 9
_Pairs = list[tuple[str, str]]
_Held = Callable[[dict[str, str]], object]
"""What a kind of line can hold: raises ValueError, which says why, for another value."""


def slurm_conf(value: object) -> object:
    """Lines of slurm.conf: parameters, outside hosts and partitions."""
    return _of_lines(conf_lines(value)).several() if isinstance(value, str) else _of_mapping(value)


def slurmdbd_conf(value: object) -> object:
    """Lines of slurmdbd.conf, or the chart's mapping, as a mapping."""
    return (
        _of_lines(conf_lines(value), slurm_conf=False).several()
        if isinstance(value, str)
        else _of_mapping(value, slurm_conf=False)
    )


def words(value: object) -> object:
    """Words ``Key=Value`` of one line of slurm.conf as a mapping; so are the values of the chart's own mapping."""
    return _words(value, partition_conf)


def of_partition(value: object) -> object:
    """Parameters of a partition. Of two ``Nodes=`` of a line Slurm takes the last one, which is that of these."""
    several = _words(value, partition_conf)
    own = dict(mapping(several.settings.get(SAME)))
    notes, left, settings = [*several.notes], [*several.left], dict[str, object]()
    for key in [name for name in own if name.lower() in ("nodes", "partitionname")]:
        said = own.pop(key)
        if key.lower() == "nodes":
            settings["partitions.{}.nodesets"] = members(said)
            notes.append(f"{key}={name_of(said)} counts, and not `nodesets`: of two Slurm takes the last one")
        else:
            left.append((f" ({key})", "the partition's name is that of its key"))
    return Several({**({SAME: own} if own else {}), **settings}, left, notes)


def _words(value: object, held: _Held) -> Several:
    statements = _Lines()
    own = statements.once(
        _pairs(value, statements.notes) if isinstance(value, str) else [*_texts(value, statements.left)], held
    )
    return Several({SAME: own} if own else {}, statements.left, statements.notes)


def conf(value: object) -> object:
    """The chart's mapping of parameters: a list is joined by commas."""
    if not isinstance(value, Mapping):
        raise Left(no_text(value))
    return _words(value, partition_conf)


def _texts(value: object, left: list[tuple[str, str]]) -> _Pairs:
    """The same as texts. What is neither a text nor a list of such is added to ``left``: Helm writes it in Go's own form."""
    if not isinstance(value, Mapping):
        raise Left(no_text(value))
    pairs: _Pairs = []
    for key, parameter in value.items():
        several = parameter if isinstance(parameter, list) else [parameter]
        if any(isinstance(one, list | Mapping) for one in several):
            left.append((f".{name_of(str(key))}", _NESTED))
        elif parameter is not None:
            pairs.append((str(key), ",".join(map(word, several))))
    return pairs


def no_text(value: object) -> str:
    """What to say of a value that is neither a text of parameters nor a mapping of them; with the mapping that a list's
    entries make."""
    said = "is a text `Name=Value` or a mapping in the chart, and neither here"
    pairs = [_PAIR.fullmatch(text) for text in value if isinstance(text, str)] if isinstance(value, list) else []
    if not pairs or not all(pairs):
        return f"{said}. Write a mapping, `Name: Value`"
    own = ", ".join(f"{pair[1]}: {'…' if hidden(pair[1]) else name_of(pair[3])}" for pair in pairs if pair)
    return f"{said}. Write a mapping: {{{own}}}"


def of_node(value: object) -> object:
    """Parameters of a node: GRES and features have settings of their own."""
    several = _words(value, node_conf)
    own = mapping(several.settings.get(SAME))
    rest = {key: text for key, text in own.items() if key.lower() not in {"gres", "features", "feature"}}
    settings: dict[str, object] = {"nodesets.{}.extraConf": rest} if rest else {}
    for key, text in own.items():
        if key.lower() == "gres":
            settings["nodesets.{}.gres"] = text.split(",")
        elif key.lower() in {"features", "feature"}:
            settings["nodesets.{}.features"] = text.split(",")
    return Several(settings, several.left, several.notes)


@dataclass
class _Lines:
    """What lines say, line by line."""

    parameters: dict[str, str] = field(default_factory=dict)
    hosts: list[dict[str, Any]] = field(default_factory=list)
    partitions: dict[str, Any] = field(default_factory=dict)
    most_nodes: int | None = None
    left: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def several(self) -> Several:
        """All of it as settings."""
        settings: dict[str, object] = {SAME: self.parameters, "external.slurmdHosts": self.hosts}
        settings |= {"partitions": self.partitions, "cluster.maxNodeCount": self.most_nodes}
        return Several({place: setting for place, setting in settings.items() if setting}, self.left, self.notes)

    def once(self, pairs: _Pairs, held: _Held = partition_conf) -> dict[str, str]:
        """Parameters by name, as Slurm reads them in any spelling: the last one counts. What no setting holds is left."""
        last = {key.lower(): (key, value) for key, value in pairs}
        times = Counter(key.lower() for key, _ in pairs)
        for name, (key, _) in last.items():
            if times[name] > 1:
                said = f"is there {times[name]} times; Slurm takes the last one, and so does the file"
                self.notes.append(f"{name_of(key)} {said}")
        return {key: value for key, value in last.values() if self._is_held(key, value, held)}

    def _is_held(self, key: str, value: str, held: _Held) -> bool:
        try:
            held({key: value})
        except ValueError as why:
            self.leave(key, str(why).removeprefix(f"{name_of(key)}: ") if value else _NO_VALUE)
            return False
        return True

    def leave(self, line: str, why: str) -> None:
        """Name a line that isn't carried over; of a long one its first word, of a password its name."""
        key, equals, value = line.split(maxsplit=1)[0].partition("=")
        shown = "" if hidden(key) else f"{equals}{name_of(value)}"
        self.left.append((f" ({name_of(key)}{shown})", why))


def _of_lines(lines: Iterable[str], *, slurm_conf: bool = True) -> _Lines:
    """``slurm_conf``: of slurm.conf, where some lines are settings of their own."""
    owned = OWNED if slurm_conf else OWNED_BY_DATABASE
    statements = _Lines()
    pairs: _Pairs = []
    defaults: dict[str, dict[str, tuple[str, str]]] = {}
    for line in lines:
        try:
            own = _pairs(line, statements.notes)
        except Left as why:
            key = line.split()[0].lower()
            statements.leave(line, set_instead(key, owned) if key in owned else str(why))
            continue
        kind = own[0][0].lower()
        if slurm_conf and kind in _EACH - _SETTINGS.keys() and len(own) > 1:
            statements.leave(line, set_instead(kind) if kind in OWNED else _ITS_OWN)
        elif not slurm_conf or kind not in _SETTINGS:
            pairs += own
        elif own[0][1].upper() == "DEFAULT":
            if kind not in defaults:
                statements.notes.append(
                    f"{own[0][0]}=DEFAULT is in each {own[0][0]}= line that follows it, as Slurm reads it"
                )
            defaults.setdefault(kind, {}).update({key.lower(): (key, value) for key, value in own[1:]})
        else:
            inherited = defaults.get(kind, {}).keys() - {key.lower() for key, _ in own}
            own += [pair for key, pair in defaults.get(kind, {}).items() if key in inherited]
            if twice := _SETTINGS[kind](statements, own):
                statements.leave(line, twice)
    statements.parameters = statements.once(list(_kept(statements, pairs, owned, slurm_conf=slurm_conf)))
    return statements


def _kept(statements: _Lines, pairs: _Pairs, owned: Mapping[str, str], *, slurm_conf: bool) -> Iterator[tuple[str, str]]:
    """Parameters that ``extraConf`` may have; others are put in their place, or left out."""
    times = Counter(key.lower() for key, _ in pairs)
    for key, value in pairs:
        name = key.lower()
        if slurm_conf and name == "maxnodecount" and value.isdigit() and len(value) < _DIGITS:
            statements.most_nodes = int(value)
        elif name in owned and name not in _SETTINGS:
            statements.leave(f"{key}={value}", set_instead(key, owned))
        elif slurm_conf and name in _EACH and times[name] > 1:
            statements.leave(f"{key}={value}", _ITS_OWN)
        else:
            yield key, value


def _of_mapping(value: object, *, slurm_conf: bool = True) -> object:
    """The chart's mapping, which it writes as ``Key=Value`` lines."""
    left: list[tuple[str, str]] = []
    lines = _as_lines(value, left)
    if lines is None:
        raise Left(no_text(value))
    statements = _of_lines(lines, slurm_conf=slurm_conf)
    statements.left += left
    return statements.several()


def _as_lines(value: object, left: list[tuple[str, str]]) -> list[str] | None:
    """A mapping's parameters as lines, values that have blanks in quotes; None where it is none."""
    if not isinstance(value, Mapping):
        return None
    own = dict(_texts(value, left))
    lined = {"nodename", "partitionname"}
    bare = {key for key, text in own.items() if " " not in text or text.startswith('"') or key.lower() in lined}
    return [f"{key}={text}" if key in bare else f'{key}="{text}"' for key, text in own.items()]


def _host(statements: _Lines, pairs: _Pairs) -> str:
    own = {key.lower(): key for key, _ in pairs}
    parameters = statements.once(pairs, host_conf)
    name, address = parameters.pop(own["nodename"], ""), parameters.pop(own.get("nodeaddr", ""), None)
    host = {"name": name, **({"address": address} if address else {}), **({"config": parameters} if parameters else {})}
    statements.hosts.append(host)
    return ""


def members(nodes: str) -> list[str]:
    """Nodes= of a partition as a list of NodeSets and hosts."""
    return ["ALL" if member.upper() == "ALL" else member for member in split(nodes)]


def _partition(statements: _Lines, pairs: _Pairs) -> str:
    own = {key.lower(): key for key, _ in pairs}
    parameters = statements.once(pairs)
    name, nodes = parameters.pop(own["partitionname"], ""), parameters.pop(own.get("nodes", ""), "")
    if name in statements.partitions:
        return f"an earlier line has this partition; {set_instead('partitionname')}"
    statements.partitions[name] = {"nodesets": members(nodes), **({"config": parameters} if parameters else {})}
    return ""


_SETTINGS: Final[Mapping[str, Callable[[_Lines, _Pairs], str]]] = {"nodename": _host, "partitionname": _partition}
"""Lines that are settings of their own, by their first word: each is put in its place, or what is returned says why not."""


def _pairs(line: str, notes: list[str]) -> _Pairs:
    """``Key=Value`` words of a line; of those with a sign it is noted. Raises :class:`Left` for another one."""
    pairs, at, signs = [], 0, list[str]()
    while line[at:].strip():
        if (pair := _PAIR.match(line, at)) is None:
            raise Left(_NOT_A_PAIR)
        pairs.append((pair[1], (pair[3][1:-1] or _EMPTY) if pair[3].startswith('"') else pair[3]))
        signs += (
            [f"{name_of(pair[1])}{pair[2]}= sets the value: Slurm reads the sign, and it changes nothing"] if pair[2] else []
        )
        at = pair.end()
    notes += signs
    return pairs
