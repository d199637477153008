"""`slinky check`: is a stack's file sound? Offline: no stack, no cluster, no pulumi. What is to say of a file, what is
printed, and an exit code for CI and for hooks of git."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from slinky_iac.commands import mend, output, paste, whole_file
from slinky_iac.commands.output import FOUND, Paint, terminal
from slinky_iac.config.chart.translation import as_yaml
from slinky_iac.config.findings import Finding, Level, acknowledged, at
from slinky_iac.config.reading import files_here
from slinky_iac.config.reading.load import examined, resolved
from slinky_iac.config.reading.stack_file import (
    SECTIONS,
    Place,
    StackFile,
    described_elsewhere,
    parse,
    project_of,
    renamed,
    text_of,
)
from slinky_iac.config.reading.such_as import such_as
from slinky_iac.config.rules.indentation import shifted
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.rules.sound import of_sound, without_faults
from slinky_iac.config.shown import name_of
from slinky_iac.config.shown import place as shown_path
from slinky_iac.config.stack import FIRST_SECRETS, PROJECT, SECRET_KEYS, StackConfig
from slinky_iac.errors import StateError
from slinky_iac.specs.refused import unmakeable

_ORDER = {Level.ERROR: 0, Level.WARNING: 1, Level.INFO: 2}


def judge(text: str, project: str = PROJECT) -> tuple[StackConfig | None, tuple[Place, ...]]:
    """The configuration in a file's text, where it can be read, and what is to say about it: errors first, then by lines."""
    return judged(parse(text, project))


def errors_of(settings: Mapping[str, Any]) -> list[Finding]:
    """What is wrong with sections, as a file has them."""
    places = judge("config:\n" + textwrap.indent(as_yaml(settings), "  "))[1]
    return [place.finding for place in places if place.finding.level is Level.ERROR]


def judged(file: StackFile) -> tuple[StackConfig | None, tuple[Place, ...]]:
    """The same of a file that has been parsed."""
    if not file.lines:
        return None, file.faults
    texts, plain = _read(file)
    there = file.secret | (texts.keys() & frozenset(SECRET_KEYS))  # what is there in plain text isn't missing, too
    config, faults = examined(texts)
    misread = {place.finding.path for place in file.faults if "." in place.finding.path}
    faults = tuple(fault for fault in faults if fault.path not in misread)
    wrong = shifted(texts)
    problems = [*plain, *(fault for fault in faults if not any(at.explains(fault.path) for at in wrong))]
    problems += [shift.finding(file.line_of(shift.owner)) for shift in wrong]
    if any(place.finding.path == "cluster" for place in file.faults):  # it is there, under another name
        problems = [finding for finding in problems if str(finding) != "cluster: is missing and has no default"]
    unread = [place.finding for place in file.faults if place.finding.path in SECTIONS]
    if config is not None:
        ruled = [finding for finding in _ruled(config, there) if finding.path not in misread]
        problems += of_sound(ruled, unread, config) if unread else ruled
        if said := renamed(file.project):
            problems += acknowledged([at("config").info(said, id="project-renamed")], config.acknowledged)
    elif not (wrong or plain or file.faults) and (sound := without_faults(texts)) is not None:
        problems += of_sound(_ruled(sound, there), faults, sound)
    if config is not None and not any(finding.level is Level.ERROR for finding in (*problems, *unread)):
        problems += unmakeable(config)  # a preview's last questions, too
    places = [*file.faults, *(Place(file.line_of(_as_typed(finding.path, problems, file)), finding) for finding in problems)]
    is_sound = not any(place.finding.level is Level.ERROR for place in places)
    return config if is_sound else None, tuple(sorted(paste.tried(file.sections, places, misread), key=_order))


def _as_typed(path: str, problems: Iterable[Finding], file: StackFile) -> str:
    """The path of a setting as the file has it, where the file has another name for one of its levels: the finding about
    that name says which."""
    for finding in problems:
        typed, meant, inner = finding.path.split("."), list[str](), finding.instead
        while isinstance(inner, Mapping) and len(inner) == 1 and len(meant) < len(typed):
            ((name, inner),) = inner.items()
            meant.append(str(name))
        parts = path.split(".")
        if len(meant) == len(typed) and parts[: len(meant)] == meant and ".".join(meant) not in file.lines:
            return ".".join((*typed, *parts[len(meant) :]))
    return path


def _order(place: Place) -> tuple[int, int]:
    return _ORDER[place.finding.level], place.line


