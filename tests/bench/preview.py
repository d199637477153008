"""How long a preview takes with our program, against a program that a user would write for the same cluster.

Run: venv/bin/python -m tests.bench.preview [--rounds 5] [--nodesets 1 100]        (after `eval "$(lab/lab env)"`)

Both programs run on the real engine, in turns, each on an empty stack without a cluster; what gates ask of one is measured
by tests.bench.questions. The user's program registers, by pulumi_kubernetes and pulumi_random alone, what slurm-operator
needs for the same cluster: namespace, keys and their Secrets, Controller, Accounting, RestApi, and each NodeSet. It has no
rules, gates, fence or network policies, so the ratio is what these cost.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests import figures
from tests.bench.measure import machine
from tests.figures import Measured
from tests.integration.engine import REPO, Engine, Project, Tools, create_project, prepare

SIZES = (1, 100)
THEIRS = """
    import base64
    import pulumi
    from pulumi_kubernetes.apiextensions import CustomResource
    from pulumi_kubernetes.core.v1 import Namespace, Secret
    from pulumi_random import RandomPassword

    config = pulumi.Config("slinky-iac")
    nodesets = config.require_object("nodesets")
    database = config.require_object("accounting")["database"]
    space = Namespace("slurm", metadata={"name": "slurm"})
    inside = pulumi.ResourceOptions(depends_on=[space])

    def encoded(text):
        return base64.b64encode(text.encode()).decode()

    def secret(name, entry, value):
        data = {entry: pulumi.Output.secret(value).apply(encoded)}
        return Secret(name, metadata={"name": name, "namespace": "slurm"}, data=data, opts=inside)

    keys = {}
    for name, entry in (("slurm-key", "slurm.key"), ("jwt-key", "jwt_hs256.key")):
        keys[name] = secret(name, entry, RandomPassword(name, length=64, special=False).result)
    keys["database"] = secret("database", "password", config.require("databasePassword"))

    def made(kind, name, spec, after):
        return CustomResource(
            f"{kind}-{name}".lower(), api_version="slinky.slurm.net/v1beta1", kind=kind,
            metadata={"name": name, "namespace": "slurm"}, spec=spec, opts=pulumi.ResourceOptions(depends_on=after),
        )

    def key(name, entry):
        return {"name": name, "key": entry}

    both = {"slurmKeyRef": key("slurm-key", "slurm.key"), "jwtKeyRef": key("jwt-key", "jwt_hs256.key")}
    accounting = made(
        "Accounting", "atlas",
        {**both, "storageConfig": {"host": database["host"], "passwordKeyRef": key("database", "password")}},
        list(keys.values()),
    )
    controller = made(
        "Controller", "atlas",
        {**both, "clusterName": "atlas", "accountingRef": {"name": "atlas", "namespace": "slurm"}},
        [*keys.values(), accounting],
    )
    reference = {"controllerRef": {"name": "atlas", "namespace": "slurm"}}
    made("RestApi", "atlas", {**reference, "replicas": 1}, [controller])
    for name, each in nodesets.items():
        limits = {"cpu": str(each["resources"]["cpus"]), "memory": each["resources"]["memory"]}
        made(
            "NodeSet", f"atlas-{name}",
            {
                **reference,
                "replicas": each["replicas"],
                "slurmd": {"image": "ghcr.io/slinkyproject/slurmd:25.11-ubuntu24.04", "resources": {"limits": limits}},
                "partition": {"enabled": True},
                "extraConf": "Features=" + ",".join(each.get("features", ["plain"])),
                "template": {"spec": each.get("pod", {})},
            },
            [controller],
        )
"""

PARTS = """
    import gc
    gc.disable()
    import json, sys, time
    clock = time.perf_counter
    began = clock()
    import pulumi, pulumi.dynamic
    sdk = clock()
    import pulumi_kubernetes, pulumi_random, pulumi_kubernetes.core.v1, pulumi_kubernetes.helm.v3
    import pulumi_kubernetes.admissionregistration.v1, pulumi_kubernetes.networking.v1
    sdks = clock()
    import components
    from slinky_iac.config.reading.load import load
    from slinky_iac.config.rules.sections import findings
    from slinky_iac.specs.workers import nodeset_spec
    imported = clock()
    data = json.load(sys.stdin)
    read = clock()
    config = load(data)
    findings(config, frozenset())
    model = clock()
    for name, nodeset in config.nodesets.items():
        nodeset_spec(config, name, nodeset)
    rendered = clock()
    print(json.dumps({"import pulumi": sdk - began, "import its providers' SDKs": sdks - sdk,
                      "import our own modules": imported - sdks, "model and rules": model - read,
                      "rendering NodeSets": rendered - model}))
