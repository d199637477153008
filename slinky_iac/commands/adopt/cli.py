"""`slinky adopt`: reads a living release of Slinky's chart, writes the stack's file, and shows what the stack's first update
would change. --check compares a file that was changed since. With --let-go it takes the release from Helm. `pulumi up` then
takes the objects over."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from slinky_iac.cluster.kube_connection import KubeConnection, kube_source
from slinky_iac.commands import output
from slinky_iac.commands.adopt.compare import NONE, Difference, Verdict, settings, taken_over, verdict
from slinky_iac.commands.adopt.model import Live, Release, chart_version
from slinky_iac.commands.adopt.writers import ENDS
from slinky_iac.commands.check import as_text, errors_of, judge
from slinky_iac.commands.import_chart import WIDTH, layered, wrapped, write
from slinky_iac.commands.output import FOUND, WAITS, Paint, clipped, columns, terminal
from slinky_iac.config.chart.age import of_subchart
from slinky_iac.config.chart.refused import leave_unsound
from slinky_iac.config.chart.release import fullname
from slinky_iac.config.chart.said import Read
from slinky_iac.config.chart.translation import Taken, as_yaml, masked
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import examined
from slinky_iac.config.reading.stack_file import Place, project_of, text_of
from slinky_iac.config.stack import PROJECT, StackConfig
from slinky_iac.errors import ProjectError
from slinky_iac.ownership import LET_GO

CODES = (
    "exit codes: 0 written or compared, and `pulumi up` restarts no pod of the release; or let go; 1 something can't be read"
    " or written, or Helm is changing the release; 2 wrong arguments; 3 written or compared, and what is shown has to be"
    " decided; or not let go, since others write the release; 6 `check` finds errors in the file"
)
_OPTIONS: Final = ("--kubeconfig", "--context")
LONGEST: Final = 40
"""Columns of a value in the table."""
_STACK_FILE: Final = re.compile(r"Pulumi\.([A-Za-z0-9_.-]{1,100})\.yaml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--release", default="slurm", help="name of the Helm release (default %(default)s)")
    parser.add_argument("--namespace", default="slurm", help="its namespace (default %(default)s)")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", metavar="FILE", help="Pulumi.STACK.yaml, which must not exist; - for stdout")
    again = "compare the release with this file, which `adopt` wrote and you changed; nothing is written"
    what.add_argument("--check", metavar="FILE", help=again)
    away = "take the release from Helm, for the stack of this file: `helm uninstall` finds it no longer; nothing is deleted"
    what.add_argument("--let-go", metavar="FILE", help=away)
    rendered = (
        "with --out, for a release that Helm has no record of (Argo CD leaves none): its values; can be repeated, as Helm's"
        " -f"
    )
    parser.add_argument("--values", action="append", metavar="FILE", help=rendered)
    ended = "; ".join(f"{key}: {ends}" for key, ends in ENDS.items())
    stopped = (
        "another program that `adopt` names, once you know that it writes no longer; can be repeated. --let-go removes its"
        f" claims on fields. It has stopped when: {ended}"
    )
    parser.add_argument("--stopped", action="append", default=[], choices=tuple(ENDS), help=stopped)
    file, context = _OPTIONS
    parser.add_argument(file, metavar="FILE", help="by default $KUBECONFIG, then ~/.kube/config")
    parser.add_argument(context, help="context of the kubeconfig; by default its current one")
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask, translate, compare, write. Raises :class:`slinky_iac.errors.SlinkyError`; returns the exit code."""
    if arguments.values is not None and arguments.out is None:
        raise ProjectError("--values is of --out: --check and --let-go read the file. Nothing was changed")
    if arguments.let_go:
        return _let_go(arguments)
    if arguments.check:
        return _check(arguments)
    from slinky_iac.commands.adopt import ask  # noqa: PLC0415 - `--help` does without what a clone's Python may lack

    given = None if arguments.values is None else of_subchart(layered(arguments.values))[0]
    with _connection(arguments.kubeconfig, arguments.context) as way:
        kube = way.kube()
        release = _seen(ask.release(kube, arguments.namespace, arguments.release, given), arguments)
        found_in = str(release.values.get("namespaceOverride") or release.namespace)
        living = ask.living(kube, found_in)
    if release.record is None:
        release = replace(release, version=chart_version(living, fullname(release.values, release.name)))
    reading = settings(release, living)
    leave_unsound(reading.taken, errors_of)
    own = reading.taken.settings
    reached = {key: value for key in ("kubeconfig", "context") if (value := getattr(arguments, key))}
    if reached:
        own["kubernetes"] = reached
    config = examined(own)[0]
    if config is not None:
        own["adopted"] = taken_over(config, living, release)
        config = examined(own)[0]
    text = f"# Made by `slinky adopt` from release {release.name} of the chart.\n"
    text += "config:\n" + textwrap.indent(as_yaml(own), "  ")
    places = judge(text)[1]
    between = None if config is None else verdict(config, living, release.stopped)
    write(arguments.out, text)
    made = f"{arguments.out}: from release {release.name} of chart {release.version}."
    made += " Nothing else was written, nothing was changed"
    return _told(arguments, Told(arguments.out, made, release.version, reading, places, between))


