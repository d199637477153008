"""`python -m slinky_iac keys generate|import|show|verify|rotate`: arguments and words. No key is ever printed, but in the
script for a host, which goes into a pipe and not to a terminal."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from slinky_iac import names
from slinky_iac.errors import KeyMaterialError, KubeNotFound, RotationError, SlurmrestError
from slinky_iac.key_lifecycle import bring, bring_tokens, files, material, planned_stop, report, rotate_tokens, scripts
from slinky_iac.key_lifecycle.carrying import Means
from slinky_iac.key_lifecycle.engine import Engine
from slinky_iac.key_lifecycle.hosts import Via, hosts_of
from slinky_iac.key_lifecycle.look import Look, opened
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import Rotation, State, Step, Turn
from slinky_iac.key_lifecycle.report import Agreement, Held
from slinky_iac.key_lifecycle.rotate import LOST, Rotating
from slinky_iac.key_lifecycle.rotate_tokens import RotatingTokens
from slinky_iac.key_lifecycle.stopping import Stopping
from slinky_iac.keys.catalogue import NEXT_SUFFIX
from slinky_iac.keys.raw import GENERATED_LENGTH, fingerprint
from slinky_iac.terminal import Paint, columns

HELP = "slurm.key, the JWT key, the tokens' own key: make, import, show, verify, and replace them under running jobs"
WIDTH: Final = 100
WAITS: Final = 3
DIFFERS: Final = 6
CODES = (
    "exit codes: 0 done; 1 it could not be done, and the message says what was changed; 2 wrong arguments; 3 `rotate` waits"
    " for outside hosts; 6 `verify` found a place that differs or could not be asked"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.epilog = CODES
    acts = parser.add_subparsers(dest="act", required=True)
    made = acts.add_parser("generate", help="make a key in a new file, 0600", epilog=CODES)
    made.add_argument("which", choices=("slurm", "jwt", "tokens"))
    made.add_argument("--out", required=True, type=Path, metavar="FILE")
    _json(made)
    took = acts.add_parser("import", help="make a key that a cluster has this stack's, byte for byte", epilog=CODES)
    took.add_argument("which", choices=("slurm", "jwt", "tokens"))
    source = took.add_mutually_exclusive_group(required=True)
    source.add_argument("--file", type=Path, metavar="FILE", help="the file itself; - for standard input")
    source.add_argument("--secret", metavar="NAMESPACE/NAME/ENTRY", help="an entry of a Secret in the stack's Kubernetes")
    took.add_argument("--replace", action="store_true", help="although the stack has another key; nothing may run with it")
    _stack(took)
    _stack(acts.add_parser("show", help="fingerprints of the keys, where they are held and since when", epilog=CODES))
    verify = acts.add_parser("verify", help="do configuration, Secrets, pods and daemons have the same keys?", epilog=CODES)
    _stack(verify)
    _hosts(verify)
    _rotate(acts.add_parser("rotate", help="replace a key step by step; run it again to go on", epilog=CODES))


def _rotate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", choices=("slurm", "jwt", "tokens"))
    _stack(parser)
    _hosts(parser)
    act = parser.add_mutually_exclusive_group()
    act.add_argument("--plan", action="store_true", help="show all steps and where it stands; change nothing")
    act.add_argument("--start", action="store_true", help="begin with a new key where no rotation is under way")
    stop = "stop the cluster for it, or go on with that: where the key can't be replaced under running jobs; --plan first"
    act.add_argument("--stop", action="store_true", help=stop)
    act.add_argument(
        "--script", metavar="HOST", help="print the due step's script for a host, to be piped to it; holds a key"
    )
    pack = "policy pack that each `pulumi up` of the rotation applies, as CI does; empty for none"
    parser.add_argument("--policy-pack", metavar="DIR", help=pack)
    parser.add_argument("--policy-pack-config", metavar="FILE", help="its configuration")
    parser.add_argument("--confirm", metavar="STEP", help="this hosts' step is done; for hosts that --via can't ask")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _stack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stack", help="stack; by default the selected one")
    _json(parser)


def _hosts(parser: argparse.ArgumentParser) -> None:
    via = "command that runs a shell on a host, such as 'ssh root@{host} sh -s'; scripts go to its standard input"
    parser.add_argument("--via", metavar="COMMAND", help=via)
    parser.add_argument("--backup", action="append", default=[], metavar="HOST", help="host of a backup slurmctld")
    parser.add_argument("--folder", default=scripts.FOLDER, help="Slurm's folder on the hosts (default %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Carry out one act. Raises what reading, asking and updating raise; returns the exit code."""
    match arguments.act:
        case "generate":
            return _generate(arguments)
        case "import":
            return _import(arguments)
        case "show":
            return _show(arguments)
        case "verify":
            return _verify(arguments)
        case _:
            return _rotation(arguments)


