"""Rules about munge: what a stack of such a cluster must say, and what it can't have.

With auth/munge this program makes the clients' half of a cluster, and nothing that needs auth/slurm. Sources: slurm-operator
``worker_app.go`` and ``login_app.go`` (slurmd and sackd start with slurm.key, without munged), ``controller_config.go``
(writes AuthType=auth/slurm); docs/munge.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic.alias_generators import to_camel

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig

MOVE: Final = (
    "Move to auth/slurm (`slinky docs munge` has each step): make /etc/slurm/slurm.key on every outside host, drain, stop"
    " all daemons, set AuthType=auth/slurm and CredType=cred/slurm, start them, then set keys.auth: auth/slurm here"
)
_UNUSED: Final = ("operator", "restapi", "partitions", "drain", "slurmrest", "networkPolicies", "identity")


def unused(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """The section where the cluster has auth/slurm."""
    if "munge" in config.model_fields_set:
        yield at("munge").warning(
            "is ignored: keys.auth is auth/slurm, so pods prove themselves with slurm.key. Remove it", id="munge-ignored"
        )


def munge(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """What `keys.auth: auth/munge` needs and can't have."""
    yield from _section(config, secrets)
    if config.signing.own_keys:
        yield at("keys.tokens").warning(
            "is ignored: with auth/munge this stack makes no slurmrestd, and signs no tokens. Remove it",
            id="tokens-ignored",
        )
    yield from _needs_slurmrestd(config)
    yield from _clients(config)


def _needs_slurmrestd(config: StackConfig) -> Iterator[Finding]:
    for name in config.jobs:
        yield at(f"jobs.{name}").error("needs slurmrestd, which a munge cluster's stack doesn't have; run `sbatch` there")
    for name in config.tokens:
        yield at(f"tokens.{name}").error(
            "needs slurm-operator, which a munge cluster's stack doesn't have; use `scontrol token` there"
        )
    if config.smoke.enabled:
        yield at("smoke.enabled").error("needs slurmrestd, which a munge cluster's stack doesn't have")


def _clients(config: StackConfig) -> Iterator[Finding]:
    for name, client in config.clients.items():
        path = f"clients.{name}"
        if client.image is None:
            yield at(f"{path}.image").error("is needed with auth/munge: give an image with munged, munge and sh")
        if client.jupyterhub is not None and client.jupyterhub.spawn == "slurm":
            yield at(f"{path}.jupyterhub.spawn").error(
                "slurm needs auth/slurm: on a munge cluster notebooks run as pods. Set spawn: pod"
            )


def _section(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    refused = list(_refused_with_munge(config))
    yield from refused
    if refused:
        return  # such a cluster moves to auth/slurm: what its munge clients would need is beside the point
    yield from _munge_key(config, secrets)
    if config.munge.image is None and not config.clients:
        yield at("munge.image").error(
            "is needed: an image with munged, munge and sh; often the one that the pods run anyway"
        )
    given = {to_camel(name) for name in config.model_fields_set}
    for name in _UNUSED:
        if name in given:
            yield at(name).warning(
                "is ignored: with auth/munge this stack makes no operator, no slurmrestd and no nodes. Remove it",
                id="ignored-with-munge",
            )


def _refused_with_munge(config: StackConfig) -> Iterator[Finding]:
    if config.nodesets or config.logins or not config.slurmctld.hosts:
        yield at("keys.auth").error(
            "auth/munge: no NodeSet, login set or slurmctld of Slinky can be of a cluster with munge. Their pods start with"
            " slurm.key and without munged, and slurmctld's slurm.conf has AuthType=auth/slurm. Clients can be of it: leave"
            " nodesets and logins out, and set controller.external. This stack then makes what login and Jupyter pods of"
            f" your own need. {MOVE}"
        )
    if config.slurmdbd.pods:
        yield at("accounting").error(
            "with auth/munge slurmdbd is outside: set accounting.external, or accounting.enabled: false"
        )
    if config.external.slurmd_hosts:
        yield at("external.slurmdHosts").error(
            "are held and returned through slurmrestd, which a stack with auth/munge doesn't make. Remove them here"
        )


def _munge_key(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    source = config.key_source
    if source.makes_values:
        yield at("keys.source").error(
            "generated, but the outside cluster has its munge.key already. Set keys.source: imported and run `base64 -w0"
            " /etc/munge/munge.key | pulumi config set --secret slinky-iac:mungeKey`"
        )
    if source.configured and "mungeKey" not in secrets:
        yield at("keys.source").error(
            "imported, but mungeKey is not set; run `base64 -w0 /etc/munge/munge.key | pulumi config set --secret"
            " slinky-iac:mungeKey`"
        )
    if source.awaited:
        yield at("keys.source").error("external is for slurm.key and the JWT key; for munge.key say existing")
    elif not source.makes_secrets and config.munge.key_from is None:
        yield at("munge.keyFrom").error(
            "is needed with keys.source: existing, to know which Secret is meant: give {secret: NAME}"
        )


OF_DAEMONS = (unused,)
OF_CLIENTS = (munge,)
