"""Clients of a munge cluster as a part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from slinky_iac.config.clients import Client
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.keys.catalogue import SecretEntry
from slinky_iac.parts.munge.clients import VOLUMES, client_pod, client_pod_of, client_slurm_conf, conf_map
from slinky_iac.parts.munge.rules import OF_CLIENTS, OF_DAEMONS
from slinky_iac.parts.munge.settings import MUNGE, MungeAuth
from slinky_iac.parts.part import Document, Part
from slinky_iac.specs.objects import Object, key_secret
from slinky_iac.specs.shared import Spec

if TYPE_CHECKING:
    from slinky_iac.preflight.check import Expect


def _makes_pods_of_yours(config: StackConfig) -> bool:
    """Whether pods in the cluster's own namespace are its clients; those of ``clients`` have theirs."""
    return isinstance(config.auth, MungeAuth) and (config.auth.client_image is not None or not config.clients)


class Munge(Part):
    """What login and Jupyter pods of others take into their specs."""

    name = "munge"
    component = "MungeClients"
    needs_daemons = False
    daemon_rules = OF_DAEMONS
    client_rules = OF_CLIENTS
    key = MUNGE
    users = frozenset({"munge"})
    volumes = (VOLUMES,)

    def objects(self, config: StackConfig, document: Document) -> Iterator[Object]:  # noqa: ARG002
        """The key, where the stack has it, and slurm.conf."""
        if _makes_pods_of_yours(config):
            if MUNGE in config.in_configuration:
                yield key_secret(config, MUNGE)
            yield conf_map(config)

    def own_client_pod(self, config: StackConfig) -> Spec | None:
        """munged beside it, and slurm.conf."""
        return client_pod(config) if _makes_pods_of_yours(config) else None

    def client_pod(self, config: ClusterConfig, client: Client, key: SecretEntry, files: str) -> Spec | None:
        """munged beside the user's container."""
        return client_pod_of(config, client, key, files) if isinstance(config.auth, MungeAuth) else None

    def client_files(self, config: ClusterConfig) -> dict[str, str]:
        """slurm.conf: munged fetches none."""
        return {"slurm.conf": client_slurm_conf(config)} if isinstance(config.auth, MungeAuth) else {}

    def checks(self) -> tuple[Expect, ...]:
        """Clients' ways, their key and the clocks."""
        from slinky_iac.parts.munge.checks import EXPECTED  # noqa: PLC0415 - a program asks for no rows

        return EXPECTED