def _generate(arguments: argparse.Namespace) -> int:
    if arguments.which == "tokens":
        kid = bring_tokens.generate(arguments.out).kid
        _told(arguments, {"file": str(arguments.out), "kid": kid}, f"{arguments.out}: a new RSA key, mode 0600, kid {kid}")
        return 0
    fingerprint = bring.generate(arguments.out)
    words = f"{arguments.out}: a new key of {GENERATED_LENGTH} characters, mode 0600, {fingerprint}"
    _told(arguments, {"file": str(arguments.out), "fingerprint": fingerprint}, words)
    return 0


def _import(arguments: argparse.Namespace) -> int:
    engine = Engine(arguments.stack)
    found = material.read(engine)
    if arguments.which == "tokens":
        return _import_token(arguments, engine, found)
    if arguments.file is not None:
        raw = files.read(arguments.file, allow_trailing_newline=found.config.keys.allow_trailing_newline)
        if files.readable_by_others(arguments.file):
            print(f"warning: {arguments.file} can be read by others than its owner", file=sys.stderr)
    else:
        raw = bring.from_secret(found, arguments.secret)
    fingerprint = bring.bring(engine, found, arguments.which, raw, replace=arguments.replace)
    name = bring.NAMES[arguments.which]
    _told(arguments, {"name": name, "fingerprint": fingerprint}, f"{name}: {len(raw)} bytes, {fingerprint}")
    return 0


def _import_token(arguments: argparse.Namespace, engine: Engine, found: Material) -> int:
    if arguments.file is None:
        raise KeyMaterialError("tokens: no daemon's Secret holds this key; give its PEM by --file. Nothing was imported")
    key = bring_tokens.read(arguments.file)
    if files.readable_by_others(arguments.file):
        print(f"warning: {arguments.file} can be read by others than its owner", file=sys.stderr)
    bring_tokens.bring(engine, found, key, replace=arguments.replace)
    name = bring_tokens.NAME
    _told(arguments, {"name": name, "kid": key.kid}, f"{name}: an RSA key of {key.private.key_size} bits, kid {key.kid}")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    found = material.read(Engine(arguments.stack))
    rows = [Held(name, "configuration", fingerprint(raw)) for name, raw in found.keys.items()]
    rows += [Held(name, "configuration", f"kid {key.kid}") for name, key in found.tokens.items()]
    with opened(found, (), None) as look:
        rows += _held(look, int(time.time()))
    table = [("KEY", "HELD IN", "FINGERPRINT", "AGE"), *((r.key, r.place, r.fingerprint, report.age(r.age_s)) for r in rows)]
    _told(arguments, {"keys": report.plain(rows)}, _table(table))
    return 0


