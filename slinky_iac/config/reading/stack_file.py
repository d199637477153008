"""A stack's file, ``Pulumi.<stack>.yaml``, read without pulumi: its sections, its secrets, and the line of each setting.

It is read as pulumi reads it: a key without a prefix belongs to the project; texts such as ``12:30:00``, ``OFF`` and dates
stay texts; a key that occurs twice is an error. No value is decrypted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from slinky_iac import pulumi_yaml, safe_yaml
from slinky_iac.config.chart.translation import MARKS, advice, looks_like_values
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.leaked import given_again
from slinky_iac.config.reading.no_stack_file import IS_SLURM_CONF, NEW, NO_FILE, NO_YAML, SLURM_CONF, VALUES
from slinky_iac.config.reading.scalars import misread
from slinky_iac.config.reading.yaml_faults import why_not
from slinky_iac.config.shown import name_of, place, unknown_word
from slinky_iac.config.stack import PROJECT, SECRET_KEYS, StackConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.errors import StateError
from slinky_iac.pulumi_yaml import text_of_key
from slinky_iac.text import closest, some

OF_PULUMI: Final = frozenset({"config", "secretsprovider", "encryptionsalt", "encryptedkey", "environment"})
"""Keys of a stack's file that Pulumi reads (``ProjectStack`` of its SDK in Go)."""
SECTIONS: Final = frozenset((setting.alias or name) for name, setting in StackConfig.model_fields.items()) | set(SECRET_KEYS)
"""Names that a stack's file may have behind this program's prefix."""
_NODESET: Final = re.compile(r"nodesets\.[^.]+")
_OF_NODESET: Final = frozenset((setting.alias or name) for name, setting in NodeSet.model_fields.items())
_READS_FILE: Final = re.compile(r"\bhybrid_cluster\(")
_DESCRIBES: Final = re.compile(r"\b(HybridCluster|slinky_iac\.NodeSet)\(")
"""What a Python program calls that builds the cluster of the stack's file, and what one that describes it itself does."""


@dataclass(frozen=True)
class Place:
    """A finding and where it is in the file; line 0 where no line can be named."""

    line: int
    finding: Finding


@dataclass(frozen=True)
class StackFile:
    """What a stack's file says."""

    sections: Mapping[str, object] = field(default_factory=dict)
    """Sections by name, without the prefix, and secrets that are in plain text."""
    secret: frozenset[str] = frozenset()
    """Names of the values that are encrypted."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Line of each setting, by its path."""
    faults: tuple[Place, ...] = ()
    """Why the file, or a part of it, could not be read."""
    project: str = PROJECT
    """The name in the Pulumi.yaml beside it."""
    is_bare: bool = False
    """Whether it is YAML that has no `config:`, as the file of a stack without configuration is."""

    def line_of(self, path: str) -> int:
        """The line of a setting, or of the nearest one around it that is in the file."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path.rpartition(".")[0]
        return self.lines.get("", 0)


def parse(text: str, project: str = PROJECT) -> StackFile:
    """Read a file's text. ``project``: the name in Pulumi.yaml, to which keys without a prefix belong."""
    if (line := SLURM_CONF.search(text)) and "config:" not in text:
        return _unread(text.count("\n", 0, line.start(1)) + 1, IS_SLURM_CONF)
    return replace(_parsed(text, project), project=project)


def _parsed(text: str, project: str) -> StackFile:  # noqa: PLR0911 - one a kind of fault
    try:
        safe_yaml.require_shallow(text)
        root = yaml.compose(text, pulumi_yaml.StackLoader)
        safe_yaml.require_bounded(root)
        whole = yaml.load(text, pulumi_yaml.StackLoader)
    except yaml.MarkedYAMLError as wrong:
        if tab := safe_yaml.tab_in(text, wrong.problem or ""):
            return _tabbed(text, tab)
        return _unread(*why_not(text, wrong), path="")
    except safe_yaml.NotYamlError as wrong:
        return _unread(wrong.line, f"pulumi refuses the file: {wrong.why}" if wrong.why else NO_YAML, path="")
    except Exception as wrong:  # a tag such as !!bool raises whatever it likes, with what it found in it
        tab = safe_yaml.tab_in(text, None)
        return _tabbed(text, tab) if tab else _unread(getattr(wrong, "line", 0), NO_YAML, path="")
    config = whole.get("config") if isinstance(whole, dict) else None
    body = _value(root, "config")
    if not isinstance(config, dict) or not isinstance(body, yaml.MappingNode):
        return _unconfigured(whole, root)
    if twice := tuple(_twice(body, "", set())):
        inside = tuple(fault for fault in twice if f".{PROJECT}:" in fault.finding.path)  # what is twice may follow from it
        return StackFile(faults=inside or twice)
    beside = tuple(
        Place(key.start_mark.line + 1, beside_config(str(key.value), whole.get(key.value))) for key in _strangers(root, body)
    )
    stack_file = _read(config, body, project)
    return replace(stack_file, faults=(*beside, *stack_file.faults))


