"""Pods that slurm-operator's own functions make of what stacks render, for tests without Go.

``python -m tests.operator_pods 1.0.1=PROGRAM 1.1.0=PROGRAM 1.2.1=PROGRAM`` writes them again; PROGRAM is
tests/integration/operator/pods.go, compiled in a tree of that release. Texts of scripts and hashes are left out, and what
the NodeSet's controller and the StatefulSet add later is added: the ordinal, claims and the anti-affinity.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.pods import Resource, resources
from tests.stacks import ROOT, form, merged, read_yaml

CASES: Final = ROOT / "tests" / "cases" / "kubernetes"
STORED: Final = CASES / "operator_pods.json"
RELEASES: Final = ("1.0.1", "1.1.0", "1.2.1")
HOME: Final = "/root"
"""Of root in login pods."""
_APART: Final = {
    "labelSelector": {"matchExpressions": [{"key": "app.kubernetes.io/name", "operator": "In", "values": ["slurmd"]}]},
    "topologyKey": "kubernetes.io/hostname",
}


def asked() -> Iterator[tuple[str, str, StackConfig, Resource]]:
    """Name, release, stack and custom resource of each pod."""
    for name, case in read_yaml((CASES / "operator_stacks.yaml").read_text()).items():
        for version in case.get("releases", RELEASES):
            own = {
                "operator": {"version": version, "webhook": {"enabled": False}},
                "logins": {"main": {"sssdConfFrom": {"secret": "sssd"}}},
            }
            config = form(case["form"], **merged(own, case["over"]))
            for each in resources(config):
                if each.path in case["paths"]:
                    yield name, version, config, each


def key(name: str, version: str, each: Resource) -> str:
    """What a stored pod is called."""
    return f"{name}, {version}: {each.path}"


def plain(value: Any) -> Any:
    """As JSON has it, without what says nothing."""
    return _said(json.loads(json.dumps(value, default=dict).replace(f"{HOME}/", "HOME/")))


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _said(each) for name, each in value.items() if name != "creationTimestamp"}
        return {name: each for name, each in kept.items() if each not in (None, "", [], {}, False) or name == "emptyDir"}
    return [_said(each) for each in value] if isinstance(value, list) else value


def _body(config: StackConfig, each: Resource) -> dict[str, Any]:
    spec = json.loads(json.dumps(each.spec, default=dict))
    if each.gated:
        spec.setdefault("template", {}).setdefault("spec", {}).update(each.gated)
    metadata = {"name": each.name, "namespace": config.cluster.namespace}
    return {"kind": each.kind, "obj": {"metadata": metadata, "spec": spec}}


def _finished(each: Resource, answer: dict[str, Any]) -> dict[str, Any]:
    """A template of the operator's with what is added to each pod of it."""
    pod: dict[str, Any] = answer["pod"]
    spec, metadata = pod["spec"], pod["metadata"]
    for one in [*spec.get("initContainers", []), *spec["containers"]]:
        if one["name"] in {"logfile", "reconfigure", "initconf"}:
            one["command"].pop()
        hook = one.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [""])
        if "scontrol" in hook[-1]:
            hook.pop()
    templates = (
        each.spec.get("volumeClaimTemplates") or answer.get("dep", {}).get("spec", {}).get("volumeClaimTemplates") or []
    )
    names = [one["metadata"]["name"] for one in templates]
    own = [{"name": one, "persistentVolumeClaim": {"claimName": f"{one}-{each.workload}-0"}} for one in names]
    spec["volumes"] = [*own, *(one for one in spec["volumes"] if one["name"] not in names)]
    if each.kind == "NodeSet":
        spec["hostname"] += "0"
        anti = spec.setdefault("affinity", {}).setdefault("podAntiAffinity", {})
        anti.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(_APART)
    annotations = {name: text for name, text in metadata["annotations"].items() if not name.endswith("-hash")}
    return {"metadata": {"labels": metadata["labels"], "annotations": annotations}, "spec": spec}


def main(argv: list[str]) -> None:
    found: dict[str, Any] = {}
    for version, program in (each.split("=", 1) for each in argv):
        every = [(name, config, each) for name, of, config, each in asked() if of == version]
        questions = []
        for name, config, each in every:
            with_it = {"NodeSet", "Accounting"} if each.kind == "Controller" else {"Controller"}
            others = [_body(config, one) for one in resources(config) if one.kind in with_it]
            questions.append({"id": key(name, version, each), **_body(config, each), "others": others})
        done = subprocess.run([program], input=json.dumps(questions), capture_output=True, text=True, check=True)
        answers = {one["id"]: one for one in json.loads(done.stdout)}
        for name, _, each in every:
            answer = answers[key(name, version, each)]
            if "pod" in answer:
                found[key(name, version, each)] = plain(_finished(each, answer))
    STORED.write_text(
        "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(pod, sort_keys=True)}" for name, pod in found.items()) + "\n}\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
