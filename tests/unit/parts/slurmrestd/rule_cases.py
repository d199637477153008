"""Cases for the rules of slurmrestd and of TLS before it."""

from __future__ import annotations

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case
from tests.unit.config.rule_cases_tls import MINE, URL

GIVEN = {"source": "existing", "secret": "restapi-cert"}
CASES = [
    Case(
        f"a {source} certificate without its {needed}",
        minimal(restapi={"tls": {"source": source}}),
        "error",
        f"restapi.tls.{needed}",
        ("is needed with", source),
        {"restapi": {"tls": {needed: value}}},
    )
    for source, needed, value in (
        ("existing", "secret", "restapi-cert"),
        ("generated", "since", "2026-11-22"),
        ("cert-manager", "issuer", {"name": "site"}),
    )
] + [
    Case(
        "client certificates are demanded and gates can show none",
        minimal(restapi={"tls": GIVEN | {"clientCaSecret": "clients"}}),
        "error",
        "restapi.tls.clientCaSecret",
        ("API server", "slurmrest.url", "clientCertFile"),
        {"slurmrest": URL | MINE},
    ),
]
TOLD = [
    Case(
        "an issuer beside a given Secret",
        minimal(restapi={"tls": GIVEN | {"issuer": {"name": "site"}}}),
        "warning",
        "restapi.tls.issuer",
        ("ignored", "source: cert-manager"),
        {"restapi": {"tls": {"issuer": None}}},
    ),
    Case(
        "slurmrestd beyond Kubernetes' own network",
        minimal(restapi={"service": {"type": "LoadBalancer"}}),
        "warning",
        "restapi.service.type",
        ("LoadBalancer", "plain HTTP", "ClusterIP"),
        {"restapi": {"service": {"type": "ClusterIP"}}},
    ),
    Case(
        "names for a certificate that is given",
        minimal(restapi={"tls": GIVEN | {"hosts": ["rest.example.org"]}}),
        "warning",
        "restapi.tls.hosts",
        ("ignored", "names already"),
        {"restapi": {"tls": {"hosts": None}}},
    ),
    Case(
        "the plain port opened beside TLS",
        minimal(restapi={"tls": GIVEN, "service": {"type": "LoadBalancer"}}),
        "warning",
        "restapi.service.type",
        ("plain HTTP", "restapi.tls.service.type"),
        {"restapi": {"service": {"type": "ClusterIP"}}},
    ),
]