def _unconfigured(whole: object, root: yaml.Node | None) -> StackFile:
    if looks_like_values(whole):
        return _unread(1, VALUES)
    if root is not None and isinstance(whole, dict) and (own := _unindented(root)):
        first, last = own[0].start_mark.line + 1, root.end_mark.line + (1 if root.end_mark.column else 0)
        indent = f"ndent {f'line {first}' if first == last else f'lines {first} to {last}'} by two"
        if "config" in whole:
            said = f"has nothing below it, and there are sections of {PROJECT}: they aren't below it. I{indent}"
        else:
            is_below = own[0].start_mark.column > 0  # the lines are as they were below the word that is gone
            said = f"is missing, and there are sections of {PROJECT}: write `config:` above line {first}"
            said += "" if is_below else f", and i{indent}"
        return _unread(first, said)
    likely = [key for key, _ in safe_yaml.pairs(root) if closest(str(key.value), ("config",))]
    if likely and isinstance(whole, dict) and "config" not in whole:
        return _unread(likely[0].start_mark.line + 1, "is missing, and this name is like it: write `config:`")
    if isinstance(whole, dict) and whole and whole.keys() <= OF_PULUMI and not whole.get("config"):
        return replace(_unread(1, NEW), is_bare=True)
    bare = whole is None or (isinstance(whole, dict) and not whole.get("config"))
    example = f"`config: {{{PROJECT}:cluster: {{name: NAME}}}}`"
    return replace(_unread(1, f"{NO_FILE}, for example {example}; name a Pulumi.<stack>.yaml"), is_bare=bare)


def _unindented(root: yaml.Node | None) -> list[yaml.Node]:
    """Keys of our sections that stand beside `config:`."""
    return [
        key for key, _ in safe_yaml.pairs(root) if str(key.value).startswith(f"{PROJECT}:") or str(key.value) in SECTIONS
    ]


def _strangers(root: yaml.Node | None, body: yaml.Node) -> list[yaml.Node]:
    """Keys beside `config:` that Pulumi doesn't read, and of which nothing below it has an anchor."""
    used = set(_parts(body, set()))
    return [
        key
        for key, value in safe_yaml.pairs(root)
        if str(key.value) not in OF_PULUMI and (_is_ours(str(key.value)) or used.isdisjoint(_parts(value, set())))
    ]


def _parts(node: yaml.Node, seen: set[int]) -> Iterator[int]:
    """Identities of all mappings, lists and values in a node. An alias is the node of its anchor."""
    if id(node) in seen:
        return
    seen.add(id(node))
    yield id(node)
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        for inner in child if isinstance(child, tuple) else (child,):
            yield from _parts(inner, seen)


def _is_ours(key: str) -> bool:
    return key.startswith(f"{PROJECT}:") or key in SECTIONS


def beside_config(key: str, value: object) -> Finding:
    """What to say of a key that stands beside `config:`, where neither Pulumi nor this program reads it."""
    name = key.rpartition(":")[2]
    said = "stands beside `config:` and not below it, so it isn't read"
    is_encrypted = isinstance(value, dict) and set(value) == {"secure"}
    if name in SECRET_KEYS and not is_encrypted and key != name:
        return at(name).error(f"{said}. Remove it, and treat it as leaked. {given_again(name)}")
    if _is_ours(key) and not (name in SECRET_KEYS and not is_encrypted):
        return at(name).error(f"{said}: indent it, and all that is below it, by two")
    if known := advice(key, value):
        of_chart = "It is a word of Slinky's chart, whose values `slinky import-chart` makes a stack's file of"
        return at(key).error(f"{said}. {of_chart}. Below `config:` {known.words}", known.paste)
    if key in MARKS:
        return at(key).error(f"{said}. It is a word of Slinky's chart: `slinky import-chart` makes a stack's file of values")
    close = closest(name, SECTIONS)
    meant = f"; did you mean {PROJECT}:{close} below it?" if close else ""
    shown = key if close and name_of(key) == key else unknown_word(key)
    return at(shown).error(said + (meant or ". Remove it, or write it below `config:`"))


