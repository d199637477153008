"""A state that would run somebody else's code is named before an engine loads it; a state of this project passes."""

from __future__ import annotations

import base64
import importlib
import json
import pickle
import pkgutil
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulumi.dynamic import ResourceProvider
from pulumi.dynamic.dynamic import serialize_provider

import slinky_iac
from slinky_iac.cluster import pulumi_state
from slinky_iac.commands import cli, verify_state
from slinky_iac.drain.conf_gates import QueueGateProvider
from slinky_iac.drain.gates import ClusterGate, NodeSetScaleProvider
from slinky_iac.engine.provider import Gate
from slinky_iac.engine.provider_pickle import is_ours, is_whole, reference
from slinky_iac.errors import StateError
from tests.clusters import MUNGE, STACKS, recorded, stack_sections
from tests.contract.test_wire_formats import JOBS, STORE, TABLE
from tests.stacks import ROOT, merged, told

SIGNATURE = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
GATE = "pulumi-python:dynamic/slurm:NodeSetScale"
OURS = serialize_provider(NodeSetScaleProvider())
CLASSES = verify_state.project_classes()


class Runs:
    """What an attacker would put there."""

    def __reduce__(self) -> tuple[Any, ...]:
        raise AssertionError("the state's code was run")


def evil(protocol: int) -> str:
    raw = pickle.dumps(print, protocol=protocol)[:-1] + b"(X\x02\x00\x00\x00idtR."
    return base64.b64encode(raw).decode()


