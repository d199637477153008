"""Parts in a program of somebody's own: no stack file. The program of the NodeSet is the page's."""

from __future__ import annotations

import base64
import re
from typing import Any

import pulumi
import pytest

from components import (
    Accounting,
    AccountingArgs,
    AuthKeys,
    AuthKeysArgs,
    Client,
    ClientArgs,
    ExternalEndpoints,
    ExternalEndpointsArgs,
    LoginSet,
    LoginSetArgs,
    MungeClients,
    MungeClientsArgs,
    PartGates,
    PartGatesArgs,
    PartObjects,
    PartObjectsArgs,
    RestApi,
    RestApiArgs,
)
from slinky_iac.config import clients as config
from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.config.reading.load import load
from slinky_iac.config.resources import SecretReference
from slinky_iac.config.sections import Cluster, Keys, Operator
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.config.workers import LoginSet as Login
from slinky_iac.config.workers import NodeSet as NodeSetSettings
from slinky_iac.config.workers import Resources
from slinky_iac.errors import ConfigError
from slinky_iac.keys.catalogue import DAEMON_KEYS
from slinky_iac.parts.munge.settings import Munge
from slinky_iac.parts.slurmctld.settings import Controller, ExternalSlurmctld
from slinky_iac.parts.slurmdbd.settings import Accounting as AccountingSettings
from slinky_iac.parts.slurmdbd.settings import ExternalSlurmdbd
from slinky_iac.specs.daemons import restapi_spec
from slinky_iac.specs.workers import loginset_spec, nodeset_spec
from tests.program import Secret, run
from tests.stacks import ROOT, form, minimal

CR = "kubernetes:slinky.slurm.net/v1beta1:"


def page() -> str:
    """The last Python block of the page."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "own-repository.md").read_text(), re.DOTALL)
    return str(blocks[-1])


def test_the_page_s_program_makes_a_nodeset_and_its_gate() -> None:
    recording = run(lambda: exec(page(), {}))
    nodeset = recording.one(f"{CR}NodeSet")
    atlas = ClusterConfig(cluster=Cluster(name="atlas", namespace="slurm"), operator=Operator(version="1.2.1"))
    settings = NodeSetSettings(replicas=4, resources=Resources(cpus="8"))
    assert nodeset.inputs["metadata"]["namespace"] == "slurm"
    assert nodeset.inputs["spec"] == nodeset_spec(atlas, "cpu", settings)
    assert nodeset.inputs["spec"]["controllerRef"] == {"name": "slurm"}
    gate = recording.one("pulumi-python:dynamic/slurm:NodeSetScale")
    assert (gate.inputs["nodeset"], gate.inputs["replicas"], gate.inputs["cluster"]) == ("cpu", 4, "atlas")
    assert nodeset.urn in gate.dependencies


def test_a_login_set_needs_its_cluster_and_its_own_settings() -> None:
    cluster = ClusterConfig(cluster=Cluster(name="atlas"), operator=Operator(version="1.2.1"))
    login = Login(sssd_conf_from=SecretReference(secret="sssd"))
    recording = run(lambda: LoginSet("login", LoginSetArgs(cluster=cluster, name="main", settings=login)))
    assert recording.one(f"{CR}LoginSet").inputs["spec"] == loginset_spec(cluster, "main", login)


def test_keys_slurmdbd_and_slurmrestd_need_their_cluster_alone() -> None:
    host = ExternalSlurmdbd(host="dbd.example.org")
    cluster = ClusterConfig(
        cluster=Cluster(name="atlas"), operator=Operator(version="1.2.1"), accounting=AccountingSettings(external=host)
    )

    def program() -> None:
        AuthKeys("keys", AuthKeysArgs(config=cluster))
        Accounting("accounting", AccountingArgs(config=cluster))
        RestApi("restapi", RestApiArgs(config=cluster))
        ExternalEndpoints("endpoints", ExternalEndpointsArgs(config=cluster))

    recording = run(program)
    assert recording.one(f"{CR}RestApi").inputs["spec"] == restapi_spec(cluster)
    assert recording.one(f"{CR}Accounting").inputs["spec"]["externalConfig"]["host"] == host.host
    assert len(recording.of("kubernetes:core/v1:Secret")) == len(DAEMON_KEYS)


def test_a_client_needs_its_cluster_and_its_own_section() -> None:
    cluster = ClusterConfig(cluster=Cluster(name="atlas"), operator=Operator(version="1.2.1"), munge=Munge(image="m:1"))
    site = config.Client(namespace="site")
    recording = run(lambda: Client("site", ClientArgs(cluster=cluster, name="site", settings=site)))
    assert recording.one("kubernetes:core/v1:Namespace").inputs["metadata"]["name"] == "site"


def test_a_munge_cluster_s_clients_need_its_slurmctld_alone() -> None:
    cluster = ClusterConfig(
        cluster=Cluster(name="atlas"),
        keys=Keys(auth="auth/munge", source="existing"),
        munge=Munge(image="munge:1"),
        controller=Controller(external=ExternalSlurmctld(host="ctl.example.org")),
    )
    recording = run(lambda: MungeClients("munge", MungeClientsArgs(config=cluster)))
    conf = recording.one("kubernetes:core/v1:ConfigMap").inputs["data"]["slurm.conf"]
    assert "SlurmctldHost=ctl.example.org" in conf


def test_a_munge_cluster_s_clients_are_given_its_key_without_another_setting() -> None:
    cluster = ClusterConfig(
        cluster=Cluster(name="atlas"),
        munge=Munge(image="munge:1"),
        controller=Controller(external=ExternalSlurmctld(host="ctl.example.org")),
    )
    text = base64.b64encode(bytes(range(64))).decode()

    def program() -> None:
        MungeClients("munge", MungeClientsArgs(config=cluster, key=pulumi.Output.secret(text)))

    recording = run(program)
    secret, conf = recording.one("kubernetes:core/v1:Secret"), recording.one("kubernetes:core/v1:ConfigMap")
    assert (secret.protect, secret.inputs["immutable"]) == (True, True)
    assert secret.inputs["data"] == Secret({"munge.key": text})
    assert secret.urn in conf.dependencies
    outputs = recording.outputs[recording.one("slinky:slurm:MungeClients").urn]
    assert outputs["key_fingerprint"].startswith("SHA256:")
    assert [each["name"] for each in outputs["pod"]["initContainers"]] == ["munged"]


@pytest.mark.parametrize("known", [(PartObjects, PartObjectsArgs), (PartGates, PartGatesArgs)])
def test_a_part_that_is_none_is_said_with_those_that_are(known: tuple[Any, Any]) -> None:
    component, arguments = known
    with pytest.raises(StackRefused, match=r"part is node_tabel: it is one of .*node_table.*Nothing of it was made"):
        run(lambda: component("own", arguments(config=form("all-in-kubernetes"), part="node_tabel")))


def test_a_stack_is_a_cluster_with_more() -> None:
    stack = form("all-in-kubernetes")
    cluster = ClusterConfig(**{name: getattr(stack, name) for name in ClusterConfig.model_fields})
    for name, nodeset in stack.nodesets.items():
        assert nodeset_spec(cluster, name, nodeset) == nodeset_spec(stack, name, nodeset)


def test_a_stack_file_has_camel_case_alone() -> None:
    with pytest.raises(ConfigError, match="max_replicas"):
        load(minimal(nodesets={"gpu": {"replicas": 1, "max_replicas": 2}}))
