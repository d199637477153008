"""Siblings of what an eighteenth and a nineteenth set found: evil ones beside openings, sound ones beside what is closed."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules.closed import cluster_as_made

from tests.policies.judging import judged, messages, spec
from tests.policies.test_siblings import said
from tests.policies.test_siblings_of_seventeenth import CONFIG_MAP, SCRATCH, at, login, of, with_volumes

Data = dict[str, Any]


def stack(**resources: Data) -> str:
    """What is said of the plain stack with these resources more."""
    return messages(judged(cluster_as_made, {"resources": resources}))


def job(**more: Any) -> Data:
    props = {"user": "bob", "partition": "gpu", "script": "#!/bin/bash\nsrun hostname\n", **more}
    return {"type": "pulumi-python:dynamic/slurm:SlurmJob", "properties": props}


def config_map(data: object, **metadata: Any) -> Data:
    head = {"name": "x", "namespace": "portal", **metadata}
    return {
        "type": "kubernetes:core/v1:ConfigMap",
        "properties": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head, "data": data},
    }


@pytest.mark.parametrize("key", ["jwt-key", "slurm-key"])
@pytest.mark.parametrize("field", ["environment", "script", "user", "workDir", "name"])
def test_a_key_flows_into_no_field_of_a_job(key: str, field: str) -> None:
    value = f"${{{key}.result}}"
    assert f"{field}" in stack(job=job(**{field: {"ANY": value} if field == "environment" else value}))


@pytest.mark.parametrize("output", ["result", "bcryptHash"])
def test_a_key_flows_into_no_object(output: str) -> None:
    value = f"${{jwt-key.{output}}}"
    assert "data.a takes the JWT key" in stack(x=config_map({"a": value}))
    assert "takes the JWT key" in stack(x=config_map({}, annotations={"checksum": value}))
    assert "takes the JWT key" in stack(restapi={"properties": {"metadata": {"annotations": {"team": value}}}})
    mark = {"metadata": {"annotations": {"slinky-iac/jwt-key": value}}}
    assert "takes the" not in stack(controller={"properties": mark})  # the program's own hash of it
    assert "takes the JWT key" in stack(x=config_map({}, annotations=mark["metadata"]["annotations"]))
    assert "takes the JWT key" in stack(
        gate={"type": "random:index/randomPassword:RandomPassword", "properties": {"x": value}}
    )


def test_a_key_flows_nowhere_by_way_of_others() -> None:
    between = {"type": "std:index:Base64", "properties": {"input": "${slurm-key.result}"}}
    assert "data.a takes slurm.key" in stack(between=between, x=config_map({"a": "${between.output}"}))
    secret = {
        "type": "kubernetes:core/v1:Secret",
        "properties": {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "copy", "namespace": "slurm"},
            "stringData": {"slurm.key.next": "${slurm-key.result}"},
        },
    }
    assert "data.a takes what a Secret with a key holds" in stack(copy=secret, x=config_map({"a": "${copy.binary}"}))


def test_what_is_of_no_key_flows_anywhere() -> None:
    other = {"type": "random:index/randomPassword:RandomPassword", "properties": {"length": 32}}
    assert " takes " not in stack(other=other, x=config_map({"a": "${other.result}"}))
    assert "takes the" not in stack(x=config_map({"a": "plain"}))


CNI = "k8s.v1.cni.cncf.io/networks"
TO_DAEMONS = ["controller", "accounting", "restapi"]


@pytest.mark.parametrize("part", TO_DAEMONS)
@pytest.mark.parametrize(
    "note", [CNI, "k8s.v1.cni.cncf.io/networks-status", "v1.multus-cni.io/default-network", "cni.cncf.io/x"]
)
def test_a_daemon_with_keys_has_no_annotation_of_a_network(part: str, note: str) -> None:
    for value in ("lan", "kube-system/lan@pub0", '[{"name": "lan", "default-route": ["192.0.2.1"]}]'):
        assert f"template.metadata.annotations.{note}" in messages(
            judged(cluster_as_made, spec(part, template={"metadata": {"annotations": {note: value}}}))
        )
    assert "annotations" in stack(**{part: {"properties": {"metadata": {"annotations": {note: "lan"}}}}})


@pytest.mark.parametrize("part", [*TO_DAEMONS, "nodeset"])
def test_other_annotations_of_pods_stay(part: str) -> None:
    for note in ("prometheus.io/scrape", "kubectl.kubernetes.io/restartedAt", "example.org/cost-center"):
        change = spec(part, template={"metadata": {"annotations": {note: "x"}}})
        assert "annotations" not in messages(judged(cluster_as_made, change))
    for note in (
        "cni.projectcalico.org/ipv4pools",
        "container.apparmor.security.beta.kubernetes.io/slurmd",
        "sidecar.istio.io/x",
    ):
        change = spec(part, template={"metadata": {"annotations": {note: "x"}}})
        assert "annotations" in messages(judged(cluster_as_made, change))


@pytest.mark.parametrize("size", ["2Gi", "64Mi", "31Gi", "1G", 1024])
def test_no_small_limit_of_a_disk_evicts_jobs(size: object) -> None:
    for source in ({"sizeLimit": size}, {"sizeLimit": size, "medium": ""}):
        assert "evicts the pod" in with_volumes("nodeset", ("x", {"emptyDir": source}, {"mountPath": "/scratch"}))
        pod = {"template": {"spec": {"volumes": [{"name": "x", "emptyDir": source}]}}}
        assert "evicts the pod" in login(pod, volumeMounts=[{"name": "x", "mountPath": "/scratch"}])
    limits = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": size}
    found = of("nodeset", {"resources": {"limits": limits, "requests": {"cpu": "64", "memory": "512Gi"}}})
    assert "evicted with its jobs" in found


@pytest.mark.parametrize(
    "source",
    [{}, {"sizeLimit": "400Gi"}, {"sizeLimit": "32Gi"}, {"medium": "Memory", "sizeLimit": "2Gi"}, {"medium": "Memory"}],
)
def test_a_large_limit_or_one_of_memory_evicts_nothing(source: Data) -> None:
    assert with_volumes("nodeset", ("x", {"emptyDir": source}, {"mountPath": "/scratch"})) == ""


def portal(text: str) -> str:
    return said("core/v1:ConfigMap", data={"x": text})


@pytest.mark.parametrize(
    "text",
    [
        "auth:\n  - AuthType None\n",
        "auth:\n- 'AuthType anonymous'\n- 'Require valid-user'\n",
        "  AuthType None\n",
        "auth:\n- 'Require all granted'\n",
        'auth:\n- "Require not user eve"\n',
        "auth:\n- Require expr true\n",
        "user_env: HTTP_X_REMOTE_USER\n",
        "user_env: 'http_remote_user'\n",
        "remote_user_header: X-Forwarded-User\n",
        "auth:\n- 'SetEnvIf X-Forwarded-User \"(.+)\" REMOTE_USER=$1'\n",
        "SetEnvIfNoCase X-User (.*) REMOTE_USER=$1\n",
        "SetEnv REMOTE_USER alice\n",
        "RewriteRule .* - [E=REMOTE_USER:%{HTTP:X-User}]\n",
        "fastcgi_param REMOTE_USER $http_x_user;\n",
        "uwsgi_param REMOTE_USER $arg_user;\n",
    ],
)
def test_nobody_says_himself_who_he_is(text: str) -> None:
    assert "who" in portal(text)


@pytest.mark.parametrize(
    "text",
    [
        "auth:\n- 'AuthType openid-connect'\n- 'Require valid-user'\nuser_env: REMOTE_USER\n",
        "auth:\n- AuthType Kerberos\n- Require ldap-group cn=hpc\n",
        "user_env: OIDC_CLAIM_preferred_username\n",
        "fastcgi_param REMOTE_USER $remote_user;\n",
        "<Location /public>\n  Require all granted\n</Location>\n",
        "RequestHeader unset X-Forwarded-User\n",
        "AuthType = plain words of a page\n",
    ],
)
def test_a_login_names_people(text: str) -> None:
    assert portal(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "[mariadb]\nskip-grant-tables\n",
        "[mysqld]\nskip_grant_tables=1\n",
        "[mysqld]\nloose-skip-grant-tables = ON\n",
        "mariadbd --skip-grant-tables",
        "[mysqld]\nskip-grant\n",
        "host all all 0.0.0.0/0 trust\n",
        "hostssl slurm slurm 10.0.0.0 255.0.0.0 trust\n",
        "hostnossl\tall\tall\t::/0\ttrust",
    ],
)
def test_a_database_asks_for_a_password(text: str) -> None:
    maria = {"apiVersion": "k8s.mariadb.com/v1alpha1", "kind": "MariaDB", "metadata": {"name": "x", "namespace": "db"}}
    assert "without a password" in portal(text)
    assert "without a password" in said("k8s.mariadb.com/v1alpha1:MariaDB", spec={"myCnf": text}, metadata=maria["metadata"])
    postgres = {"postgresql": {"pg_hba": text.splitlines()}}
    assert "without a password" in said("postgresql.cnpg.io/v1:Cluster", spec=postgres)


@pytest.mark.parametrize(
    "text",
    [
        "[mariadb]\nskip-name-resolve\n",
        "skip-grant-tables=0\n",
        "skip_grant_tables: OFF\n",
        "local all all trust\n",
        "host all all 127.0.0.1/32 trust\n",
        "host all all 10.0.0.0/8 scram-sha-256\n",
        "hosts that we trust\n",
    ],
)
def test_settings_of_a_database_that_let_nobody_in(text: str) -> None:
    assert portal(text) == ""


def storage_class(state: Data | None = None, *, name: str = "local-fast", **fields: Any) -> str:
    head = {"name": name, **fields.pop("metadata", {})}
    props = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": head, "provisioner": "x.io/y", **fields}
    claim = state if state is not None else {"storageClassName": "local-fast"}
    controller = spec("controller", persistence={"enabled": True, **claim})["resources"]["controller"]
    return stack(controller=controller, ram={"type": "kubernetes:storage.k8s.io/v1:StorageClass", "properties": props})


@pytest.mark.parametrize(
    "fields",
    [
        {"parameters": {"basePath": "/run/openebs"}},
        {"parameters": {"path": "/dev/shm"}},
        {"parameters": {"nodePath": "/tmp/volumes"}},
        {"parameters": {"nodePath": "/var/run/x"}},
        {"parameters": {"fsType": "tmpfs"}},
        {"provisioner": "ramdisk.csi.example.org"},
        {"parameters": {"medium": "Memory"}},
        {"metadata": {"annotations": {"cas.openebs.io/config": "- name: BasePath\n  value: /run/openebs\n"}}},
        {"mountOptions": ["tmpfs"]},
    ],
)
def test_the_state_outlives_a_boot_of_its_node(fields: Data) -> None:
    assert "in memory" in storage_class(**fields)
    assert "in memory" not in storage_class({"storageClassName": "ceph-block"}, **fields)
    default = {"annotations": {**fields.get("metadata", {}).get("annotations", {}), DEFAULT: "true"}}
    assert "in memory" in storage_class({}, **{**fields, "metadata": default})


DEFAULT = "storageclass.kubernetes.io/is-default-class"


@pytest.mark.parametrize("path", ["/var/openebs/local", "/mnt/run-1", "/srv/tmpdata", "/data/run", "/opt/local-path"])
def test_a_class_on_a_disk_keeps_the_state(path: str) -> None:
    assert "in memory" not in storage_class(parameters={"path": path})


@pytest.mark.parametrize("place", ["https://mirror.example.net/random", "http://10.0.0.1/x", "github://api.github.com/evil"])
@pytest.mark.parametrize("name", ["slurm-key", "controller", "restapi"])
def test_a_plugin_of_elsewhere_is_seen(name: str, place: str) -> None:
    assert "fetches a program" in stack(**{name: {"options": {"version": "4.18.4", "pluginDownloadURL": place}}})


def test_nccl_has_its_settings_of_a_config_map_alone() -> None:
    file = at("/etc/nccl.conf", subPath="nccl.conf")
    assert with_volumes("nodeset", ("nccl", CONFIG_MAP, file)) == ""
    for source in (SCRATCH, {"emptyDir": {}}, {"persistentVolumeClaim": {"claimName": "homes"}}):
        assert "covers" in with_volumes("nodeset", ("nccl", source, file))
    for path in ("/etc/nccl.conf.d", "/etc/xnccl.conf/x", "/etc/nccl", "/etc/nccl.conf/../shadow"):
        assert "covers" in with_volumes("nodeset", ("nccl", CONFIG_MAP, at(path)))
    inside = {"name": "nccl-conf", "namespace": "slurm"}
    for line in ("NCCL_NET_PLUGIN=/scratch/x.so", "NCCL_TUNER_PLUGIN=x", "NCCL_DEBUG_FILE=/home/x"):
        assert "nccl" in stack(x=config_map({"nccl.conf": line}, **inside)).lower()
    assert stack(x=config_map({"nccl.conf": "NCCL_DEBUG=WARN\n"}, **inside)) == ""


def test_backups_of_a_database_are_of_their_own_namespace() -> None:
    store = {
        "configuration": {"destinationPath": "s3://backups/", "s3Credentials": {"accessKeyId": {"name": "s3", "key": "k"}}}
    }
    assert said("barmancloud.cnpg.io/v1:ObjectStore", spec=store) == ""
    assert said("barmancloud.cnpg.io/v1:ObjectStore", namespace="slurm", spec=store) != ""
    assert said("barmancloud.cnpg.io.example.org/v1:ObjectStore", spec=store) != ""
    key = {"configuration": {"s3Credentials": {"accessKeyId": {"name": "slurm-auth-slurm", "key": "slurm.key"}}}}
    assert said("barmancloud.cnpg.io/v1:ObjectStore", spec={**key, "x": "slurm/slurm-auth-slurm"}) != ""
