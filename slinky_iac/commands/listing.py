"""All commands: what each is for, where it is carried out, and the help that lists them in groups.

`--help`, `--version` and a mistyped command are answered from here: importing every command takes a second.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from slinky_iac.text import closest, printable

MODULE: Final = "python -m slinky_iac"
"""How the command line is called in a checkout, where nothing is installed."""


@dataclass(frozen=True)
class Command:
    """One command."""

    group: str
    text: str
    """What it is for."""
    module: str = ""
    """Its module; empty: the command line itself carries it out."""
    folder: str = "commands"
    """Where its module is; a part's own command is in the part's folder."""

    @property
    def dotted(self) -> str:
        """Its module's whole name."""
        return f"slinky_iac.{self.folder}.{self.module}"


COMMANDS: Final = {
    "new": Command("Start", "make a project folder of your own: Pulumi.yaml, __main__.py, requirements.txt; offline", "new"),
    "init": Command("Start", "write a stack's file from the Slurm that runs, and import its keys", "init.cli"),
    "import-chart": Command("Start", "write a stack's file from the values of Slinky's Helm chart", "import_chart"),
    "adopt": Command(
        "Start",
        "write a stack's file from a running release of Slinky's chart; show what an update would change",
        "adopt.cli",
    ),
    "check": Command(
        "Start", "check a stack's file offline: errors with their lines and YAML to paste; --fix mends", "check"
    ),
    "preflight": Command(
        "Start",
        "check that both halves fit: names, ports, releases, keys, slurm.conf, clocks; from here and from a pod",
        "preflight.cli",
    ),
    "handoff": Command(
        "Start",
        "render what hosts outside Kubernetes need to join: files, units, places of keys, ports, checks",
        "handoff.cli",
    ),
    "drain": Command("Change", "show what scale-ins have drained and what a removal would wait for; return nodes", "drain"),
    "keys": Command(
        "Change",
        "make, import, show and verify slurm.key, the JWT key and the token key, and replace them under running jobs",
        "keys.cli",
    ),
    "token": Command("Use", "print a token for an ordinary user, signed with the stack's token key", "token"),
    "client": Command(
        "Use",
        "print what a pod of your own needs to use the cluster (clients.NAME): the sidecar, volumes and mounts, as YAML",
        "client",
    ),
    "plan": Command(
        "Inspect", "turn `pulumi preview --json` into what a reviewer needs, and judge it against limits", "plan.cli"
    ),
    "status": Command(
        "Inspect",
        "show one screen: endpoints, versions, nodes, drains and their owners, fingerprints of keys, the last `up`",
        "status.cli",
    ),
    "drift": Command(
        "Inspect",
        "compare the running Slurm with the stack: nodes, records, drains, partitions, version, fence; repairs nothing",
        "drift.cli",
    ),
    "verify-state": Command(
        "Inspect",
        "check the stack's state for code that isn't this program's, before an engine loads a state that others can write",
        "verify_state",
    ),
    "rights": Command(
        "Inspect",
        "print the Roles that an account needs in Kubernetes for review, apply, preflight or status of a stack, and no more",
        "rights.cli",
    ),
    "diagram": Command(
        "Inspect",
        "draw the hybrid cluster: what is inside Kubernetes and what outside, ports, arrows, keys by name",
        "diagram.cli",
    ),
    "monitoring": Command(
        "Set up",
        "print the alert rules or the dashboard, for a Prometheus or Grafana that takes files",
        "command",
        "parts.monitoring",
    ),
    "policies": Command(
        "Set up", "write the policy pack into a folder, and accept what a review shows; offline", "policies"
    ),
    "qualify": Command(
        "Set up",
        "measure install, scale-in and destroy at growing sizes, with and without gates: makes and removes fake clusters",
        "qualify.cli",
    ),
    "completion": Command("Set up", "print a completion script: source <(… completion bash)"),
    "docs": Command("Read", "print a page of the manual, or list them: no network, no checkout", "docs"),
    "schema": Command("Read", "print the JSON schema of Pulumi.<stack>.yaml for editors"),
    "reference": Command("Read", "print a page of docs/ that is made from the code"),
}
"""In the order in which a newcomer meets them."""


EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "new": ("slinky new my-cluster",),
    "init": ("slinky init prod --slurmctld ctl.example.org --via 'ssh root@{host} sh -s'",),
    "import-chart": ("slinky import-chart values.yaml --out Pulumi.prod.yaml",),
    "adopt": ("slinky adopt --namespace slurm --release slurm --out Pulumi.prod.yaml",),
    "check": ("slinky check Pulumi.prod.yaml",),
    "preflight": ("slinky preflight --via 'ssh root@{host} sh -s'",),
    "handoff": ("slinky handoff --role slurmctld --role slurmdbd --out handoff",),
    "plan": ("pulumi preview --json | slinky plan",),
    "drain": (
        "slinky drain status",
        "slinky drain plan --node worker-7",
        "slinky drain watch --until-done",
        "slinky drain cancel --nodeset gpu",
    ),
    "keys": (
        "slinky keys generate jwt --out jwt_hs256.key",
        "slinky keys import slurm --file slurm.key",
        "slinky keys show",
        "slinky keys verify --via 'ssh root@{host} sh -s'",
        "slinky keys rotate slurm --plan",
    ),
    "token": ("slinky token --user alice --lifespan 30m",),
    "client": ("slinky client portal",),
    "qualify": ("slinky qualify --config Pulumi.test.yaml --nodes 36",),
    "status": ("slinky status --watch",),
    "drift": ("slinky drift",),
    "verify-state": ("slinky verify-state",),
    "rights": ("slinky rights --for apply",),
    "diagram": ("slinky diagram --config Pulumi.prod.yaml --out cluster.svg",),
    "monitoring": ("slinky monitoring rules > slinky-rules.yaml",),
    "policies": (
        "slinky policies write pack",
        "slinky policies accept review.txt --site site.json --reason REASON --owner NAME --until 2027-01-31",
    ),
    "completion": ("source <(slinky completion bash)",),
    "docs": (
        "slinky docs on-call",
        "slinky docs 'has not acted on'",
    ),
    "schema": ("slinky schema > stack.schema.json",),
    "reference": ("slinky reference cli",),
}
"""By command, lines to copy; of a command with acts, one an act."""


def examples(name: str, prog: str, act: str = "") -> str:
    """The lines of a command, or of one of its acts, for the end of its help."""
    own = [example for example in EXAMPLES[name] if not act or f" {name} {act}" in example]
    head = "example" if len(own) == 1 else "examples"
    return "\n".join([f"{head}:", *(f"    {example.replace('slinky ', f'{prog} ', 1)}" for example in own), "", ""])


def overview(prog: str) -> str:
    """The help of the whole command line, as wide as the terminal."""
    return "\n".join(_overview(prog)) + "\n"


def _overview(prog: str) -> Iterator[str]:
    yield f"usage: {prog} [-h] [--version] COMMAND ..."
    yield ""
    yield "Check, inspect and hand off a hybrid Slurm cluster. Use pulumi to change it."
    room = min(shutil.get_terminal_size((100, 24)).columns, 120)
    wide = max(map(len, COMMANDS)) + 6
    for group in dict.fromkeys(command.group for command in COMMANDS.values()):
        yield f"\n{group}:"
        for name, command in COMMANDS.items():
            if command.group == group:
                yield from textwrap.wrap(
                    command.text.replace("%%", "%"),
                    room,
                    initial_indent=f"    {name}".ljust(wide),
                    subsequent_indent=" " * wide,
                )
    yield ""
    yield from textwrap.wrap(f"`{prog} COMMAND --help` has the options and exit codes; `{prog} docs` has the manual", room)


def no_command(prog: str, typed: str) -> str:
    """What to say where there is no such command."""
    near = closest(typed, COMMANDS)
    meant = f"did you mean {near}? " if near else ""
    return f"{prog}: there is no command {printable(typed)}; {meant}`{prog} --help` lists all\n"


def no_package(prog: str, package: str) -> str:
    """What to say where this Python lacks a package of the program's: mostly another Python than the project's own."""
    return (
        f"{prog}: this Python has no package {package}. In your project's folder run `pulumi install`, which makes"
        " venv, and `. venv/bin/activate`; then the same command again\n"
    )