def resource(kind: str = GATE, name: str = "cpu-scale", **props: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:prod::slinky-iac::{kind}::{name}"
    return {"urn": urn, "type": kind, "custom": True, "inputs": props, "outputs": dict(props)}


def found(*resources: dict[str, Any]) -> tuple[str, ...]:
    return verify_state.foreign(resources, CLASSES)


def all_providers() -> set[type[ResourceProvider]]:
    for module in pkgutil.walk_packages(slinky_iac.__path__, "slinky_iac."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {each for each in below(ResourceProvider) if each.__module__.startswith("slinky_iac.")}


def below(kind: type) -> set[type]:
    return {kind}.union(*(below(each) for each in kind.__subclasses__()))


def test_every_provider_of_this_project_is_known_and_passes() -> None:
    """A provider in another module has to be told to verify_state."""
    usable = {each for each in all_providers() if not each.__name__.startswith("_") and is_whole(each)}
    assert {f"{each.__module__}.{each.__qualname__}" for each in usable} == CLASSES
    for each in usable:
        text = serialize_provider(each())
        assert reference(text) == f"{each.__module__}.{each.__qualname__}"
        named = f"{each.__module__}.{each.__qualname__}"
        (kind,) = (kind for kind, own in verify_state.CLASSES_BY_KIND.items() if own == named)
        assert found(resource(f"pulumi-python:dynamic/slurm:{kind}", __provider=text)) == ()


def test_whole_programs_have_each_class_under_its_kind() -> None:
    """As the policies judge it: tests.policies.making takes theirs from programs."""
    made = json.loads((ROOT / "policies" / "slurm_rules" / "made.json").read_text())["classes"]
    assert {kind.rpartition(":")[2]: name for kind, name in made.items()} == verify_state.CLASSES_BY_KIND


def test_what_gates_have_in_common_is_no_gate() -> None:
    """Its deletion is the SDK's own, which drains no node."""
    for base in (Gate, ClusterGate):
        (said,) = {each.partition("outputs")[2] for each in found(resource(__provider=serialize_provider(base())))} - {""}
        assert "the code of another kind of resource" in said
        assert not is_ours(f"{base.__module__}.{base.__qualname__}")


def test_the_class_of_another_gate_is_foreign_to_a_gate() -> None:
    (said, _) = found(resource(__provider=serialize_provider(QueueGateProvider())))
    assert "QueueGateProvider" in said


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_another_release_of_python_writes_another_pickle_of_the_same(protocol: int) -> None:
    text = base64.b64encode(pickle.dumps(NodeSetScaleProvider(), protocol=protocol)).decode()
    assert found(resource(__provider=text)) == ()


@pytest.mark.parametrize(
    "value",
    [
        SIGNATURE | {"ciphertext": "v1:abc:def"},
        SIGNATURE | {"plaintext": json.dumps(OURS)},
        OURS,
    ],
    ids=["encrypted", "decrypted", "plain"],
)
def test_a_provider_of_ours_passes_in_every_form_of_an_export(value: Any) -> None:
    assert found(resource(__provider=value)) == ()


EVIL = {
    "plain": evil(4),
    "of an older protocol": evil(2),
    "decrypted": SIGNATURE | {"plaintext": json.dumps(evil(4))},
    "decrypted to no text": SIGNATURE | {"plaintext": "{}"},
    "a secret without a value": dict(SIGNATURE),
    "a mapping": {"ciphertext": "v1:abc:def"},
    "ours, with attributes": base64.b64encode(base64.b64decode(OURS)[:-1] + b"}(X\x01\x00\x00\x00aK\x01ub.").decode(),
    "ours, and more": base64.b64encode(base64.b64decode(OURS)[:-1] + b"0" + base64.b64decode(evil(4))[2:]).decode(),
    "a class of somebody else's": base64.b64encode(pickle.dumps(json.JSONDecodeError)).decode(),
    "another class, as ours are": base64.b64encode(pickle.dumps(object())).decode(),
    "no base64": "gAS!",
    "no pickle": base64.b64encode(b"hello").decode(),
    "nothing": None,
}  # fmt: skip


@pytest.mark.parametrize("why", EVIL)
@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_a_foreign_provider_is_found_on_either_side(why: str, side: str) -> None:
    bad = resource(__provider=OURS) | {side: {"__provider": EVIL[why]}}
    (said,) = found(resource(name="good", __provider=OURS), bad)
    assert said.startswith(f"cpu-scale ({GATE}): __provider in its {side}")


KUBERNETES = "pulumi:providers:kubernetes"
ROUNDABOUT = {
    "a package that the program doesn't use": resource("command:local:Command", "x", delete="id"),
    "its provider": resource("pulumi:providers:command", "x"),
    "a dynamic provider of another language": resource("pulumi-nodejs:dynamic:Resource", "x", __provider="() => 1"),
    "a plugin's own address": resource(KUBERNETES, "x", pluginDownloadURL="https://evil.example"),
    "the same, where engines keep it": resource(KUBERNETES, "x", __internal={"pluginDownloadURL": "https://evil.example"}),
    "another plugin by the same name": resource(KUBERNETES, "x", __internal={"name": "command", "parameterization": {}}),
    "a kubeconfig that starts a program": resource(KUBERNETES, "x", kubeconfig="users: [{user: {exec: {command: id}}}]"),
    "its key spelled with an escape": resource(KUBERNETES, "x", kubeconfig='{"users": [{"user": {"ex\\u0065c": {}}}]}'),
    "its key in base64": resource(KUBERNETES, "x", kubeconfig="users: [{user: {!!binary ZXhlYw==: {command: id}}}]"),
    "its key in base64 by a long tag": resource(
        KUBERNETES, "x", kubeconfig="users: [{user: {!<tag:yaml.org,2002:binary> ZXhlYw==: {command: id}}}]"
    ),
    "its key in capitals": resource(KUBERNETES, "x", kubeconfig="users: [{user: {Exec: {command: id}}}]"),
    "a kubeconfig that isn't text": resource(KUBERNETES, "x", kubeconfig={"users": [{"user": {"exec": {"command": "id"}}}]}),
    "a kubeconfig that isn't text, marked secret": resource(
        KUBERNETES, "x", kubeconfig=SIGNATURE | {"plaintext": json.dumps({"users": [{"user": {"exec": {}}}]})}
    ),
    "a kubeconfig without any program": resource(KUBERNETES, "x", kubeconfig="clusters: [{name: a}]\nusers: []\n"),
    "a kubeconfig with a token's file": resource(
        KUBERNETES, "x", kubeconfig="users: [{user: {tokenFile: /etc/passphrase}}]"
    ),
    "a kubeconfig with a proxy": resource(KUBERNETES, "x", kubeconfig="clusters: [{cluster: {proxy-url: 'http://evil'}}]"),
    "a kubeconfig's text of a gate": resource(kubeconfig="users: [{user: {tokenFile: /etc/passphrase}}]") | {"urn": "a::x"},
    "a kubeconfig of a gate that isn't text": resource(kubeconfig={"users": []}) | {"urn": "a::x"},
    "a cluster of the kubeconfig": resource(KUBERNETES, "x", cluster="prod-other"),
    "a namespace": resource(KUBERNETES, "x", namespace="other"),
    "resources dropped where they can't be reached": resource(KUBERNETES, "x", deleteUnreachable="true"),
    "manifests written to this machine": resource(KUBERNETES, "x", renderYamlToDirectory="/home/admin/.config/autostart"),
    "settings of helm": resource(KUBERNETES, "x", helmReleaseSettings='{"pluginsPath": "/tmp/evil"}'),
    "a switch that is none": resource(KUBERNETES, "x", enableSecretMutable="yes"),
    "no release": resource(KUBERNETES, "x", version="4.0.0-evil"),
    "an input of the random provider": resource("pulumi:providers:random", "x", seed="1"),
    "a release's program": resource("kubernetes:helm.sh/v3:Release", "x", postrender="/bin/sh -c id"),
    "a release's file": resource("kubernetes:helm.sh/v3:Release", "x", valueYamlFiles=[{"path": "/etc/shadow"}]),
    "another NodeSet's resource": resource(nodeset="gpu", controller="slurm", resource="slurm-worker-cpu") | {"urn": "a::x"},
    "the same, encrypted": resource(KUBERNETES, "x", kubeconfig=SIGNATURE | {"plaintext": json.dumps("exec: {}")}),
}


@pytest.mark.parametrize("way", ROUNDABOUT)
def test_the_other_ways_from_a_state_to_code_are_found(way: str) -> None:
    said = found(ROUNDABOUT[way])
    assert said
    assert all(line.startswith("x (") for line in said)


def test_a_state_of_this_project_passes() -> None:
    release = resource("kubernetes:helm.sh/v3:Release", "operator", chart="slurm-operator")
    plugin = resource(KUBERNETES, "here", version="4.25.0", __internal={"pluginChecksums": {}}, enableSecretMutable="true")
    stack = resource("pulumi:pulumi:Stack", "p-prod")
    config = {"slinky-iac:cluster": '{"name": "atlas"}', "slinky-iac:slurmKey": SIGNATURE | {"ciphertext": "v1:abc:def"}}
    dynamic = resource("pulumi:providers:pulumi-python", "default", version="3.255.0", **config)
    made = resource("random:index/randomPassword:RandomPassword", "key", length=64)
    assert (
        found(release, plugin, stack, made, dynamic, resource("slinky:slurm:HybridCluster", "c"), resource(__provider=OURS))
        == ()
    )


def test_a_planted_path_of_a_kubeconfig_is_found_unless_the_settings_name_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A destroy reads the state's: a file that somebody has laid there, with a program in it or of another cluster."""
    settings = {
        "slinky-iac:kubernetes": {
            "value": '{"kubeconfig": "~/.kube/config"}',
            "objectValue": {"kubeconfig": "~/.kube/config"},
        },
        "slinky-iac:slurmKey": {"secret": True},
    }

    def judged(kind: str, path: str, *more: str) -> int:
        def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
            said = settings if arguments[0] == "config" else state(resource(kind, "x", kubeconfig=path))
            return subprocess.CompletedProcess(arguments, 0, json.dumps(said), "")

        return verify_state.run(cli.parser().parse_args(["verify-state", *more]), run)

    for kind in (KUBERNETES, GATE):
        for planted in ("/tmp/evil/config", "evil.yaml", "~/.kube/config/../evil", "\x1b[2J/x"):
            assert judged(kind, planted) == 6
            said = capsys.readouterr().out
            assert "which the settings don't name" in said
            assert said.replace("\n", "").isprintable()
            assert judged(kind, planted, "--allow", planted) == 0
        assert judged(kind, "~/.kube/config") == 0
        assert judged(kind, "") == 0
    assert judged("kubernetes:core/v1:ConfigMap", "/tmp/evil") == 0


@pytest.mark.parametrize(
    ("prop", "planted", "own"),
    [
        ("url", "https://evil.example.org:6820", "https://rest.example.org:6820"),
        ("caFile", "/tmp/evil.pem", "/etc/slurm/ca.pem"),
        ("context", "evil", "prod"),
        ("namespace", "evil", "slurm"),
        ("restapiService", "evil", "slurm-restapi"),
        ("jwtSecret", "evil", "slurm-auth-jwths256"),
        ("jwtEntry", "evil", "jwt_hs256.key"),
        ("tokens", "none", "rs256"),
        ("slurmUser", "root", "slurm"),
        ("clientCertFile", "/tmp/evil.crt", "/etc/slurm/gate.crt"),
        ("clientKeyFile", "/tmp/evil.key", "/etc/slurm/gate.key"),
        ("allowPlainHttp", "true", ""),
        ("restapiScheme", "http", "https"),
        ("controller", "evil", "slurm"),
        ("cluster", "evil", "atlas"),
        ("resourceName", "evil", "slurm"),
        ("secret", "evil", "slurm-auth-slurm"),
    ],
)
def test_a_planted_address_to_which_tokens_would_go_is_found(
    prop: str, planted: str, own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A destroy asks the state's slurmrestd, with a token of SlurmUser."""
    rest = {"url": "https://rest.example.org:6820", "caFile": "/etc/slurm/ca.pem"}
    rest |= {"clientCertFile": "/etc/slurm/gate.crt", "clientKeyFile": "/etc/slurm/gate.key"}
    sections = {"cluster": {"name": "atlas"}, "slurmrest": rest, "kubernetes": {"context": "prod"}}
    settings = told(sections)

    def judged(kind: str, value: str) -> int:
        def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
            said = settings if arguments[0] == "config" else state(resource(kind, "x", **{prop: value}))
            return subprocess.CompletedProcess(arguments, 0, json.dumps(said), "")

        return verify_state.run(cli.parser().parse_args(["verify-state"]), run)

    assert judged(GATE, planted) == 6
    assert f"its {prop} is {planted!r}, which the settings don't name" in capsys.readouterr().out
    assert judged(GATE, own) == 0
    assert judged(GATE, "") == 0
    assert judged("kubernetes:core/v1:Service", planted) == 0, "what Kubernetes holds is drift's matter"


@pytest.mark.parametrize("prop", ["kubeconfig", "context"])
def test_a_name_of_another_setting_is_no_context_of_a_provider(prop: str) -> None:
    """Each input is compared with its own setting: any text of the settings would let a planted one pass."""
    settings = told({"cluster": {"name": "atlas", "namespace": "hpc"}, "kubernetes": {"context": "prod"}})
    known = verify_state.known_of(settings)
    for kind in (KUBERNETES, GATE):
        found = verify_state.foreign([resource(kind, "x", **{prop: "hpc"})], CLASSES, known=lambda: known)
        assert found, kind
        assert "which the settings don't name" in found[0]
    assert verify_state.foreign([resource(KUBERNETES, "x", context="prod")], CLASSES, known=lambda: known) == ()


def test_inputs_of_an_own_provider_can_be_allowed_by_name() -> None:
    own = resource(KUBERNETES, "mine", kubeconfig="clusters: []\n", namespace="tools")
    assert len(found(own)) == 4, "two inputs on two sides"
    allowed = frozenset({"mine.kubeconfig", "mine.namespace"})
    assert verify_state.foreign([own], CLASSES, allowed=allowed) == ()
    assert verify_state.foreign([own | {"urn": "a::other"}], CLASSES, allowed=allowed) != ()


def test_what_a_change_of_settings_comes_from_and_goes_to_is_not_planted() -> None:
    """CI looks at the state just when settings have changed: keys of the stack's own, and both ways to sign."""
    settings = told({"cluster": {"name": "atlas"}, "keys": {"tokens": "rs256"}})
    before = resource(tokens="hs256", jwtSecret="slurm-auth-jwths256", jwtEntry="jwt_hs256.key", restapiScheme="")
    assert verify_state.foreign([before], CLASSES, known=lambda: verify_state.known_of(settings)) == ()


def test_settings_that_can_not_be_read_are_no_answer() -> None:
    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        text = json.dumps(state(resource(KUBERNETES, "x", kubeconfig="/a"))) if arguments[0] == "stack" else '{"a": "{"}'
        return subprocess.CompletedProcess(arguments, 0, text, "")

    with pytest.raises(StateError, match="settings"):
        verify_state.run(cli.parser().parse_args(["verify-state"]), run)


def test_what_an_own_program_uses_can_be_allowed() -> None:
    more = frozenset({"aws"})
    assert verify_state.foreign([resource("aws:s3:Bucket", "x")], CLASSES, verify_state.PACKAGES | more) == ()


@given(st.binary(max_size=200), st.sampled_from([0, 1, 8, 40]))
def test_no_bytes_are_loaded_and_none_are_too_odd(raw: bytes, begin: int) -> None:
    text = base64.b64encode(base64.b64decode(OURS)[:begin] + raw).decode()
    assert (reference(text) in CLASSES) == (found(resource(__provider=text)) == ())


def test_names_of_a_state_move_no_cursor() -> None:
    (said,) = found(resource("evil\x1b[2J\u202e:a:b", "x\x9b31m"))
    assert said.isprintable()


def exported(state: dict[str, Any], code: int = 0, asked: list[Sequence[str]] | None = None) -> Any:
    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        (asked if asked is not None else []).append(arguments)
        return subprocess.CompletedProcess(arguments, code, json.dumps(state), "error: passphrase must be set")

    return run


def state(*resources: dict[str, Any], pending: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {"version": 3, "deployment": {"resources": list(resources), "pending_operations": list(pending)}}


def test_operations_that_were_cut_short_are_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    bad = {"type": "deleting", "resource": resource(__provider=evil(4))}
    arguments = cli.parser().parse_args(["verify-state"])
    assert verify_state.run(arguments, exported(state(pending=[bad]))) == 6
    said = capsys.readouterr().out
    assert "cpu-scale" in said
    assert "stack import" in said
    assert evil(4) not in said


def test_secrets_are_decrypted_unless_it_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Sequence[str]] = []
    for words in (["verify-state", "--stack", "prod"], ["verify-state", "--encrypted", "--json"]):
        assert verify_state.run(cli.parser().parse_args(words), exported(state(resource(__provider=OURS)), asked=asked)) == 0
    assert ["--show-secrets" in words for words in asked] == [True, False]
    first, _, rest = capsys.readouterr().out.partition("\n")
    assert first == "the state holds no foreign code"
    assert json.loads(rest) == {"schema": 1, "foreign": []}


@pytest.mark.parametrize("bad", [{}, {"deployment": None}, {"deployment": {"resources": ["x"]}}, []])
def test_what_is_no_state_is_no_answer(bad: Any) -> None:
    with pytest.raises(StateError):
        pulumi_state.everything(None, exported(bad), decrypted=False)
    with pytest.raises(StateError, match="passphrase must be set"):
        pulumi_state.everything(None, exported(bad, code=255), decrypted=True)


MORE: dict[str, Any] = {
    "nothing": {},
    "keys of a store": STORE,
    "jobs": JOBS,
    "a node table": TABLE,
    "RSA tokens": {"keys": {"tokens": "rs256"}},
    "another cluster": {"kubernetes": {"kubeconfig": "~/.kube/prod", "context": "prod"}},
    "an own slurmrestd": {"slurmrest": {"url": "http://rest:6820", "allowPlainHttp": True, "user": "drainer"}},
    "other names": {
        "cluster": {"resourceName": "hpc", "namespace": "compute"},
        "restapi": {"tls": {"source": "generated", "since": "2026-01-01"}},
    },
}


@pytest.mark.parametrize(
    ("name", "more"), [*((name, "nothing") for name in (*STACKS, MUNGE)), *(("dev", each) for each in MORE)]
)
def test_no_stack_of_the_programs_own_is_taken_for_planted(name: str, more: str) -> None:
    """Inputs of each provider and gate are those of the settings, defaults and all."""
    settings = told(merged(stack_sections(name), MORE[more]))
    made = recorded(name, **MORE[more]).resources
    looked = [
        {"type": each.type, "urn": each.urn, "inputs": plain(each.inputs), "outputs": plain(each.inputs)}
        for each in made
        if each.type.startswith(("pulumi:providers:", "kubernetes:helm")) or "dynamic/" in each.type
    ]
    gates = [each for each in looked if "dynamic/" in each["type"]]
    for each in gates:
        each["inputs"]["__provider"] = each["outputs"]["__provider"] = each["inputs"]["__provider"].value
    assert gates
    assert any(each["type"] == KUBERNETES for each in looked)
    assert verify_state.foreign(looked, CLASSES, known=lambda: verify_state.known_of(settings)) == ()


def plain(inputs: Any) -> dict[str, Any]:
    return {key: value for key, value in dict(inputs).items() if value is not None}


@pytest.mark.parametrize("option", ["retainOnDelete", "deletedWith", "hideDiff", "ignoreChanges"])
def test_an_option_that_goes_round_a_gate_is_found(option: str) -> None:
    """Policies see only one of them: the engine doesn't show them the others."""
    given = {"retainOnDelete": True, "deletedWith": "urn:x", "hideDiff": ["replicas"], "ignoreChanges": ["replicas"]}[option]
    (said,) = found(resource(__provider=OURS), resource(name="gpu-scale", __provider=OURS) | {option: given})
    assert said.startswith(f"gpu-scale ({GATE}): it has {option}, which the program gives no gate")
    kept = resource("kubernetes:core/v1:Namespace", "slurm") | {option: given}
    assert found(kept) == ()


def test_an_option_by_which_each_change_replaces_a_nodeset_is_found() -> None:
    """Policies don't see it, and a replacement deletes the NodeSet with its pods."""
    nodeset = resource("kubernetes:slinky.slurm.net/v1beta1:NodeSet", "gpu")
    mode = 'metadata.annotations["slinky-iac/scaling-mode"]'
    assert found(nodeset | {"replaceOnChanges": [mode]}) == found(nodeset) == ()
    for more in (["spec.template"], ["*", mode]):
        (said,) = found(nodeset | {"replaceOnChanges": more})
        assert f"it has replaceOnChanges ({more[0]})" in said