@dataclass(frozen=True)
class Told:
    """What came of a comparison."""

    file: str
    head: str
    version: str
    """Of the chart."""
    reading: Read
    places: Sequence[Place]
    between: Verdict | None
    """None where the file has errors."""

    @property
    def code(self) -> int:
        """The exit code."""
        if self.between is None or any(place.finding.level is Level.ERROR for place in self.places):
            return FOUND
        return WAITS if self.reading.taken.left or self.between.in_the_way else 0


def _told(arguments: argparse.Namespace, told: Told) -> int:
    out = sys.stderr if told.file == "-" else sys.stdout
    if arguments.json:
        print(output.as_json(_as_json(told)), file=out)
    else:
        colour, width = terminal(WIDTH)
        print("\n".join(_report(told, Paint(colour), width)), file=out)
    return told.code


def _check(arguments: argparse.Namespace) -> int:
    """Compare the living release with a file that was changed since `adopt` wrote it."""
    config, places = _adopting(arguments.check)
    if config is None:
        return _told(arguments, Told(arguments.check, f"{arguments.check}: not compared", "", Read(Taken()), places, None))
    release, living = _asked(config, arguments)
    between = verdict(config, living, release.stopped)
    head = f"{arguments.check}: compared with release {release.name}. Nothing was written or changed"
    version = release.version or str(config.operator_version)
    return _told(arguments, Told(arguments.check, head, version, Read(Taken()), places, between))


def _adopting(name: str) -> tuple[StackConfig | None, tuple[Place, ...]]:
    """A file's configuration, where it has no errors. Raises :class:`ProjectError` where it takes nothing over."""
    file = Path(name)
    config, places = judge(text_of(file), project_of(file))
    if config is not None and config.adopted is None:
        raise ProjectError(
            f"{name} has no section `adopted`. Nothing was changed. Write a new file with `slinky adopt --out OTHER`, and"
            f" copy its section `{PROJECT}:adopted` into this one"
        )
    return config, places


def _asked(config: StackConfig, arguments: argparse.Namespace) -> tuple[Release, tuple[Live, ...]]:
    """The release that a configuration takes over, and its objects."""
    from slinky_iac.commands.adopt import ask  # noqa: PLC0415 - as in `run`

    own, taken, space = config.kubernetes, config.adopted, config.cluster.namespace
    assert taken is not None, "_adopting has refused that"
    with _connection(arguments.kubeconfig or own.kubeconfig, arguments.context or own.context) as way:
        kube = way.kube()
        given: dict[str, Any] | None = {} if taken.record is None else None
        release = _seen(ask.release(kube, taken.namespace or space, taken.release, given), arguments)
        return release, ask.living(kube, space)


def _seen(release: Release, arguments: argparse.Namespace) -> Release:
    return replace(release, stopped=release.stopped | set(arguments.stopped))


def _connection(kubeconfig: str | None, context: str | None) -> KubeConnection:
    return KubeConnection(kube_source(kubeconfig, context, _OPTIONS), env=os.environ, home=Path.home())


def _let_go(arguments: argparse.Namespace) -> int:
    config, _ = _adopting(arguments.let_go)
    if config is None or config.adopted is None:
        raise ProjectError(
            f"{arguments.let_go} has errors. Nothing was changed. `slinky check {arguments.let_go}` shows them"
        )
    own, space, said = config.kubernetes, config.cluster.namespace, list[str]()
    held, name = config.adopted.namespace or space, config.adopted.release
    release, living = _asked(config, arguments)
    writers = verdict(config, living, release.stopped).writers
    if not writers:
        from slinky_iac.commands.adopt.let_go import let_go  # noqa: PLC0415 - as in `run`

        report = said.append if arguments.json else print
        with _connection(arguments.kubeconfig or own.kubeconfig, arguments.context or own.context) as way:
            let_go(way.kube(), config.adopted, space, report, arguments.stopped)
    code = WAITS if writers else 0
    if arguments.json:
        print(output.as_json({"file": arguments.let_go, "exitCode": code, "writers": list(writers), "done": said}))
        return code
    back = f"kubectl label secret -n {held} -l owner={LET_GO['owner']},name={name} owner=helm --overwrite"
    done = (
        f"Helm has no record of release {name}, and nothing else claims its fields. The way back: make the Application again"
        if config.adopted.record is None
        else f"Helm has no release {name} any more. The way back, before the first `pulumi up`: {back}"
    )
    rows = (
        (*writers, "Nothing was changed: the release stays as it is until these have stopped. Then run this again")
        if writers
        else (done, "Next: pulumi preview, which shows imports and updates and nothing else; then pulumi up")
    )
    print("\n".join(line for row in rows for line in wrapped(row, terminal(WIDTH)[1])))
    return code


