"""Sections of a stack's configuration that occur once, cluster, operator and keys, and pieces that several parts have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from slinky_iac.config.base import Section, one_of
from slinky_iac.config.fields import (
    ClusterName,
    Digest,
    DnsLabel,
    FilePath,
    Host,
    Image,
    Moment,
    Port,
    Quantity,
    Seconds,
    SlurmRelease,
    Version,
)
from slinky_iac.config.resources import ContainerResources, SecretReference
from slinky_iac.keys.catalogue import JWT, SLURM, Key
from slinky_iac.releases import OperatorVersion
from slinky_iac.selection import Selection


class Images(Section):
    """Container images. The operator defaults none, so each is set explicitly in every custom resource."""

    slurmctld: Image | None = None
    """slurmctld and its reconfigure sidecar; by default Slinky's image for the operator's release."""
    slurmdbd: Image | None = None
    """slurmdbd; by default Slinky's image for the operator's release."""
    slurmrestd: Image | None = None
    """slurmrestd; by default Slinky's image for the operator's release. Never newer than slurmctld."""
    slurmd: Image | None = None
    """slurmd of all NodeSets that name no image of their own."""
    login: Image | None = None
    """Login pods (sackd and sshd)."""
    sidecar: Image = "docker.io/library/alpine:3.22"
    """Log and init sidecars: any image with a POSIX shell, tail and ls."""
    pull_policy: Literal["IfNotPresent", "Always", "Never"] = "IfNotPresent"
    """imagePullPolicy of every container."""
    pull_secrets: tuple[DnsLabel, ...] = ()
    """Names of image pull secrets in the cluster's namespace."""


class Cluster(Section):
    """The Slurm cluster and the namespace that holds its Kubernetes half."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "fence-not-served": "The API server doesn't serve ValidatingAdmissionPolicy, so the stack can't have its"
        " [fence](fence.md). Set `cluster.fence: false`, or use Kubernetes 1.30 or newer.",
    }

    name: ClusterName
    """ClusterName: must equal the outside slurm.conf's. Can't change after the first `pulumi up`."""
    namespace: DnsLabel = "slurm"
    """Namespace of all custom resources of this cluster; references never cross namespaces."""
    create_namespace: bool = True
    """Whether this stack makes the namespace, and removes it on destroy. Can't go from true to false on a live stack, except
    with keepNamespace. A namespace that is there already and that this stack did not make is refused with true."""
    keep_namespace: bool = False
    """Leave a namespace that this stack made, with what others made in it, when the stack is destroyed."""
    fence: bool = True
    """Whether the API server itself refuses to delete or shrink NodeSets, and to delete what they need or their pods, unless
    their nodes are drained; kubectl, Helm and all others are refused. Needs Kubernetes 1.30 or newer: set false on 1.29."""
    fence_pods: bool = False
    """Whether the fence also refuses slurm-operator the pods of NodeSets with owner: autoscaler that it has not reported as
    drained. No restart of the operator costs a busy pod then. The price: an ordinary scale-in can be refused once, and the
    operator then adds and removes no pod of that NodeSet for five minutes or more. Needs fence: true."""
    pod_security: Literal["privileged", "baseline"] | None = None
    """Pod Security Standard that the API server enforces in a namespace of this stack. privileged: what slurmd's pods need
    where the cluster's default is stricter. baseline: for a stack without NodeSets. By default the cluster's own;
    warnings and audit are at restricted in any case, which none of the operator's pods meets."""
    quota: dict[str, Quantity] = Field(default_factory=dict)
    """ResourceQuota of the namespace, e.g. {pods: 40, services.loadbalancers: 1, requests.nvidia.com/gpu: 8}: a limit for
    others who create objects there. CPU and memory need defaultResources: Kubernetes refuses pods that ask for none."""
    default_resources: bool = False
    """Give each container of a daemon, login pod, sidecar, TLS proxy or client's deployment that has no `resources` a
    request of CPU, and a request and a limit of memory (docs/operations.md has the sizes). Namespaces with a quota of CPU or
    memory, and policies that ask for requests, admit no pod without. A change replaces the pods; NodeSets have `resources`
    of their own."""
    sidecar_resources: ContainerResources | None = None
    """CPU and memory of each log, reconfigure and init sidecar of the operator's pods."""
    resource_name: DnsLabel = "slurm"
    """Name of the Controller, RestApi and Accounting resources; Services are `<this>-restapi` and so on. With slurm-operator
    1.0 give every Slurm cluster in one Kubernetes a name of its own: it mixes up equal names of two namespaces."""
    slurm_version: SlurmRelease | None = None
    """Slurm release of the outside daemons, e.g. 26.05; by default the release of Slinky's images. Where slurmctld's
    own image has a tag of their form (VERSION-OS), slurmctld's release is the tag's."""
    max_node_count: int = Field(default=1024, ge=1, le=65533)
    """MaxNodeCount of slurm.conf: the most nodes that slurmctld may have: slurm.conf's own and the pods of all NodeSets
    together. `slinky preflight` counts those of a slurmctld outside."""
    images: Images = Images()
    """Container images."""