"""


@dataclass(frozen=True)
class Sample:
    """One preview: seconds on the clock, and seconds of processor time in all its processes."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Comparison:
    """Previews of both programs, taken in turns."""

    nodesets: int
    ours: Sequence[Sample]
    theirs: Sequence[Sample]
    resources: Mapping[str, int]
    """What each program registers."""

    def row(self) -> dict[str, Measured]:
        """For the ledger. Of time the fastest: what else a machine does only ever adds."""
        wall, cpu = ([min(getattr(s, part) for s in way) for way in (self.ours, self.theirs)] for part in ("wall", "cpu"))
        count, rival = self.resources["ours"], self.resources["user's"]
        return {
            "resources": Measured(count, "", "user's", count / rival),
            "fastest": Measured(wall[0], "s", "user's", wall[0] / wall[1]),
            "processor time": Measured(cpu[0], "s", "user's", cpu[0] / cpu[1]),
        }


def configuration(nodesets: int) -> dict[str, Any]:
    """A stack of form 1 (all in Kubernetes, keys made by the stack) with the operator there already."""
    sections: dict[str, Any] = {}
    text = (REPO / "examples" / "Pulumi.all-in-kubernetes.yaml").read_text()
    for key, value in yaml.safe_load(text)["config"].items():
        sections[key.partition(":")[2]] = value
    one = sections["nodesets"]["gpu"]
    sections["nodesets"] = {f"n{number:03}": one for number in range(nodesets)}
    sections["operator"] = {**sections["operator"], "install": False, "namespace": "slinky"}
    return sections


def our_project(tools: Tools, folder: Path, sections: Mapping[str, Any]) -> Project:
    """The program of this checkout, linked into a folder with a stack of its own."""
    project = create_project(Engine(tools, folder / "engine"), folder / "project", "slinky-iac")
    for name in ("__main__.py", "components", "slinky_iac"):
        (project.folder / name).symlink_to(REPO / name)
    configure(project, sections)
    return project


def configure(project: Project, sections: Mapping[str, Any]) -> None:
    """Write the stack's configuration; both programs get the same."""
    file = project.folder / "Pulumi.test.yaml"
    config = {f"slinky-iac:{name}": section for name, section in sections.items()}
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "config": config}))
    project.run("config", "set", "--secret", "databasePassword", "only-for-this-benchmark")
    (project.engine.root / "kubeconfig").unlink()  # with one, both wait two to three seconds for its cluster, by chance


def their_project(tools: Tools, folder: Path, sections: Mapping[str, Any]) -> Project:
    """The user's program, with the same configuration."""
    project = create_project(Engine(tools, folder / "engine"), folder / "project", "slinky-iac")
    configure(project, sections)
    project.write(main=THEIRS)
    return project


def resources(project: Project) -> int:
    """How many resources a program registers."""
    file = project.engine.root / "plan.json"
    project.preview("--save-plan", str(file))
    return len(json.loads(file.read_text())["resourcePlans"])


def timed(project: Project) -> Sample:
    """One preview."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    project.preview()
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Sample(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def compare(tools: Tools, folder: Path, nodesets: int, rounds: int) -> Comparison:
    """Preview both programs in turns."""
    sections = configuration(nodesets)
    ours = our_project(tools, folder / "ours", sections)
    theirs = their_project(tools, folder / "theirs", sections)
    counted = {"ours": resources(ours), "user's": resources(theirs)}
    pairs = [(timed(ours), timed(theirs)) for _ in range(rounds)]
    return Comparison(nodesets, [pair[0] for pair in pairs], [pair[1] for pair in pairs], counted)


def parts(nodesets: int, rounds: int) -> dict[str, float]:
    """Median seconds of what the program does before it registers anything, each round in a new process."""
    sections = json.dumps(configuration(nodesets))
    runs = []
    for _ in range(rounds):
        command = [sys.executable, "-c", textwrap.dedent(PARTS)]
        done = subprocess.run(command, input=sections, capture_output=True, text=True, check=True, cwd=REPO)
        runs.append(json.loads(done.stdout))
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def report(comparison: Comparison) -> str:
    """One comparison in lines for people."""
    lines = [f"{comparison.nodesets} NodeSets ({machine()}): resources {dict(comparison.resources)}"]
    for name, samples in (("ours", comparison.ours), ("user's", comparison.theirs)):
        wall, cpu = [s.wall for s in samples], [s.cpu for s in samples]
        lines.append(
            f"  {name}: fastest {min(wall):6.2f} s, median {statistics.median(wall):6.2f} s, slowest {max(wall):6.2f} s"
            f"; processor time {min(cpu):6.2f} s"
        )
    return "\n".join([*lines, *(f"  {name}: {figures.told(each)}" for name, each in comparison.row().items())])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="previews of each program (default 5)")
    parser.add_argument("--nodesets", type=int, nargs="+", default=list(SIZES), help="sizes (default 1 100)")
    args = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # SDKs come with byte code from pip; ours gets it at the first start
    with tempfile.TemporaryDirectory(prefix="slinky-iac-bench-") as name:
        folder = Path(name)
        (folder / "tools").mkdir()
        tools = prepare(folder / "tools")
        for count in args.nodesets:
            found = compare(tools, folder / str(count), count, args.rounds)
            figures.record(Path(__file__), "preview", {f"{count}": found.row()})
            print(report(found), flush=True)
            for part, seconds in parts(count, args.rounds).items():
                print(f"  of ours: {part:<26}{seconds * 1000:8.1f} ms", flush=True)


if __name__ == "__main__":
    main()
