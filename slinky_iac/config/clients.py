"""The section clients: what pods of one's own need to be clients of the Slurm cluster, with auth/slurm or auth/munge."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from slinky_iac import names
from slinky_iac.config.base import Section
from slinky_iac.config.fields import DnsLabel, Image, SlurmName, SlurmUser

Number = Annotated[int, Field(ge=1, le=2147483647)]
"""A uid or gid: never root's."""


class Person(Section):
    """Somebody who uses the cluster from a client pod, with the numbers that the cluster knows."""

    uid: Number
    """uid on the cluster's nodes: jobs run as this number."""
    gid: Number
    """gid of the primary group there."""
    home: str = Field(default="/", pattern=r"^/[^\s:]*$")
    """Home directory on the cluster's nodes."""


class ClientDeployment(Section):
    """One pod with Slurm's commands, for `kubectl exec`: a Deployment that this stack makes."""

    person: SlurmUser
    """The name in `people` that the pod runs as: whoever may open a shell in it is this person to Slurm."""
    image: Image | None = None
    """Image with Slurm's commands; by default the client's image."""
    command: tuple[str, ...] = ("sleep", "infinity")
    """What the container runs."""


class Client(Section):
    """Clients of the cluster in one namespace: sackd (auth/slurm) or munged (auth/munge) as a sidecar of each pod, and the
    Secret and the ConfigMap that it needs."""

    namespace: DnsLabel
    """Namespace of the pods. Never the cluster's: who may make pods there may mount all its Secrets."""
    create_namespace: bool = True
    """Whether this stack makes the namespace, and removes it on destroy."""
    image: Image | None = None
    """Image of the sidecar: sackd (or munged), sh, cp, mv and sha256sum. By default, with auth/slurm, the login image."""
    slurm_user: SlurmName = names.SLURM_USER
    """SlurmUser of the cluster. Slurm's commands end at once in an image that doesn't know this name."""
    slurm_uid: Number = names.SLINKY_UID
    """SlurmUser's number on the cluster, as which sackd runs (auth/slurm). 401 in Slinky's images, 64030 on Debian."""
    group: Number = names.CLIENT_GROUP
    """A group of the whole pod, with which the sidecar reads the key, and munged's own number: one that nobody on the
    cluster has, neither as user nor as group."""
    key_secret: DnsLabel | None = None
    """Secret of that namespace with the key, where keys.source is existing or external: a pod can't mount another
    namespace's."""
    key_entry: str | None = None
    """Entry of that Secret; by default the key's file name."""
    people: dict[SlurmUser, Person] = Field(default_factory=dict)
    """Who uses the cluster from these pods, by name. slurmctld holds jobs of a uid that sackd can't name. Leave it empty
    where the image asks a directory (LDAP)."""
    deployment: ClientDeployment | None = None
    """A pod with Slurm's commands that this stack makes; none by default."""


Clients = dict[DnsLabel, Client]
