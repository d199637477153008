"""`slinky handoff`: what hosts outside Kubernetes need to join, as a folder, a playbook or cloud-init.

What the stack knows beyond its configuration (fingerprints, slurmctld's address, keys where they are kept) is asked here:
imported keys come from the configuration, others from their Kubernetes Secrets. They go to the files that were asked for and
into no message.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from slinky_iac import names
from slinky_iac.cluster.kube_connection import KubeConnection
from slinky_iac.cluster.pulumi_command import Runner, answer, run_pulumi
from slinky_iac.cluster_access import kube_connection
from slinky_iac.commands import output
from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.forms import FORMS, render
from slinky_iac.commands.handoff.model import Handoff, Rendered, Role
from slinky_iac.commands.handoff.role_sheets import handoff
from slinky_iac.commands.handoff.write import write
from slinky_iac.commands.stack_config import add_source, configured, given
from slinky_iac.config.fields import is_address
from slinky_iac.config.reading.values import Values
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import HandoffError, KubeError, StateError
from slinky_iac.keys.catalogue import DAEMON_KEYS, JWT, SLURM
from slinky_iac.keys.raw import fingerprint
from slinky_iac.keys.registry import PUBLIC
from slinky_iac.text import printable

Keys = dict[str, bytes]
_T = TypeVar("_T")
_PASSPHRASE = "Set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to this stack's passphrase. "
_ADVICE = "To render what needs no key from the stack's file, give --config FILE in the place of --stack"


def known(
    stack: str | None, values: Values, address: str | None, held: Keys | None, run: Runner | None = run_pulumi
) -> Known:
    """Fingerprints of the keys: of those at hand, of those imported, else those that the last `pulumi up` exported.

    ``run``: None where a file was named and no stack is meant, so that nothing else is known. Raises :class:`StateError`
    where the stack's outputs can't be read, and :class:`HandoffError` where the keys can't be decrypted and no `pulumi up`
    said what they are: a wrong passphrase doesn't make them unknown keys.
    """
    config = values.config
    outputs: dict[str, object] = {}
    if run is not None:
        outputs = answer(run, ["stack", "output", "--json"], stack, dict, wanted="a stack's outputs")
    full, trouble = _decrypted(stack, values, held, run)
    if full is not None:
        held = held or _named(full)
    if trouble and not {"slurmKeyFingerprint", PUBLIC.output} & outputs.keys():
        how = ("" if "PULUMI_CONFIG_PASSPHRASE" in trouble else _PASSPHRASE) + _ADVICE
        raise HandoffError(f"the stack's keys are set and can't be decrypted: {trouble}. Nothing was written. {how}")
    if held is not None:
        prints = {file: fingerprint(raw) for file, raw in held.items()}
        slurm, jwt = prints.get(SLURM.file), prints.get(JWT.file)
        bundles = {file: digest for file, digest in prints.items() if file == SLURM.bundle}
    else:
        fingerprints = (outputs.get(name) for name in ("slurmKeyFingerprint", "jwtKeyFingerprint"))
        slurm, jwt = (text if isinstance(text, str) and text.startswith("SHA256:") else None for text in fingerprints)
        bundles = {SLURM.bundle: ""} if values.has_two_slurm_keys else {}
    return Known(
        slurm,
        jwt,
        address or _balancer_address(config),
        node_port=_node_port(config),
        bundles=tuple(bundles.items()),
        jwt_comes=JWT.next in values.rotation_secrets,
        public=_public(config, full, outputs),
    )


def _decrypted(stack: str | None, values: Values, held: Keys | None, run: Runner | None) -> tuple[Values | None, str]:
    """The configuration with its keys, where some are needed that aren't at hand; or why they can't be had."""
    lacking = [key for key in values.config.in_configuration if key.file not in (held or {})]
    if run is None or not lacking:
        return None, ""
    try:
        return configured(stack, run, with_keys=True), ""
    except StateError as error:
        return None, str(error)


def _public(config: StackConfig, full: Values | None, outputs: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Files of public keys: of the keys that are set, else as the last `pulumi up` exported them."""
    text = outputs.get(PUBLIC.output)
    if full is not None:
        text = full.keys.public.get(PUBLIC.bundle, b"").decode()
    return ((PUBLIC.bundle, text),) if PUBLIC in config.own_keys and isinstance(text, str) and text else ()


def _balancer_address(config: StackConfig) -> str | None:
    """Where a load balancer made slurmctld's Service reachable; None where there is none, or Kubernetes doesn't answer."""
    if not config.slurmctld.is_balanced:
        return None
    return _of_service(config, lambda way, namespace, name: way.kube(5.0).balancer_address(namespace, name))


def _node_port(config: StackConfig) -> int | None:
    """The port of Kubernetes' nodes that leads to slurmctld, where hosts come in by one; None where it isn't known."""
    if not config.slurmctld.is_at_node_ports:
        return None
    named = config.slurmctld.node_port
    return named or _of_service(config, lambda way, namespace, name: way.kube(5.0).node_port(namespace, name))


def _of_service(config: StackConfig, ask: Callable[[KubeConnection, str, str], _T | None]) -> _T | None:
    """What Kubernetes has of slurmctld's Service; None where it doesn't answer."""
    try:
        with kube_connection(config, os.environ, Path.home()) as way:
            return ask(way, config.cluster.namespace, names.controller_service(config.cluster.resource_name))
    except KubeError:
        return None  # before the first `pulumi up`; the hand-off says that it isn't known


