"""Rules about slurmrestd in Kubernetes: which certificate is meant, who can show one, which ports are open."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.slurmrestd.settings import RestApiTls

EXPIRES_SOON: Final = 30
"""Days before a generated certificate ends from which on every preview warns."""
_NEEDED: Final = {"existing": "secret", "generated": "since", "cert-manager": "issuer"}
"""What each source of the certificate needs."""
_OF_ONE: Final = {"secret": "existing", "since": "generated", "days": "generated", "issuer": "cert-manager"}


def certificate(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Findings about `restapi.tls`."""
    tls, path = config.restapi.tls, "restapi.tls"
    if tls is None:
        return
    needed = _NEEDED[tls.source]
    if getattr(tls, needed) is None:
        yield at(f"{path}.{needed}").error(f"is needed with {path}.source: {tls.source}: give it, or another source")
    for field, source in _OF_ONE.items():
        if field in tls.model_fields_set and tls.source != source:
            yield at(f"{path}.{field}").ignored(f"it goes with source: {source}, and source is {tls.source}")
    if tls.source == "existing" and tls.hosts:
        yield at(f"{path}.hosts").ignored("the given Secret's certificate has its names already")
    yield from _reached(config, tls)


def _reached(config: StackConfig, tls: RestApiTls) -> Iterator[Finding]:
    access = config.slurmrest
    if tls.client_ca_secret is not None and access.url is None:
        yield at("restapi.tls.clientCaSecret").error(
            "makes slurmrestd's TLS refuse clients without a certificate, and gates come through the API server, which shows"
            " none: no node could be drained. Set slurmrest.url to an address of that TLS (restapi.tls.service), and"
            " slurmrest.clientCertFile and clientKeyFile; or leave clientCaSecret out"
        )
    if config.restapi.service.type != "ClusterIP":
        yield at("restapi.service.type").warning(
            f"{config.restapi.service.type} opens slurmrestd's port for plain HTTP beside TLS, and tokens can be read on it."
            " Leave it ClusterIP, and set restapi.tls.service.type",
            id="plain-http-beside-tls",
        )


def offered(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurmrestd speaks plain HTTP, and each token that it is sent may be read on the way and used."""
    kind = config.restapi.service.type
    if kind != "ClusterIP" and config.restapi.tls is None:
        yield at("restapi.service.type").warning(
            f"is {kind}: slurmrestd's port 6820 is open beyond Kubernetes' own network, in plain HTTP. Anyone who listens on"
            " the way can take the tokens of all callers, and with a token of SlurmUser act as Slurm's admin. Gates and"
            " commands need ClusterIP only; for users set restapi.tls and restapi.tls.service.type",
            id="plain-http-open",
        )


def expiring(config: StackConfig, today: date) -> tuple[Finding, ...]:
    """A warning where a generated certificate isn't valid yet, has run out, or will within the next 30 days."""
    tls = config.restapi.tls
    if tls is None or tls.source != "generated" or tls.since is None:
        return ()
    end = tls.since + timedelta(days=tls.days)
    if today < tls.since:
        text = f"is {tls.since}, in the future: until then clients refuse the certificate. Set it to {today} or earlier"
    elif today >= end:
        text = f"is {tls.since}, and the certificate ran out on {end}: gates and users are refused. Set it to {today}"
    elif today >= end - timedelta(days=EXPIRES_SOON):
        text = f"is {tls.since}, so the certificate runs out on {end}. Set it to {today}: it is renewed in place"
    else:
        return ()
    return (at("restapi.tls.since").warning(text, id="certificate-expires"),)


RULES = (certificate,)
OF_DAEMONS = (offered,)
"""Rules of stacks that make daemons; others make clients only."""
