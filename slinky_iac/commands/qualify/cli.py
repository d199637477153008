"""`slinky qualify`: arguments, order, and cleaning up whatever happens."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from slinky_iac.cluster.connection import connected
from slinky_iac.cluster.kube_connection import KubeConnection, kube_source
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster_access import reach
from slinky_iac.commands import output
from slinky_iac.commands.output import FOUND, INTERRUPTED, WAITS, Paint, columns, terminal
from slinky_iac.commands.qualify import refusals, site
from slinky_iac.commands.qualify import settings as stack
from slinky_iac.commands.qualify.cluster import Nodes
from slinky_iac.commands.qualify.folder import Mark, new_ladder
from slinky_iac.commands.qualify.ladder import Ladder
from slinky_iac.commands.qualify.model import Rung, growth, rows
from slinky_iac.commands.qualify.project import FOLDER, Project
from slinky_iac.config.reading.values import Values, values_of
from slinky_iac.errors import KubeError, QualifyRefused, SlinkyError
from slinky_iac.kube.tally import THROTTLED

if TYPE_CHECKING:
    from slinky_iac.kube.fake_nodes import FakeNodesClient

CODES: Final = (
    "exit codes: 0 every number of nodes was tested, and no gate lost a job; 1 something failed; 2 wrong arguments; 3 the"
    " run was refused or has stopped, and the message says what to do; 6 a job was lost in a step"
    " that isn't slurm-operator alone"
)
_CONTEXT: Final = "--context"
LARGEST: Final = 10_000
_SIZE: Final = re.compile("[0-9]{1,5}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "--nodes",
        type=_sizes,
        default=(36, 144),
        metavar="N,N,…",
        help="numbers of nodes, one test after the other (default 36,144)",
    )
    taken = "a Pulumi.<stack>.yaml: its images, slurm-operator and kubeconfig are used, and nothing else of it"
    parser.add_argument("--config", required=True, metavar="FILE", help=taken)
    parser.add_argument(_CONTEXT, help="context of the kubeconfig; by default the file's, then its current one")
    parser.add_argument(
        "--beside-slurm", action="store_true", help="run also in a Kubernetes cluster that has a Slurm in it"
    )
    parser.add_argument("--clean", action="store_true", help="only remove what a run that was killed has left")
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Climb the ladder and print its table. Raises :class:`SlinkyError`; returns the exit code."""
    base, project = site.sections(Path(arguments.config)), Project(Path.cwd())
    _values(stack.settings(base, max(arguments.nodes), operator_there=True, context=arguments.context))
    kubernetes: Any = base.get("kubernetes") or {}
    source = kube_source(kubernetes.get("kubeconfig"), arguments.context or kubernetes.get("context"), [_CONTEXT])
    with project.held, KubeConnection(source, env=os.environ, home=Path.home()) as way, _ending_in_order():
        from slinky_iac.kube.fake_nodes import FakeNodesClient  # noqa: PLC0415 - httpx takes two tenths of a second

        # The context is kept for all of the ladder: the kubeconfig's current one may be another in half an hour.
        mark = Mark(new_ladder(), way.access.server, arguments.context or kubernetes.get("context") or way.access.context)
        on = _On(arguments, base, project, way.client(FakeNodesClient), mark)
        try:
            if arguments.clean:
                return _clean(on)
            rungs = _climb(on)
        except QualifyRefused as refused:
            print(f"refused: {refused}", file=sys.stderr)
            return WAITS
        except KubeError as error:
            if error.status != THROTTLED:
                raise
            print(f"refused: {refusals.throttles(error.why.partition(': ')[0])}", file=sys.stderr)
            return WAITS
        except KeyboardInterrupt:
            left = f"folder {FOLDER} is left. Run {on.command()}" if project.exists else "nothing of the ladder is left"
            _say(f"interrupted; {left}")
            return INTERRUPTED
    _show(arguments, rungs)
    return FOUND if any(rung.lost for rung in rungs) else 0


@dataclass(frozen=True)
class _On:
    """What was asked for, and of which cluster."""

    arguments: argparse.Namespace
    base: Mapping[str, Any]
    project: Project
    kube: FakeNodesClient
    mark: Mark

    def command(self, context: str = "") -> str:
        """What removes a ladder, to be run as it is."""
        words = ["slinky", "qualify", "--clean", "--config", self.arguments.config]
        named = context or self.mark.context
        return f"`{shlex.join([*words, *([_CONTEXT, named] if named else [])])}`"

    def settings(self, nodes: int, *, operator_there: bool) -> dict[str, object]:
        return stack.settings(self.base, nodes, operator_there=operator_there, context=self.mark.context or None)


