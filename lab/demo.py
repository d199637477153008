"""What a new user sees: one `pulumi up` of Pulumi.dev.yaml on the lab, and a job that runs on pods and on metal."""

import json
import os
import secrets
import subprocess
import time
import urllib.request
from collections.abc import Callable

from lab import charts, engine, given_operator, hub_chart, images, obtain, paths, slurm, supervise
from lab.errors import LabError
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import cluster, jupyter
from lab.stacks import DEMO, Stack, imported_keys

Say = Callable[[str], None]
PODS = 3
"""Replicas of all NodeSets in Pulumi.dev.yaml."""
METAL = 2
NOTEBOOKS = "notebooks"
"""Namespace of the notebooks."""
PERSON = "alice"
UID = 2001
"""Her number on the lab's hosts."""


ACKNOWLEDGED = {
    "daemon-unreachable": "only pods and the lab's hosts resolve ctl, dbd and rest",
    "mixed-cgroups": "cgroup.conf on ctl has CgroupPlugin=disabled",
    "plain-http": "the network between rest and the pods is inside one machine",
    "short-host-name": "the lab's cluster DNS knows ctl, dbd and rest",
}
"""Findings that are so because this is a lab, with the reason: as a site would write them into its stack's file."""


def stack() -> Stack:
    """The demo's stack."""
    return Stack(DEMO, paths.STATE / "projects" / DEMO, engine.environment(obtain.ensure(say=_quiet)["pulumi"], _path()))


def run(*, say: Say, notebooks: bool = False) -> None:
    """Bring the dev stack up on a lab that is up, teach the outside slurmctld its NodeSets, run the job; and where asked
    for, a JupyterHub whose notebooks are clients of the cluster."""
    began = time.monotonic()
    dev = stack()
    draft = paths.STATE / "projects" / f"{DEMO}.draft.yaml"
    draft.parent.mkdir(parents=True, exist_ok=True)
    settings = with_reasons(given_operator.dev_settings())
    if notebooks:
        say("JupyterHub's image, about 2 minutes the first time")
        images.import_into(KUBERNETES.home.socket(hub_chart.NODE), jupyter.image(say=say))
        settings = with_hub(settings, password())
    draft.write_text(settings)
    dev.init(draft, charts.chart_dir(), imported_keys())
    say("`pulumi up` of Pulumi.dev.yaml")
    dev.shown("up", "--yes")
    say("the outside admin's part: NodeSet= and PartitionName= lines of the stack's output go into slurm.conf")
    apply_lines_of(dev)
    say(f"a job on {PODS} pods and {METAL} bare-metal hosts: `srun -N{PODS + METAL} hostname` as alice on login-1 prints")
    print(job(PODS + METAL), flush=True)
    say(f"{time.monotonic() - began:.0f} s from the lab to the job")
    for line in next_steps(dev):
        say(line)
    if notebooks:
        print(f"A notebook: {notebook()} (log in as {PERSON}, password {password()})", flush=True)


def with_hub(settings: str, word: str) -> str:
    """Settings of a stack, with a hub for its one person."""
    section = hub_chart.clients(paths.STATE / "projects" / "hub-chart", {PERSON: UID}, NOTEBOOKS, word)
    return f"{settings.rstrip()}\n  slinky-iac:clients: {json.dumps(section)}\n"


def password() -> str:
    """Of the demo's hub: made once, and kept as long as the lab's state."""
    file = paths.STATE / "projects" / f"{DEMO}.password"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(12))
    return file.read_text()


def notebook() -> str:
    """Address of the hub, once its login page is there."""
    asked = ["kubectl", f"--kubeconfig={paths.KUBECONFIG}", "-n", NOTEBOOKS, "get", "service", "proxy-public"]
    found = subprocess.run([*asked, "-o", "jsonpath={.spec.clusterIP}"], capture_output=True, text=True, check=True)
    address = f"http://{found.stdout}/"

    def there() -> bool:
        try:
            with urllib.request.urlopen(f"{address}hub/login", timeout=5) as page:
                return bool(page.status == 200)
        except OSError:
            return False

    supervise.await_true(f"JupyterHub's login page is at {address}", there, 180)
    return address


def with_reasons(text: str) -> str:
    """A stack's file with the lab's own findings acknowledged."""
    lines = (f"    {name}: {json.dumps(reason)}" for name, reason in ACKNOWLEDGED.items())
    return "\n".join([text.rstrip(), "  slinky-iac:acknowledged:", *lines]) + "\n"


def next_steps(dev: Stack) -> list[str]:
    """What to look at next."""
    python = f"{paths.REPO}/venv/bin/python -m slinky_iac"
    return [
        "what to look at next:",
        "  ./lab/lab shell login-1                    # then sinfo, squeue, srun -N5 hostname",
        f'  eval "$(./lab/lab env)" && cd {dev.folder}   # the stack; then:',
        f"  {python} status        # one screen: daemons, nodes, drains, keys",
        "  pulumi config set --path 'slinky-iac:nodesets.gpu.replicas' 1 && pulumi up   # a scale-in, drained first",
        f"  {python} drain watch   # the same from a second terminal, under a job",
        "  docs/quick-start.md: with a cluster of your own. docs/drains.md: how a drain loses no job",
        "  ./lab/lab down                             # leaves the machine clean",
    ]


def nodeset_lines(outside_slurm_conf: str) -> str:
    """The lines of the stack's output that the lab's slurm.conf doesn't have yet."""
    wanted = [line for line in outside_slurm_conf.splitlines() if line.startswith(("NodeSet=", "PartitionName="))]
    return "\n".join(wanted) + "\n"


def apply_lines_of(stack: Stack) -> None:
    """The outside admin's part: these lines of a stack's output go into the lab's slurm.conf, and its daemons read it."""
    slurm.apply_nodesets_conf(nodeset_lines(str(stack.outputs()["outsideSlurmConf"])))


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
