"""More cases for the rules: releases of Slurm by the tags of images that are given."""

from __future__ import annotations

from typing import Any

from tests.stacks import merged, minimal, outside
from tests.unit.config.rule_cases import GPU, KEYS, Case, nodeset

SLINKY = "ghcr.io/slinkyproject"
LOGIN = {"logins": {"a": {"sssdConfFrom": {"secret": "sssd"}}}}


def given(path: str, image: str, base: dict[str, Any]) -> dict[str, Any]:
    """A stack whose setting at ``path`` is an image."""
    over: Any = image
    for step in reversed(path.split(".")):
        over = {step: over}
    return merged(base, over)


def case(name: str, path: str, image: str, words: tuple[str, ...], right: str, base: dict[str, Any] | None = None) -> Case:
    """An image of a release that can't be, and one that can."""
    stack = base if base is not None else nodeset()
    return Case(name, given(path, f"{SLINKY}/{image}", stack), "error", path, words, given(path, f"{SLINKY}/{right}", {}))


RELEASES = [
    case(
        "a NodeSet's slurmd newer than slurmctld",
        "nodesets.gpu.image",
        "slurmd:26.11-ubuntu26.04",
        ("26.11", "newer than slurmctld's 26.05", "no node of it registers"),
        "slurmd:26.05.2-ubuntu26.04",
    ),
    case(
        "a NodeSet's slurmd too old for slurmctld",
        "nodesets.gpu.image",
        "slurmd:24.05.3-ubuntu24.04",
        ("24.05", "too old", "24.11 and newer"),
        "slurmd:24.11-ubuntu24.04",
    ),
    case(
        "slurmd of all NodeSets newer, by a tag with a digest",
        "cluster.images.slurmd",
        f"slurmd:26.11-rockylinux9@sha256:{'0' * 64}",
        ("26.11", "26.05"),
        f"slurmd:26.05-rockylinux9@sha256:{'0' * 64}",
    ),
    case(
        "login pods newer than slurmctld",
        "logins.a.image",
        "login:26.11-ubuntu26.04",
        ("26.11", "every Slurm command"),
        "login:25.11-ubuntu24.04",
        minimal(**LOGIN),
    ),
    case(
        "login pods of all sets too old",
        "cluster.images.login",
        "login:24.05-ubuntu24.04",
        ("24.05", "too old"),
        "login:26.05-ubuntu26.04",
        minimal(**LOGIN),
    ),
    case(
        "slurmrestd newer than slurmctld",
        "cluster.images.slurmrestd",
        "slurmrestd:26.11-ubuntu26.04",
        ("26.11", "26.05"),
        "slurmrestd:25.11-ubuntu24.04",
    ),
    case(
        "slurmrestd without the operator's REST version",
        "cluster.images.slurmrestd",
        "slurmrestd:25.05-ubuntu24.04",
        ("25.05", "v0.0.44"),
        "slurmrestd:25.11-ubuntu24.04",
    ),
    case(
        "slurmctld without what the operator needs",
        "cluster.images.slurmctld",
        "slurmctld:25.05-ubuntu24.04",
        ("25.05", "25.11 or newer"),
        "slurmctld:26.05-ubuntu26.04",
    ),
    Case(
        "a slurmctld older than the slurmd that is the default",
        merged(nodeset(), {"cluster": {"images": {"slurmctld": f"{SLINKY}/slurmctld:25.11-ubuntu24.04"}}}),
        "error",
        "cluster.images.slurmd",
        ("26.05", "25.11"),
        {
            "cluster": {
                "images": {name: f"{SLINKY}/{name}:25.11-ubuntu24.04" for name in ("slurmctld", "slurmd", "slurmrestd")}
            }
        },
    ),
    Case(
        "slurmd newer than the outside slurmctld",
        outside(
            cluster={"name": "lab", "slurmVersion": "25.11", "images": {"slurmrestd": "r:1"}},
            nodesets={"gpu": {**GPU, "image": f"{SLINKY}/slurmd:26.05-ubuntu26.04"}},
        ),
        "error",
        "nodesets.gpu.image",
        ("26.05", "25.11"),
        {"nodesets": {"gpu": {"image": f"{SLINKY}/slurmd:25.11-ubuntu24.04"}}},
    ),
    Case(
        "a slurmctld image newer than the outside slurmdbd, by its tag",
        minimal(
            cluster={
                "name": "lab",
                "slurmVersion": "25.11",
                "images": {"slurmrestd": "r:1", "slurmctld": f"{SLINKY}/slurmctld:26.05-ubuntu26.04"},
            },
            keys=KEYS,
            accounting={"external": {"host": "dbd.example.org"}},
        ),
        "error",
        "cluster.images.slurmctld",
        ("26.05", "slurmdbd's 25.11", "no job is accounted"),
        {"cluster": {"images": {"slurmctld": f"{SLINKY}/slurmctld:25.11-ubuntu24.04"}}},
    ),
    *(
        Case(
            f"slurmdbd {its}, with slurmctld 26.05",
            merged(
                minimal(accounting={"database": {"host": "db"}}),
                {"cluster": {"images": {"slurmdbd": f"{SLINKY}/slurmdbd:{its}-ubuntu24.04"}}},
            ),
            "error",
            "cluster.images.slurmdbd",
            words,
            {"cluster": {"images": {"slurmdbd": f"{SLINKY}/slurmdbd:26.05-ubuntu26.04"}}},
        )
        for its, words in (("25.11", ("older than slurmctld's 26.05",)), ("28.05", ("understands 26.11 and newer",)))
    ),
]
NEWER = ("Slurm 27.05, newer than 26.05", "Take a newer release of this program")
RELEASES_TOLD = [
    Case(
        "an outside slurmctld of a release that isn't known",
        outside(cluster={"name": "lab", "slurmVersion": "27.05"}),
        "info",
        "cluster.slurmVersion",
        NEWER,
        {"cluster": {"slurmVersion": "26.05"}},
    ),
    Case(
        "an image of slurmctld of a release that isn't known",
        given("cluster.images.slurmctld", f"{SLINKY}/slurmctld:27.05-ubuntu26.04", nodeset()),
        "info",
        "cluster.images.slurmctld",
        NEWER,
        given("cluster.images.slurmctld", f"{SLINKY}/slurmctld:26.05-ubuntu26.04", {}),
    ),
]
RELEASES_SOUND = {
    "an image whose tag has another form": nodeset(image="registry.example/slurmd:26.11-site1"),
    "an image of a release's own build": nodeset(image=f"{SLINKY}/slurmd:26.11.2-torch2.9-cu130-mpi"),
    "an image whose tag begins as a system's release": nodeset(image="registry.example/slurmd:26.04-ubuntu26.04"),
    "a port that looks like a release": nodeset(image="registry.example:2405/slurmd:v1"),
    "a slurmctld of the site's own, of which the release is unknown": merged(
        nodeset(image=f"{SLINKY}/slurmd:24.05-ubuntu24.04"),
        {"cluster": {"images": {"slurmctld": "registry.example/slurmctld:ours"}}},
    ),
    "a slurmctld older than the outside slurmdbd": minimal(
        cluster={
            "name": "lab",
            "createNamespace": False,
            "slurmVersion": "26.05",
            "images": {name: f"{SLINKY}/{name}:25.11-ubuntu24.04" for name in ("slurmctld", "slurmrestd")},
        },
        keys={"source": "existing", **{f"{each}KeyFrom": {"secret": "s", "key": each} for each in ("slurm", "jwt")}},
        accounting={"external": {"host": "dbd.example.org"}},
    ),
    "an image that no pod has": merged(
        nodeset(image=f"{SLINKY}/slurmd:26.05-ubuntu26.04"),
        {"cluster": {"images": {"slurmd": f"{SLINKY}/slurmd:24.05-ubuntu24.04"}}},
    ),
}
