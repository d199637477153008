"""`slinky handoff`: what hosts outside Kubernetes need to join, as a folder, a playbook or cloud-init."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Final

from slinky_iac.cluster.pulumi_command import Runner, no_pulumi, run_pulumi
from slinky_iac.commands import output
from slinky_iac.commands.handoff import ansible, cloud_init, render_folder
from slinky_iac.commands.handoff.known import held_keys, known
from slinky_iac.commands.handoff.model import Handoff, Rendered, Role
from slinky_iac.commands.handoff.role_sheets import handoff
from slinky_iac.commands.handoff.write import write
from slinky_iac.commands.stack_config import add_source, given
from slinky_iac.config.fields import is_address
from slinky_iac.errors import HandoffError
from slinky_iac.keys.catalogue import JWT

HELP = "render what hosts outside Kubernetes need to join: files, units, places of keys, ports, checks"
FORMS: Final = {"folder": render_folder.render, "ansible": ansible.render, "cloud-init": cloud_init.render}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.epilog = "exit codes: 0 written; 1 the stack could not be read, or the folder not be written; 2 wrong arguments"
    add_source(parser)
    parser.add_argument("--format", choices=tuple(FORMS), default="folder", help="by default a folder for each role")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder to write: new, empty, or an earlier one"
    )
    parser.add_argument(
        "--role",
        action="append",
        choices=[str(role) for role in Role],
        help="only this role; may be given again. By default all that the stack has outside, slurmd and login",
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
        raise HandoffError(f"--slurmctld-address {address}: is no IP address; /etc/hosts takes nothing else")
    if arguments.config and arguments.with_keys:
        raise HandoffError("--with-keys: a file's keys are encrypted; name the stack with --stack in the place of --config")
    values = given(arguments, pulumi, with_keys=arguments.with_keys)
    keys = held_keys(values) if arguments.with_keys else None
    roles = [Role(role) for role in arguments.role or ()]
    asked = no_pulumi if arguments.config else pulumi
    seen = known(arguments.stack, values.config, address, keys, asked, two_slurm_keys=values.has_two_slurm_keys)
    seen = replace(seen, jwt_comes=JWT.next in values.rotation_secrets)
    handed = handoff(values.config, seen, roles)
    files = FORMS[arguments.format](handed, keys)
    write(arguments.out, files, with_keys=arguments.with_keys)
    print(shown(handed, files, arguments.out, with_keys=arguments.with_keys, as_json=arguments.json))
    return 0


def shown(handed: Handoff, files: tuple[Rendered, ...], out: Path, *, with_keys: bool, as_json: bool) -> str:
    """What was written, for people or as JSON; never what is in a file."""
    if as_json:
        return output.as_json(_json(handed, files, out, with_keys=with_keys))
    lines = [
        f"{len(files)} files in {out}, for {', '.join(str(sheet.role) for sheet in handed.sheets)}; begin with README.md"
    ]
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
        "files": [str(each.path) for each in files],
    }