def _ruled(config: StackConfig, secret: frozenset[str]) -> Iterator[Finding]:
    """What the rules say. A secret that isn't set yet is a warning: it is set after the file is written."""
    later = frozenset(findings(config, secret | FIRST_SECRETS))
    for finding in findings(config, secret):
        waits = finding.level is Level.ERROR and finding not in later
        yield replace(finding, level=Level.WARNING) if waits else finding
    if not config.nodesets and config.auth.makes_daemons:
        none = at("nodesets").info("none is set: no pod of this stack runs slurmd", id="no-nodesets")
        yield from acknowledged([none], config.acknowledged)


def _read(file: StackFile) -> tuple[dict[str, object], list[Finding]]:
    """Sections as plain data, and those that aren't: one in a single text is JSON, as `pulumi config set` stores it."""
    read: dict[str, object] = {}
    faults: list[Finding] = [
        at(name).error(
            f"holds a secret, but settings are shown in previews and pod specs; only {', '.join(SECRET_KEYS)} are secret"
        )
        for name in sorted(file.secret - set(SECRET_KEYS))
    ]
    for name, value in file.sections.items():
        if isinstance(value, str) and name not in SECRET_KEYS:
            try:
                read[name] = json.loads(value)
            except (ValueError, RecursionError):
                if name in SECTIONS:
                    example = such_as((name,))
                    said = "is a single value; it must be a mapping of settings"
                    more = f": write, for example, {PROJECT}:{example}" if example else ""
                    faults.append(at(name).error(said + more))
                else:
                    read[name] = value  # it isn't a setting, whatever it holds
            continue
        if inner := next(_encrypted(value, name, 0), None):
            faults.append(
                at(inner).error("is encrypted, and with it the whole section becomes a secret; only whole values such as"
                      f" {', '.join(SECRET_KEYS[:3])} are secret")
            )  # fmt: skip
            continue
        read[name] = value
    return read, faults


def _encrypted(value: object, path: str, depth: int) -> Iterator[str]:
    if depth > 40:
        return
    if isinstance(value, dict):
        if set(value) == {"secure"}:
            yield path
            return
        for key, inner in value.items():
            yield from _encrypted(inner, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _encrypted(inner, f"{path}.{at}", depth + 1)


CODES = (
    "exit codes: 0 no error; 1 a file can't be read or written, or there is none; 2 wrong arguments; 6 errors (with"
    " --strict: or warnings; with --fix: in the new file). A secret that isn't set yet is a warning"
)
_SHADES: Final = {Level.ERROR: "red", Level.WARNING: "yellow", Level.INFO: "cyan"}
_WORDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}
UNWRAPPED: Final = 100_000
"""Columns where no terminal is: a program reads one finding a line."""
NEW: Final = ".new"
"""What --fix puts behind the file's name: no command takes that for a stack's file."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="Pulumi.<stack>.yaml; by default every one of this folder")
    parser.add_argument("--strict", action="store_true", help="let warnings count as errors, unless they are acknowledged")
    fix = "write FILE.new with all that can be put right without a question, and show the difference; FILE stays as it is"
    parser.add_argument("--fix", action="store_true", help=fix)
    parser.add_argument(
        "--resolved",
        action="store_true",
        help="print the NodeSets and login sets with what nodesetDefaults and loginDefaults give them, as YAML",
    )
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, judge, print. Raises :class:`StateError` where a file can't be read; returns the exit code."""
    files = [_file(name) for name in arguments.files] or sorted(Path().glob("Pulumi.*.yaml"))
    if not files:
        raise StateError(
            "no Pulumi.<stack>.yaml in this folder; name a file, or let `slinky init STACK` write one from the running Slurm"
        )
    if arguments.resolved:
        print("".join(as_resolved(file) for file in files), end="")
        return 0
    colour, width = terminal(UNWRAPPED)
    paint = Paint(colour)
    texts = {file: text_of(file) for file in files}
    left: dict[Path, tuple[mend.LeftOut, ...]] = {}
    if arguments.fix:
        new = {file: _mended(file, text, paint, quiet=arguments.json) for file, text in texts.items()}
        texts, left = (
            {file: mended.text for file, mended in new.items()},
            {file: mended.left for file, mended in new.items()},
        )
    parsed = {file: parse(text, project_of(file)) for file, text in texts.items()}
    places_by_file = {file: _places(file, read) for file, read in parsed.items()}
    if arguments.json:
        print(output.as_json(as_json(places_by_file, left)))
    else:
        for file, places in places_by_file.items():
            print("\n".join(as_text(file, places, paint, width, parsed[file].sections)))
    bad = {Level.ERROR, Level.WARNING} if arguments.strict else {Level.ERROR}
    open_ = (place.finding for places in places_by_file.values() for place in places if not place.finding.reason)
    return FOUND if any(finding.level in bad for finding in open_) else 0


