"""`slinky keys generate|import|show|verify|rotate`: arguments and words. No key is ever printed, but in the
script for a host, which goes into a pipe and not to a terminal."""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from slinky_iac.commands.keys import import_key, report
from slinky_iac.commands.keys.by_key import ROTATIONS
from slinky_iac.commands.output import FOUND, PARTLY_UNKNOWN, WAITS, Paint, add_json, add_stack, columns, print_result
from slinky_iac.commands.rotation import host_scripts, planned_stop
from slinky_iac.commands.rotation.agreement import Held
from slinky_iac.commands.rotation.cluster import Snapshot
from slinky_iac.commands.rotation.driver import KeyRotation, RotationContext
from slinky_iac.commands.rotation.engine import Engine
from slinky_iac.commands.rotation.host_scripts import Via
from slinky_iac.commands.rotation.model import Plan, State, Step, Turn
from slinky_iac.commands.rotation.stopping import PlannedStop
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import KeyMaterialError, KubeError, RotationError
from slinky_iac.keys.catalogue import DAEMON_KEYS, NEXT_SUFFIX, SLURM, Key
from slinky_iac.keys.raw import fingerprint
from slinky_iac.keys.registry import BY_NAME, ROTATING

WIDTH: Final = 100
_CODES: Final = {
    0: "done",
    1: "it could not be done, and the message says what was changed",
    2: "wrong arguments",
    WAITS: "`rotate` waits for outside hosts",
    PARTLY_UNKNOWN: "`show` could not ask Kubernetes",
    FOUND: "`verify` found a place that differs or could not be asked",
}


def _codes(*of: int) -> str:
    return "exit codes: " + "; ".join(f"{code} {said}" for code, said in _CODES.items() if code in of)


CODES = _codes(*_CODES)


NAMES: Final = [key.name for key in ROTATING]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    acts = parser.add_subparsers(dest="act", required=True, metavar="COMMAND")
    made = acts.add_parser("generate", help="make a key in a new file, 0600", epilog=_codes(0, 1, 2))
    made.add_argument("which", metavar="KEY", choices=NAMES, help=f"one of {', '.join(NAMES)}")
    made.add_argument("--out", required=True, type=Path, metavar="FILE", help="a file that isn't there yet")
    add_json(made)
    took = acts.add_parser("import", help="import a key that the cluster already has, byte for byte", epilog=_codes(0, 1, 2))
    took.add_argument("which", metavar="KEY", choices=NAMES, help=f"one of {', '.join(NAMES)}")
    source = took.add_mutually_exclusive_group(required=True)
    source.add_argument("--file", type=Path, metavar="FILE", help="the file itself; - for standard input")
    source.add_argument("--secret", metavar="NAMESPACE/NAME/ENTRY", help="an entry of a Secret in the stack's Kubernetes")
    took.add_argument(
        "--replace", action="store_true", help="import it although the stack has another key, with which nothing may run"
    )
    _stack(took)
    _stack(
        acts.add_parser(
            "show", help="fingerprints of the keys, where they are held and since when", epilog=_codes(0, 1, 2, 4)
        )
    )
    verify = acts.add_parser(
        "verify", help="check that all places of the keys hold the same ones", epilog=_codes(0, 1, 2, 6)
    )
    _stack(verify)
    _hosts(verify)
    _rotate(
        acts.add_parser("rotate", help="replace a key step by step; run it again to continue", epilog=_codes(0, 1, 2, 3))
    )


def _rotate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", metavar="KEY", choices=NAMES, help=f"one of {', '.join(NAMES)}")
    _stack(parser)
    _hosts(parser)
    act = parser.add_mutually_exclusive_group()
    act.add_argument("--plan", action="store_true", help="show all steps and where it stands; change nothing")
    act.add_argument("--start", action="store_true", help="begin with a new key where no rotation is under way")
    stop = (
        "stop the cluster for it (or continue such a stop), for a key that can't be replaced under running jobs; use --plan"
        " first"
    )
    act.add_argument("--stop", action="store_true", help=stop)
    act.add_argument(
        "--script", metavar="HOST", help="print the due step's script for a host, to be piped to it; holds a key"
    )
    pack = "policy pack that each `pulumi up` of the rotation applies, as CI does; empty for none"
    parser.add_argument("--policy-pack", metavar="DIR", help=pack)
    parser.add_argument("--policy-pack-config", metavar="FILE", help="its configuration")
    parser.add_argument("--confirm", metavar="STEP", help="take this hosts' step as done, for hosts that --via can't reach")


