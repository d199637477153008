"""`slinky init STACK`: asks or takes arguments, reads slurmctld's host, writes the stack's file, gives pulumi both keys."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import yaml

from slinky_iac import causes, pulumi_yaml, safe_yaml
from slinky_iac.commands import children
from slinky_iac.commands.check import judge
from slinky_iac.commands.init.stack import (
    SCRIPT,
    Found,
    Wanted,
    document,
    hints,
    read,
    require_fit,
    require_sound,
    sections,
    unguarded,
    warnings,
)
from slinky_iac.commands.rotation.engine import Engine
from slinky_iac.commands.rotation.host_scripts import TIMEOUT_S, Via
from slinky_iac.commands.rotation.model import Host
from slinky_iac.config.reading.stack_file import StackFile, parse, project_of, settings_elsewhere, text_of
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import PROJECT
from slinky_iac.errors import KeyMaterialError, ProjectError, StateError
from slinky_iac.keys.raw import check, fingerprint
from slinky_iac.kube.connection import for_children
from slinky_iac.text import printable

CODES = "exit codes: 0 written; 1 refused or not possible, and the message says what was written; 2 wrong arguments"
VIA: Final = "ssh root@{host} sh -s"
_STACK: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_NODESET: Final = re.compile(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?)=([0-9]{1,5})")
Ask = Callable[[str], str]
Shell = Callable[..., "subprocess.CompletedProcess[str]"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("stack", metavar="STACK", help="name of the stack: Pulumi.STACK.yaml is written in this folder")
    parser.add_argument(
        "--slurmctld",
        metavar="HOST",
        help="slurmctld's host, of several the primary, as pods and --via reach it; backups are read there",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--via",
        metavar="COMMAND",
        help=f"command that runs a shell on a host, such as '{VIA}'; `init` only reads there",
    )
    source.add_argument(
        "--show-config",
        type=Path,
        metavar="FILE",
        help="output of `scontrol show config` in the place of --via, - for standard input; keys are then set by hand",
    )
    first = "a NodeSet (default burst=1); can be repeated for more"
    parser.add_argument("--nodeset", type=_nodeset, action="append", metavar="NAME=REPLICAS", help=first)
    parser.add_argument(
        "--base", type=Path, metavar="FILE", help="a stack's file to begin with: images, chart, kubernetes; no secrets"
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there; its encrypted values stay")


def _nodeset(text: str) -> tuple[str, int]:
    match = _NODESET.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"got {text[:60]!a}; write NAME=REPLICAS, for example burst=2. NAME has small letters, digits and '-' alone, as"
            " names of pods have, and REPLICAS is a number"
        )
    return match[1], int(match[3])


def run(arguments: argparse.Namespace, ask: Ask = input, ssh: Shell = children.run) -> int:
    """Read, write, import. Raises :class:`ProjectError` before anything is written; returns the exit code."""
    file = _target(arguments)
    before = parse(text_of(file)) if file.exists() else None
    base = _base(arguments.base)
    arguments = _completed(arguments, ask, tty=sys.stdin.isatty())
    slurm, source = _found(arguments, ssh)
    wanted = Wanted(arguments.slurmctld or slurm.host, dict(arguments.nodeset), base)
    require_fit(slurm, wanted)
    imported = _keys(slurm, arguments.via) if arguments.via and not _has_keys(before) else {}
    # What the file has beside its settings: its secrets can be read with that only.
    kept = {name: value for name, value in _document(file).items() if name != "config"}
    settings: dict[str, object] = sections(slurm, wanted)
    policies = unguarded(settings, slurm)
    text = document(settings, source, kept, policies, nodes=None if slurm.nodes is None else len(slurm.nodes))
    require_sound(tuple(place.finding for place in judge(text)[1]))
    _write(file, _with_secrets(text, file))
    print(f"{file}: written. Look for DECIDE in it")
    for warning in warnings(slurm, settings):
        print(f"warning: {warning}")
    for hint in hints(slurm, settings):
        print(f"note: {hint}")
    if policies:
        print("note: networkPolicies are off: the file says what they need")
    return _import(arguments.stack, imported, has_keys=_has_keys(before), jwt_key=slurm.judged.key)


def _target(arguments: argparse.Namespace) -> Path:
    if _STACK.fullmatch(arguments.stack) is None:
        raise ProjectError(
            f"{arguments.stack[:60]!a}: isn't the name of a stack, which has letters, digits, '-', '_' and '.'"
        )
    file = Path(f"Pulumi.{arguments.stack}.yaml")
    if file.exists() and not arguments.force:
        raise ProjectError(f"{file}: exists already and was not changed; name another stack, or give --force")
    if not Path("Pulumi.yaml").exists():
        raise ProjectError("this folder has no Pulumi.yaml; begin with `slinky new DIR`, and run this there")
    if said := settings_elsewhere((), file.parent):
        raise ProjectError(f"{said}. `init` writes a stack's file, so nothing was written")
    if (project := project_of(file)) != PROJECT:
        raise ProjectError(
            f"Pulumi.yaml calls the project {name_of(project)}, and a stack's file that `init` writes is of a project"
            f" {PROJECT}. Nothing was written. Set `name: {PROJECT}` in Pulumi.yaml, then run `pulumi stack init"
            f" {arguments.stack}` and this again"
        )
    return file


def _base(file: Path | None) -> Mapping[str, object]:
    if file is None:
        return {}
    stack_file = parse(text_of(file))
    if stack_file.faults:
        said = "\n".join(f"  {file}:{place.line}: {place.finding}" for place in stack_file.faults)
        raise ProjectError(f"--base: can't be read; nothing was written:\n{said}")
    if stack_file.secret:
        raise ProjectError(
            f"--base {file}: holds secrets of another stack ({', '.join(sorted(stack_file.secret))}); name a file without"
        )
    return stack_file.sections


def _completed(arguments: argparse.Namespace, ask: Ask, *, tty: bool) -> argparse.Namespace:
    """The arguments, with what was left out asked for. Raises :class:`ProjectError` where there is no person to ask."""
    answers = argparse.Namespace(**vars(arguments))
    if answers.via is None and answers.show_config is None:
        if not tty:
            lacking = "" if answers.slurmctld else "--slurmctld HOST and "
            raise ProjectError(
                f"standard input isn't a terminal, so nothing can be asked. Give {lacking}--via '{VIA}', or --show-config"
                " FILE with the output of `scontrol show config`. Nothing was written"
            )
        try:
            answers.slurmctld = answers.slurmctld or ask("slurmctld's host, as pods reach it: ").strip()
            answers.via = ask(f"command that runs a shell there [{VIA}]: ").strip() or VIA
            if answers.nodeset is None:
                answers.nodeset = _asked_nodeset(ask("first NodeSet and its number of pods [burst=1]: ").strip())
        except EOFError:
            raise ProjectError("the input ended before all was said; nothing was written") from None
    if answers.via is not None and not answers.slurmctld:
        raise ProjectError("--via needs --slurmctld HOST: the host that it runs on. Nothing was written")
    if answers.slurmctld is not None and answers.slurmctld.startswith("-"):
        raise ProjectError("--slurmctld: a host's name doesn't begin with '-'. Nothing was written")
    answers.nodeset = answers.nodeset or [("burst", 1)]
    names = [name for name, _ in answers.nodeset]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ProjectError(f"--nodeset {', '.join(twice)}: is there twice; give each NodeSet once. Nothing was written")
    return answers


def _asked_nodeset(text: str) -> list[tuple[str, int]] | None:
    try:
        return [_nodeset(text)] if text else None
    except argparse.ArgumentTypeError as wrong:
        raise ProjectError(f"{wrong}. Nothing was written") from None


def _found(arguments: argparse.Namespace, ssh: Shell) -> tuple[Found, str]:
    if arguments.show_config is not None:
        text = sys.stdin.read() if str(arguments.show_config) == "-" else _shown_config(arguments.show_config)
        return read(text), "the output of `scontrol show config`"
    command = Via(arguments.via).command(Host(arguments.slurmctld, ()))
    try:
        done = ssh(command, input=SCRIPT, timeout=TIMEOUT_S, env=for_children(os.environ))
    except (OSError, subprocess.TimeoutExpired) as wrong:
        raise ProjectError(
            f"--via: no answer from {arguments.slurmctld}: {causes.of_command(command, wrong)}. Nothing was written. Try the"
            " command by hand; or run `scontrol show config` there, and give its output by --show-config"
        ) from None
    if done.returncode != 0:
        said = printable(done.stderr.strip()[-400:]) or "nothing on stderr"
        raise ProjectError(
            f"--via: on {arguments.slurmctld} it ended with {done.returncode}: {said}. It runs `scontrol show config` there"
            " and reads both keys, so it needs root or the slurm user. Nothing was written"
        )
    return read(done.stdout), f"slurmctld's configuration on {arguments.slurmctld}"


def _shown_config(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        why = wrong.strerror if isinstance(wrong, OSError) else "no text in UTF-8"
        raise ProjectError(
            f"--show-config {file}: can't be read ({why}); name a file with the output of `scontrol show config`. Nothing"
            " was written"
        ) from None


def _keys(slurm: Found, via: str) -> dict[str, bytes]:
    """Both keys by configuration name. Raises :class:`ProjectError` where one can't be had."""
    held = {"slurmKey": (slurm.slurm_key, "slurm.key"), "jwtKey": (slurm.jwt_key, slurm.judged.key)}
    missing = [file for raw, file in held.values() if raw is None]
    if missing:
        raise ProjectError(
            f"--via {via!r}: the user that it runs as can't read {' and '.join(map(name_of, missing))} on slurmctld's host."
            " Run it as root, or give --show-config and set the keys by hand. Nothing was written"
        )
    try:
        for name, (raw, _) in held.items():
            check(name, raw or b"", allow_trailing_newline=False)
    except KeyMaterialError as wrong:
        raise ProjectError(f"{wrong} Nothing was written") from None
    if slurm.slurm_key == slurm.jwt_key:
        raise ProjectError(
            "slurm.key and the JWT key are the same key; anyone who may sign tokens could then act as any daemon"
        )
    return {name: raw for name, (raw, _) in held.items() if raw is not None}


