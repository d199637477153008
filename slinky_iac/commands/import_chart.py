"""`slinky import-chart`: a stack's file from the values of Slinky's Helm chart. Each key becomes a setting or is named as
left out, with why; the file is judged as `check` judges any."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from slinky_iac import safe_yaml
from slinky_iac.commands import output, whole_file
from slinky_iac.commands.check import as_text, errors_of, judge
from slinky_iac.commands.output import FOUND, WAITS, Paint, terminal
from slinky_iac.config.chart.age import key_of_operator, key_of_slurm, keys_of_0, of_subchart, other_release
from slinky_iac.config.chart.gitops import Given, given_in
from slinky_iac.config.chart.refused import leave_unsound
from slinky_iac.config.chart.release import read, said_of_others
from slinky_iac.config.chart.said import Read
from slinky_iac.config.chart.translation import as_yaml, laid_over, merged
from slinky_iac.config.findings import Level
from slinky_iac.config.operator import chart_keys as operator_keys
from slinky_iac.config.others import of_operator
from slinky_iac.config.paths import value_at, without
from slinky_iac.config.reading.stack_file import Place
from slinky_iac.config.reading.yaml_faults import is_template, why_not
from slinky_iac.config.sections import Operator
from slinky_iac.config.shown import name_of, place
from slinky_iac.errors import ProjectError
from slinky_iac.pulumi_yaml import stack_of
from slinky_iac.releases import LINES, OperatorVersion

CODES = (
    "exit codes: 0 written, every key is a setting and the file is sound; 1 a file can't be read or written, or is of the"
    " other chart; 2 wrong arguments; 3 written, and some keys are left out; 6 written, and `check` finds errors in it"
)
WIDTH: Final = 100
_NAME: Final = re.compile(r"(?<=cluster:\n    name: ).+")
_STACK_FILE: Final = re.compile(r"Pulumi\.[\w.-]+\.ya?ml")
_OTHER_LINE: Final = re.compile(r"v?(\d{1,3})\.\d{1,3}")
_LINE: Final = re.compile(r"v?1\.(\d{1,3})")
_DEFAULTS: Final = {"release": "slurm", "namespace": "slurm"}
_VERSION: Final = str(Operator.model_fields["version"].default)
_OPERATOR: Final = {
    ("certManager", "enabled"): ("webhook", "certManager"),
    ("webhook", "enabled"): ("webhook", "enabled"),
    ("crds", "enabled"): ("installCrds",),
    ("namespaceOverride",): ("namespace",),
}
"""Keys of the operator's chart that have a setting; all others go to `operator.values` as they are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "values",
        metavar="VALUES",
        help="values.yaml of the chart slurm, what `helm get values RELEASE -o yaml` prints, or the object that has them: a"
        " HelmRelease of Flux, an Application or ApplicationSet of Argo CD",
    )
    more = "another such file, laid over VALUES, as of several -f of Helm the last one counts; can be repeated"
    parser.add_argument("-f", "--values", dest="more", action="append", default=[], metavar="FILE", help=more)
    parser.add_argument("--operator", action="append", default=[], metavar="FILE", help="values of the chart slurm-operator")
    parser.add_argument("--out", required=True, metavar="FILE", help="Pulumi.STACK.yaml, which must not exist; - for stdout")
    own = f"by default what an object of Flux or Argo CD says, else {_DEFAULTS['release']}"
    parser.add_argument("--release", help=f"name of the Helm release; {own}")
    parser.add_argument("--namespace", help=f"its namespace; {own}")
    version = (
        "release of the chart and the operator, as 1.1.2 or 1.1; by default what such an object or the operator's image"
        " says, else"
    )
    parser.add_argument(
        "--chart-version", metavar="VERSION", help=f"{version} {_VERSION}. Defaults of 1.0 and 1.1 differ from those of 1.2"
    )
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, translate, judge, write. Raises :class:`ProjectError`; returns the exit code."""
    files = [_given(path) for path in (arguments.values, *arguments.more)]
    values, below = of_subchart(_laid(files))
    given = layered(arguments.operator)
    is_named_by_image = bool(value_at(given, ("operator", "image", "tag")))
    require_each_its_own(values, given)
    chosen, notes = decided(vars(arguments), files)
    version, given, more = operator_release(given, chosen["chart-version"])
    reading = read(values, release=chosen["release"], namespace=chosen["namespace"], line=(version.major, version.minor))
    reading.notes[:0] = [*notes, *more]
    unread: list[tuple[str, str]] = []
    given = operator_keys.read_by(given, version, unread)
    reading.taken.left += [(f"--operator {place(key)}", why) for key, why in unread]
    if below:
        reading.notes.append(
            f"values are below {name_of(below)}:, as in a chart that has Slinky's as a dependency; others aren't read"
        )
    is_named = bool(chosen["chart-version"])
    if said := other_release(values, version.minor, named=is_named, written=arguments.out != "-"):
        reading.notes.insert(0, said)
    is_of_0 = bool(keys_of_0(values))
    if not (is_named or is_named_by_image):
        reading.notes.insert(int(is_of_0), f"read as chart {version} (assumed; --chart-version names another)")
    operator = operator_settings(given, str(version))
    if of_others := of_operator(operator.get("values", {})):
        operator["createNamespace"] = False
        space = operator.get("namespace", Operator.model_fields["namespace"].default)
        reading.notes.append(said_of_others("operator", space, of_others))
    reading.taken.settings = _first(reading.taken.settings, operator)
    leave_unsound(reading.taken, errors_of)
    sources = ", ".join(Path(path).name for path in (arguments.values, *arguments.more))
    text = f"# Made by `slinky import-chart` from {sources}.\n"
    text += "config:\n" + textwrap.indent(as_yaml(reading.taken.settings), "  ")
    if any(note.startswith("cluster.name: ") and "DECIDE" in note for note in reading.notes):
        text = _NAME.sub(r"\g<0> # DECIDE: ClusterName of the outside slurm.conf, which can't change later", text, count=1)
    places = judge(text)[1]
    errors = any(place.finding.level is Level.ERROR for place in places)
    code = FOUND if errors else WAITS if reading.taken.left else 0
    write(arguments.out, text)
    if arguments.json:
        print(
            output.as_json(_as_json(arguments.out, reading, places, code)),
            file=sys.stderr if arguments.out == "-" else sys.stdout,
        )
        return code
    colour, width = terminal(WIDTH)
    out = sys.stderr if arguments.out == "-" else sys.stdout
    prog = getattr(arguments, "prog", "slinky")
    lines = report(arguments.out, reading, places, Paint(colour), width, prog, read=_again(arguments), can_adopt=not is_of_0)
    print("\n".join(lines), file=out)
    return code


def _again(arguments: argparse.Namespace) -> str:
    """The words of a command line about what is read."""
    words = [str(arguments.values), *(word for path in arguments.more for word in ("-f", path))]
    words += [word for path in arguments.operator for word in ("--operator", path)]
    given = {"--release": arguments.release, "--namespace": arguments.namespace, "--chart-version": arguments.chart_version}
    words += [word for name, option in given.items() if option for word in (name, str(option))]
    return shlex.join(words)


def release_of(text: str) -> OperatorVersion:
    """A release as 1.2.1 or v1.2.1, or a line of releases as 1.2, of which the newest is meant. Raises
    :class:`ProjectError`."""
    line = _LINE.fullmatch(text)
    if (other := _OTHER_LINE.fullmatch(text)) and not (line and int(line[1]) in LINES):
        known = [f"1.{minor}" for minor in LINES]
        is_of_0 = other[1] == "0"
        why = "has other kinds of objects, and can't be taken over as it runs" if is_of_0 else "isn't known"
        raise ProjectError(
            f"--chart-version: {text} {why}; known are {', '.join(known[:-1])} and {known[-1]}, and a release of one of"
            f" them, such as {_VERSION}. Nothing was written"
        )
    try:
        return OperatorVersion.parse(f"{text}.{LINES[int(line[1])].newest}" if line else text)
    except ValueError as wrong:
        raise ProjectError(f"--chart-version: {wrong}. Nothing was written") from None


def decided(flags: Mapping[str, Any], files: Sequence[Given]) -> tuple[dict[str, str], list[str]]:
    """Release, namespace and chart version, by their arguments' names, and what to say of them: a flag counts before what an
    object of Flux or Argo CD says, and this before the default. A version that is given by neither is empty."""
    decisions, notes = dict[str, str](), list[str]()
    objects = [file for file in files if file.kind]
    for word in ("release", "namespace", "chart-version"):
        flag = flags.get(word.replace("-", "_"))
        own = next(((file.said[word], file.kind) for file in reversed(objects) if word in file.said), None)
        why = next(((dict(file.unsure)[word], file.kind) for file in reversed(objects) if word in dict(file.unsure)), None)
        if own and flag is None:
            notes.append(f"--{word}: {name_of(own[0])}, as the {own[1]} says")
        elif own and _differ(word, str(flag), own[0]):
            notes.append(
                f"--{word} {name_of(str(flag))} counts, while the {own[1]} says {name_of(own[0])}: look which is right"
            )
        elif why and flag is None:
            default = _DEFAULTS.get(word, _VERSION)
            notes.append(f"--{word}: the {why[1]}'s isn't taken ({why[0]}), so it is {default}: give it where that is wrong")
        decisions[word] = str(flag or (own[0] if own else _DEFAULTS.get(word, "")))
    return decisions, notes


def _differ(word: str, flag: str, own: str) -> bool:
    if word == "chart-version":
        return release_of(flag) != release_of(own) and not (_LINE.fullmatch(flag) and own.removeprefix("v").startswith(flag))
    return flag != own


def operator_release(values: Mapping[str, Any], version: str) -> tuple[OperatorVersion, dict[str, Any], list[str]]:
    """The operator's release, its chart's values, and what to say. An image's tag that is a release of the same line, or of
    any where no ``version`` is known, is the release that runs."""
    named = release_of(version or _VERSION)
    tag = value_at(values, ("operator", "image", "tag"))
    rest = merged({}, values)
    if not isinstance(tag, str | float) or not tag:
        return named, rest, []
    at = "--operator operator.image.tag"
    try:
        runs = OperatorVersion.parse(str(tag))
    except ValueError:
        said = f"isn't a release of slurm-operator: set operator.version (now {named}) to the one that the image was made of"
        return named, rest, [f"{at}: {name_of(str(tag))} {said}"]
    if version and runs.minor != named.minor:
        said = f"is of another line than chart {named}: operator.version is the chart's, and the image runs. Make them one"
        return named, rest, [f"{at}: {runs} {said}"]
    told = [] if runs == named else [f"{at}: operator.version is {runs}, which the tag names, and not {named}"]
    for part in ("operator", "webhook"):
        if value_at(rest, (part, "image", "tag")) == tag:
            rest = without(rest, (part, "image", "tag"))
    return runs, rest, told


def require_each_its_own(values: Mapping[str, Any], operator: Mapping[str, Any]) -> None:
    """Raises :class:`ProjectError` where a file of values is for the other one of the two charts: what the operator's chart
    doesn't know would be in the file as it is, also what nothing here may show."""
    if key := key_of_slurm(operator):
        raise ProjectError(
            f"--operator: the key {name_of(key)} is of the chart slurm, and this takes values of the chart slurm-operator."
            " Nothing was written: name the chart slurm's file as VALUES"
        )
    if key := key_of_operator(values):
        raise ProjectError(
            f"VALUES: the key {name_of(key)} is of the chart slurm-operator, and no key is of the chart slurm. Nothing was"
            " written: name this file behind --operator, and the chart slurm's as VALUES"
        )