class ChartSource(Section):
    """Where the operator's Helm charts come from."""

    oci: str | None = Field(default=None, pattern=r"^oci://\S+$")
    """OCI folder that holds `slurm-operator` and `slurm-operator-crds`."""
    path: FilePath | None = None
    """Local folder that holds `slurm-operator` and `slurm-operator-crds`, absolute or relative to Pulumi.yaml."""
    digest: Digest | None = None
    """Digest of the chart slurm-operator in the registry, sha256:…: Helm then takes these bytes or none."""
    crds_digest: Digest | None = None
    """Digest of the chart slurm-operator-crds, in the same way."""

    _one_source = one_of("oci", "path", needed=False, why="it would be unclear which chart is deployed")


class Webhook(Section):
    """The operator's admission webhook. What it would refuse this program refuses in preview already."""

    enabled: bool = False
    """Deploy it. Without it the CRD schemas still guard the resources, and so do this program's own checks."""
    cert_manager: bool = True
    """Let cert-manager issue its certificate; otherwise Helm signs one itself at each release."""


class Operator(Section):
    """slurm-operator: CRDs, chart, namespace. One a Kubernetes cluster; other stacks set `install: false`."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "operator-namespace-unset": "Another stack installed slurm-operator, and the fence must know its namespace. Set"
        " `operator.namespace`.",
    }

    install: bool = True
    """Whether this stack deploys the operator; false where another stack or team already has."""
    version: Version = "1.2.1"
    """Release of slurm-operator: decides chart version, images and the shape of all specs."""
    namespace: DnsLabel = "slinky"
    """Namespace of the operator's own pods."""
    create_namespace: bool = True
    """Whether this stack makes that namespace."""
    chart: ChartSource = ChartSource()
    """Chart source; by default Slinky's published charts."""
    install_crds: bool = True
    """Whether this stack, where it deploys the operator, installs the CRDs too."""
    protect_crds: bool = True
    """Protect the CRDs: removing them removes every NodeSet of every stack in this Kubernetes cluster."""
    service_monitor_stub: bool | None = None
    """Make a stand-in for Prometheus' ServiceMonitor CRD, which operators up to 1.0.4 and 1.1.0 can't do without; by
    default where the release needs it. Set false where Prometheus' operator is installed."""
    webhook: Webhook = Webhook()
    """Admission webhook."""
    values: dict[str, Any] = Field(default_factory=dict)
    """More Helm values, merged over ours."""
    timeout: Seconds = 600
    """How long to wait for the operator to become ready, in seconds or as 10m."""

    @property
    def parsed(self) -> OperatorVersion:
        """The release as a value that knows what it can do."""
        return OperatorVersion.parse(self.version)