def _has_keys(before: StackFile | None) -> bool:
    return before is not None and {"slurmKey", "jwtKey"} <= before.secret


def _document(file: Path) -> dict[str, object]:
    try:
        content = safe_yaml.read(text_of(file), pulumi_yaml.StackLoader) if file.exists() else {}
    except safe_yaml.NotYamlError as wrong:
        raise ProjectError(
            f"{file}: {wrong}; --force keeps its encrypted values, which can't be read. Move the file away and run this"
            " without --force: the keys are then imported into a new one"
        ) from None
    return content if isinstance(content, dict) else {}


def _with_secrets(text: str, file: Path) -> str:
    """The text with the encrypted values of the file before."""
    config = _document(file).get("config")
    values = config.items() if isinstance(config, dict) else ()
    secret = {name: value for name, value in values if isinstance(value, dict) and set(value) == {"secure"}}
    lines = yaml.safe_dump(secret, sort_keys=False).splitlines() if secret else []
    return text + "".join(f"  {line}\n" for line in lines)


def _write(file: Path, text: str) -> None:
    new = file.with_name(f".{file.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(file)
    except OSError as wrong:
        raise ProjectError(f"{file}: can't be written ({wrong.strerror})") from None


def _import(stack: str, imported: Mapping[str, bytes], *, has_keys: bool, jwt_key: str) -> int:
    """Make the stack and set its keys; returns the exit code. Keys go to pulumi by standard input. ``jwt_key``: its path on
    slurmctld's host."""
    if has_keys:
        print("its keys stay as they are; `slinky keys verify` compares them with the hosts'")
        return 0
    if not imported:
        where = f"slurm.key from beside slurm.conf, jwt_hs256.key from {name_of(jwt_key)}"
        print(f"next, with the files of slurmctld's host, byte for byte ({where}):")
        print(f"  pulumi stack select --create {stack}")
        print("  slinky keys import slurm --file slurm.key && slinky keys import jwt --file jwt_hs256.key")
        return 0
    engine = Engine(stack)
    try:
        engine.pulumi("stack", "select", "--create")
        for name, raw in imported.items():
            engine.set_key(name, raw)
            print(f"{name}: imported, {fingerprint(raw)}")
    except StateError as wrong:
        print(
            f"error: the file is written, but its keys are not all set: {wrong}\nNext: log in to a backend (pulumi login),"
            f" set the passphrase, then run `slinky init {stack} --force` again with the same options",
            file=sys.stderr,
        )
        return 1
    print(
        "next: edit the file (DECIDE, more NodeSets, GPUs, kubernetes.context), slinky check, slinky handoff --out handoff,"
        " slinky preflight --via …, pulumi preview, pulumi up"
    )
    return 0
