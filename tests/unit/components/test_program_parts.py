"""A cluster and a NodeSet in one call each: with Outputs of other resources, and with the messages of the YAML way."""

from __future__ import annotations

import re
from typing import Any

import pulumi
import pytest
from pulumi import Output

from components.inputs import address
from components.node_set import counted
from components.output_kinds import checked
from components.program_parts import HybridCluster, NodeSet
from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.config.reading.load import load
from slinky_iac.config.sections import Operator
from slinky_iac.config.workers import Resources
from slinky_iac.specs.workers import nodeset_spec, template_digest
from tests.clusters import SECRETS
from tests.program import Recording, Secret, configured, run

CR = "kubernetes:slinky.slurm.net/v1beta1:"
KEYS = {name: SECRETS[name] for name in ("slurmKey", "jwtKey")}
OUTSIDE: dict[str, Any] = {"keys": {"source": "imported"}, "nodesets": {"gpu": {"replicas": 2}}}


def made(program: Any, secrets: dict[str, str] | None = None) -> Recording:
    with configured({}, KEYS if secrets is None else secrets):
        return run(program)


def refused(program: Any, secrets: dict[str, str] | None = None) -> str:
    said: list[str] = []

    def caught() -> None:
        try:
            program()
        except StackRefused as error:
            said.append(str(error))

    recording = made(caught, secrets)
    assert [each for each in recording.resources if "slurm" in each.type] == []
    return said[0]


def test_the_hosts_of_other_resources_are_in_every_resource_and_no_placeholder_is() -> None:
    def program() -> None:
        vm, database = Output.from_input("10.0.0.5"), Output.from_input("dbd.internal.example.org")
        HybridCluster("atlas", slurmctld=address(vm), slurmdbd=database, **OUTSIDE)

    recording = made(program)
    assert recording.one(f"{CR}Controller").inputs["spec"]["externalConfig"]["host"] == "10.0.0.5"
    assert recording.one(f"{CR}Accounting").inputs["spec"]["externalConfig"]["host"] == "dbd.internal.example.org"
    service = next(each for each in recording.of("core/v1:Service") if "accounting" in each.name)
    assert service.inputs["spec"]["externalName"] == "dbd.internal.example.org"
    everything = repr([each.inputs for each in recording.resources])
    assert "slinky-output" not in everything
    assert "192.0.2.1" not in everything
    cluster = recording.one("slinky:slurm:HybridCluster")
    assert recording.outputs[cluster.urn]["slurmd_join"] == "/usr/sbin/slurmd --conf-server 10.0.0.5:6817"


def test_backups_of_slurmctld_and_the_secret_of_sssd_may_be_of_other_resources() -> None:
    def program() -> None:
        spare, secret = Output.from_input("10.0.0.6"), Output.from_input("sssd-of-the-site")
        logins = {"main": {"sssd_conf_from": {"secret": secret}}}
        slurmctld = {"external": {"host": "ctl.example.org", "backups": [address(spare)]}}
        HybridCluster("atlas", controller=slurmctld, accounting={"enabled": False}, logins=logins, **OUTSIDE)

    recording = made(program)
    (server,) = recording.one(f"{CR}NodeSet").inputs["spec"]["slurmd"]["env"]
    assert server == {"name": "SLURM_CONF_SERVER", "value": "ctl.example.org:6817,10.0.0.6:6817"}
    assert recording.one(f"{CR}LoginSet").inputs["spec"]["sssdConfRef"] == {"name": "sssd-of-the-site", "key": "sssd.conf"}
    assert "slinky-output" not in repr([each.inputs for each in recording.resources])
    cluster = recording.one("slinky:slurm:HybridCluster")
    join = "/usr/sbin/slurmd --conf-server ctl.example.org:6817,10.0.0.6:6817"
    assert recording.outputs[cluster.urn]["slurmd_join"] == join


