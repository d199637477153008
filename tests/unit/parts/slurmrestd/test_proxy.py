"""TLS before slurmrestd, whole: the proxy in its pods, its Service and files."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.slurmrestd.objects import certificate_names, certificate_spec, service_spec
from slinky_iac.parts.slurmrestd.proxy import files as files_of
from slinky_iac.parts.slurmrestd.settings import RestApiTls
from slinky_iac.specs.daemons import restapi_spec
from tests.crds import SERVED, faults
from tests.stacks import minimal

GIVEN = {"source": "existing", "secret": "rest-cert", "image": "registry.example.org/nginx:1"}


def with_tls(tls: dict[str, Any], **restapi: Any) -> StackConfig:
    access = {"url": "https://rest.example.org", "clientCertFile": "c", "clientKeyFile": "k"}
    return load(minimal(restapi={"tls": tls, **restapi}, slurmrest=access if "clientCaSecret" in tls else {}))


def test_the_proxy_stands_beside_slurmrestd_and_cannot_keep_it_from_starting() -> None:
    config = with_tls(GIVEN | {"clientCaSecret": "clients"}, pod={"annotations": {"a": "b"}, "nodeSelector": {"x": "y"}})
    template = restapi_spec(config)["template"]
    (hashed,) = set(template["metadata"]["annotations"]) - {"a"}
    assert (hashed, len(template["metadata"]["annotations"][hashed])) == ("slinky-iac/tls-files", 16)

    def secret(name: str, *entries: str) -> dict[str, Any]:
        items = [{"key": entry, "path": entry} for entry in entries]
        return {"secretName": name, "items": items, "defaultMode": 0o440, "optional": True}

    assert template["spec"] == {
        "nodeSelector": {"x": "y"},
        "containers": [
            {
                "name": "slinky-tls",
                "image": "registry.example.org/nginx:1",
                "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "/etc/slinky-tls/conf/start.sh"],
                "ports": [{"name": "slurmrestd-tls", "containerPort": 6843, "protocol": "TCP"}],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                    "runAsNonRoot": True,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "volumeMounts": [
                    {"name": "slinky-tls-conf", "mountPath": "/etc/slinky-tls/conf", "readOnly": True},
                    {"name": "slinky-tls-own", "mountPath": "/etc/slinky-tls/own", "readOnly": True},
                    {"name": "slinky-tls-scratch", "mountPath": "/tmp"},
                    {"name": "slinky-tls-clients", "mountPath": "/etc/slinky-tls/clients", "readOnly": True},
                ],
            }
        ],
        "volumes": [
            {"name": "slinky-tls-conf", "configMap": {"name": "slurm-restapi-tls-conf"}},
            {"name": "slinky-tls-own", "secret": secret("rest-cert", "tls.crt", "tls.key")},
            {"name": "slinky-tls-scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
            {"name": "slinky-tls-clients", "secret": secret("clients", "ca.crt")},
        ],
    }


def test_the_port_that_the_operator_asks_is_left_as_it_is() -> None:
    plain, tls = restapi_spec(load(minimal())), restapi_spec(with_tls(GIVEN))
    assert {**tls, "template": None} == {**plain, "template": None}


@pytest.mark.parametrize("version", SERVED)
def test_the_crds_take_it(version: str) -> None:
    config = load(minimal(operator={"version": version}, restapi={"tls": GIVEN}))
    assert faults(version, "RestApi", restapi_spec(config)) == []


def test_the_service_leads_to_tls_only() -> None:
    service = {"type": "NodePort", "nodePort": 30843}
    spec = service_spec(*section(with_tls(GIVEN | {"service": service})))
    assert spec == {
        "type": "NodePort",
        "selector": {"app.kubernetes.io/name": "slurmrestd", "app.kubernetes.io/instance": "slurm"},
        "ports": [{"name": "https", "port": 6843, "targetPort": 6843, "protocol": "TCP", "nodePort": 30843}],
    }


def section(config: StackConfig) -> Any:
    return config, config.restapi.tls


@pytest.mark.parametrize("clients", [{}, {"clientCaSecret": "clients"}])
def test_clients_are_asked_for_a_certificate_only_where_their_authorities_are_given(clients: dict[str, str]) -> None:
    files = files_of(RestApiTls.model_validate(GIVEN | clients))
    asked = "ssl_verify_client on;" in files["nginx.conf"]
    assert asked == ("ssl_client_certificate /etc/slinky-tls/clients/ca.crt;" in files["nginx.conf"]) == bool(clients)
    assert ("clients/ca.crt" in files["start.sh"]) == bool(clients)


def test_the_start_script_is_posix_shell(tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text(files_of(RestApiTls.model_validate(GIVEN))["start.sh"])
    subprocess.run(["sh", "-n", str(script)], check=True)


def test_a_certificate_has_the_services_names_loopback_and_those_that_are_set() -> None:
    tls = {"source": "cert-manager", "issuer": {"name": "site", "kind": "ClusterIssuer"}}
    config = with_tls(tls | {"hosts": ["rest.example.org", "192.0.2.1", "localhost"]})
    service = "slurm-restapi-tls"
    own = [f"{service}.slurm", service, f"{service}.slurm.svc", f"{service}.slurm.svc.cluster.local", "localhost"]
    assert certificate_names(*section(config)) == (*own, "127.0.0.1", "rest.example.org", "192.0.2.1")
    assert certificate_spec(*section(config)) == {
        "secretName": "slurm-restapi-tls",
        "dnsNames": [*own, "rest.example.org"],
        "ipAddresses": ["127.0.0.1", "192.0.2.1"],
        "issuerRef": {"name": "site", "kind": "ClusterIssuer", "group": "cert-manager.io"},
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "usages": ["digital signature", "server auth"],
    }
