"""The closed world: what the program makes passes, whatever its settings; what isn't its own is named, or declared."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Mapping
from typing import Any

import pytest
from slurm_rules import secret_text
from slurm_rules.clear_text import no_secrets_in_clear
from slurm_rules.closed import cluster_as_made
from slurm_rules.made import FILE, HARMLESS
from slurm_rules.model import Stack
from slurm_rules.site import today
from slurm_rules.slurm_conf import nodes

from slinky_iac.config.rules.pieces import STRONG_CAPABILITIES
from tests.clusters import MUNGE, STACKS, recorded
from tests.policies import making
from tests.policies.in_memory import in_memory, one
from tests.policies.judging import judged, messages, spec
from tests.policies.pack import plain_stack
from tests.policies.programs import ANYWHERE, BACKUPS, INSIDE
from tests.policies.test_own_parts import stack_of
from tests.stacks import merged, networks

SITE = {"images": ["ghcr.io/slinkyproject", "docker.io/library", "registry.example.org", "docker.io/slinky-lab"]}
"""A site list of images with those of the tests."""
LATER = (today() + datetime.timedelta(days=30)).isoformat()
PARTS = {name: ("all-in-kubernetes", over) for name, over in (INSIDE | ANYWHERE).items()}
PARTS |= {f"{name}-outside": ("all-outside", over) for name, over in ANYWHERE.items()}


def found(stack: Stack, **site: Any) -> str:
    return messages(one(cluster_as_made, stack, {**SITE, **site}))


def test_the_lists_of_what_the_program_makes_are_current() -> None:
    again = "run `PYTHONPATH=policies venv/bin/python -m tests.policies.making`"
    assert FILE.read_text(encoding="utf-8") == making.text(), again


@pytest.mark.parametrize("name", [*STACKS, MUNGE])
def test_every_form_passes_without_an_entry(name: str) -> None:
    assert found(stack_of(recorded(name))) == ""


@pytest.mark.parametrize("name", PARTS)
def test_every_part_of_a_stack_passes_without_an_entry(name: str) -> None:
    """Under the names of the examples, where the lists are made under others."""
    form, over = PARTS[name]
    assert found(stack_of(recorded(form, **over))) == ""


@pytest.mark.parametrize(
    "computed",
    [
        {"nodes": {}, "due": "not known: no kubeconfig"},
        {"nodes": {"w-1": {"labels": {"slurm.example.org/ib": "true"}, "annotations": {}}}, "due": "w-1 lacks a label"},
    ],
)
def test_what_the_gate_of_a_node_table_writes_into_a_preview_passes(computed: dict[str, Any]) -> None:
    form, over = PARTS["nodes"]
    stack = stack_of(recorded(form, **over))
    written = [
        dataclasses.replace(each, props={**each.props, **computed}) if each.type.endswith(":NodeLabels") else each
        for each in stack.resources
    ]
    assert [*stack.resources] != written
    assert found(Stack(tuple(written))) == ""


def backups(*hosts: str) -> Stack:
    own = {"controller": {"external": {"host": "a.example.net", "backups": [*hosts]}}, "logins": BACKUPS["logins"]}
    return stack_of(recorded("controller-outside", **own))


def test_any_hosts_of_slurmctld_pass_without_an_entry() -> None:
    assert found(backups("b.example.net", "fd00::7", "192.0.2.77")) == ""


@pytest.mark.parametrize(
    ("text", "evil"),
    [
        ("SlurmUser=slurm", "SlurmUser=root"),
        ("AuthAltTypes=auth/jwt", "AuthAltTypes=auth/jwt\nPluginDir=/home/carol"),
        ("SlurmctldPort=6817", "SlurmctldPort=6817\nInclude /home/carol/slurm.conf"),
        ("a.example.net:6817,b.example.net:6817", "a.example.net:6817 --conf x"),
    ],
)
def test_what_names_slurmctld_s_hosts_says_nothing_else(text: str, evil: str) -> None:
    stack = backups("b.example.net")
    resources = tuple(dataclasses.replace(each, props=with_text(each.props, text, evil)) for each in stack.resources)
    assert resources != stack.resources
    assert found(Stack(resources)) != ""


def with_text(value: Any, text: str, other: str) -> Any:
    """A value with another text in the place of one."""
    if isinstance(value, Mapping):
        return {key: with_text(part, text, other) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [with_text(part, text, other) for part in value]
    return value.replace(text, other) if isinstance(value, str) else value


PEERS = [{"cidr": "10.20.0.0/16"}, {"namespace": "portal", "pods": {"app": "portal"}}, {"namespace": "monitoring"}]
WHO = ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login")
LET: dict[str, dict[str, Any]] = {
    "none": {},
    "clients": {"networkPolicies": {"clients": {part: PEERS for part in (*WHO, "operator")}}},
    "egress": {"networkPolicies": {"egress": {"parts": [*WHO], "database": PEERS, "dns": PEERS, "slurmctld": PEERS}}},
    "egress-of-one": {"networkPolicies": {"egress": {"parts": ["slurmd"], "blocked": ["10.0.0.0/8"]}}},
    "logins": {"logins": {"one": {"sssdConfFrom": {"secret": "sssd"}}, "two": {"sssdConfFrom": {"secret": "sssd"}}}},
}
"""Connections of a stack, other than those of the lists."""


@pytest.mark.parametrize("name", LET)
def test_connections_that_the_settings_name_pass_without_an_entry(name: str) -> None:
    both = merged(networks("all-in-kubernetes"), LET[name])
    assert found(stack_of(recorded("all-in-kubernetes", **both))) == ""


RAW: dict[str, tuple[str, dict[str, Any]]] = {
    "spec.template.spec.initContainers.0": (
        "pod",
        {"initContainers": [{"name": "i", "image": "registry.example.org/i:1"}]},
    ),
    "spec.template.spec.runtimeClassName": ("pod", {"runtimeClassName": "kata"}),
    "spec.slurmctld.args.0": ("container", {"args": ["-n", "-5"]}),
    "spec.slurmctld.lifecycle": ("container", {"lifecycle": {"postStart": {"exec": {"command": ["sh"]}}}}),
    "spec.slurmctld.securityContext": ("container", {"securityContext": {"runAsUser": 1}}),
    "spec.logfile.securityContext.capabilities.add": (
        "spec",
        {"logfile": {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}},
    ),
    "spec.persistence.volumeName": ("spec", {"persistence": {"volumeName": "of-others"}}),
    "spec.slurmctld.volumeMounts.0": (
        "container",
        {"volumeMounts": [{"name": "x", "mountPath": "/etc/x"}]},
    ),
}
"""Raw pieces that the settings take, by the place where the pack names them (ADR 25)."""


@pytest.mark.parametrize("place", RAW)
def test_what_a_raw_piece_adds_is_named_with_its_place(place: str) -> None:
    field, piece = RAW[place]
    mounted = {"pod": {"volumes": [{"name": "x", "emptyDir": {}}]}} if "volumeMounts" in piece else {}
    stack = stack_of(recorded("all-in-kubernetes", controller={"raw": {field: piece, **mounted}}))
    assert place in found(stack)


HARMLESS_RAW: dict[str, dict[str, Any]] = {
    "container": {"args": ["-vv"], "terminationMessagePolicy": "FallbackToLogsOnError"},
    "pod": {"dnsConfig": {"options": [{"name": "ndots", "value": "2"}]}},
    "service": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]},
    "spec": {"logfile": {"terminationMessagePolicy": "FallbackToLogsOnError"}},
}
"""Raw pieces that the settings take and that do no harm, by their door."""


@pytest.mark.parametrize("door", HARMLESS_RAW)
def test_a_raw_piece_that_can_do_no_harm_passes(door: str) -> None:
    stack = stack_of(recorded("all-in-kubernetes", controller={"raw": {door: HARMLESS_RAW[door]}}))
    assert not found(stack)


def entry(what: str, **over: str) -> dict[str, str]:
    return {"what": what, "reason": "reviewed in CHANGE-12", "owner": "platform", "until": LATER, **over}


LIMITS = {
    "resources": {
        "limits": {
            "type": "kubernetes:core/v1:LimitRange",
            "properties": {
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "l", "namespace": "slurm"},
                "spec": {},
            },
        }
    }
}
DEADLINE = spec("nodeset", template={"spec": {"hostname": "gpu-", "activeDeadlineSeconds": 3600}})
FIELD = "NodeSet/slurm/slurm-worker-gpu:spec.template.spec.activeDeadlineSeconds"


@pytest.mark.parametrize("what", ["LimitRange/slurm/l", "LimitRange/slurm/*l", "LimitRange/*/l"])
def test_what_a_site_has_declared_passes(what: str) -> None:
    assert "isn't made by this program" in messages(judged(cluster_as_made, LIMITS))
    assert judged(cluster_as_made, LIMITS, {"declared": [entry(what)]}).violations == ()


@pytest.mark.parametrize(
    ("what", "more", "said"),
    [
        ("LimitRange/slurm/l", {"until": "2024-01-31"}, "ended on 2024-01-31"),
        ("LimitRange/slurm/l", {"owner": ""}, "lacks owner"),
        ("LimitRange/slurm/l", {"until": "some day"}, "lacks a date"),
        ("LimitRange/slurm/*", {}, "(what: LimitRange/slurm/l)"),
        ("*", {}, "(what: LimitRange/slurm/l)"),
        ("LimitRange/slurm/other", {}, "(what: LimitRange/slurm/l)"),
    ],
)
def test_an_entry_without_an_end_an_owner_or_a_name_lets_nothing_pass(what: str, more: dict[str, str], said: str) -> None:
    assert said in messages(judged(cluster_as_made, LIMITS, {"declared": [entry(what, **more)]}))


def test_an_entry_for_one_field_lets_no_other_pass() -> None:
    both = spec("nodeset", template={"spec": {"hostname": "gpu-", "activeDeadlineSeconds": 3600, "hostPID": True}})
    assert judged(cluster_as_made, DEADLINE, {"declared": [entry(FIELD)]}).violations == ()
    left = messages(judged(cluster_as_made, both, {"declared": [entry(FIELD)]}))
    assert "hostPID" in left
    assert "activeDeadlineSeconds" not in left


@pytest.mark.parametrize(
    ("url", "fine"),
    [
        ("https://slurm-restapi.slurm:6820", True),
        ("http://127.0.0.1:6820", True),
        ("http://[::1]:6820", True),
        ("https://rest.example.org:6820", False),
        ("http://slurm-restapi.slurm:6820", False),
        ("http://127.0.0.1.example.org", False),
        ("unix:///run/slurmrestd.sock", False),
    ],
)
def test_gates_ask_hosts_of_the_stack_over_tls(url: str, fine: bool) -> None:
    change = {"resources": {"gate": {"properties": {"url": url}}}}
    assert (not judged(cluster_as_made, change).violations) is fine


def test_a_site_names_a_host_that_gates_may_ask_and_one_in_plain_http() -> None:
    change = {"resources": {"gate": {"properties": {"url": "http://rest.hpc.example:6820"}}}}
    assert "plain text" in messages(judged(cluster_as_made, change, {"hosts": ["rest.hpc.example"]}))
    site = {"hosts": ["rest.hpc.example"], "plainHttpHosts": ["rest.hpc.example"]}
    assert judged(cluster_as_made, change, site).violations == ()


def test_fields_that_an_api_server_adds_are_not_the_programs_to_answer_for() -> None:
    stack = in_memory(plain_stack("inside"))
    nodeset = next(each for each in stack.resources if each.name == "nodeset")
    outputs = {**nodeset.props, "status": {"replicas": 4}, "spec": {**nodeset.props["spec"], "scalingMode": "StatefulSet"}}
    changed: dict[str, Any] = {name: getattr(nodeset, name) for name in type(nodeset).__dataclass_fields__}
    live = type(nodeset)(**changed | {"props": outputs, "inputs": nodeset.props})
    others = tuple(each for each in stack.resources if each is not nodeset)
    assert one(cluster_as_made, Stack((*others, live))).violations == ()


def test_two_ranges_in_one_name_are_expanded() -> None:
    assert nodes("NodeName=rack[1-2]n[01-02] CPUs=64") == ["rack1n01", "rack1n02", "rack2n01", "rack2n02"]


def test_a_text_that_is_too_large_is_said_to_be_not_judged() -> None:
    data = {"note.txt": "a" * (secret_text.LARGEST + 1)}
    change = {"resources": {"cgroup": {"properties": {"data": data}}}}
    (said,) = judged(no_secrets_in_clear, change).not_judged
    assert re.search(r"data\.note\.txt is larger than", said)


HARDENED = {"runAsNonRoot": True, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def test_raw_pieces_that_only_harden_or_wait_pass_without_an_entry() -> None:
    pieces = {"logfile": {"securityContext": HARDENED | {"seccompProfile": {"type": "RuntimeDefault"}}}}
    controller = {"persistence": {"accessModes": ["ReadWriteMany"]}, "raw": {"spec": pieces}}
    nodeset = {"replicas": 1, "raw": {"spec": {**pieces, "minReadySeconds": 5}}}
    before = found(stack_of(recorded("all-in-kubernetes", nodesets={"cpu": {"replicas": 1}})))
    after = found(stack_of(recorded("all-in-kubernetes", controller=controller, nodesets={"cpu": nodeset})))
    assert after == before


@pytest.mark.parametrize("section", ["controller", "accounting", "restapi"])
def test_what_the_program_says_of_the_operators_own_for_release_1_0_passes(section: str) -> None:
    piece = {"raw": {"pod": {"securityContext": {"fsGroupChangePolicy": "OnRootMismatch"}}}}
    old: dict[str, Any] = {"operator": {"version": "1.0.1"}}
    assert found(stack_of(recorded("all-in-kubernetes", **old, **{section: piece}))) == found(
        stack_of(recorded("all-in-kubernetes", **old))
    )


def test_capabilities_that_open_a_node_are_the_same_to_settings_and_policies() -> None:
    assert set(HARMLESS["outside"]["strongCapabilities"]) == STRONG_CAPABILITIES
