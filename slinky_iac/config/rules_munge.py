"""Rules for a cluster with auth/munge: this program makes its clients' half, and nothing that needs auth/slurm.

Sources: slurm-operator ``worker_app.go`` and ``login_app.go`` (slurmd and sackd start with slurm.key, without munged),
``controller_config.go`` (writes AuthType=auth/slurm); docs/munge.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic.alias_generators import to_camel

from slinky_iac.config.findings import Finding, error, warning
from slinky_iac.config.stack import StackConfig

MOVE: Final = (
    "Move to auth/slurm (docs/munge.md has each step): make /etc/slurm/slurm.key on every outside host, drain, stop all"
    " daemons, set AuthType=auth/slurm and CredType=cred/slurm, start them, then set keys.auth: auth/slurm here"
)
_UNUSED: Final = ("operator", "restapi", "partitions", "drain", "slurmrest", "networkPolicies", "identity")


def munge(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Findings about `keys.auth: auth/munge`, and about `munge` where the cluster has auth/slurm."""
    if config.keys.auth != "auth/munge":
        if "munge" in config.model_fields_set:
            yield warning(
                "munge", "is ignored: keys.auth is auth/slurm, so pods prove themselves with slurm.key", id="munge-ignored"
            )
        return
    refused = list(_refused(config))
    yield from refused
    if refused:
        return  # such a cluster moves to auth/slurm: what its munge clients would need is beside the point
    yield from _key(config, secrets)
    if config.munge.image is None and not config.clients:
        yield error("munge.image", "is needed: an image with munged, munge and sh; often the one that the pods run anyway")
    given = {to_camel(name) for name in config.model_fields_set}
    for name in _UNUSED:
        if name in given:
            yield warning(
                name,
                "is ignored: with auth/munge this stack makes no operator, no slurmrestd and no nodes",
                id="ignored-with-munge",
            )


def _refused(config: StackConfig) -> Iterator[Finding]:
    if config.nodesets or config.logins or config.controller.external is None:
        yield error(
            "keys.auth",
            "auth/munge: Slinky's NodeSets and login sets start slurmd and sackd with slurm.key and without munged, and its"
            " slurmctld writes AuthType=auth/slurm, so none can be of a munge cluster. Clients can: with no nodesets, no"
            f" logins and controller.external, this stack makes what login and Jupyter pods of your own need. {MOVE}",
        )
    if config.accounting.enabled and config.accounting.external is None:
        yield error(
            "accounting", "with auth/munge slurmdbd is outside: set accounting.external, or accounting.enabled: false"
        )
    if config.external.slurmd_hosts:
        yield error(
            "external.slurmdHosts",
            "are held and returned through slurmrestd, which a stack with auth/munge doesn't make. Remove them here",
        )


def _key(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    source = config.keys.source
    if source == "generated":
        yield error(
            "keys.source",
            "generated, but the outside cluster has its munge.key already. Set keys.source: imported and run `base64 -w0"
            " /etc/munge/munge.key | pulumi config set --secret mungeKey`",
        )
    if source == "imported" and "mungeKey" not in secrets:
        yield error(
            "keys.source",
            "imported, but mungeKey is not set; run `base64 -w0 /etc/munge/munge.key | pulumi config set --secret mungeKey`",
        )
    if source == "external":
        yield error("keys.source", "external is for slurm.key and the JWT key; for munge.key say existing")
    if source == "existing" and config.munge.key_secret is None:
        yield error("munge.keySecret", "is needed with keys.source: existing, to know which Secret is meant")
