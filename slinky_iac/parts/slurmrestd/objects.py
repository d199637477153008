"""What TLS before slurmrestd needs beside its pods: the proxy's files, its certificate, the Service that leads to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slinky_iac import names
from slinky_iac.config.fields import is_address
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.parts.slurmrestd.proxy import files, secret
from slinky_iac.parts.slurmrestd.settings import RestApiTls
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec, filled


def objects(config: ClusterConfig, tls: RestApiTls) -> Iterator[Object]:
    """All of them. A generated certificate's Secret is listed without what is in it: :func:`generated` makes that."""

    def core(kind: str, name: str, logical: str, **more: Any) -> Object:  # noqa: ANN401
        return Object(logical=logical, api_version="v1", kind=kind, name=name, **more)

    base, called = config.cluster.resource_name, secret(config, tls)
    yield core("ConfigMap", names.restapi_tls_conf(base), "conf", body={"data": files(tls)})
    if tls.source == "generated":
        yield core("Secret", called, "secret", body={"type": "kubernetes.io/tls"})
    elif tls.source == "cert-manager":
        body = {"spec": certificate_spec(config, tls)}
        yield Object(logical="certificate", api_version="cert-manager.io/v1", kind="Certificate", name=called, body=body)
    annotations = dict(tls.service.annotations)
    service, _ = config.slurmrestd.address
    yield core("Service", service, "service", body={"spec": service_spec(config, tls)}, annotations=annotations)


def service_spec(config: ClusterConfig, tls: RestApiTls) -> Spec:
    """Spec of the Service that leads to the proxy."""
    own = names.SLURMRESTD_TLS_PORT
    port = {"name": "https", "port": own, "targetPort": own, "protocol": "TCP", "nodePort": tls.service.node_port}
    selector = {names.LABEL_NAME: "slurmrestd", names.LABEL_INSTANCE: config.cluster.resource_name}
    return {"type": tls.service.type, "selector": selector, "ports": [filled(port)]}


def certificate_names(config: ClusterConfig, tls: RestApiTls) -> tuple[str, ...]:
    """Names and addresses that the certificate is for: the Service's in all their forms, loopback (port-forward), more."""
    service, _ = config.slurmrestd.address
    namespace = config.cluster.namespace
    own = (f"{service}.{namespace}", service, f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local")
    return tuple(dict.fromkeys((*own, "localhost", "127.0.0.1", *tls.hosts)))


def certificate_spec(config: ClusterConfig, tls: RestApiTls) -> Spec:
    """Spec of cert-manager's Certificate. cert-manager renews it and puts it into the Secret; nginx follows."""
    if tls.issuer is None:
        raise ValueError("a Certificate needs an issuer; the rules say so before this is called")
    hosts = certificate_names(config, tls)
    addresses = [name for name in hosts if is_address(name)]
    return {
        "secretName": secret(config, tls),
        "dnsNames": [name for name in hosts if name not in addresses],
        "ipAddresses": addresses,
        "issuerRef": {"name": tls.issuer.name, "kind": tls.issuer.kind, "group": tls.issuer.group},
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "usages": ["digital signature", "server auth"],
    }


def generated(config: ClusterConfig, seed: str) -> dict[str, str]:
    """Entries of a generated certificate's Secret, as PEM: ``tls.crt``, ``tls.key`` and ``ca.crt``, of which ``tls.key``
    alone is secret. ``seed``: a secret of the stack's state, at least 256 bits."""
    from slinky_iac.parts.slurmrestd import certificate  # noqa: PLC0415 - 60 ms that stacks without TLS needn't spend

    tls = config.restapi.tls
    if tls is None or tls.since is None:
        raise ValueError("a generated certificate needs since; the rules say so before this is called")
    made = certificate.make(seed.encode(), config.cluster.name, certificate_names(config, tls), tls.since, tls.days)
    return {"tls.crt": made.chain, "tls.key": made.key, "ca.crt": made.ca}