def _tabbed(text: str, tab: re.Match[str]) -> StackFile:
    line = text.count("\n", 0, tab.start()) + 1
    return _unread(line, f"column {tab.end() - tab.start()}: {safe_yaml.TAB}", path="")


def _cut(path: str) -> str:
    """A path as a message has it whose last word is none of the schema's."""
    above, _, word = path.rpartition(".")
    return f"{place(above)}.{unknown_word(word)}" if above else place(path)


def _unread(line: int, message: str, path: str = "config") -> StackFile:
    return StackFile(faults=(Place(line, at(path).error(message)),))


def _read(config: Mapping[Any, object], body: yaml.MappingNode, project: str) -> StackFile:
    sections: dict[str, object] = {}
    secret: set[str] = set()
    lines: dict[str, int] = {"": body.start_mark.line}
    faults: list[Place] = []
    nodes = {text_of_key(key): (key, value) for key, value in body.value}
    for key, value in config.items():
        name, fault = _own(str(key), project)
        line = nodes[str(key)][0].start_mark.line + 1 if str(key) in nodes else 0
        if fault is not None:
            faults.append(Place(line, fault))
        if name is None:
            continue
        if str(key) in nodes:
            own = dict(_lines(nodes[str(key)][1], name, line, set()))
            lines |= {_cut(path): at for path, at in own.items()} | {place(path): at for path, at in own.items()}
            faults += [Place(line, fault) for line, fault in misread(nodes[str(key)][1], name)]
        if isinstance(value, dict) and set(value) == {"secure"}:
            secret.add(name)
        else:
            sections[name] = value
    return StackFile(sections, frozenset(secret), lines, tuple(faults))


def _own(key: str, project: str) -> tuple[str | None, Finding | None]:
    """The name of one of our sections, and what is wrong with how it is written; no name where it is somebody else's."""
    prefix, _, name = key.rpartition(":")
    prefix = (prefix or project).removesuffix(":config")
    if prefix == PROJECT and not name:
        return None, at(f"{PROJECT}:").error(
            f"has no name behind it: write a section's, as {PROJECT}:nodesets, or remove it"
        )
    if prefix == PROJECT:
        return name, None
    if name in SECTIONS:
        said = other_prefix(prefix, name) if ":" in key else no_prefix(prefix, name)
        return None, at(name).error(said)
    return None, None


def other_prefix(prefix: str, name: str) -> str:
    """What to say of a section or secret with another prefix than this program's."""
    return f"found {name_of(prefix)}:{name}, which this program doesn't read: write {PROJECT}:{name} in its place"


def no_prefix(project: str, name: str) -> str:
    """What to say of one without a prefix in a project of another name than this program's."""
    return (
        f"has no prefix, and so belongs to the project, which Pulumi.yaml calls {name_of(project)}: write {PROJECT}:{name}"
        " in its place"
    )


def renamed(project: str) -> str:
    """What to say of a project of another name; empty where it is this program's."""
    if project == PROJECT:
        return ""
    return (
        f"Pulumi.yaml calls the project {name_of(project)}. The prefix {PROJECT}: stays that of sections and secrets:"
        f" without it a key belongs to {name_of(project)}, and this program doesn't read it. Write it in full in each"
        f" command, as in `pulumi config set --secret {PROJECT}:slurmKey`"
    )


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    return next((value for name, value in safe_yaml.pairs(node) if name.value == key), None)


