"""How long a preview takes with our program, against a bare program that registers the same resources.

Run: venv/bin/python -m tests.bench.preview [--rounds 5] [--nodesets 1 100]        (after `eval "$(lab/lab env)"`)

Both programs run on the real engine, in turns, each on an empty stack without a cluster. The bare program reads what ours
registered (types, names, inputs, parents, dependencies) from a file and registers it in a loop with the same SDKs, so the
ratio is what our configuration, model, components and imports cost. Aim: 1.15x with 1 NodeSet, 1.3x with 100.
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
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import yaml

from tests.integration.engine import REPO, Engine, Project, Tools, create_project, prepare

AIMS = {1: 1.15, 100: 1.3}
"""Highest ratio to the bare program, by number of NodeSets."""

BARE = """
    import json, pathlib, re
    import pulumi
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
    from pulumi_kubernetes.apiextensions import CustomResource
    from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Secret, Service
    from pulumi_kubernetes.helm.v3 import Release
    from pulumi_kubernetes.networking.v1 import NetworkPolicy
    from pulumi_random import RandomPassword

    TYPED = {
        "kubernetes:core/v1:Namespace": Namespace, "kubernetes:core/v1:Secret": Secret,
        "kubernetes:core/v1:Service": Service, "kubernetes:helm.sh/v3:Release": Release,
        "kubernetes:core/v1:ConfigMap": ConfigMap, "kubernetes:networking.k8s.io/v1:NetworkPolicy": NetworkPolicy,
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy": ValidatingAdmissionPolicy,
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding": ValidatingAdmissionPolicyBinding,
        "random:index/randomPassword:RandomPassword": RandomPassword,
    }

    def snake(name):
        return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name)

    made = {}
    for r in json.loads(pathlib.Path("resources.json").read_text()):
        options = pulumi.ResourceOptions(
            parent=made.get(r["parent"]),
            depends_on=[made[urn] for urn in r["dependencies"] if urn in made],
            provider=made.get(r["provider"]),
        )
        kind, name, inputs = r["type"], r["name"], r["inputs"]
        if not r["custom"]:
            resource = pulumi.ComponentResource(kind, name, None, options)
            resource.register_outputs(r["outputs"])
        elif kind in TYPED:
            given = {snake(k): v for k, v in inputs.items() if k not in ("apiVersion", "kind")}
            resource = TYPED[kind](name, **given, opts=options)
        elif kind.startswith("pulumi:providers:"):
            resource = pulumi.ProviderResource(kind.rpartition(":")[2], name, inputs, options)
        elif kind.startswith("kubernetes:slinky"):
            resource = CustomResource(name, **{snake(k): v for k, v in inputs.items()}, opts=options)
        else:
            resource = pulumi.CustomResource(kind, name, inputs, options)
        made[r["urn"]] = resource
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
    from slinky_iac.config.load import load
    from slinky_iac.config.rules import findings
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
    resources: int
    ours: Sequence[Sample]
    bare: Sequence[Sample]

    def ratio(self) -> float:
        """Fastest of ours to fastest of bare: what else a machine does only ever adds."""
        return min(sample.wall for sample in self.ours) / min(sample.wall for sample in self.bare)


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
    """Write the stack's configuration; both programs get the same, for their provider processes get it all."""
    file = project.folder / "Pulumi.test.yaml"
    config = {f"slinky-iac:{name}": section for name, section in sections.items()}
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "config": config}))
    project.run("config", "set", "--secret", "databasePassword", "only-for-this-benchmark")
    (project.engine.root / "kubeconfig").unlink()  # with one, both wait two to three seconds for its cluster, by chance