class Keys(Section):
    """slurm.key and the JWT key. Values are given by `pulumi config set --secret slinky-iac:slurmKey` and
    `slinky-iac:jwtKey`, never here."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "token-keys-unused": "A token key is set, but `keys.tokens` doesn't use it. Run the `pulumi config rm` of the"
        " finding.",
        "token-rotation": "The token key is being replaced. The finding goes with the rotation's last step.",
        "tokens-outside-files": "Daemons outside Kubernetes must read jwks.json beside the JWT key. Acknowledge it once"
        " `slinky preflight` says that they take a token of it.",
        "tokens-prepared": "With `keys.tokens: prepared` slurmctld's and slurmdbd's pods restart once. Acknowledge it"
        " afterwards.",
    }
    secrets: ClassVar[Mapping[str, str]] = {
        "slurmKey": "base64 of `/etc/slurm/slurm.key` as the outside hosts have it; needed with `keys.source: imported`",
        "jwtKey": "base64 of the JWT HS256 key as the outside slurmctld has it; needed with `keys.source: imported`",
        "slurmKeyNext": "the next slurm.key, during a rotation: set and removed by `keys rotate slurm`",
        "slurmKeyPrevious": "the previous slurm.key, during a rotation: set and removed by `keys rotate slurm`",
        "jwtKeyNext": "the next JWT key, during a rotation: set and removed by `keys rotate jwt`",
        "tokenKey": "base64 of the RSA key (PEM) that signs this stack's tokens; needed unless `keys.tokens` is hs256",
        "tokenKeyNext": "the next token key, during a rotation: set and removed by `keys rotate tokens`",
        "tokenKeyPrevious": "the previous token key, during a rotation: set and removed by `keys rotate tokens`",
    }

    key_fields: ClassVar[Mapping[str, Key]] = {"slurm_key_from": SLURM, "jwt_key_from": JWT}

    source: Literal["generated", "imported", "existing", "external"] = "generated"
    """generated: made by this stack. imported: from the secret configuration values slurmKey and jwtKey (base64 of the
    files, byte for byte), as an outside slurmctld or slurmdbd needs. existing: Secrets that are in the namespace. external:
    Secrets that somebody else makes there (External Secrets, Vault, sealed-secrets): awaited, checked, and watched for
    change."""
    made_by: Annotated[str, Field(max_length=200)] = ""
    """Who makes the Secrets (external), for messages: ExternalSecret slurm-keys of team platform."""
    wait: Seconds = 300
    """How long `pulumi up` waits for the Secrets (external), in seconds or as 10m."""
    accepted_change: Moment = ""
    """Time of a change of a Secret's key (external) that all daemons have followed, in a stop that you carried out by
    yourself: the message that refuses the change names it."""
    max_age: Seconds | None = None
    """Age from which status and preflight call a key old, as 365d; by default none is."""
    auth: Literal["auth/slurm", "auth/munge"] = "auth/slurm"
    """AuthType of the cluster. With auth/munge the stack makes what login and Jupyter pods need (section munge) and refuses
    NodeSets, which need auth/slurm."""
    slurm_key_from: SecretReference | None = None
    """Where slurm.key is; by default in a Secret that is named after the cluster's resource name."""
    jwt_key_from: SecretReference | None = None
    """Where the JWT HS256 key is, in the same way."""
    tokens: Literal["hs256", "prepared", "rs256"] = "hs256"
    """What signs the tokens of gates and commands. hs256: the JWT key. rs256: an RSA key of their own (secret tokenKey), of
    which slurmctld and slurmdbd know the public half only, and which can be replaced without a refused token. prepared: the
    daemons get the public half and the JWT key still signs, so that a running cluster can change over without a refused
    token."""
    max_token_lifespan: Seconds = Field(default=86400, ge=60)
    """Longest lifespan of a token that `slinky token` makes for a user, in seconds or as 12h: a leaked one can't be
    revoked."""
    jwks: bool = False
    """Give slurmd's pods slurm.key as slurm.jwks, in a Secret that is changed in place: then `keys rotate slurm` replaces
    the key under running jobs, and no pod is restarted. Switching it replaces the pods of every NodeSet once, drained."""
    allow_trailing_newline: bool = False
    """Accept an imported key that is text ending in a line break. Slurm reads the break as part of the key, so this is
    right only where the outside file ends with it as well."""
    protect: bool = True
    """Protect the Secrets: `pulumi destroy --exclude-protected` leaves them; without the flag it ends with an error at
    them."""


class ExternalHost(Section):
    """A daemon outside Kubernetes."""

    host: Host
    """Address under which pods reach it."""
    port: Port
    """TCP port."""


class Service(Section):
    """How a Service is offered. Up to slurm-operator 1.2 the operator reads it when it makes the Service: change a live one
    too, by `kubectl patch service`."""

    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"
    """Service type; NodePort or LoadBalancer where hosts outside must reach it."""
    node_port: int | None = Field(default=None, ge=30000, le=32767)
    """Node port (NodePort and LoadBalancer only)."""
    annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations, e.g. for a load balancer."""

    @model_validator(mode="after")
    def _port_needs_type(self) -> Service:
        if self.node_port is not None and self.type == "ClusterIP":
            raise ValueError("nodePort needs type NodePort or LoadBalancer; a ClusterIP Service has none")
        return self


class PodSettings(Section):
    """Where and how pods of one kind run."""

    node_selector: dict[str, str] = Field(default_factory=dict)
    """Kubernetes nodes to use."""
    tolerations: tuple[dict[str, Any], ...] = ()
    """Tolerations, as in a PodSpec."""
    affinity: dict[str, Any] = Field(default_factory=dict)
    """Affinity, as in a PodSpec."""
    priority_class: str | None = None
    """priorityClassName."""
    annotations: dict[str, str] = Field(default_factory=dict)
    """Pod annotations."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Pod labels."""
    termination_grace: Seconds | None = None
    """terminationGracePeriodSeconds: a number of seconds or a text such as 30s."""
    host_network: bool = False
    """Use the Kubernetes node's network (hybrid guide, Host Network). Refused for controller and accounting."""

    @property
    def selection(self) -> Selection:
        """Which Kubernetes nodes fit these pods."""
        constraints = {"nodeSelector": self.node_selector, "affinity": self.affinity, "tolerations": self.tolerations}
        return Selection.of(constraints)