def _held(look: Look, now: int) -> Sequence[Held]:
    """The Secrets' entries that hold a key. A slurm.jwks is shown by the hash of the file."""
    namespace = look.material.config.cluster.namespace
    rows: list[Held] = []
    places = [(key, *look.place(which)) for key, which in (("slurm.key", "slurm"), ("JWT key", "jwt"))]
    places.append(("slurm.jwks", names.slurm_jwks_secret(look.material.config.cluster.resource_name), names.SLURM_JWKS_FILE))
    for key, secret, entry in places:
        data = look.secret(secret)
        made = look.session.kube.secret_made_at(namespace, secret) if data else None
        for each in (entry, entry + NEXT_SUFFIX):
            if each in data:
                place = f"Secret {namespace}/{secret}: {each}"
                rows.append(Held(key, place, fingerprint(data[each]), None if made is None else now - made))
    if (token := rotate_tokens.held_in_secret(look)) is not None:
        rows.append(Held("token key", f"Secret {namespace}/{token[0]}: {token[1]}", f"kid {token[2]}"))
    return rows


def _verify(arguments: argparse.Namespace) -> int:
    found = material.read(Engine(arguments.stack))
    via = Via(arguments.via) if arguments.via else None
    with opened(found, hosts_of(found.config, arguments.backup), via, arguments.folder) as look:
        rows: list[Agreement] = [*report.jwt_agreements(look.jwt())]
        rows += report.slurm_agreements(look.slurm(), jwks=found.config.keys.jwks, silent=_silent(look))
        if "tokenKey" in found.tokens and found.config.keys.has_token_keys:
            rows += report.token_agreements(rotate_tokens.facts_of(look))
            rows += report.set_agreements(rotate_tokens.sets_on_hosts(look))
    table = [("WHAT", "VERDICT", ""), *((row.what, row.verdict, row.text) for row in rows)]
    _told(arguments, {"checks": report.plain(rows)}, _table(table))
    return 0 if all(row.verdict == "agrees" for row in rows) else DIFFERS


def _silent(look: Look) -> list[str] | None:
    try:
        answer = look.session.slurm.nodes(allow_none=True)
    except (SlurmrestError, KubeNotFound):  # no key to ask with, before the first `pulumi up`
        return None
    return sorted(node.name for node in answer.nodes if node.state & LOST) if answer is not None else None


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
    found = ("--policy-pack", pack) if pack else ()
    return (*found, "--policy-pack-config", config) if config else found


def _means(arguments: argparse.Namespace) -> Means:
    return Means(
        engine=Engine(arguments.stack, policies=_policies(arguments)),
        say=lambda line: print(line, file=sys.stderr, flush=True),
        via=Via(arguments.via) if arguments.via else None,
        backups=tuple(arguments.backup),
        folder=arguments.folder,
    )


def _rotation_of_tokens(arguments: argparse.Namespace) -> int:
    if arguments.stop or arguments.confirm:
        raise RotationError(
            "tokens: their key needs no stop, and tokens tell when hosts are done: leave --stop and --confirm out"
        )
    rotating = RotatingTokens(_means(arguments))
    if arguments.script:
        sys.stdout.write(rotating.script(arguments.script))
        return 0
    return _ended(arguments, rotating.plan() if arguments.plan else rotating.run(start=arguments.start))


def _ended(arguments: argparse.Namespace, plan: Rotation) -> int:
    _told(arguments, {"rotation": _plain(plan, arguments)}, _words(plan, arguments))
    due = plan.due
    return WAITS if not arguments.plan and plan.under_way and due is not None and due.turn is Turn.HOSTS else 0


def _rotation(arguments: argparse.Namespace) -> int:
    if arguments.which == "tokens":
        return _rotation_of_tokens(arguments)
    means = _means(arguments)
    stopped = arguments.stop or planned_stop.reason(material.read(means.engine).config, arguments.which) is not None
    rotating = (Stopping if stopped else Rotating)(arguments.which, means, arguments.confirm)
    if arguments.script:
        if sys.stdout.isatty():
            raise RotationError("the script holds a key, and this is a terminal: pipe it to the host, as the plan shows")
        sys.stdout.write(rotating.script(arguments.script))
        return 0
    if arguments.plan:
        plan = rotating.plan()
    elif isinstance(rotating, Rotating):
        plan = rotating.run(start=arguments.start)
    else:
        plan = rotating.run(asked=arguments.stop)
    return _ended(arguments, plan)


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(columns(rows, Paint(colour=False)))


