"""Clients of a munge cluster as a part. components/munge_clients.py registers its objects: only a program has the key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from slinky_iac import names
from slinky_iac.config.clients import Client
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.keys.catalogue import SecretEntry
from slinky_iac.parts.munge.clients import VOLUMES, client_pod_of, client_slurm_conf
from slinky_iac.parts.munge.rules import RULES
from slinky_iac.parts.munge.settings import MUNGE
from slinky_iac.parts.part import Document, Part
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec

if TYPE_CHECKING:
    from slinky_iac.preflight.check import Expect


def key_secret(config: ClusterConfig) -> Object:
    """The Secret with munge.key; its component adds that."""
    name, logical = config.secret_of(MUNGE).name, f"{MUNGE.logical}-secret"
    return Object(logical=logical, api_version="v1", kind="Secret", name=name, body={"immutable": True})


def conf_map(config: ClusterConfig) -> Object:
    """The ConfigMap with slurm.conf of the clients."""
    name, data = names.client_conf(config.cluster.resource_name), {"slurm.conf": client_slurm_conf(config)}
    return Object(logical="slurm-conf", api_version="v1", kind="ConfigMap", name=name, body={"data": data})


class Munge(Part):
    """What login and Jupyter pods of others take into their specs."""

    name = "munge"
    component = "MungeClients"
    needs_daemons = False
    rules = RULES
    users = frozenset({"munge"})
    volumes = (VOLUMES,)

    def objects(self, config: StackConfig, document: Document) -> Iterator[Object]:  # noqa: ARG002
        """The key, where the stack has it, and slurm.conf."""
        if config.auth.client_image is None:
            return
        if MUNGE in config.in_configuration:
            yield key_secret(config)
        yield conf_map(config)

    def client_pod(self, config: ClusterConfig, client: Client, key: SecretEntry, files: str) -> Spec | None:
        """munged beside the user's container."""
        return None if config.auth.makes_daemons else client_pod_of(config, client, key, files)

    def client_files(self, config: ClusterConfig) -> dict[str, str]:
        """slurm.conf: munged fetches none."""
        return {} if config.auth.makes_daemons else {"slurm.conf": client_slurm_conf(config)}

    def checks(self) -> tuple[Expect, ...]:
        """Clients' ways, their key and the clocks."""
        from slinky_iac.parts.munge.checks import EXPECTED  # noqa: PLC0415 - a program asks for no rows

        return EXPECTED