def _file(name: str) -> Path:
    """A file by its name, or by the stack's whose it is, as `pulumi stack` takes it."""
    file = Path(name)
    of_stack = Path(f"Pulumi.{name}.yaml")
    return of_stack if not file.exists() and "/" not in name and of_stack.is_file() else file


def _places(file: Path, read: StackFile) -> tuple[Place, ...]:
    """What to say of a file; of one whose project's program has the settings, where they are."""
    if said := described_elsewhere(read, file.parent):
        note = Place(0, at("config").info(said, id="settings-in-program"))
        return (note,) if read.is_bare else (note, *read.faults)
    config, places = judged(read)
    absent = [] if config is None else files_here.missing(config, file.parent)
    return tuple(sorted((*places, *(Place(read.line_of(finding.path), finding) for finding in absent)), key=_order))


def _mended(file: Path, text: str, paint: Paint, *, quiet: bool) -> mend.Mended:
    """What the new file has, which is written and shown as a difference; the old text where nothing can be put right."""
    whole = mend.mended(text, project_of(file), lambda text, project: judge(text, project)[1])
    new = whole.text
    if new == text:
        if not quiet:
            print(f"{file}: --fix finds nothing that it can put right, so no {file}{NEW} is written")
        return whole
    place = file.with_name(file.name + NEW)
    try:
        whole_file.write(place, new, new=True)
    except FileExistsError:
        raise StateError(
            f"{place} is there from an earlier run, and nothing was written. To take it: mv {place} {file}. To begin again:"
            f" rm {place}, then run this again"
        ) from None
    except OSError as error:
        raise StateError(f"{place} can't be written: {(error.strerror or '').lower()}") from None
    if not quiet:
        shades = {"+": "green", "-": "red"}
        for line in mend.difference(text, new, (str(file), str(place))):
            print(paint(line, shades[line[0]]) if line[:1] in shades else line)
        print()
        for leftover in whole.left:
            print(f"Left out: {shown_path(leftover.path)} ({mend.shown_value(leftover)}), which no setting here carries")
        had, left = (_errors(version, project_of(file)) for version in (text, new))
        mends = f" (mended: {had - left} of {had})" if had > left else ""
        rest = f" Mend the other {left} in it, then" if left else " Then"
        print(f"Written: {place}{mends}.{rest}: mv {place} {file}\n")
    return whole


def _errors(text: str, project: str) -> int:
    return sum(place.finding.level is Level.ERROR for place in judge(text, project)[1])


def as_resolved(file: Path) -> str:
    """NodeSets and login sets of a file with what their defaults add. Raises :class:`StateError` where it isn't sound."""
    read = parse(text_of(file), project_of(file))
    if judged(read)[0] is None:
        raise StateError(f"{file}: has errors, so nothing is resolved; `slinky check {file}` names them")
    settings = resolved(_read(read)[0])
    return f"# {file}\n" + as_yaml({name: settings[name] for name in ("nodesets", "logins") if settings.get(name)})


def _said(finding: Finding, sections: Mapping[str, object]) -> str:
    """A finding with the name of a list's item in the place of its number, which people count from one."""
    child: object = sections
    shown = ""
    for part in finding.path.split("."):
        if isinstance(child, list) and part.isdecimal() and int(part) < len(child):
            child = child[int(part)]
            name = child.get("name") if isinstance(child, Mapping) else None
            shown += f"[{name_of(name)}]" if isinstance(name, str) else f"[item {int(part) + 1}]"
        else:
            child = child.get(part) if isinstance(child, Mapping) else None
            shown += f".{part}" if shown else part
    return str(replace(finding, path=shown))