def _twice(node: yaml.Node, path: str, seen: set[int]) -> Iterator[Place]:
    """Keys that occur twice: pulumi refuses the file, PyYAML takes the last."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _twice(child, path, seen)
    if not isinstance(node, yaml.MappingNode):
        return
    if path and (own := [key for key, _ in node.value if str(key.value).startswith(f"{PROJECT}:")]):
        for key in own:
            yield Place(key.start_mark.line + 1, section_inside(path, str(key.value)))
        return
    if _NODESET.fullmatch(path) and (meant := [key for key, value in node.value if _is_nodeset(key, value)]):
        for key in meant:
            said = f"is not a setting; a NodeSet named {name_of(str(key.value))}? Then indent it by 4"
            yield Place(key.start_mark.line + 1, at(f"{path}.{key.value}").error(said))
        return
    first: dict[str, int] = {}
    for key, value in node.value:
        name, line = text_of_key(key), key.start_mark.line + 1
        inner = f"{path}.{name}".removeprefix(".").removeprefix(f"{PROJECT}:")
        if name in first and name != "<<":
            move = (
                f"Move what is below line {line} into the block of line {first[name]}, and delete line {line}. Other errors"
                " show after that"
                if isinstance(value, yaml.MappingNode | yaml.SequenceNode)
                else "Delete one of them"
            )
            told = f"is there twice, first in line {first[name]}, and pulumi refuses the file. {move}"
            yield Place(line, at(inner).error(told))
        first.setdefault(name, line)
        yield from _twice(value, inner, seen)


def section_inside(path: str, key: str) -> Finding:
    """What to say of a section that stands inside the setting at ``path``, where nothing reads it."""
    return at(f"{path}.{key}").error(f"is a section and stands inside {place(path)}; move it out to 2 spaces")


def _is_nodeset(key: yaml.Node, value: yaml.Node) -> bool:
    """Whether a mapping in a NodeSet looks like one itself: it was meant beside it."""
    below = {str(inner_key.value) for inner_key, _ in safe_yaml.pairs(value)}
    return str(key.value).islower() and str(key.value) not in _OF_NODESET and bool(below & {"replicas", "gres"})


def _lines(node: yaml.Node, path: str, line: int, seen: set[int]) -> Iterator[tuple[str, int]]:
    """Lines by path, in the form that findings have: names joined by dots, places in a list by their number."""
    yield path, line
    if id(node) in seen:  # an alias: it may be in itself, and its lines are where it was first
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _lines(value, f"{path}.{text_of_key(key)}", key.start_mark.line + 1, seen)
    elif isinstance(node, yaml.SequenceNode):
        for at, value in enumerate(node.value):
            yield from _lines(value, f"{path}.{at}", value.start_mark.line + 1, seen)


def text_of(file: Path) -> str:
    """A file's text. Raises :class:`StateError` where it can't be read."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as wrong:
        raise StateError(f"{file}: can't be read ({wrong.strerror}); {_instead_of(file)}") from None
    except UnicodeDecodeError:
        raise StateError(f"{file}: isn't a text in UTF-8; name a Pulumi.<stack>.yaml") from None


def _instead_of(file: Path) -> str:
    """Which file to name: of one that isn't there the one that is like it, else those that are in its folder."""
    files = [] if file.exists() else sorted(file.parent.glob("Pulumi.*.yaml"))
    there = {pulumi_yaml.stack_of(sibling.name): sibling.name for sibling in files}
    if near := closest(pulumi_yaml.stack_of(file.name), there):
        return f"did you mean {there[near]}?"
    return "name a Pulumi.<stack>.yaml" + (f"; here are: {some(there.values())}" if there else "")


def project_of(file: Path) -> str:
    """The project's name in the Pulumi.yaml beside a stack's file; this program's own where there is none."""
    name = _project(file.parent).get("name")
    return name if isinstance(name, str) else PROJECT


def _project(folder: Path) -> Mapping[Any, Any]:
    try:
        whole = yaml.safe_load((folder / "Pulumi.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return whole if isinstance(whole, dict) else {}


def settings_elsewhere(names: Iterable[str], folder: Path) -> str:
    """What to say where a stack's configuration has secrets of ours alone (``names``: of its sections), because the program
    of the project in ``folder`` describes the cluster itself; empty where settings are missing."""
    if set(names) - set(SECRET_KEYS):
        return ""
    main = folder / str(_project(folder).get("main") or "")
    files = sorted(main.glob("*.py")) if main.is_dir() else [main]
    calls: dict[str, str] = {}
    for file in files:
        try:
            calls[file.name] = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
    own = [name for name, text in calls.items() if _DESCRIBES.search(text)]
    if not own or any(map(_READS_FILE.search, calls.values())):
        return ""
    return (
        f"this project's settings are in its program ({', '.join(own)}), and this command reads only those of a stack's"
        " file. `pulumi preview` checks them. `status`, `drain`, `plan` and `verify-state` read the state, and work"
    )


def described_elsewhere(read: StackFile, folder: Path) -> str:
    """The same of a stack's file in ``folder``; empty for one that can't be read, which is said first."""
    return settings_elsewhere(read.sections, folder) if read.lines or read.is_bare else ""
