"""`slinky adopt`: reads a living release of Slinky's chart, writes the stack's file, and shows what the stack's first update
would change. With --let-go it takes the release from Helm. `pulumi up` then takes the objects over."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from slinky_iac.cluster.kube_connection import KubeConnection, kube_source
from slinky_iac.commands import output
from slinky_iac.commands.adopt import ask
from slinky_iac.commands.adopt.compare import NONE, PULUMI, Difference, Verdict, settings, taken_over, verdict
from slinky_iac.commands.adopt.let_go import let_go
from slinky_iac.commands.adopt.model import Release
from slinky_iac.commands.check import as_text, judge
from slinky_iac.commands.import_chart import WIDTH, wrapped, write
from slinky_iac.commands.output import FOUND, WAITS, Paint, clipped, columns, terminal
from slinky_iac.config.chart import as_yaml, masked
from slinky_iac.config.chart_release import Read
from slinky_iac.config.findings import Level
from slinky_iac.config.load import examined
from slinky_iac.config.stack_file import Place, project_of, text_of
from slinky_iac.errors import ProjectError
from slinky_iac.ownership import LET_GO

CODES = (
    "exit codes: 0 written, and `pulumi up` restarts no pod of the release; or let go; 1 something can't be read or written,"
    " or Helm is changing the release; 2 wrong arguments; 3 written, and what is shown has to be decided; or not let go,"
    " since others write the release; 6 written, and `check` finds errors in it"
)
LONGEST: Final = 40
"""Columns of a value in the table."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--release", default="slurm", help="name of the Helm release (default %(default)s)")
    parser.add_argument("--namespace", default="slurm", help="its namespace (default %(default)s)")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", metavar="FILE", help="Pulumi.STACK.yaml, which must not exist; - for stdout")
    away = "take the release from Helm, for the stack of this file: `helm uninstall` finds it no longer; nothing is deleted"
    what.add_argument("--let-go", metavar="FILE", help=away)
    gone = (
        "the Pulumi program that has written these objects was a stack that is gone (`pulumi stack rm`): it isn't a writer"
    )
    parser.add_argument("--stack-is-gone", action="store_true", help=f"{gone}, and --let-go takes its claims on fields away")
    parser.add_argument("--kubeconfig", metavar="FILE", help="by default $KUBECONFIG, then ~/.kube/config")
    parser.add_argument("--context", help="context of the kubeconfig; by default its current one")
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask, translate, compare, write. Raises :class:`slinky_iac.errors.SlinkyError`; returns the exit code."""
    if arguments.let_go:
        return _let_go(arguments)
    with _connection(arguments.kubeconfig, arguments.context) as way:
        kube = way.kube()
        release = _seen(ask.release(kube, arguments.namespace, arguments.release), arguments)
        found_in = str(release.values.get("namespaceOverride") or release.namespace)
        living = ask.living(kube, found_in)
    found = settings(release, living)
    own = found.taken.settings
    reached = {key: value for key in ("kubeconfig", "context") if (value := getattr(arguments, key))}
    if reached:
        own["kubernetes"] = reached
    config = examined(own)[0]
    if config is not None:
        own["adopted"] = taken_over(config, living, release)
        config = examined(own)[0]
    text = f"# Made by `slinky adopt` from Helm release {release.name}.\nconfig:\n" + textwrap.indent(as_yaml(own), "  ")
    places = judge(text)[1]
    between = None if config is None else verdict(config, living, pulumi_is_known=release.pulumi_is_known)
    errors = between is None or any(place.finding.level is Level.ERROR for place in places)
    code = FOUND if errors else WAITS if found.taken.left or (between and between.in_the_way) else 0
    write(arguments.out, text)
    out = sys.stderr if arguments.out == "-" else sys.stdout
    if arguments.json:
        print(output.as_json(_as_json(arguments.out, release, found, places, between, code)), file=out)
        return code
    colour, width = terminal(WIDTH)
    print("\n".join(_report(arguments.out, release, found, places, between, Paint(colour), width)), file=out)
    return code


def _seen(release: Release, arguments: argparse.Namespace) -> Release:
    return replace(release, pulumi_is_known=release.pulumi_is_known or arguments.stack_is_gone)


def _connection(kubeconfig: str | None, context: str | None) -> KubeConnection:
    return KubeConnection(kube_source(kubeconfig, context), env=os.environ, home=Path.home())


def _let_go(arguments: argparse.Namespace) -> int:
    file = Path(arguments.let_go)
    config = judge(text_of(file), project_of(file))[0]
    if config is None or config.adopted is None:
        raise ProjectError(
            f"{arguments.let_go} has errors, or no section `adopted`. Nothing was changed. `slinky check` shows errors, and"
            " `slinky adopt --out` writes the section"
        )
    own, space, said = config.kubernetes, config.cluster.namespace, list[str]()
    held, name = config.adopted.namespace or space, config.adopted.release
    with _connection(arguments.kubeconfig or own.kubeconfig, arguments.context or own.context) as way:
        kube = way.kube()
        release = _seen(ask.release(kube, held, name), arguments)
        writers = verdict(config, ask.living(kube, space), pulumi_is_known=release.pulumi_is_known).writers
        if not writers:
            report = said.append if arguments.json else print
            let_go(kube, config.adopted, space, report, also=(PULUMI,) if arguments.stack_is_gone else ())
    code = WAITS if writers else 0
    if arguments.json:
        print(output.as_json({"file": arguments.let_go, "exitCode": code, "writers": list(writers), "done": said}))
        return code
    back = f"kubectl label secret -n {held} -l owner={LET_GO['owner']},name={name} owner=helm --overwrite"
    rows = (
        (*writers, "Nothing was changed: Helm keeps the release until these have stopped. Then run this again")
        if writers
        else (f"Helm has no release {name} any more. The way back, before the first `pulumi up`: {back}",
              "Next: pulumi preview, which shows imports and updates and nothing else; then pulumi up")
    )  # fmt: skip
    print("\n".join(line for row in rows for line in wrapped(row, terminal(WIDTH)[1])))
    return code


def _report(
    out: str, release: Release, found: Read, places: Sequence[Place], between: Verdict | None, paint: Paint, width: int
) -> Iterator[str]:
    yield f"{out}: from release {release.name} of chart {release.version}. Nothing else was written, nothing was changed"
    for note in found.notes:
        yield from wrapped(f"note: {note}", width)
    if found.taken.left:
        yield from ("", paint("Values that are left out:", "bold"))
        for path, why in found.taken.left:
            yield from wrapped(f"{path}: {why}", width, "  ")
    yield from ("", *as_text(Path(out), places, paint, width))
    if between is not None:
        yield from _between(between, paint, width)
    yield from ("", *wrapped(_next(out, between), width))


def _between(between: Verdict, paint: Paint, width: int) -> Iterator[str]:
    for title, rows in (
        ("Other writers. Stop each before the first `pulumi up`:", between.writers),
        ("Objects that only one side has:", between.missing),
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


def _row(each: Difference) -> tuple[str, str, str, str, str]:
    return each.of, each.field, shown(each.field, each.live), shown(each.field, each.stack), _pods(each)


def _pods(each: Difference) -> str:
    return "restart" if each.restarts else "stay"


def shown(field: str, value: object) -> str:
    """A value as JSON on one line, without what may be a secret."""
    if value is NONE:
        return "-"
    kept: Any = masked(_without_values(value), field.rpartition(".")[2])
    return clipped(kept if isinstance(kept, str) and "\n" not in kept else json.dumps(kept, sort_keys=True), LONGEST)


def _without_values(value: object) -> object:
    """Variables by their names: what they hold may be a password."""
    if isinstance(value, list):
        return [each["name"] if isinstance(each, dict) and {"name", "value"} == each.keys() else each for each in value]
    return value


def _next(out: str, between: Verdict | None) -> str:
    if between is None:
        return "Next: correct the errors. The release wasn't compared with the stack, since the file isn't one yet"
    if between.writers:
        return "Next: stop the other writers, then run this again. `slinky docs chart 'A cluster that runs'` says how"
    if between.restarting:
        return (
            f"The first `pulumi up` would replace the pods of {', '.join(between.restarting)}, and can't keep them: correct"
            " the file, or wait until no job needs them. Next: slinky docs chart 'A cluster that runs'"
        )
    return (
        "The first `pulumi up` takes these objects over and restarts none of their pods. Next: slinky adopt --let-go"
        f" {out}, then pulumi preview, pulumi up"
    )


def _as_json(
    out: str, release: Release, found: Read, places: Sequence[Place], between: Verdict | None, code: int
) -> dict[str, object]:
    return {
        "file": out,
        "exitCode": code,
        "chartVersion": release.version,
        "left": [{"key": key, "why": why} for key, why in found.taken.left],
        "notes": found.notes,
        "errors": [str(place.finding) for place in places if place.finding.level is Level.ERROR],
        "writers": [] if between is None else list(between.writers),
        "missing": [] if between is None else list(between.missing),
        "kept": [] if between is None else list(between.kept),
        "differences": [
            dict(zip(("object", "field", "runs", "stack", "pods"), _row(each), strict=True))
            for each in ([] if between is None else between.differences)
        ],
    }