def test_an_image_of_another_resource_changes_the_digest_that_a_rollout_goes_by() -> None:
    def digests(image: str) -> tuple[str, str, str]:
        def program() -> None:
            HybridCluster("atlas", slurmctld="ctl.example.org", accounting={"enabled": False}, keys={"source": "imported"},
                          nodesets={"gpu": {"replicas": 2, "image": Output.from_input(image)}})  # fmt: skip

        recording = made(program)
        nodeset, gate = recording.one(f"{CR}NodeSet"), recording.one("NodeSetScale")
        noted = nodeset.inputs["metadata"]["annotations"]["slinky-iac/template"]
        return nodeset.inputs["spec"]["slurmd"]["image"], noted, gate.inputs["template"]

    one, other = digests("r.example.org/slurmd:1"), digests("r.example.org/slurmd:2")
    assert one[0] == "r.example.org/slurmd:1"
    assert one[1] == one[2] != other[1] == other[2]
    sections = {"cluster": {"name": "atlas"}, "accounting": {"enabled": False}, "keys": {"source": "imported"},
                "controller": {"external": {"host": "ctl.example.org"}},
                "nodesets": {"gpu": {"replicas": 2, "image": "r.example.org/slurmd:1"}}}  # fmt: skip
    config = load(sections)
    assert one[1] == template_digest(nodeset_spec(config, "gpu", config.nodesets["gpu"]))


def test_what_is_not_known_in_a_preview_is_unknown_and_never_a_placeholder() -> None:
    def program() -> None:
        HybridCluster("atlas", slurmctld=unknown(), accounting={"enabled": False}, **OUTSIDE)

    with configured({}, KEYS):
        recording = run(program, preview=True)
    spec = recording.one(f"{CR}Controller").inputs["spec"]
    assert "slinky-output" not in repr(spec)


async def _never() -> Any:
    return None


async def _false() -> bool:
    return False


@pytest.mark.parametrize(
    ("known", "kind", "said"),
    [
        (
            "10.0.0.5",
            "host name",
            "the Output that it is given is an IP address, and what was made leads to a DNS name. Wrap it",
        ),
        ("fd00::5", "address", "the Output that it is given is an IPv6 address"),
        ("ctl.example.org", "address", "the Output that it is given is a name; give it without"),
        ("not a host", "host", "must be a host: a DNS name or an IP address"),
        (None, "host", "must be a host: a DNS name or an IP address"),
        ("no-tag", "image", "must be an image"),
    ],
)
def test_an_output_of_another_kind_ends_the_program(known: object, kind: str, said: str) -> None:
    with pytest.raises(pulumi.RunError, match=f"^controller.external.host: {said}"):
        checked(known, kind, "controller.external.host")
    assert checked("10.0.0.5", "address", "x") == checked("10.0.0.5", "host", "x") == "10.0.0.5"


@pytest.mark.parametrize(
    ("host", "join"),
    [("10.0.0.5", "10.0.0.5:6817"), ("ctl.example.org", "ctl.example.org:6817"), ("fd00::5", "[fd00::5]:6817")],
)
def test_slurmctlds_host_may_be_a_name_or_an_address_without_saying_which(host: str, join: str) -> None:
    def program() -> None:
        HybridCluster("atlas", slurmctld=Output.from_input(host), accounting={"enabled": False}, **OUTSIDE)

    recording = made(program)
    assert recording.one(f"{CR}Controller").inputs["spec"]["externalConfig"]["host"] == host
    cluster = recording.one("slinky:slurm:HybridCluster")
    assert recording.outputs[cluster.urn]["slurmd_join"] == f"/usr/sbin/slurmd --conf-server {join}"


