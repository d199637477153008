"""Does the outside cluster work? One REST call with a token, sinfo, a job on both metal hosts, its row in accounting."""

import json
import urllib.request
from collections.abc import Iterator

from lab.errors import LabError
from lab.slurm import conf, needs
from lab.slurm.cluster import Cluster

METAL = ("metal-1", "metal-2")


def token(cluster: Cluster, user: str = "slurm", seconds: int = 300) -> str:
    """A JWT for `user` from slurmctld itself (`scontrol token`). A secret: never print it."""
    said = cluster.hosts.run("ctl", ["scontrol", "token", f"username={user}", f"lifespan={seconds}"]).stdout
    return said.partition("SLURM_JWT=")[2].strip()


def run(cluster: Cluster) -> Iterator[str]:
    """One line for each thing that holds. Raises LabError at the first that does not."""
    yield f"REST {needs.REST} answers through slurmrestd: slurmctld {_ping(cluster)}"
    states = cluster.hosts.run("login-1", ["sinfo", "-hN", "-p", "metal", "-o", "%N=%T"], user="alice").stdout.split()
    yield f"sinfo on login-1, as alice: {' '.join(states)}"
    srun = ["srun", "-p", "metal", "-N", str(len(METAL)), "-t", "1", "bash", "-c", "echo $SLURM_JOB_ID $HOSTNAME"]
    said = sorted(line.split() for line in cluster.hosts.run("login-1", srun, user="alice").stdout.splitlines())
    if [line[1] for line in said] != sorted(METAL):
        raise LabError(f"srun on {', '.join(METAL)} printed {said}; one line a host was to come")
    job = said[0][0]
    yield f"srun from login-1, as alice: job {job} ran on {' '.join(METAL)}"
    cluster.site.supervisor.await_true(f"accounting knows job {job} as completed", lambda: _done(cluster, job), 20.0)
    yield f"sacct: job {job} COMPLETED"


def _ping(cluster: Cluster) -> str:
    rest = next(host for host in cluster.members() if host.name == "rest")
    url = f"http://{cluster.site.network.address(rest.offset)}:{conf.REST_PORT}/slurm/{needs.REST}/ping/"
    headers = {"X-SLURM-USER-NAME": "slurm", "X-SLURM-USER-TOKEN": token(cluster)}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            pings = json.load(answer)["pings"]
    except (OSError, ValueError, KeyError) as error:
        raise LabError(f"GET {url} failed: {error}; see the log of rest/slurmrestd") from error
    if not pings or not all(ping["responding"] for ping in pings if ping["primary"]):
        raise LabError(f"GET {url} says that no slurmctld responds: {pings}")
    return str(pings[0]["hostname"]) + " responds"


def _done(cluster: Cluster, job: str) -> bool:
    said = cluster.hosts.run("ctl", ["sacct", "-aXnPj", job, "-o", "state"]).stdout.split()
    return said == ["COMPLETED"]
