"""A release of Slinky's chart as its users have it, installed by the program helm from the operator's source tree, with
slurmctld, slurmdbd, slurmrestd, a login set and three worker pods. The operator is another stack's."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lab import charts, helm
from lab.slurm import conf, keys, site
from lab.stacks import Stack
from tests.e2e.slurm import HELD, await_true
from tests.e2e.test_two_stacks import hybrid
from tests.e2e.world import World, dev_settings, ready
from tests.faults.inside_parts import database, queue_volume
from tests.faults.slurm_jobs import SlurmJobs

SPACE, RELEASE, DATABASE = "charted", "charted-slurm", "slurm_acct_db_charted"
WORKERS = ("solo-0", "solo-1", "solo-2")
PODS = 7
"""Of the release: three worker pods, slurmctld, slurmdbd, slurmrestd and a login pod."""
IMAGE = {"image": {"repository": "slinky-lab/slurm", "tag": "26.05"}}
POD = {"terminationGracePeriodSeconds": 2}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "mariadb-password", "namespace": SPACE},
    "type": "Opaque",
}
VALUES: dict[str, Any] = {
    "clusterName": SPACE,
    "imagePullPolicy": "Never",
    "configFiles": {"cgroup.conf": conf.cgroup_conf()},
    "controller": {
        "slurmctld": IMAGE,
        "reconfigure": IMAGE,
        "logfile": IMAGE,
        "persistence": {"enabled": True, "resources": {"requests": {"storage": "1Gi"}}},
        "extraConfMap": {"ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none"},
        "podSpec": POD,
    },
    "accounting": {
        "enabled": True,
        "slurmdbd": IMAGE,
        "storageConfig": {"host": "dbd", "database": DATABASE},
        "podSpec": POD,
    },
    "restapi": {"slurmrestd": IMAGE, "podSpec": POD},
    "nodesets": {
        "slinky": {"enabled": False},
        "solo": {
            "enabled": True,
            "replicas": len(WORKERS),
            "slurmd": IMAGE,
            "logfile": IMAGE,
            "podSpec": POD,
            "partition": {"enabled": True},
        },
    },
    "loginsets": {
        "slinky": {"enabled": False},
        "main": {
            "enabled": True,
            "replicas": 1,
            "login": IMAGE,
            "initconf": IMAGE,
            "podSpec": POD,
            "service": {"spec": {"type": "ClusterIP"}},
        },
    },
}
SSSD = "[sssd]\n"
VENDOR = '{{- define "vendor.dcgm.enabled" -}}{{- end }}'
"""What the chart's templates/vendor says where it is switched off: Go leaves folders of that name out of a module."""


