"""All of a cluster as raw rows, and every way in which its jobs end: pods, records, partitions, slurm.conf, slurmctld, hosts
of srun and salloc.

Nothing here asks the code under test who loses: rows are looked at one by one (facts/slurmrestd.md; ``read_config.c`` of
25.11 and 26.05, ``_sync_jobs_to_conf``, ``_sync_detail_bitmaps``, ``valid_job_resources``). Known gaps are distinguished by
turns: a person opened the partition, a session began, or a job that names the node came, after the last look of the run that
made the change (R6).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.unit.drain.model import Job, Node, World

OWN = "gpu"
"""The NodeSet's own partition, which slurm-operator writes."""


@dataclass
class SiteWorld(World):
    """One NodeSet, bare-metal hosts, partitions, a Controller, a login set."""

    live: str | None = None
    """``extraConf`` of the Controller as it is now; None: there is none."""
    conf: dict[str, dict[str, str]] = field(default_factory=dict)
    """Partitions' and hosts' lines that slurmctld has read."""
    partitions: dict[str, str] = field(default_factory=dict)
    """Their states."""
    began: int = 900_000
    logins: set[str] = field(default_factory=set)
    """Login pods."""
    turn_no: int = 0
    opened_at: dict[str, int] = field(default_factory=dict)
    """Turn in which a person opened a partition."""
    by_person: set[str] = field(default_factory=set)
    """Partitions that a person's edit of the Controller made."""
    looked: dict[str, int] = field(default_factory=dict)
    """Turn in which the writer of the Controller had asked for the partitions."""
    own: bool = False
    """The NodeSet has a partition of its own, which goes with it."""
    gone: bool = False
    """The NodeSet is deleted."""
    written: bool = False
    """The Controller was written since slurmctld read its file: slurm-operator restarts its pod, or has it read again."""
    events: list[str] = field(default_factory=list)

    # -- what slurmctld has --------------------------------------------------------------------------------------------
    @staticmethod
    def parsed(text: str) -> dict[str, dict[str, str]]:
        """Lines of a text by kind and name."""
        found: dict[str, dict[str, str]] = {"PartitionName": {}, "NodeName": {}, "MaxNodeCount": {}}
        for line in text.split("\n"):
            match = re.match(r"(PartitionName|NodeName|MaxNodeCount)=(\S+)", line)
            if match:
                found[match[1]][match[2]] = line
        return found

    @property
    def file(self) -> dict[str, dict[str, str]]:
        """The lines that slurm.conf has now."""
        found = self.parsed(self.live or "")
        if self.own and not self.gone:
            found["PartitionName"][OWN] = ""
        return found

    def metal(self) -> list[str]:
        return sorted(self.conf.get("NodeName", {}))

    def starts_again(self) -> None:
        """slurmctld begins with the file that it has: a crash, before its pod has the new one."""
        self.began = max(self.now, self.began + 1)
        self.slurmctld_starts()

    def reads(self) -> None:
        """slurmctld begins with the file of this moment, and looks at each job again."""
        if self.live is None:
            return
        before, now, self.written = self.conf, self.file, False
        self.starts_again()
        hosts, kept = before.get("NodeName", {}), now["NodeName"]
        away = hosts.keys() - kept.keys()
        changed = {host for host in hosts.keys() & kept.keys() if hosts[host] != kept[host]}
        for host in away:
            self.nodes.pop(host, None)
        for host in kept.keys() - hosts.keys():
            self.nodes.setdefault(host, Node(host))
        room = min((int(number) for number in now["MaxNodeCount"]), default=1024)
        dynamic = sorted(self.nodes.keys() - kept.keys())
        away |= {*dynamic[max(room - len(kept), 0) :]}
        self.partitions = {name: self.partitions.get(name, "UP") for name in now["PartitionName"]}
        self.conf = now
        for job in list(self.jobs.values()):
            mine = job.partitions[:1] if job.nodes else job.partitions
            if not set(mine) & self.partitions.keys():
                self._ends(job, f"partition {mine[0]}", set(mine))
            elif set(job.nodes) & away:
                self._ends(job, "record")
            elif set(job.named) & away:
                self._named(job, self.looked.get("conf jobs", 0))
            elif set(job.nodes) & changed:
                self._ends(job, "resources")

    def _ends(self, job: Job, why: str, partitions: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        """A job ends by a change; who made it looked at turn ``looked``."""
        look = self.looked.get("conf", 0)
        late = any(self.opened_at.get(name, -1) >= look for name in partitions) and job.made >= look
        (self.left_open if late else self.lost).append(f"job {job.job_id} by {why} at {self.now}")
        self.jobs.pop(job.job_id, None)

    def _named(self, job: Job, look: int) -> None:
        """A job ends since a record goes that its --nodelist names; one that came after the last list of jobs can't be
        seen (R6)."""
        (self.left_open if job.made >= look else self.lost).append(f"job {job.job_id} by --nodelist at {self.now}")
        self.jobs.pop(job.job_id, None)

    def controller_goes(self, look: int) -> None:
        """slurmctld ends and its state with it."""
        self.looked["conf"], self.live = look, None
        for job in list(self.jobs.values()):
            self._ends(job, "slurmctld", set(job.partitions))
        self.partitions, self.conf, self.nodes = {}, {}, {}

    def logins_go(self, look: int) -> None:
        """The pods of the login set end, and each srun in them."""
        pods, self.logins = self.logins, set()
        for job in [job for job in self.jobs.values() if job.host in pods]:
            (self.left_open if job.made > look else self.lost).append(f"srun {job.job_id} at {self.now}")
            del self.jobs[job.job_id]

    def record_goes(self, name: str, look: int) -> bool:
        """`scontrol delete nodename`: refused under a job; one that names it dies at the next start."""
        if any(not job.suspended for job in self.jobs_on(name)):
            return False
        for job in list(self.jobs.values()):
            if name in job.nodes:
                self._ends(job, f"record {name}")
            elif name in job.named:
                self._named(job, look)
        return self.nodes.pop(name, None) is not None

    # -- users ---------------------------------------------------------------------------------------------------------
    def submits(self, job: Job) -> bool:
        """`sbatch` or srun: taken where each of its partitions takes jobs."""
        if not all(self.partitions.get(name) in {"UP", "DOWN"} for name in job.partitions):
            return False
        if not set(job.named) <= self.nodes.keys():
            return False
        job.job_id, job.made, self.next_job = self.next_job, self.turn_no, self.next_job + 1
        self.jobs[job.job_id] = job
        return True

    def starts(self, job: Job, wide: int, length: int | None) -> None:
        """slurmctld starts a waiting job where it fits."""
        usable = [name for name in job.partitions if self.partitions.get(name) in {"UP", "DRAIN"}]
        for name in usable:
            places = [node for node in self._places(name) if not job.named or node in job.named]
            if len(places) >= wide:
                job.nodes, job.waits, job.start = tuple(sorted(places[:wide])), False, self.now
                job.partitions = (name, *(each for each in job.partitions if each != name))
                job.end = None if length is None else self.now + length
                return

    def _places(self, partition: str) -> list[str]:
        pods = [pod.node for pod in self.pods.values() if self.can_start_on(pod)]
        metal = [host for host in self.metal() if not (self.nodes[host].drain or self.nodes[host].down)]
        free = [name for name in (pods if partition != "batch" else []) + (metal if partition != OWN else [])]
        return [name for name in free if len(self.jobs_on(name)) < 2]

    def requeued(self, number: int) -> bool:
        """Back into the queue."""
        job = self.jobs.get(number)
        if job is None or job.waits or not job.requeueable or not job.batch or job.completing:
            return False
        job.nodes, job.waits, job.suspended, job.end = (), True, False, None
        return True
