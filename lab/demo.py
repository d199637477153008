"""What a new user sees: one `pulumi up` of Pulumi.dev.yaml on the lab, and a job that runs on pods and on metal."""

import os
import time
from collections.abc import Callable

from lab import charts, engine, given_operator, obtain, paths, slurm
from lab.errors import LabError
from lab.slurm import cluster
from lab.stacks import DEMO, Stack, imported_keys

Say = Callable[[str], None]
PODS = 3
"""Replicas of all NodeSets in Pulumi.dev.yaml."""
METAL = 2


def stack() -> Stack:
    """The demo's stack."""
    return Stack(DEMO, paths.STATE / "projects" / DEMO, engine.environment(obtain.ensure(say=_quiet)["pulumi"], _path()))


def run(*, say: Say) -> None:
    """Bring the dev stack up on a lab that is up, teach the outside slurmctld its NodeSets, run the job."""
    began = time.monotonic()
    dev = stack()
    draft = paths.STATE / "projects" / f"{DEMO}.draft.yaml"
    draft.parent.mkdir(parents=True, exist_ok=True)
    draft.write_text(given_operator.dev_settings())
    dev.init(draft, charts.chart_dir(), imported_keys())
    say("`pulumi up` of Pulumi.dev.yaml")
    dev.shown("up", "--yes")
    say("the outside admin's part: NodeSet= and PartitionName= lines of the stack's output go into slurm.conf")
    slurm.set_nodesets_conf(nodeset_lines(str(dev.outputs()["outsideSlurmConf"])))
    slurm.reconfigure()
    say(f"a job on {PODS} pods and {METAL} bare-metal hosts: `srun -N{PODS + METAL} hostname` as alice on login-1 prints")
    print(job(PODS + METAL), flush=True)
    say(f"{time.monotonic() - began:.0f} s from the lab to the job. Look around: ./lab/lab shell login-1, ./lab/lab status")


def nodeset_lines(outside_slurm_conf: str) -> str:
    """The lines of the stack's output that the lab's slurm.conf doesn't have by itself."""
    wanted = [line for line in outside_slurm_conf.splitlines() if line.startswith(("NodeSet=", "PartitionName="))]
    return "\n".join(wanted) + "\n"


def job(nodes: int) -> str:
    """Run `hostname` on that many nodes at once as a user, and return what they printed, sorted.

    Raises LabError where it isn't the names of that many different hosts.
    """
    done = cluster.LAB.hosts.run("login-1", ["srun", f"-N{nodes}", "-t1", "hostname"], user="alice", timeout=120)
    found = sorted(set(done.stdout.split()))
    if len(found) != nodes:
        raise LabError(f"the job was to print {nodes} host names and printed {found}: see `./lab/lab logs`")
    return "\n".join(found)


def _path() -> str:
    return os.environ.get("PATH", "")


def _quiet(_line: str) -> None:
    """Tools are there already when a demo begins."""