def test_an_address_as_text_is_what_an_address_as_an_output_is() -> None:
    def slices(host: Any) -> list[dict[str, Any]]:
        recording = made(lambda: HybridCluster("atlas", slurmctld="ctl.example.org", slurmdbd=address(host), **OUTSIDE))
        return [each.inputs["endpoints"] for each in recording.of("EndpointSlice")]

    async def later() -> str:
        return "10.0.0.5"

    assert slices("10.0.0.5") == slices(Output.from_input("10.0.0.5")) == slices(later())
    assert slices("10.0.0.5")[0][0]["addresses"] == ["10.0.0.5"]
    said = refused(lambda: HybridCluster("atlas", slurmctld=address("ctl.example.org"), **OUTSIDE))
    assert "controller.external.host: address() was given a name" in said


def warned(caplog: pytest.LogCaptureFixture, **hosts: Any) -> list[str]:
    """What a preview warns of."""

    def program() -> None:
        HybridCluster("atlas", kubernetes={"kubeconfig": "/nowhere/kubeconfig"}, **OUTSIDE, **hosts)

    with configured({}, KEYS):
        run(program, preview=True)
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


def unknown() -> Output[str]:
    return Output(set(), _never(), _false())


def test_a_preview_warns_of_an_output_that_decides_what_leads_to_a_host(caplog: pytest.LogCaptureFixture) -> None:
    """Only the update would learn that it is an address, in its middle."""
    said = warned(caplog, slurmctld=unknown(), slurmdbd=unknown())
    assert [each.partition(":")[0] for each in said if "isn't known yet" in each] == ["accounting.external.host"]
    caplog.clear()
    assert not any("isn't known yet" in each for each in warned(caplog, slurmctld=unknown(), slurmdbd=address(unknown())))


def test_a_preview_with_outputs_says_what_answers_nothing_as_one_of_a_file_does(caplog: pytest.LogCaptureFixture) -> None:
    closed = {"external": {"host": "dbd.invalid"}}
    known = warned(caplog, slurmctld=Output.from_input("ctl.invalid"), accounting=closed)
    assert any(each.startswith("kubernetes: ") and "/nowhere/kubeconfig" in each for each in known)
    tried = [each.partition(" from here")[0] for each in known if ": tried " in each]
    assert tried == [
        "controller.external: tried slurmctld at ctl.invalid port 6817",
        "accounting.external: tried slurmdbd at dbd.invalid port 6819",
    ]
    caplog.clear()
    later = warned(caplog, slurmctld=unknown(), accounting=closed)
    assert not any("slinky-output" in each for each in later), "a placeholder isn't tried"
    assert any(each.startswith("kubernetes: ") for each in later)
    assert any("dbd.invalid port" in each for each in later)


def test_an_output_that_decides_what_is_made_is_refused_by_its_path() -> None:
    said = refused(lambda: HybridCluster("atlas", nodesets={"gpu": {"replicas": 1, "maxReplicas": Output.from_input(2)}}))
    assert re.match(
        r"HybridCluster atlas \(tests/unit/components/test_program_parts.py:\d+\): 1 error in its arguments:", said
    )
    assert "nodesets.gpu.maxReplicas: can't be an Output: numbers are counted" in said
    several = {"namespace": Output.from_input("a"), "slurm_version": Output.from_input("b")}
    said = refused(lambda: HybridCluster("atlas", cluster=several, **OUTSIDE))
    assert said.count("can't be an Output") == 2
    assert said.count("Settings that can") == 1, "which can is said once"


def test_errors_are_those_of_the_yaml_way() -> None:
    said = refused(lambda: HybridCluster("atlas", nodesets={"gpu": {"replica": 2}}, operator={"version": "9.9.9"}))
    assert "nodesets.gpu.replica: is not a setting; did you mean replicas?" in said
    assert "operator.version: got '9.9.9'" in said
    assert "pydantic" not in said
    said = refused(lambda: NodeSet("gpu", cluster={"cluster": {"name": "a"}}, replicas=1, imge="x"))
    assert said.startswith("NodeSet gpu (tests/")
    assert "nodesets.gpu.imge: is not a setting; did you mean image?" in said