def _report(told: Told, paint: Paint, width: int) -> Iterator[str]:
    yield told.head
    for note in told.reading.notes:
        yield from wrapped(f"note: {note}", width)
    if told.reading.taken.left:
        yield from ("", paint("Values that are left out:", "bold"))
        for path, why in told.reading.taken.left:
            yield from wrapped(f"{path}: {why}", width, "  ")
    yield from ("", *as_text(Path(told.file), told.places, paint, width))
    if told.between is not None:
        yield from _between(told.between, paint, width)
    yield from ("", *wrapped(_next(told.file, told.between), width))


def _between(between: Verdict, paint: Paint, width: int) -> Iterator[str]:
    for title, rows in (
        ("Other writers. Stop each before the first `pulumi up`:", between.writers),
        ("Objects that only one side has, or another one:", between.missing),
        ("What can't be taken over:", between.unfit),
        ("Fields that stay as they are, since the stack doesn't set them:", between.kept),
    ):
        if rows:
            yield from ("", paint(title, "bold"))
            for row in rows:
                yield from wrapped(row, width, "  ")
    if between.differences:
        yield from ("", paint("What the stack's first update would change:", "bold"))
        titles = ("object", "field", "runs", "stack", "pods")
        yield from columns([titles, *map(_row, between.differences)], paint, {"restart": "red"})


def _row(difference: Difference) -> tuple[str, str, str, str, str]:
    return (
        difference.of,
        difference.field,
        shown(difference.field, difference.live),
        shown(difference.field, difference.stack),
        _pods(difference),
    )


def _pods(difference: Difference) -> str:
    return "restart" if difference.restarts else "stay"


def shown(field: str, value: object) -> str:
    """A value as JSON on one line, without what may be a secret."""
    if value is NONE:
        return "-"
    kept: Any = masked(_without_values(value), field.rpartition(".")[2])
    return clipped(kept if isinstance(kept, str) and "\n" not in kept else json.dumps(kept, sort_keys=True), LONGEST)


def _without_values(value: object) -> object:
    """Variables by their names: what they hold may be a password."""
    if isinstance(value, list):
        return [
            variable["name"] if isinstance(variable, dict) and {"name", "value"} == variable.keys() else variable
            for variable in value
        ]
    return value


def _stack_of(file: str) -> str:
    """Name of the stack whose file this is, by Pulumi's own rule; STACK where it isn't called so."""
    match = _STACK_FILE.fullmatch(Path(file).name)
    return match[1] if match else "STACK"


def _next(file: str, between: Verdict | None) -> str:
    again = f"run `slinky adopt --check {file}`"
    if between is None:
        return f"Next: correct the errors, then {again}. The release wasn't compared, since the file isn't a stack's yet"
    if between.writers:
        return f"Next: stop the other writers, then {again}. `slinky docs chart 'A cluster that runs'` says how"
    if between.unfit or between.missing:
        return f"Next: decide what is named above, change the file, then {again}"
    if between.restarting:
        return (
            f"The first `pulumi up` would replace the pods of {', '.join(between.restarting)}, and can't keep them. Next:"
            f" correct the file, then {again}; or wait until no job needs them. `slinky docs chart 'A cluster that runs'`"
        )
    return (
        "The first `pulumi up` takes these objects over and restarts none of their pods. Next: pulumi stack init"
        f" {_stack_of(file)}; switch off every pipeline that runs `helm upgrade` for this release (it can't be seen here);"
        f" then slinky adopt --let-go {file}, slinky check, pulumi preview, pulumi up"
    )


def _as_json(told: Told) -> dict[str, object]:
    between = told.between
    return {
        "file": told.file,
        "exitCode": told.code,
        "chartVersion": told.version,
        "left": [{"key": key, "why": why} for key, why in told.reading.taken.left],
        "notes": told.reading.notes,
        "errors": [str(place.finding) for place in told.places if place.finding.level is Level.ERROR],
        "writers": [] if between is None else list(between.writers),
        "missing": [] if between is None else list(between.missing),
        "unfit": [] if between is None else list(between.unfit),
        "kept": [] if between is None else list(between.kept),
        "differences": [
            dict(zip(("object", "field", "runs", "stack", "pods"), _row(difference), strict=True))
            for difference in ([] if between is None else between.differences)
        ],
    }