def _named(values: Values) -> Keys | None:
    keys = {key.file: raw for key in DAEMON_KEYS if (raw := values.keys.of(key)) is not None}
    if not keys:
        return None
    bundle = values.keys.bundle(SLURM) if values.has_two_slurm_keys else None
    return keys if bundle is None else keys | {SLURM.bundle: bundle}


def held_keys(values: Values) -> Keys:
    """Both keys' raw bytes by file name, and slurm.jwks while slurm.key is being replaced under running jobs.

    Raises :class:`HandoffError` where they can't be had.
    """
    named = _named(values)
    if named is not None:
        return named
    config = values.config
    try:
        with kube_connection(config, os.environ, Path.home()) as way:
            kube, places = way.kube(), {key.file: config.secret_of(key) for key in DAEMON_KEYS}
            namespace = config.cluster.namespace
            return {file: kube.secret_entry(namespace, place.name, place.entry) for file, place in places.items()}
    except KubeError as error:
        raise HandoffError(
            f"--with-keys: the keys of this stack are in Kubernetes Secrets (keys.source: {config.key_source.setting}), and"
            f" reading them failed: {error} Nothing was written. Run `pulumi up` first, or leave the flag out and place"
            " keys by hand"
        ) from None


CODES = "exit codes: 0 written; 1 the stack could not be read, or the folder not be written; 2 wrong arguments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_source(parser)
    parser.add_argument("--format", choices=tuple(FORMS), default="folder", help="by default a folder for each role")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder to write: new, empty, or an earlier one"
    )
    parser.add_argument(
        "--role",
        action="append",
        choices=[str(role) for role in Role],
        help="only this role; can be repeated. By default all that the stack has outside, slurmd and login",
    )
    parser.add_argument(
        "--with-keys", action="store_true", help="write the keys too, mode 600, into a folder that only you can read"
    )
    parser.add_argument(
        "--slurmctld-address",
        metavar="IP",
        help="where hosts reach a slurmctld that is in Kubernetes: a LoadBalancer's address, or any node's with a NodePort",
    )
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(arguments: argparse.Namespace, pulumi: Runner = run_pulumi) -> int:
    """Read the stack, render, write. Raises what reading and writing raise; returns the exit code."""
    address = arguments.slurmctld_address
    if address is not None and not is_address(address):
        raise HandoffError(f"--slurmctld-address {address}: is not an IP address, which /etc/hosts needs")
    if arguments.config and arguments.with_keys:
        raise HandoffError("--with-keys: a file's keys are encrypted; name the stack with --stack in the place of --config")
    values = given(arguments, pulumi, with_keys=arguments.with_keys)
    keys = held_keys(values) if arguments.with_keys else None
    seen = known(arguments.stack, values, address, keys, None if arguments.config else pulumi)
    handed = handoff(values.config, seen, [Role(role) for role in arguments.role or ()])
    files = render(arguments.format, handed, keys)
    removed = write(arguments.out, files, with_keys=arguments.with_keys)
    print(shown(handed, files, arguments.out, removed, with_keys=arguments.with_keys, as_json=arguments.json))
    return 0


def shown(
    handed: Handoff, files: tuple[Rendered, ...], out: Path, removed: tuple[str, ...], *, with_keys: bool, as_json: bool
) -> str:
    """What was written and ``removed``, for people or as JSON; never what is in a file."""
    if as_json:
        return output.as_json({**_json(handed, files, out, with_keys=with_keys), "removed": list(removed)})
    roles = ", ".join(str(sheet.role) for sheet in handed.sheets)
    lines = [f"{len(files)} files in {out}, for {roles}; begin with README.md"]
    if removed:
        kept = {file.path.parts[0] for file in files}
        gone = dict.fromkeys(path if (top := path.partition("/")[0]) in kept else f"{top}/" for path in removed)
        lines.append(
            f"removed from {out}, of an earlier hand-off: {', '.join(map(printable, gone))}; with --out and another folder"
            " both stay"
        )
    lines += [f"not known yet: {point}" for point in handed.open_points]
    if with_keys:
        lines.append("the folder holds the cluster's keys: remove it when the hosts have joined")
    return "\n".join(lines)


def _json(handed: Handoff, files: tuple[Rendered, ...], out: Path, *, with_keys: bool) -> dict[str, object]:
    return {
        "cluster": handed.cluster,
        "release": handed.release,
        "out": str(out),
        "with_keys": with_keys,
        "open_points": list(handed.open_points),
        "roles": [
            {
                "role": str(sheet.role),
                "service": sheet.service,
                "hosts": {host.name: host.address for host in sheet.hosts},
                "files": [{"path": f.path, "owner": f.owner, "mode": f"{f.mode:04o}"} for f in sheet.files],
                "keys": [
                    {"path": k.path, "owner": k.owner, "mode": f"{k.mode:04o}", "fingerprint": k.fingerprint}
                    for k in sheet.keys
                ],
                "ports": [{"from": p.source, "port": p.port or None, "for": p.purpose} for p in sheet.ports],
                "check": sheet.check_path,
            }
            for sheet in handed.sheets
        ],
        "files": [str(file.path) for file in files],
    }
