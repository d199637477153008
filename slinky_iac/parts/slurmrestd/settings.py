"""The section restapi: slurmrestd in Kubernetes, and TLS before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from slinky_iac.config.base import Section
from slinky_iac.config.fields import Day, DnsLabel, Host, Image
from slinky_iac.config.outputs import CONF_WORDS, IMAGE, IN_NAMES, OBJECT, TEXT
from slinky_iac.config.raw import Raw
from slinky_iac.config.resources import ContainerResources
from slinky_iac.config.sections import PodSettings, Service


class Issuer(Section):
    """An Issuer or ClusterIssuer of cert-manager."""

    takes: ClassVar[Mapping[str, str]] = {"name": OBJECT}
    takes_none: ClassVar[Mapping[str, str]] = {"group": IN_NAMES}

    name: DnsLabel
    """Its name."""
    kind: Literal["Issuer", "ClusterIssuer"] = "Issuer"
    """Its kind; an Issuer is in the cluster's namespace."""
    group: str = Field(default="cert-manager.io", pattern=r"^[a-z0-9.-]+$")
    """Its API group; another one for issuers that aren't cert-manager's own."""


class RestApiTls(Section):
    """TLS for slurmrestd in Kubernetes: a proxy in its pods, which the Service `<resourceName>-restapi-tls` leads to (port
    6843). slurm-operator knows plain HTTP only and stays on port 6820, so that port stays open inside the cluster."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "certificate-expires": "slurmrestd's certificate ends within 30 days; after that day no gate gets an answer. Renew"
        " it: set `restapi.tls.since` to today, then `pulumi up` ([tls.md](tls.md)).",
        "plain-http-beside-tls": "slurmrestd has TLS, and its plain HTTP port is open beside it. Leave"
        " `restapi.service.type` at ClusterIP.",
    }
    takes: ClassVar[Mapping[str, str]] = {
        "image": IMAGE,
        "secret": OBJECT,
        "clientCaSecret": OBJECT,
        "service.annotations.**": TEXT,
    }
    takes_none: ClassVar[Mapping[str, str]] = {"hosts.*": CONF_WORDS}

    source: Literal["generated", "existing", "cert-manager"]
    """generated: this stack makes certificate authority and certificate, from a secret of its state. existing: a Secret of
    type kubernetes.io/tls is in the namespace. cert-manager: this stack makes a Certificate for an issuer of the site."""
    secret: DnsLabel | None = None
    """Name of the Secret with tls.crt and tls.key (existing)."""
    issuer: Issuer | None = None
    """Issuer (cert-manager)."""
    since: Day | None = None
    """First day of the certificate (generated), e.g. 2026-11-22. A later day renews it in place, by the same authority."""
    days: int = Field(default=397, ge=7, le=825)
    """How many days the certificate holds (generated). Every preview warns in the last 30."""
    hosts: tuple[Host, ...] = ()
    """More names and addresses that the certificate is for, beside those of the Service (generated, cert-manager)."""
    client_ca_secret: DnsLabel | None = None
    """Secret whose entry ca.crt has the authorities of client certificates. With it a client without one is refused, and
    gates need slurmrest.url, clientCertFile and clientKeyFile: the API server shows none for them."""
    image: Image = "docker.io/library/nginx:1.28-alpine"
    """Image of the proxy: nginx 1.18 or newer, a POSIX shell and cksum."""
    service: Service = Service()
    """Its Service. LoadBalancer or NodePort here opens TLS only; restapi.service would open plain HTTP."""


class RestApi(Section):
    """slurmrestd in Kubernetes: always there, since the operator drains nothing without it."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "plain-http-open": "slurmrestd's plain HTTP port is open beyond the Kubernetes network. Acknowledge it if a firewall"
        " guards it; else use ClusterIP or TLS.",
    }

    replicas: int = Field(default=1, ge=1)
    """Pods of slurmrestd. Never 0: without an answer the operator deletes busy pods undrained."""
    service: Service = Service()
    """Service of slurmrestd."""
    resources: ContainerResources | None = None
    """CPU and memory of slurmrestd."""
    raw: Raw = Raw()
    """Raw pieces of its pod, container and Service, for what has no setting."""
    pod: PodSettings = PodSettings()
    """Placement."""
    tls: RestApiTls | None = None
    """TLS before slurmrestd; none by default."""