def _climb(on: _On) -> list[Rung]:
    arguments, project, nodes = on.arguments, on.project, Nodes(on.kube, on.mark.ladder)
    project.require_program()
    if process := project.held.at_work():
        raise QualifyRefused(f"a ladder is at work in this folder (process {process}). {refusals.NOTHING}. Wait for its end")
    left = f"folder {FOLDER}" if project.exists else ""
    operator_there = nodes.check(beside_slurm=arguments.beside_slurm, folder=left, clean=on.command())
    sized = {count: on.settings(count, operator_there=operator_there) for count in arguments.nodes}
    config = _values(sized[max(arguments.nodes)]).config
    rungs: list[Rung] = []
    ladder = Ladder(project, nodes, reach(config), _say, config.operator.namespace if config.operator.install else None)
    try:
        project.make(on.mark)
        for count in arguments.nodes:
            rungs.append(ladder.rung(sized[count], count))
            _tell(arguments, rungs[-1])
    except BaseException as why:
        ladder.interrupt()
        if ladder.steps:
            cut_off = Rung(arguments.nodes[len(rungs)], tuple(ladder.steps))
            _say(f"{cut_off.nodes} nodes: these steps had ended")
            _tell(arguments, cut_off)
        _say("removing what the ladder has made")
        _remove(on, nodes, ladder, why)
        _say("what the ladder had made is removed")
        raise
    _remove(on, nodes, ladder)
    return rungs


def _clean(on: _On) -> int:
    project = on.project
    was = project.held.take() if project.exists else None
    if was is not None:
        there, here = (was.server, was.context), (on.mark.server, on.mark.context)
        refusals.require_same(there, here, on.command(was.context))
    nodes = Nodes(on.kube, on.mark.ladder if was is None else was.ladder)
    to = _reach(on.settings(max(on.arguments.nodes), operator_there=True))
    _remove(on, nodes, Ladder(project, nodes, to, _say, stands=project.file.exists()))
    nodes.require_gone(on.command())
    print("nothing of a ladder is left")
    return 0


def _remove(on: _On, nodes: Nodes, ladder: Ladder, why: BaseException | None = None) -> None:
    """Take all of it down. Raises :class:`SlinkyError` with what is left and how to go on, after ``why`` it came to this."""
    first = f"{why}\n" if isinstance(why, SlinkyError) else ""
    left = (
        f"Not all of the ladder is removed: namespace {stack.NAMESPACE}, Kubernetes nodes with label {stack.SELECTOR} and"
        f" folder {FOLDER} may be left. Run {on.command()} in this folder"
    )
    try:
        if ladder.stands:
            on.project.unlock()
            with ladder.kept():
                try:
                    with connected(ladder.reach, budget_s=10, tries=1) as connection:
                        ladder.empty(connection)
                except SlinkyError as error:  # slurmctld isn't there yet, or not any more: then no job is
                    _say(f"the rung's pods are left to its gates: {error}")
                ladder.take_down(len(nodes.made))
        nodes.remove()
        on.project.remove()
    except KeyboardInterrupt:
        ladder.interrupt()
        raise QualifyRefused(f"{first}interrupted while it was removed. {left}") from None
    except SlinkyError as error:
        raise QualifyRefused(f"{first}{error}\n{left}") from None


def _reach(settings: dict[str, object]) -> Reach:
    """The way to the rung's cluster. Raises :class:`ConfigError` where the rung's settings are no stack's."""
    return reach(_values(settings).config)


def _values(settings: dict[str, object]) -> Values:
    return values_of({name: json.dumps(value) for name, value in settings.items()}, frozenset())


def _tell(arguments: argparse.Namespace, rung: Rung) -> None:
    """The table of a rung, while the ladder goes on."""
    with suppress(OSError):  # as in _say
        _show(arguments, [rung], out=sys.stderr)


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
    with suppress(OSError):  # who reads it may have gone, as `| head` does, or a terminal: what was made is removed even so
        print(f"qualify: {line}", file=sys.stderr, flush=True)


def _sizes(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    sizes = tuple(int(word) for word in words) if all(_SIZE.fullmatch(word) for word in words) else ()
    if not sizes or any(not 2 <= size <= LARGEST for size in sizes) or list(sizes) != sorted(set(sizes)):
        raise argparse.ArgumentTypeError(f"got {text[:40]!r}; sizes are whole numbers from 2 to {LARGEST}, growing: 36,144")
    return sizes


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM ends like Ctrl-C does, so that a CI job that is cancelled removes what it has made; so does the end of a
    terminal, unless `nohup` says that it is none. SIGINT, too, where a shell that began this in the background ignores it:
    `pulumi` would inherit that, and could only be killed."""
    ends = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ends.append(signal.SIGHUP)
    before = {end: signal.signal(end, signal.default_int_handler) for end in ends}
    try:
        yield
    finally:
        for end, handler in before.items():
            signal.signal(end, handler)
