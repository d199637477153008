"""slurmrestd in Kubernetes as a part: TLS before it, and what is said of its ports and its certificate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from slinky_iac import names
from slinky_iac.config.findings import Finding
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.parts.part import Part
from slinky_iac.parts.slurmrestd import objects, proxy
from slinky_iac.parts.slurmrestd.rules import OF_DAEMONS, RULES, expiring
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec


class Slurmrestd(Part):
    """The RestApi is the operator's, as slurmctld's Controller is; this adds TLS."""

    name = "slurmrestd"
    rules = RULES
    daemon_rules = OF_DAEMONS

    def beside(self, config: ClusterConfig, daemon: names.Part) -> Iterable[Object]:
        """The proxy's files, its certificate and its Service."""
        tls = config.restapi.tls
        return objects.objects(config, tls) if daemon == "slurmrestd" and tls is not None else ()

    def pod_of(self, config: ClusterConfig, daemon: names.Part) -> Spec:
        """The proxy."""
        tls = config.restapi.tls
        return proxy.pod(config, tls) if daemon == "slurmrestd" and tls is not None else {}

    def held_secrets(self, config: StackConfig) -> Mapping[str, str]:
        """The proxy's: who has its key passes for slurmrestd, and gets everybody's tokens."""
        tls = config.restapi.tls
        return {} if tls is None else {proxy.secret(config, tls): "slurmrestd's certificate with its key"}

    def notices(self, config: StackConfig, today: date) -> Iterator[Finding]:
        """How long a generated certificate holds."""
        yield from expiring(config, today)