def test_names_of_settings_may_be_python_s_and_names_of_yours_stay() -> None:
    def program() -> None:
        cluster = {"cluster": {"name": "atlas"}, "operator": Operator(version="1.2.1")}
        more = {"env": {"MY_VAR": "1"}, "update_strategy": {"max_unavailable": 2}}
        NodeSet(
            "gpu", cluster=cluster, replicas=1, resources=Resources(cpus="8"), pod={"node_selector": {"a_b": "c"}}, **more
        )

    spec = made(program).one(f"{CR}NodeSet").inputs["spec"]
    assert {"name": "MY_VAR", "value": "1"} in spec["slurmd"]["env"]
    assert spec["template"]["spec"]["nodeSelector"]["a_b"] == "c"


def test_a_nodeset_on_each_node_has_no_number_and_its_gate_has_the_selection() -> None:
    def program() -> None:
        pod = {"nodeSelector": {"pool": "gpu"}}
        NodeSet("gpu", cluster={"cluster": {"name": "atlas"}}, pod=pod, scalingMode="DaemonSet")

    recording = made(program)
    (gate,) = recording.of("NodeSetScale")
    assert (gate.inputs["scalingMode"], gate.inputs["selection"]["nodeSelector"]) == ("DaemonSet", {"pool": "gpu"})
    assert "nodeSelector" not in recording.one(f"{CR}NodeSet").inputs["spec"]["template"]["spec"]
    assert "replicas" in refused(lambda: NodeSet("gpu", cluster={"cluster": {"name": "atlas"}}))


def test_a_nodeset_joins_a_cluster_of_the_program_and_takes_its_number_from_a_resource() -> None:
    def program() -> None:
        atlas = HybridCluster("atlas", slurmctld="ctl.example.org", accounting={"enabled": False}, **OUTSIDE)
        NodeSet("cpu", cluster=atlas, replicas=Output.from_input(3.0))

    recording = made(program)
    gate = next(each for each in recording.of("NodeSetScale") if each.inputs["nodeset"] == "cpu")
    assert (gate.inputs["replicas"], gate.inputs["maxReplicas"], gate.inputs["cluster"]) == (3, 3, "atlas")
    for wrong in (-1, 1.5, "many", True):
        with pytest.raises(pulumi.RunError, match=r"x: .* whole number"):
            counted(wrong, "x")


def test_a_password_of_another_resource_is_a_secret() -> None:
    def program() -> None:
        HybridCluster("atlas", accounting={"database": {"host": "db.example.org"}}, nodesets={"gpu": {"replicas": 1}},
                      database_password=Output.from_input("pass-of-the-database"))  # fmt: skip

    recording = made(program, {})
    found = [each for each in recording.of("core/v1:Secret") if "pass-of-the-database" in repr(each.inputs)]
    assert [isinstance(each.inputs.get("stringData"), Secret) or "Secret(" in repr(each.inputs) for each in found] == [True]


def test_a_program_takes_over_what_a_chart_made() -> None:
    """The section is that of the file which `slinky adopt` writes."""
    uid = "00000000-0000-4000-8000-000000000001"
    sections = {"adopted": {"release": "slurm", "objects": {"NodeSet slurm-worker-gpu": {"uid": uid}}}}

    keys = {"source": "existing", "slurm_key_from": {"secret": "a"}, "jwt_key_from": {"secret": "b", "key": "jwt.key"}}

    def program() -> None:
        HybridCluster(
            "atlas",
            cluster={"create_namespace": False},
            slurmctld="ctl.example.org",
            accounting={"enabled": False},
            keys=keys,
            nodesets=OUTSIDE["nodesets"],
            kubernetes={"kubeconfig": "/nowhere/kubeconfig"},
            more=sections,
        )

    with configured({}):
        recording = run(program, preview=True)
    assert recording.one(f"{CR}NodeSet").import_id == "slurm/slurm-worker-gpu"
    assert recording.one(f"{CR}Controller").import_id == ""