@dataclass
class Charted(SlurmJobs):
    """The release."""

    world: World
    operator: Stack
    """The stack that has slurm-operator; its folder has the program."""
    program: Path
    """helm."""
    chart: Path
    values: Path
    said: list[str] = field(default_factory=list)

    def kubectl(self, *words: str, check: bool = True) -> str:
        return self.world.kubectl("-n", SPACE, *words, check=check).stdout

    def slurm(self, *argv: str) -> str:
        """A command beside slurmctld."""
        return self.kubectl("exec", f"{RELEASE}-controller-0", "-c", "slurmctld", "--", *argv)

    def helm(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """helm, as its user runs it."""
        argv = [str(self.program), *words, "--namespace", SPACE]
        done = subprocess.run(argv, env=self.world.env, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done

    def install(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """``words``: install, upgrade or upgrade --install, with the chart and the values."""
        return self.helm(*words, RELEASE, str(self.chart), "--values", str(self.values), check=check)

    def releases(self) -> list[str]:
        """What `helm list` shows."""
        return self.helm("list", "--short").stdout.split()

    def adopt(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`slinky adopt`, as its user runs it."""
        done = self.operator.program("adopt", *words)
        self.said += [done.stdout, done.stderr]
        return done

    def submit(self, node: str) -> str:
        """Submit a job to a node, which runs until it gets SIGUSR1; its number."""
        place = ("-p", "solo", "-w", node, "-D/tmp", "-o/dev/null", "-t60")
        return self.slurm("sbatch", "--parsable", *place, f"--wrap={HELD}").strip()

    def finish(self, job: str) -> None:
        """Let a job end, with exit code 0."""
        self.slurm("scancel", "--batch", "--signal=USR1", job)

    def cancel_all(self) -> None:
        """End the jobs of all users: a destroy waits for jobs."""
        for number in self.slurm("squeue", "-h", "-o", "%A").split():
            self.slurm("scancel", number)

    def accounted(self, *jobs: str) -> dict[str, str]:
        """What slurmdbd has of each run of jobs: state, nodes, exit code."""
        asked = ("sacct", "-X", "-D", "-n", "-P", "-j", ",".join(jobs), "-o", "JobID,State,NodeList,ExitCode")
        return dict(line.split("|", 1) for line in self.slurm(*asked).split())

    def login(self) -> str:
        """Name of the login pod."""
        (found,) = [name for name in self.pods() if name.startswith(f"{RELEASE}-login-main")]
        return found

    def pods(self) -> dict[str, str]:
        """UID of each pod by name, and how often its containers were started again."""
        return {
            pod["metadata"]["name"]: " ".join(
                [pod["metadata"]["uid"], *(str(each["restartCount"]) for each in pod["status"].get("containerStatuses", []))]
            )
            for pod in self.world.objects("pods", SPACE)
        }

    def secrets(self) -> dict[str, tuple[str, dict[str, str]]]:
        """UID and contents of each Secret, without Helm's records."""
        found = [each for each in self.world.objects("secrets", SPACE) if not each["type"].startswith("helm.sh/")]
        return {each["metadata"]["name"]: (each["metadata"]["uid"], each.get("data", {})) for each in found}

    def object(self, kind: str, name: str) -> dict[str, Any]:
        """An object of the release."""
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def is_settled(self) -> bool:
        """Whether slurm-operator has seen the NodeSet as it is."""
        found = self.object("nodeset", f"{RELEASE}-worker-solo")
        return bool(found["status"].get("observedGeneration") == found["metadata"]["generation"])

    def await_ready(self) -> None:
        """Wait until all pods are ready and slurmctld has the workers."""
        await_true("the pods are ready", lambda: sum(map(ready, self.world.objects("pods", SPACE))) == PODS, 240)
        await_true("slurmctld has the workers", lambda: self._idle() == [*WORKERS], 120)

    def _idle(self) -> list[str]:
        with suppress(subprocess.CalledProcessError):
            return sorted({*self.slurm("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()})
        return []


def sssd_conf(chart: Path) -> dict[str, Any]:
    """Values for sssd.conf, which up to 1.1 is each login set's own, and from 1.2 on is there once."""
    if "\nsssd:" in (chart / "values.yaml").read_text():
        return {"sssd": {"conf": SSSD}}
    sets = VALUES["loginsets"]
    return {"loginsets": {**sets, "main": {**sets["main"], "sssdConf": SSSD}}}


@contextmanager
def installed(world: World, version: str, folder: Path) -> Iterator[Charted]:
    """A release that this version of helm has installed; gone in the end, with every stack."""
    world.vacate()
    operator = world.stack("side-a", dev_settings(hybrid))
    operator.up()
    chart = shutil.copytree(charts.chart_dir() / "slurm", folder / "chart")
    if not (chart / "templates" / "vendor").is_dir():
        (chart / "templates" / "_off.tpl").write_text(VENDOR)
    values = folder / "values.yaml"
    values.write_text(yaml.safe_dump(VALUES | sssd_conf(chart)))
    found = Charted(world, operator, helm.program(version, say=lambda _line: None), chart, values)
    with queue_volume(world), database(DATABASE):
        try:
            world.kubectl("create", "namespace", SPACE)
            password = keys.ensure(site.LAB.keys).database
            world.kubectl("create", "-f", "-", stdin=yaml.safe_dump({**SECRET, "stringData": {"password": password}}))
            found.install("install")
            found.await_ready()
            yield found
        finally:
            with suppress(subprocess.CalledProcessError):
                found.cancel_all()
            found.helm("uninstall", RELEASE, check=False)
            world.vacate()
            world.kubectl("delete", "namespace", SPACE, check=False)