def layered(files: Sequence[str]) -> dict[str, Any]:
    """Files of values laid one over the other, as Helm does it: mappings are merged, lists replaced, null takes away.

    Raises :class:`ProjectError` where one can't be read.
    """
    return _laid([_given(file) for file in files])


def _laid(files: Sequence[Given]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for file in files:
        whole = laid_over(whole, file.values)
    return whole


def _given(file: str) -> Given:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror or "").lower() if isinstance(error, OSError) else "isn't UTF-8"
        raise ProjectError(f"{file} can't be read: {why}. Nothing was written") from None
    try:
        values = safe_yaml.read(text, safe_yaml.HelmLoader)
    except safe_yaml.NotYamlError as wrong:
        if wrong.why:
            raise ProjectError(f"{file}, line {wrong.line}: {wrong.why}. Nothing was written") from None
        line, why = why_not(text, wrong.problem) if wrong.problem else (wrong.line, "it may be nested too deeply")
        if is_template(text):
            why = "it looks like a template: render it first, or give what `helm get values` prints"
        where = f"{file}:{line}" if line else file
        raise ProjectError(f"{where}: not read: {why}. Nothing was written") from None
    if values is None:
        return Given({})
    if not isinstance(values, dict):
        raise ProjectError(f"{file}: values are a mapping of keys. Nothing was written")
    if "config" in values and any(str(key).startswith("slinky-iac:") for key in values.get("config") or ()):
        raise ProjectError(f"{file}: this is a stack's file already: `slinky check {file}` judges it. Nothing was written")
    try:
        return given_in(values)
    except ValueError as wrong:
        raise ProjectError(f"{file}: {wrong}. Nothing was written") from None