def as_text(
    file: Path, places: Sequence[Place], paint: Paint, width: int = UNWRAPPED, sections: Mapping[str, object] | None = None
) -> Iterator[str]:
    """Lines that editors and terminals lead from to the place: ``FILE:LINE: error: PATH: what is wrong``; then what to
    paste, a section once. ``sections``: what the file has, which is in it."""
    for place in places:
        finding = place.finding
        where = f"{file}:{place.line}" if place.line else str(file)
        if finding.reason:
            said = _said(finding, sections or {})
            yield from _wrapped(f"{where}: acknowledged: {said} (reason: {finding.reason})", width, paint, "dim")
        else:
            level = _WORDS[finding.level]
            first, *rest = _wrapped(f"{where}: {level}: {_said(finding, sections or {})}", width)
            yield first.replace(f": {level}:", f": {paint(level, _SHADES[finding.level])}:", 1)
            yield from rest
        yield ""
    pasted, lost = paste.block(sections or {}, places)
    if pasted:
        yield from _wrapped(_to_paste(pasted, places, sections or {}), width, paint, "bold")
        yield from (f"  {line}" for line in pasted.splitlines())
        yield ""
    can = sections is not None and mend.sections(sections, (place.finding for place in places)) != sections
    wrong = [place.finding for place in places if place.finding.level is Level.ERROR and not place.finding.reason]
    still = [error for error in wrong if error.instead is None]
    if pasted and (there := [error.path for error in still if paste.is_in(error.path, pasted) and not error.paste]):
        yield from _wrapped(f"Still to be put right in it: {', '.join(there)}", width, paint, "bold")
        yield ""
    if lost:
        said = f"No YAML is shown, since a value in it may be secret{'. `--fix` keeps the value' if can else ''}"
        yield from _wrapped(f"{', '.join(lost)}: {said}", width)
        yield ""
    counts = [f"{count} {word}{'s' * (count > 1)}" for word, count in _counts(places).items() if count]
    if accepted := sum(bool(place.finding.reason) for place in places):
        counts.append(f"{accepted} acknowledged")
    yield f"{file}: {', '.join(counts) or 'sound'}" + (
        f"; `slinky check --fix {file}` writes a new file with what can be put right" if can else ""
    )
    if any(_own_files(sections or {})):
        yield "  slurmctld itself judges controller.configFiles: `slinky preflight --try` asks it, before `pulumi up`"


def _to_paste(pasted: str, places: Sequence[Place], sections: Mapping[str, object]) -> str:
    """What the YAML below is for: where it goes, and how many of the errors it mends."""
    mends = [place.finding for place in places if place.finding.paste or place.finding.instead is not None]
    errors = [place.finding for place in places if place.finding.level is Level.ERROR and not place.finding.reason]
    mended = sum(error in mends for error in errors)
    number = "all errors" if mended == len(errors) else f"{mended} of {len(errors)} errors"
    count = f"; it mends {number}" if mended else ""
    gone = sections.keys() - mend.sections(sections, mends).keys()  # the file's own words for sections that are pasted
    words = [f"{PROJECT}:{name_of(name)}" for name in sections if name in gone]
    own = ", ".join([*words, *paste.names_of(pasted)])
    return f"Paste this below `config:`, in place of what the file has of {own}{count}:"


def _own_files(sections: Mapping[str, object]) -> Iterator[str]:
    """Names of files whose contents only the daemons can judge."""
    controller = sections.get("controller")
    files = controller.get("configFiles") if isinstance(controller, Mapping) else None
    yield from files if isinstance(files, Mapping) else ()


def _wrapped(text: str, width: int, paint: Paint | None = None, shade: str = "") -> list[str]:
    lines = textwrap.wrap(text, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return [paint(line, shade) if paint else line for line in lines]


def as_json(
    places_by_file: Mapping[Path, Sequence[Place]], left: Mapping[Path, Sequence[mend.LeftOut]] | None = None
) -> dict[str, Any]:
    """The same for programs; ``left``: what --fix left out of the new file."""
    return {
        "files": [
            {
                "file": str(file),
                "counts": _counts(places),
                "leftOut": [shown_path(leftover.path) for leftover in (left or {}).get(file, ())],
                "findings": [
                    {
                        "id": place.finding.id or None,
                        "level": str(place.finding.level),
                        "line": place.line or None,
                        "path": place.finding.path,
                        "message": place.finding.message,
                        "paste": place.finding.paste or None,
                        "acknowledged": place.finding.reason or None,
                    }
                    for place in places
                ],
            }
            for file, places in places_by_file.items()
        ],
    }


def _counts(places: Sequence[Place]) -> dict[str, int]:
    open_ = [place.finding.level for place in places if not place.finding.reason]
    return {word: open_.count(level) for level, word in _WORDS.items()}
