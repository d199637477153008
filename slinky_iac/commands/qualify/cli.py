"""`slinky qualify`: arguments, order, and cleaning up whatever happens."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TextIO

from slinky_iac.cluster.connection import connected
from slinky_iac.cluster.kube_connection import KubeConnection, kube_source
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster_access import reach
from slinky_iac.commands import output
from slinky_iac.commands.output import FOUND, INTERRUPTED, WAITS, Paint, columns, terminal
from slinky_iac.commands.qualify import settings as stack
from slinky_iac.commands.qualify.cluster import Nodes
from slinky_iac.commands.qualify.fleet import Fleet
from slinky_iac.commands.qualify.ladder import Ladder
from slinky_iac.commands.qualify.model import Rung, growth, rows
from slinky_iac.commands.qualify.project import FOLDER, Project
from slinky_iac.config.reading.stack_file import parse, project_of, text_of
from slinky_iac.config.reading.values import Values, values_of
from slinky_iac.errors import QualifyRefused, SlinkyError

CODES: Final = (
    "exit codes: 0 every rung was climbed, and its gates lost no job; 1 something failed; 2 wrong arguments; 3 the ladder"
    " was refused or has stopped, and the message says what to do; 6 a gate's scale-in lost a job"
)
_CONTEXT: Final = "--context"
LARGEST: Final = 10_000
_LEFT: Final = (
    f"Not all of the ladder is removed: namespace {stack.NAMESPACE}, Kubernetes nodes with label {stack.SELECTOR} and folder"
    f" {FOLDER} may be left. Run `slinky qualify --clean --config FILE` in this folder"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "--nodes", type=_sizes, default=(36, 144), metavar="N,N,…", help="sizes of the rungs (default 36,144)"
    )
    taken = "a Pulumi.<stack>.yaml, of which images, slurm-operator and the kubeconfig are taken; nothing else of it"
    parser.add_argument("--config", required=True, metavar="FILE", help=taken)
    parser.add_argument(_CONTEXT, help="context of the kubeconfig; by default the file's, then its current one")
    parser.add_argument("--beside-slurm", action="store_true", help="go on where the cluster has a Slurm in it")
    parser.add_argument("--clean", action="store_true", help="only remove what a ladder that was killed has left")
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Climb the ladder and print its table. Raises :class:`SlinkyError`; returns the exit code."""
    file = Path(arguments.config)
    base = parse(text_of(file), project_of(file)).sections
    project = Project(Path.cwd())
    kubernetes: Any = base.get("kubernetes") or {}
    source = kube_source(kubernetes.get("kubeconfig"), arguments.context or kubernetes.get("context"), [_CONTEXT])
    with KubeConnection(source, env=os.environ, home=Path.home()) as way, _ending_in_order():
        from slinky_iac.kube.fake_nodes import FakeNodesClient  # noqa: PLC0415 - httpx takes two tenths of a second

        nodes = Nodes(way.client(FakeNodesClient))
        try:
            if arguments.clean:
                found = stack.settings(base, max(arguments.nodes), operator_there=True, context=arguments.context)
                return _clean(project, nodes, _reach(found))
            rungs = _climb(arguments, base, project, nodes)
        except QualifyRefused as refused:
            print(f"refused: {refused}", file=sys.stderr)
            return WAITS
        except KeyboardInterrupt:
            _say("interrupted; nothing of the ladder is left")
            return INTERRUPTED
    _show(arguments, rungs)
    return FOUND if any(rung.lost for rung in rungs) else 0


def _climb(arguments: argparse.Namespace, base: Mapping[str, Any], project: Project, nodes: Nodes) -> list[Rung]:
    left = [f"folder {FOLDER}"] if project.exists else []
    operator_there = nodes.check(beside_slurm=arguments.beside_slurm, left=left)
    sized = {
        count: stack.settings(base, count, operator_there=operator_there, context=arguments.context)
        for count in arguments.nodes
    }
    config = _values(sized[max(arguments.nodes)]).config
    rungs: list[Rung] = []
    ladder = Ladder(project, nodes, reach(config), _say, config.operator.namespace if config.operator.install else None)
    try:
        project.make()
        for count in arguments.nodes:
            rungs.append(ladder.rung(sized[count], count))
            _show(arguments, rungs[-1:], out=sys.stderr)
    except BaseException:
        ladder.interrupt()
        _say("removing what the rung has made")
        raise
    finally:
        _remove(project, nodes, ladder)
    return rungs


def _clean(project: Project, nodes: Nodes, to: Reach) -> int:
    ladder = Ladder(project, nodes, to, _say, stands=project.file.exists())
    _remove(project, nodes, ladder)
    print("nothing of a ladder is left")
    return 0


def _remove(project: Project, nodes: Nodes, ladder: Ladder) -> None:
    """Take all of it down. Raises :class:`SlinkyError` with what is left and how to go on."""
    try:
        if ladder.stands:
            project.unlock()
            with Fleet(ladder.reach):
                try:
                    with connected(ladder.reach, budget_s=10, tries=1) as connection:
                        ladder.empty(connection)
                except SlinkyError as error:  # slurmctld isn't there yet, or not any more: then no job is
                    _say(f"the rung's pods are left to its gates: {error}")
                ladder.destroy(len(nodes.made))
        nodes.remove()
        project.remove()
    except KeyboardInterrupt:
        ladder.interrupt()
        raise QualifyRefused(f"interrupted once more. {_LEFT}") from None
    except SlinkyError as error:
        raise QualifyRefused(f"{error}\n{_LEFT}") from None


def _reach(found: dict[str, object]) -> Reach:
    """The way to the rung's cluster. Raises :class:`ConfigError` where the rung's settings are no stack's."""
    return reach(_values(found).config)


def _values(found: dict[str, object]) -> Values:
    return values_of({name: json.dumps(value) for name, value in found.items()}, frozenset())


def _show(arguments: argparse.Namespace, rungs: list[Rung], out: TextIO | None = None) -> None:
    to = out or sys.stdout
    if arguments.json and out is None:
        print(output.as_json({"rungs": [asdict(rung) for rung in rungs], "growth": list(growth(rungs))}), file=to)
        return
    colour, _ = terminal(output.WIDEST)
    print("\n".join(columns([*rows(rungs)], Paint(colour and out is None), {})), file=to)
    for line in growth(rungs):
        print(line, file=to)


def _say(line: str) -> None:
    print(f"qualify: {line}", file=sys.stderr, flush=True)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(each) for each in text.split(","))
    except ValueError:
        found = ()
    if not found or any(not 2 <= each <= LARGEST for each in found) or list(found) != sorted(set(found)):
        raise argparse.ArgumentTypeError(f"got {text!r}; sizes are whole numbers from 2 to {LARGEST}, growing: 36,144")
    return found


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM ends like Ctrl-C does, so that a CI job that is cancelled removes what it has made. SIGINT, too, where a shell
    that began this in the background ignores it: `pulumi` would inherit that, and could only be killed."""
    before = {each: signal.signal(each, signal.default_int_handler) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