def operator_settings(values: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The section `operator`: its release, what has a setting, and all other values as they are."""
    section: dict[str, Any] = {"version": version}
    rest = merged({}, values)
    for path, setting in _OPERATOR.items():
        taken = _popped(rest, path)
        if taken is None or taken == "":
            continue
        inner = section
        for part in setting[:-1]:
            inner = inner.setdefault(part, {})
        inner[setting[-1]] = taken
    return {**section, **({"values": rest} if rest else {})}


def _popped(values: dict[str, Any], path: Sequence[str]) -> Any:  # noqa: ANN401
    *above, last = path
    inner = value_at(values, above)
    if not isinstance(inner, dict) or last not in inner:
        return None
    taken = inner.pop(last)
    if above and not inner:
        values.pop(above[0])
    return taken


def _first(settings: Mapping[str, Any], operator: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in settings.items() if name != "cluster"}
    return {"cluster": settings["cluster"], "operator": operator, **rest}


def write(out: str, text: str) -> None:
    """Write a new stack's file, or print it for ``-``. Raises :class:`ProjectError` where it exists or can't be made."""
    if out == "-":
        print(text, end="")
        return
    try:
        whole_file.write(Path(out), text, new=True)
    except FileExistsError:
        raise ProjectError(
            f"{out} exists, and may be somebody's work. Nothing was written: name another file, or move it"
        ) from None
    except FileNotFoundError:
        raise ProjectError(
            f"{out} can't be written: the folder {Path(out).parent} isn't there. Nothing was written"
        ) from None
    except OSError as error:
        raise ProjectError(f"{out} can't be written: {(error.strerror or '').lower()}. Nothing was written") from None


def report(
    out: str,
    reading: Read,
    places: Sequence[Place],
    paint: Paint,
    width: int,
    prog: str = "slinky",
    *,
    read: str = "VALUES.yaml",
    can_adopt: bool = True,
) -> list[str]:
    """What was carried over, what wasn't and why, and what to do next. ``prog``: how the command line was called, and
    ``read``: with which words about what is read.
    ``can_adopt``: whether a cluster with these values can be taken over."""
    used, left = reading.taken.used, reading.taken.left
    number = len({key for key, _ in used})
    lines = [f"{out}: {_keys(number)}, {len(left)} left out"]
    if number:
        lines.append(f"  Each key and its setting: {prog} import-chart {read} --json --out - 2>keys.json >/dev/null")
    for note in reading.notes:
        lines += wrapped(f"note: {note}", width)
    if left:
        lines += ["", paint("Left out:", "bold")]
        for path, why in left:
            lines += wrapped(f"{path}: {why}", width, "  ")
    lines += ["", *as_text(Path(out), places, paint, width)]
    stack = stack_of(Path(out).name) if out != "-" else "STACK"
    misnamed = out != "-" and _STACK_FILE.fullmatch(Path(out).name) is None
    stack = "STACK" if misnamed else stack
    why = "STACK is your stack's name: pulumi reads no other file"
    moved = [f"  mv {shlex.quote(out)} Pulumi.STACK.yaml   # {why}"] if misnamed else []
    wrong = any(place.finding.level is Level.ERROR for place in places)
    file = f"Pulumi.{stack}.yaml" if misnamed else out if out != "-" else f"Pulumi.{stack}.yaml"
    lines += [
        "",
        "Next:",
        *moved,
        *([f"  correct the errors above in {file}"] if wrong else []),
        *(_of_a_release(prog, width) if can_adopt else []),
        f"  {prog} check {file}",
        f"  pulumi stack init {stack}",
        f"  {prog} preflight",
        "  pulumi preview",
    ]
    return lines


def _of_a_release(prog: str, width: int) -> list[str]:
    return [
        f"  {prog} docs chart 'A cluster that runs'",
        *wrapped(f"Where the release runs, `{prog} adopt` takes it over, and writes this file itself.", width, "    "),
    ]


def _keys(number: int) -> str:
    return f"{number} key is a setting" if number == 1 else f"{number} keys are settings"


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A paragraph in lines of ``width``; what continues is indented."""
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False, break_long_words=False
    )


def _as_json(out: str, reading: Read, places: Sequence[Place], code: int) -> dict[str, object]:
    return {
        "file": out,
        "exitCode": code,
        "taken": [{"key": key, "setting": setting} for key, setting in reading.taken.used],
        "left": [{"key": key, "why": why} for key, why in reading.taken.left],
        "same": reading.same,
        "notes": reading.notes,
        "errors": [str(place.finding) for place in places if place.finding.level is Level.ERROR],
    }