def registrations(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a program registered, in an order that holds: parents, dependencies and providers first.

    Out of an update plan: `preview --json` hides the pickled code of dynamic providers even with `--show-secrets`.
    """
    goals = {urn: entry["goal"] for urn, entry in plan["resourcePlans"].items()}
    found = {urn: _registration(urn, goal) for urn, goal in goals.items() if not _implied(urn)}
    order = TopologicalSorter({urn: {r["parent"], r["provider"], *r["dependencies"]} for urn, r in found.items()})
    return [found[urn] for urn in order.static_order() if urn in found]


def _implied(urn: str) -> bool:
    """The stack itself and default providers: the engine makes them for any program."""
    kind, _, name = urn.split("::", 2)[2].partition("::")
    return kind == "pulumi:pulumi:Stack" or (kind.startswith("pulumi:providers:") and name.startswith("default"))


def _registration(urn: str, goal: Mapping[str, Any]) -> dict[str, Any]:
    provider, _, _ = goal.get("provider", "").rpartition("::")
    return {
        "urn": urn,
        "type": goal["type"],
        "name": goal["name"],
        "custom": goal["custom"],
        "inputs": {k: _plain(v) for k, v in goal["inputDiff"].get("adds", {}).items() if k != "__internal"},
        "outputs": _plain(goal["outputDiff"].get("adds", {})),
        "parent": goal.get("parent", ""),
        "dependencies": goal.get("dependencies", []),
        "provider": provider,
    }


def _plain(value: Any) -> Any:
    """Without the marks of secrets: there are none in this stack."""
    if isinstance(value, dict):
        return json.loads(value["plaintext"]) if "plaintext" in value else {k: _plain(v) for k, v in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def bare_project(tools: Tools, folder: Path, ours: Project, sections: Mapping[str, Any]) -> tuple[Project, int]:
    """The bare program with what ours registers, and how many resources that is."""
    wanted = registrations(_plan(ours))
    project = create_project(Engine(tools, folder / "engine"), folder / "project", "slinky-iac")
    (project.folder / "slinky_iac").symlink_to(REPO / "slinky_iac")  # the dynamic providers' code, in their own process
    configure(project, sections)
    project.write(main=BARE)
    (project.folder / "resources.json").write_text(json.dumps(wanted))
    made = {r["urn"]: r for r in registrations(_plan(project))}
    same = ("type", "inputs", "outputs", "parent")
    different = [r["urn"] for r in wanted if any(made.get(r["urn"], {}).get(part) != r[part] for part in same)]
    if different or len(made) != len(wanted):
        raise AssertionError(
            f"the bare program registers {len(made)} resources, ours {len(wanted)}; not the same: {different[:5]}"
        )
    return project, len(wanted)


def _plan(project: Project) -> dict[str, Any]:
    file = project.engine.root / "plan.json"
    project.preview("--save-plan", str(file), "--show-secrets")
    return dict(json.loads(file.read_text()))


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
    bare, resources = bare_project(tools, folder / "bare", ours, sections)
    pairs = [(timed(ours), timed(bare)) for _ in range(rounds)]
    return Comparison(nodesets, resources, [pair[0] for pair in pairs], [pair[1] for pair in pairs])


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
    aim, ratio = AIMS.get(comparison.nodesets), comparison.ratio()
    verdict = "" if aim is None else f", aim {aim:.2f}x: {'reached' if ratio <= aim else 'MISSED'}"
    lines = [f"{comparison.nodesets} NodeSets, {comparison.resources} resources: {ratio:.2f}x{verdict}"]
    for name, samples in (("ours", comparison.ours), ("bare", comparison.bare)):
        wall, cpu = [s.wall for s in samples], [s.cpu for s in samples]
        lines.append(
            f"  {name}: fastest {min(wall):6.2f} s, median {statistics.median(wall):6.2f} s, slowest {max(wall):6.2f} s"
            f"; processor time {min(cpu):6.2f} s"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="previews of each program (default 5)")
    parser.add_argument("--nodesets", type=int, nargs="+", default=list(AIMS), help="sizes (default 1 100)")
    args = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # SDKs come with byte code from pip; ours gets it at the first start
    with tempfile.TemporaryDirectory(prefix="slinky-iac-bench-") as name:
        folder = Path(name)
        (folder / "tools").mkdir()
        tools = prepare(folder / "tools")
        for count in args.nodesets:
            print(report(compare(tools, folder / str(count), count, args.rounds)), flush=True)
            for part, seconds in parts(count, args.rounds).items():
                print(f"  of ours: {part:<26}{seconds * 1000:8.1f} ms", flush=True)


if __name__ == "__main__":
    main()
