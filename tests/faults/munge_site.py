"""A munge cluster and the stack of its clients, as docs/munge.md has it: what tests of pods and of a hub share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml

from lab import charts, images, paths
from lab.images import Image
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.kubernetes.layout import Node
from lab.slurm import munge
from lab.slurm.munge import CTL
from lab.stacks import Stack
from tests.e2e.world import World

NAMESPACE = "jupyter"
EXAMPLE = paths.REPO / "examples" / "jupyter"
HELD = "trap 'exit 0' TERM; while :; do sleep 0.2; done"
"""A job that runs until it is cancelled."""


def settings(image: str) -> dict[str, Any]:
    """The example stack's, with the lab's addresses and release, and an image."""
    found: dict[str, Any] = yaml.safe_load((EXAMPLE / "Pulumi.munge.yaml").read_text())["config"]
    found["slinky-iac:cluster"]["slurmVersion"] = "26.05"
    found["slinky-iac:munge"]["image"] = image
    for daemon in ("controller", "accounting"):
        found[f"slinky-iac:{daemon}"]["external"]["host"] = munge.LAB.address(CTL)
    return found


def up(stack: Stack, image: str, key: bytes) -> None:
    """`pulumi up` with this munge.key, as docs/munge.md has it for a new one."""
    draft = paths.STATE / "projects" / "munge.draft.yaml"
    draft.parent.mkdir(parents=True, exist_ok=True)
    draft.write_text(yaml.safe_dump({"config": settings(image)}))
    stack.init(draft, charts.chart_dir(), {"mungeKey": key})
    unprotect(stack)
    stack.up()


def unprotect(stack: Stack) -> None:
    """Let the Secret go, if there is one."""
    stack.pulumi("state", "unprotect", "--all", "--yes", check=False)


@contextmanager
def site(world: World, image: Image, nodes: tuple[Node, ...]) -> Iterator[Stack]:
    """The munge cluster, the image in these nodes' stores, and the stack, which isn't up yet; all of it goes at the end."""
    for node in nodes:
        images.import_into(KUBERNETES.home.socket(node), image)
    stack = Stack("munge", paths.STATE / "projects" / "munge", world.env)
    try:
        munge.LAB.up()
        yield stack
    finally:
        unprotect(stack)
        stack.destroy()
        munge.LAB.down()


def holds(live: Any, piece: Any) -> bool:
    """Whether what the API server has says all that a piece says; it may say more, since it fills in defaults."""
    if isinstance(piece, Mapping):
        return all(name in live and holds(live[name], value) for name, value in piece.items())
    if isinstance(piece, list):
        return len(live) == len(piece) and all(holds(there, said) for there, said in zip(live, piece, strict=True))
    return bool(live == piece)
