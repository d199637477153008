"""The section clients: what pods of one's own need to be clients of the Slurm cluster, with auth/slurm or auth/munge."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from slinky_iac import names
from slinky_iac.config.base import Section, one_of
from slinky_iac.config.fields import Digest, DnsLabel, FilePath, Image, NodeName, Seconds, SlurmName, SlurmUser, Url
from slinky_iac.config.resources import SecretReference

Number = Annotated[int, Field(ge=1, le=2147483647)]
"""A uid or gid: never root's."""


class Person(Section):
    """Somebody who uses the cluster from a client pod, with the numbers that the cluster knows."""

    uid: Number
    """uid on the cluster's nodes: jobs run as this number."""
    gid: Number
    """gid of the primary group there."""
    home: str = Field(default="/", pattern=r"^/[^\s:\x00-\x1f\x7f]*$")
    """Home directory on the cluster's nodes."""


class ClientDeployment(Section):
    """One pod with Slurm's commands, for `kubectl exec`: a Deployment that this stack makes."""

    person: SlurmUser
    """The name in `people` that the pod runs as: anyone who may open a shell in it is this person to Slurm."""
    image: Image | None = None
    """Image with Slurm's commands; by default the client's image."""
    command: tuple[str, ...] = ("sleep", "infinity")
    """What the container runs."""


class HubChart(Section):
    """Where the chart of JupyterHub comes from: one of a repository, an OCI reference and a folder."""

    repo: Url | None = None
    """Repository; by default JupyterHub's own."""
    oci: str | None = Field(default=None, pattern=r"^oci://\S+$")
    """OCI reference of the chart itself."""
    path: FilePath | None = None
    """Local folder of the chart, absolute or relative to Pulumi.yaml."""
    version: str | None = Field(default=None, pattern=r"^[0-9A-Za-z.+-]{1,64}$")
    """Version of the chart, e.g. 4.2.0; needed with a repository or OCI."""
    digest: Digest | None = None
    """Digest of the chart in the registry of `oci`, sha256:…: Helm then takes these bytes or none."""

    _one_source = one_of("repo", "oci", "path", needed=False, why="it would be unclear which chart is deployed")


class JupyterHub(Section):
    """JupyterHub by its official chart (zero-to-jupyterhub 4.0 or newer), in the client's namespace, for its `people`."""

    chart: HubChart = HubChart()
    """Where the chart comes from."""
    image: Image | None = None
    """Image of the notebooks: Jupyter, and Slurm's commands. With spawn: slurm the image of the hub too, with JupyterHub,
    batchspawner, setpriv and Slurm's commands; the notebooks then run what the cluster's nodes have."""
    spawn: Literal["pod", "slurm"] = "pod"
    """pod: each notebook is a pod with the sidecar. slurm: each notebook is a Slurm job of its person (batchspawner), for
    which drains wait as for any job."""
    partition: SlurmName | None = None
    """Partition of the jobs (spawn: slurm); by default the cluster's own default."""
    options: str = Field(default="", pattern=r"^[^\n]*$")
    """More options of sbatch for the jobs (spawn: slurm), e.g. --mem=4G --time=8:00:00."""
    values: dict[str, Any] = Field(default_factory=dict)
    """More Helm values, merged over ours: hub.config.JupyterHub.authenticator_class, who logs in and how, belongs here."""
    timeout: Seconds = 600
    """How long to wait for the hub to become ready."""


class Client(Section):
    """Clients of the cluster in one namespace: sackd (auth/slurm) or munged (auth/munge) as a sidecar of each pod, and the
    Secret and the ConfigMap that it needs."""

    namespace: DnsLabel
    """Namespace of the pods. Never the cluster's: an account that may create pods there can mount all its Secrets."""
    create_namespace: bool = True
    """Whether this stack makes the namespace, and removes it on destroy."""
    image: Image | None = None
    """Image of the sidecar: sackd (or munged), sh, cp, mv and sha256sum. By default, with auth/slurm, the login image;
    with auth/munge there is no default."""
    slurm_user: NodeName = names.SLURM_USER
    """SlurmUser of the cluster. Slurm's commands end at once in an image that doesn't know this name."""
    slurm_uid: Number = names.SLINKY_UID
    """SlurmUser's number on the cluster, as which sackd runs (auth/slurm). 401 in Slinky's images, 64030 on Debian."""
    group: Number = names.CLIENT_GROUP
    """A group of the whole pod, with which the sidecar reads the key, and munged's own number: no user or group of the
    cluster may have it."""
    key_from: SecretReference | None = None
    """Where the key is in that namespace, where keys.source is existing or external: a pod can't mount another namespace's
    Secret."""
    people: dict[SlurmUser, Person] = Field(default_factory=dict)
    """Who uses the cluster from these pods, by name. slurmctld holds jobs of a uid that sackd can't name. Leave it empty
    where the image asks a directory (LDAP)."""
    login_environment: bool = False
    """Whether the cluster's nodes know the people (LDAP, passwd): jobs then get their owner's login environment, and nothing
    of the pod's. Jobs of a person whom a node doesn't know would be held. Always so with auth/munge."""
    deployment: ClientDeployment | None = None
    """A pod with Slurm's commands that this stack makes; none by default."""
    jupyterhub: JupyterHub | None = None
    """JupyterHub, deployed by this stack; none by default."""


Clients = dict[DnsLabel, Client]