def _stack(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    add_json(parser)


def _hosts(parser: argparse.ArgumentParser) -> None:
    via = "command that runs a shell on a host, such as 'ssh root@{host} sh -s'; scripts go to its standard input"
    parser.add_argument("--via", metavar="COMMAND", help=via)
    parser.add_argument(
        "--backup",
        action="append",
        default=[],
        metavar="HOST",
        help="host of a backup slurmctld that controller.external.backups lacks",
    )
    parser.add_argument("--folder", default=host_scripts.FOLDER, help="Slurm's folder on the hosts (default %(default)s)")


def run(arguments: argparse.Namespace, ports: Ports | None = None) -> int:
    """Carry out one act. Raises what reading, asking and updating raise; returns the exit code."""
    if arguments.act == "generate":
        return _generate(arguments)
    policies = _policies(arguments) if arguments.act == "rotate" else ()
    context = (ports or context_of)(arguments, policies)
    acts = {"import": _import, "show": _show, "verify": _verify, "rotate": _rotation}
    return acts[arguments.act](arguments, context)


def _generate(arguments: argparse.Namespace) -> int:
    key, out = BY_NAME[arguments.which], arguments.out
    made_as = import_key.generate(key, out)
    print_result(arguments, {"file": str(out), key.form.known_as: made_as}, f"{out}: a new {key.form.new} {made_as}")
    return 0


def _import(arguments: argparse.Namespace, context: RotationContext) -> int:
    key, values = BY_NAME[arguments.which], context.read_to_import(context.engine)
    if arguments.file is not None:
        raw = import_key.read_key(key, arguments.file, allow_trailing_newline=values.config.keys.allow_trailing_newline)
    elif key not in DAEMON_KEYS:
        raise KeyMaterialError(
            f"{key.name}: no daemon's Secret holds this key; give its PEM by --file. Nothing was imported"
        )
    else:
        with context.snapshot(values) as snapshot:
            raw = import_key.from_secret(values, snapshot.cluster, arguments.secret)
    is_new = import_key.import_key(context.engine, values, key, raw, replace=arguments.replace)
    _warn_of_leak(values, key)
    own, words = key.form.known_by(key.config, raw), key.form.described(key.config, raw)
    print_result(arguments, {"name": key.config, key.form.known_as: own}, f"{key.config}: {words} {own}{_SAME[is_new]}")
    return 0


_SAME: Final = {True: "", False: "; the stack has this key already, so nothing was changed"}


def _warn_of_leak(values: Values, key: Key) -> None:
    if key.config in values.plain:
        print(
            f"warning: {key.config} was in the stack's file in plain text, and is a secret now. Treat it as leaked: it is"
            f" in the file's history. If it is in use, replace it: `slinky keys rotate {key.name}`",
            file=sys.stderr,
        )


def _show(arguments: argparse.Namespace, context: RotationContext) -> int:
    values = context.read(context.engine)
    rows = [Held(name, "configuration", fingerprint(raw)) for name, raw in values.keys.raw.items()]
    rows += [Held(name, "configuration", f"kid {key.kid}") for name, key in values.keys.rsa.items()]
    unknown: list[str] = []
    try:
        with context.snapshot(values) as snapshot:
            held = _held(snapshot, int(time.time()))
    except KubeError as error:
        held, unknown = [], [str(error)]
    rows += held
    table = [("KEY", "HELD IN", "FINGERPRINT", "AGE"), *((r.key, r.place, r.fingerprint, report.age(r.age_s)) for r in rows)]
    lines = [_table(table)] if rows else []
    if not held and not unknown:
        lines.append("No Secret of this stack holds a key yet: `pulumi up` makes them")
    lines += [f"The keys in Kubernetes are unknown: {why}" for why in unknown]
    print_result(arguments, {"keys": report.plain(rows), "unknown": unknown}, "\n".join(lines))
    return PARTLY_UNKNOWN if unknown else 0


def _held(snapshot: Snapshot, now: int) -> Sequence[Held]:
    """The Secrets' entries that hold a key. A slurm.jwks is shown by the hash of the file."""
    config, cluster = snapshot.config, snapshot.cluster
    rows: list[Held] = []
    places = [(key.label, config.secret_of(key)) for key in DAEMON_KEYS]
    places.append((SLURM.bundle, SLURM.bundle_at(config.cluster.resource_name)))
    for label, place in places:
        data = cluster.secret(place.name)
        made = cluster.secret_made_at(place.name) if data else None
        for secret_entry in (place.entry, place.entry + NEXT_SUFFIX):
            if secret_entry in data:
                where = f"Secret {config.cluster.namespace}/{place.name}: {secret_entry}"
                rows.append(Held(label, where, fingerprint(data[secret_entry]), None if made is None else now - made))
    return [*rows, *(row for rotation in ROTATIONS.values() for row in rotation.shown(snapshot))]


def _verify(arguments: argparse.Namespace, context: RotationContext) -> int:
    with context.snapshot() as snapshot:
        rows = [agreement for rotation in ROTATIONS.values() for agreement in rotation.agreements(snapshot)]
    table = [("WHAT", "VERDICT", ""), *((row.what, row.verdict, row.text) for row in rows)]
    print_result(arguments, {"checks": report.plain(rows)}, _table(table))
    return 0 if all(row.verdict == "agrees" for row in rows) else FOUND


def _policies(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Options of pulumi for the policy pack. Raises RotationError where it isn't there: an update without the pack that was
    named is one that it may have refused."""
    pack, config = arguments.policy_pack, arguments.policy_pack_config
    for path in ([Path(pack) / "PulumiPolicy.yaml"] if pack else []) + ([Path(config)] if config else []):
        if not path.is_file():
            raise RotationError(f"{path} isn't there, so the policies can't be applied. Nothing was changed")
    if not pack and config:
        raise RotationError("--policy-pack-config without --policy-pack applies nothing. Nothing was changed")
    if pack is None and not (arguments.plan or arguments.script):
        print("note: no policies are applied to these updates; --policy-pack DIR applies them", file=sys.stderr)
    options = ("--policy-pack", pack) if pack else ()
    return (*options, "--policy-pack-config", config) if config else options


def context_of(arguments: argparse.Namespace, policies: tuple[str, ...] = ()) -> RotationContext:
    """The ports that the arguments name."""
    hosts = arguments.act in ("verify", "rotate")
    return RotationContext(
        engine=Engine(arguments.stack, policies=policies),
        say=lambda line: print(line, file=sys.stderr, flush=True),
        via=Via(arguments.via) if hosts and arguments.via else None,
        backups=tuple(arguments.backup) if hosts else (),
        folder=arguments.folder if hosts else host_scripts.FOLDER,
    )


Ports = Callable[[argparse.Namespace, tuple[str, ...]], RotationContext]


def _rotation(arguments: argparse.Namespace, context: RotationContext) -> int:
    rotation = _of_key(arguments, context)
    if arguments.script:
        if rotation.script_is_secret and sys.stdout.isatty():
            raise RotationError("the script holds a key, and this is a terminal: pipe it to the host, as the plan shows")
        sys.stdout.write(rotation.script(arguments.script))
        return 0
    may_start = arguments.stop if isinstance(rotation, PlannedStop) else arguments.start
    plan = rotation.standing() if arguments.plan else rotation.run(start=may_start)
    print_result(arguments, {"rotation": _plain(plan, arguments)}, _words(plan, arguments))
    due = plan.due
    return WAITS if not arguments.plan and plan.under_way and due is not None and due.turn is Turn.HOSTS else 0


def _of_key(arguments: argparse.Namespace, context: RotationContext) -> KeyRotation:
    """How the key is replaced: in a planned stop where the caller says so, or where it can't be done under running jobs."""
    key = BY_NAME[arguments.which]
    rotation = ROTATIONS[key.name]
    if rotation.no_stop and (arguments.stop or arguments.confirm):
        raise RotationError(rotation.no_stop)
    if arguments.stop or (
        not rotation.no_stop and planned_stop.reason(context.read(context.engine).config, key) is not None
    ):
        return PlannedStop(key, context, arguments.confirm)
    return rotation(key, context, arguments.confirm)


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(columns(rows, Paint(colour=False)))


def _plain(plan: Plan, arguments: argparse.Namespace) -> dict[str, object]:
    steps = [asdict(replace(step, commands=_commands(plan, step, arguments))) for step in plan.steps]
    return {"key": plan.key.name, "underWay": plan.under_way, "stop": plan.stop, "notes": list(plan.notes), "steps": steps}


def _words(plan: Plan, arguments: argparse.Namespace) -> str:
    marks = {State.DONE: "[x]", State.NOW: "[>]", State.LATER: "[ ]"}
    notes = [line for note in plan.notes for line in _wrapped(note, indent="  ", first="  ")]
    lines = notes if plan.stop else []  # why there is a stop at all, before its steps
    for number, step in enumerate(plan.steps, 1):
        mark = marks[step.state] if plan.under_way else "[ ]"
        lines += _wrapped(f"{mark} {number}. {step.name} ({step.turn.value}): {step.title}", first="")
        lines += _wrapped(step.why)
        lines += [f"         {line}" for line in _commands(plan, step, arguments)]
    return "\n".join([*lines, *([] if plan.stop else notes), _next(plan, arguments)])


def _wrapped(text: str, *, indent: str = " " * 7, first: str = " " * 7) -> list[str]:
    """Lines of at most :data:`WIDTH` columns; nothing in them is cut."""
    wrapper = textwrap.TextWrapper(WIDTH, first, indent, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(text)


def _commands(plan: Plan, step: Step, arguments: argparse.Namespace) -> tuple[str, ...]:
    """The command lines that carry out a step by hand, in their order: of a planned stop all steps', else those of the
    hosts' step that is due, since only then a script is made for it."""
    if plan.stop or not plan.under_way or step.state is not State.NOW or step.turn is not Turn.HOSTS:
        return step.commands
    own = f"slinky keys rotate {plan.key.name}" + (f" --stack {arguments.stack}" if arguments.stack else "")
    own += "".join(f" --backup {shlex.quote(host)}" for host in arguments.backup)
    own += f" --folder {shlex.quote(arguments.folder)}" if arguments.folder != host_scripts.FOLDER else ""
    return tuple(f"{own} --script {host.name} | ssh root@{host.name} sh -s" for host in step.hosts)


def _next(plan: Plan, arguments: argparse.Namespace) -> str:
    step = plan.due
    own = f"slinky keys rotate {plan.key.name}"
    if plan.stop:
        return _next_of_stop(plan, f"{own} --stop")
    if step is None or not plan.under_way:
        return f"no rotation is under way; `{own} --start` begins one"
    if step.turn is Turn.HOSTS:
        after = own if plan.key is not SLURM else f"{own} --confirm {step.name}"
        return f"waits for outside hosts: run the commands above in their order, then `{after}`; or let --via do both"
    return f"`{own}` continues" if arguments.plan else f"stopped before {step.name}; `{own}` continues"


def _next_of_stop(plan: Plan, own: str) -> str:
    step = plan.due
    if any(plan_step.turn is Turn.PERSON for plan_step in plan.steps):
        return "a planned stop, which only you can carry out: run the commands above in their order"
    if step is None or not plan.under_way:
        return f"a planned stop: `{own}` carries it out, or you do, by the commands above in their order"
    if step.turn is Turn.HOSTS:
        after = f"`{own} --confirm {step.name}`"
        return f"waits for outside hosts: run its commands in their order, then {after}; or let --via do both"
    return f"`{own}` continues; or run the commands from [>] on"