def _told(arguments: argparse.Namespace, data: dict[str, object], words: str) -> None:
    print(json.dumps({"schema": 1, **data}, indent=2) if arguments.json else words)


def _plain(plan: Rotation, arguments: argparse.Namespace) -> dict[str, object]:
    steps = [
        {
            "name": step.name,
            "turn": step.turn.value,
            "state": step.state.value,
            "title": step.title,
            "why": step.why,
            "hosts": [{"name": host.name, "roles": [role.value for role in host.roles]} for host in step.hosts],
            "commands": _commands(plan, step, arguments),
        }
        for step in plan.steps
    ]
    return {"key": plan.which, "underWay": plan.under_way, "stop": plan.stop, "notes": list(plan.notes), "steps": steps}


def _words(plan: Rotation, arguments: argparse.Namespace) -> str:
    marks = {State.DONE: "[x]", State.NOW: "[>]", State.LATER: "[ ]"}
    lines: list[str] = []
    for number, step in enumerate(plan.steps, 1):
        mark = marks[step.state] if plan.under_way else "[ ]"
        lines += _wrapped(f"{mark} {number}. {step.name} ({step.turn.value}): {step.title}", indent="       ", first="")
        lines += _wrapped(step.why, indent="       ")
        lines += [f"         {line}" for line in _commands(plan, step, arguments)]
    for note in plan.notes:
        lines += _wrapped(note, indent="  ")
    return "\n".join([*lines, _next(plan, arguments)])


def _wrapped(text: str, *, indent: str, first: str | None = None) -> list[str]:
    """Lines of at most :data:`WIDTH` columns; nothing in them is cut."""
    lead = indent if first is None else first
    return textwrap.wrap(
        text, WIDTH, initial_indent=lead, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _commands(plan: Rotation, step: Step, arguments: argparse.Namespace) -> list[str]:
    """The command lines that carry out a step by hand, in their order: of a planned stop all steps', else those of the
    hosts' step that is due, since only then a script is made for it."""
    if plan.stop or not plan.under_way or step.state is not State.NOW or step.turn is not Turn.HOSTS:
        return list(step.commands)
    own = f"python -m slinky_iac keys rotate {plan.which}" + (f" --stack {arguments.stack}" if arguments.stack else "")
    own += "".join(f" --backup {shlex.quote(host)}" for host in arguments.backup)
    own += f" --folder {shlex.quote(arguments.folder)}" if arguments.folder != scripts.FOLDER else ""
    return [f"{own} --script {host.name} | ssh root@{host.name} sh -s" for host in step.hosts]


def _next(plan: Rotation, arguments: argparse.Namespace) -> str:
    step = plan.due
    own = f"python -m slinky_iac keys rotate {plan.which}"
    if plan.stop:
        return _next_of_stop(plan, f"{own} --stop")
    if step is None or not plan.under_way:
        return f"no rotation is under way; `{own} --start` begins one"
    if step.turn is Turn.HOSTS:
        after = own if plan.which != "slurm" else f"{own} --confirm {step.name}"
        return f"waits for outside hosts: run the commands above in their order, then `{after}`; or let --via do both"
    return f"`{own}` goes on" if arguments.plan else f"stopped before {step.name}; `{own}` goes on"


def _next_of_stop(plan: Rotation, own: str) -> str:
    step = plan.due
    if any(each.turn is Turn.PERSON for each in plan.steps):
        return "a planned stop, which only you can carry out: run the commands above in their order"
    if step is None or not plan.under_way:
        return f"a planned stop: `{own}` carries it out, or you do, by the commands above in their order"
    if step.turn is Turn.HOSTS:
        after = f"`{own} --confirm {step.name}`"
        return f"waits for outside hosts: run its commands in their order, then {after}; or let --via do both"
    return f"`{own}` goes on; or run the commands from [>] on"
