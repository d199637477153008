"""TLS before slurmrestd as resources: what is secret is sent as a secret, and slurmrestd's pods come after their files."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography import x509

from tests.clusters import recorded
from tests.program import Recording, Secret
from tests.stacks import FORMS

SINCE = "2026-11-22"
GENERATED = {"source": "generated", "since": SINCE}


def made(stack: str = "controller-outside", tls: Any = None) -> Recording:
    return recorded(stack, restapi={"tls": tls or GENERATED})


def certificate(recording: Recording) -> Any:
    (found,) = [r for r in recording.of("core/v1:Secret") if r.name.endswith("-restapi-tls-secret")]
    return found


@pytest.mark.parametrize("stack", FORMS)
def test_a_generated_key_is_a_secret_from_the_seed_on(stack: str) -> None:
    recording = made(stack)
    found = certificate(recording)
    assert isinstance(found.inputs["data"], Secret)
    assert {"data", "stringData"} <= found.secret_outputs
    files = {entry: base64.b64decode(text) for entry, text in found.inputs["data"].value.items()}
    assert set(files) == {"tls.crt", "tls.key", "ca.crt"}
    everything = json.dumps([r.inputs for r in recording.resources if r != found] + [recording.outputs], default=str)
    body = "".join(files["tls.key"].decode().splitlines()[1:-1])
    assert body[:40] not in everything
    assert "PRIVATE KEY" not in everything


def test_the_authority_is_an_output_in_the_clear_and_signed_the_certificate() -> None:
    recording = made()
    (cluster,) = [outputs for urn, outputs in recording.outputs.items() if "slurmrestd_ca" in outputs]
    ca = x509.load_pem_x509_certificate(cluster["slurmrestd_ca"].encode())
    chain = base64.b64decode(certificate(recording).inputs["data"].value["tls.crt"])
    x509.load_pem_x509_certificates(chain)[0].verify_directly_issued_by(ca)
    assert cluster["slurmrestd_url"] == "https://slurm-restapi-tls.slurm:6843"


def test_slurmrestds_pods_come_after_the_files_that_they_mount() -> None:
    recording = made()
    restapi = recording.one("v1beta1:RestApi")
    before = recording.before(restapi)
    files = [r.urn for r in recording.resources if r.name.endswith(("-restapi-tls-conf", "-restapi-tls-secret"))]
    assert len(files) == 2
    assert set(files) <= before


def test_a_renewed_certificate_is_changed_in_place() -> None:
    provider = made().one("pulumi:providers:kubernetes").inputs
    assert (provider["enableSecretMutable"], provider["enableConfigMapMutable"]) == ("true", "true")
    assert "immutable" not in certificate(made()).inputs


def test_a_given_certificate_is_neither_made_nor_removed() -> None:
    recording = made(tls={"source": "existing", "secret": "rest-cert"})
    assert [r.name for r in recording.of("core/v1:Secret") if "tls" in r.name] == []
    assert [r.name for r in recording.of("RandomPassword") if "tls" in r.name] == []


def test_cert_manager_is_asked_for_one() -> None:
    recording = made(tls={"source": "cert-manager", "issuer": {"name": "site"}})
    found = recording.one("cert-manager.io/v1:Certificate")
    assert found.inputs["metadata"]["name"] == found.inputs["spec"]["secretName"] == "slurm-restapi-tls"


def test_gates_go_by_tls_then() -> None:
    props = made().of("NodeSetScale")[0].inputs
    assert (props["restapiService"], props["restapiScheme"]) == ("slurm-restapi", "https")
    assert recorded("controller-outside").of("NodeSetScale")[0].inputs["restapiScheme"] == ""
