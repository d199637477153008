"""Every Kubernetes and Slurm name this project uses, derived here and nowhere else.

Sources: slurm-operator ``api/v1beta1/*_keys.go`` (names of children) and ``well_known.go`` (labels, annotations).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection
from typing import Final, Literal

GROUP = "slinky.slurm.net"
"""API group of the operator's custom resources."""
API_VERSION = f"{GROUP}/v1beta1"

TYPE_PREFIX = "slinky:slurm"
"""Pulumi type tokens are ``slinky:slurm:<Class>``: part of every URN, so a change needs an alias."""

REASON_PREFIX = "slinky-iac:"
"""Every drain of ours begins with this. It must not begin with ``slurm-operator:``: that prefix makes the operator
think a drain its own and undo it (slurmcontrol.go, IsNodeReasonOurs)."""
HOSTS_OWNER = "outside-hosts"
"""In the place of a NodeSet's name in reasons of drains of bare-metal hosts."""
SLURM_CONF_OWNER = "slurm-conf"
"""In the place of a NodeSet's name in reasons of drains before a change of slurm.conf."""
OPERATOR_REASON_PREFIX = "slurm-operator:"
"""NOTE: set by the operator's NodeSet controller, never by us."""

ANNOTATION_DELETION_COST = "nodeset.slinky.slurm.net/pod-deletion-cost"
"""Set by us on the pods a scale-in gives up: the lower, the sooner the operator deletes (ActivePods.Less, step 4)."""
ANNOTATION_POD_CORDON = "nodeset.slinky.slurm.net/pod-cordon"
"""NOTE: set by the operator; set by us only after our own drain, so that ``whenScaled: Delete`` claims are freed."""
ANNOTATION_POD_DEADLINE = "nodeset.slinky.slurm.net/pod-deadline"
"""NOTE: written by the operator on every sync from the running jobs' end; never by us."""
CONDITION_PREFIX: Final = "SlurmNodeState"
"""NOTE: pod conditions set by the operator: ``SlurmNodeStateDrain`` and the like, from its own (cached) look at Slurm."""
ANNOTATION_GATE = "slinky-iac/scale-in"
"""Set by us on the pods we picked: the owner tag of the gate, so that a cancel finds what is ours."""

ANNOTATION_PERMIT = "slinky-iac/permit"
"""Set by a gate on its NodeSet or Controller: what the fence in the API server lets through, as :func:`permit_to_scale`,
:func:`permit_to_delete`, :func:`permit_to_configure` and :func:`permit_to_select` write it. An annotation that is written
leaves the generation as it is; a field of the spec doesn't, so a used permission lapses. A lower number is written to the
NodeSet itself, best in one patch with its permission: on the scale subresource the fence sees no annotation, and refuses. A
deletion needs the annotation written before."""
PERMIT_SCALE = "scale-to:"
PERMIT_DELETE = "delete"
PERMIT_CONFIGURE = "configure"
PERMIT_SELECT = "select"
PERMIT_AT = "@"

KEEP_QUEUE: Final = "SLINKY_IAC_KEEP_QUEUE"
"""Environment variable that says, for the one `pulumi destroy` that has it, which Controller's volume stays: its
``NAMESPACE/NAME``. A planned stop sets it; else a destroy waits for the queue, unless the stack leaves the namespace."""
UNASKED: Final = "not known: "
"""How a NodeSet gate's input ``due`` begins where its preview got no answer; why comes behind it."""
NODESET_SCALE: Final = "pulumi-python:dynamic/slurm:NodeSetScale"
"""Type of the gate of a NodeSet, as URNs and state files have it."""

ANNOTATION_UPDATE = "slinky-iac/update-strategy"
"""Set by the stack on its NodeSets: the update strategy of the settings. The fence lets no other one be written, since the
operator replaces pods by its own rules where it isn't ``OnDelete``."""

ANNOTATION_MODE = "slinky-iac/scaling-mode"
"""Set by the stack on its NodeSets in DaemonSet mode: a change of it replaces the NodeSet. The field is the gate's."""

ANNOTATION_FREEZE = "slinky-iac/freeze"
"""Set by a person on a NodeSet: while it is there, its gate changes nothing and shows this text."""

ANNOTATION_RUN = "slinky-iac/run"
"""Set on a NodeSet by its gate, or by `drain cancel`, when it begins: the stamp of the last run. An earlier one that still
continues ends when it sees it."""

ANNOTATION_GATE_URN = "slinky-iac/gate"
"""Set on a NodeSet by its gate: the URN. A gate under another name, which the engine removes after it has made the new
one, leaves the NodeSet."""

ANNOTATION_PAUSED_BY = "slinky-iac/paused-by"
"""Set by a gate on the ScaledObject that it has paused: ``stack/nodeset``. It takes back this pause and no other."""

ANNOTATION_TOPOLOGY = f"topology.{GROUP}/spec"
"""Set by us on Kubernetes nodes: their place in Slurm's topology, which slurm-operator (1.1.0 on) gives to slurmctld."""

ANNOTATION_TEMPLATE = "slinky-iac/template"
"""Set by us on a NodeSet: digest of what its pods are made from, so that a preview can tell that an update changes it."""

ANNOTATION_JWT_KEY = "slinky-iac/jwt-key"
"""Set by us on the Controller: fingerprint of the JWT key. Its change wakes the operator, which signs with the Secret's
key as it is then. Without the change, the operator would look only after 12 minutes (slurmclient_sync.go)."""

ANNOTATION_SSSD = "slinky-iac/sssd"
"""On pods that read sssd.conf: its revision, by which a new one replaces them."""
ANNOTATION_FILES = "slinky-iac/files"
"""On slurmctld's pod, from slurm-operator 1.2 on: a digest of configuration files, prologs and epilogs. The operator
recreates the pod when its own ConfigMap changes and not when these do (controller_app.go, ``getHashes``); a slurmctld that
starts sends its files to slurmd and sackd (``reconfig_on_restart``). Up to 1.1 a sidecar runs `scontrol reconfigure`."""
ANNOTATION_TLS_FILES = "slinky-iac/tls-files"
"""Set by us on slurmrestd's pods: a hash of the files of the TLS proxy in them."""

ANNOTATION_SLURM_CONF = "slinky-iac/slurm.conf"
"""On slurmrestd's pods where slurmctld has backups: slurm.conf with all its hosts, which the pod mounts as a file."""
ANNOTATION_STACK = "slinky-iac/stack"
"""Set by us on the Namespaces that a stack makes: the stack's name. A Namespace without it is somebody else's."""

LABEL_CLUSTER = "slinky.slurm.net/cluster"
"""NOTE: set by the operator on every child: the Controller's name."""
LABEL_NAME = "app.kubernetes.io/name"
"""NOTE: set by the operator on every pod: the daemon, e.g. slurmrestd."""
LABEL_INSTANCE = "app.kubernetes.io/instance"
"""NOTE: set by the operator on every pod: the custom resource's name."""
LABEL_COMPONENT = "app.kubernetes.io/component"
LABEL_SHORT_POD: Final = "slinky-iac/preflight"
"""On every short-lived pod of ours, with the value ``look``: what an earlier run left behind is found by it."""
LABEL_NAMESPACE = "kubernetes.io/metadata.name"
"""NOTE: set by the API server on every Namespace: its name (Kubernetes 1.22)."""
OPERATOR_APP: Final = "slurm-operator"
"""Value of :data:`LABEL_NAME` on slurm-operator's pods, as its chart has it."""
DAEMON_PODS: Final = f"{LABEL_NAME} in (slurmctld,slurmdbd,slurmrestd,slurmd,login)"
"""Selects the pods of all daemons (operator, ``labels.go``)."""
LABEL_POD_NAME = "nodeset.slinky.slurm.net/pod-name"
"""NOTE: set by the operator on NodeSet pods: the pod's own name."""
LABEL_POD_INDEX = "nodeset.slinky.slurm.net/pod-index"
"""NOTE: set by the operator on NodeSet pods: the ordinal."""
LABEL_POD_HOSTNAME = "nodeset.slinky.slurm.net/pod-hostname"
"""NOTE: set by the operator on NodeSet pods: the Slurm node's name."""
LABEL_SCALING_MODE = "nodeset.slinky.slurm.net/scaling-mode"
"""NOTE: set on worker pods by operators from 1.1.0 on, which take a pod without it for another mode's (syncNodeSet)."""

SLURMCTLD_PORT = 6817
SLURMD_PORT = 6818
SLURMDBD_PORT = 6819
SLURM_USER: Final = "slurm"
"""SlurmUser of most sites, and of slurm-operator's controllers."""
SLURMRESTD_PORT = 6820
SLURMRESTD_TLS_PORT = 6843
"""Of the Service that leads to TLS in slurmrestd's pods; the operator has 6820, which it asks in plain HTTP."""

SLINKY_UID = 401
"""User id of ``slurm`` in Slinky's images; auth/slurm carries it from host to host."""

CLIENT_GROUP: Final = 65030
"""Group of client pods, with which the sidecar reads the key, and the number of munged in them."""

SLURM_KEY_FILE = "slurm.key"
JWT_KEY_FILE = "jwt_hs256.key"

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
MAX_LABEL = 63
NODESET_LENGTH = 52
"""Longest name of a NodeSet: pods add their ordinal."""
Part = Literal["slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login", "operator"]
"""Who runs in pods; all but the last are values of :data:`LABEL_NAME`, too."""


def is_dns_label(name: str) -> bool:
    """Whether ``name`` is an RFC 1123 label, as Kubernetes wants for Services and pod host names."""
    return len(name) <= MAX_LABEL and _DNS_LABEL.fullmatch(name) is not None


def shorten(name: str, limit: int = MAX_LABEL) -> str:
    """``name`` itself, or its beginning and a hash of all of it where it is over ``limit``: never a silent cut."""
    if len(name) <= limit:
        return name
    tail = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: limit - 9].rstrip('-')}-{tail}"


def ending(text: str) -> Callable[[str], str]:
    """Names that begin with the cluster's resource name, which its Controller, RestApi and Accounting have too."""
    return lambda cluster: shorten(f"{cluster}{text}")


restapi_tls_conf: Final = ending("-restapi-tls-conf")
"""ConfigMap with the files of the proxy that TLS before slurmrestd ends at."""
restapi_tls_secret: Final = ending("-restapi-tls")
"""Secret with the certificate and the key of it."""
slurmctld_shim_service: Final = ending("-slurmctld-shim")
"""Service that leads 6817 to an external slurmctld on another port (the operator writes 6817 always)."""
slurmctld_metrics_service: Final = ending("-slurmctld-metrics")
"""Service that leads to the metrics of an outside slurmctld."""
slurm_key_secret: Final = ending("-auth-slurm")
"""Secret that holds slurm.key."""
jwt_key_secret: Final = ending("-auth-jwths256")
"""Secret that holds the JWT HS256 key."""
client_conf: Final = ending("-client-conf")
"""ConfigMap with the slurm.conf of clients."""
users: Final = ending("-users")
"""Name of the ConfigMap with the users of `identity.passwd`."""
sssd_secret: Final = ending("-sssd")
"""Name of the Secret with sssd.conf that a stack makes."""
resource_quota: Final = ending("-quota")
"""ResourceQuota of the cluster's namespace."""


def controller_service(controller: str) -> str:
    """Service of an in-cluster slurmctld (6817)."""
    return f"{controller}-controller"


def controller_fqdn(controller: str, namespace: str) -> str:
    """Name under which hosts outside reach an in-cluster slurmctld, where their DNS or /etc/hosts says so."""
    return f"{controller_service(controller)}.{namespace}"


def restapi_service(restapi: str) -> str:
    """Service of slurmrestd (6820); the operator builds its URL from exactly this name."""
    return f"{restapi}-restapi"


def restapi_of(service: str) -> str:
    """The RestApi whose Service this is."""
    return service.removesuffix("-restapi")


def deleted(plural: str, namespace: str, name: str) -> str:
    """That a resource without which no node can be drained is missing, and the command that makes it again."""
    return (
        f"{plural}.{GROUP} {namespace}/{name} is in this stack's state and not in Kubernetes: somebody deleted it."
        " Without it no node can be drained, and no update makes it again on its own. Run `pulumi up --refresh`"
    )


def slurmrestd_address(restapi_service: str, *, tls: bool) -> tuple[str, int]:
    """Service and port of slurmrestd: its own, or that of the TLS before it, beside the plain one's."""
    return (f"{restapi_service}-tls", SLURMRESTD_TLS_PORT) if tls else (restapi_service, SLURMRESTD_PORT)


def accounting_service(accounting: str) -> str:
    """Service of slurmdbd (6819). The operator writes this name into slurm.conf also for an external Accounting, whose
    ``externalConfig`` it never reads (controller_config.go), so for those we make the Service."""
    return f"{accounting}-accounting"


def trial_record(cluster: str) -> str:
    """ConfigMap with what the last trial of slurm.conf and the files beside it was of."""
    return shorten(f"{cluster}-trial")


WATCHED_FILE: Final = "watched.json"
"""Entry of the ConfigMap with what a status in a pod looks at."""
WATCHED_SCHEMA: Final = 1
"""Number of its shape."""
BLUEPRINT_SCHEMA: Final = 1
"""The same of the document that a stack's state has of what the stack is."""


def client(cluster: str, name: str) -> str:
    """Name of the Secret, the ConfigMap and the Deployment of one of the clients, in the clients' own namespace."""
    return shorten(f"{cluster}-client-{name}", 52)


def nodeset_resource(cluster: str, nodeset: str) -> str:
    """Name of the NodeSet custom resource; pods are ``<this>-<ordinal>``."""
    return shorten(f"{cluster}-worker-{nodeset}", NODESET_LENGTH)


def nodeset_prefix(cluster: str) -> str:
    """How the names of all NodeSet custom resources of a cluster begin, those that are cut included."""
    prefix, kept = f"{cluster}-worker-", NODESET_LENGTH - 9
    return prefix if len(prefix) <= kept else prefix[:kept].rstrip("-")


def network_policy(cluster: str, part: Part) -> str:
    """NetworkPolicy of the pods of one part of a cluster."""
    return shorten(f"{cluster}-{part}")


def nodeset_hostname(nodeset: str) -> str:
    """``template.spec.hostname`` of a NodeSet: the dash makes nodes ``gpu-0…`` and the feature ``gpu``."""
    return f"{nodeset}-"


def is_node_of(host: str, nodeset: str) -> bool:
    """Whether a name is one that a pod of the NodeSet has in Slurm: its hostname, and a number."""
    own = nodeset_hostname(nodeset)
    return host.startswith(own) and host.removeprefix(own).isdigit()


def loginset_resource(cluster: str, loginset: str) -> str:
    """Name of the LoginSet custom resource, its Deployment and its Service."""
    return shorten(f"{cluster}-login-{loginset}", 52)


def login_pods(resource: str) -> str:
    """Selects the pods of a LoginSet (operator, ``labels.go``)."""
    return f"{LABEL_NAME}=login,{LABEL_INSTANCE}={resource}"


def slurmctld_pods(resource: str) -> str:
    """Selects the pods of a Controller."""
    return f"{LABEL_NAME}=slurmctld,{LABEL_INSTANCE}={resource}"


def drain_reason(stack: str, nodeset: str, why: str) -> str:
    """Reason of a drain of ours: ``slinky-iac:<stack>/<nodeset>: <why>``, ASCII, at most 255 bytes.

    Longer reasons wedge slurmdbd (MariaDB packet limit), and Slurm appends to a reason when a node dies, so ownership
    is known by the beginning of the text only (see :func:`owns_reason`).
    """
    text = f"{drain_owner(stack, nodeset)}: {why}".encode("ascii", "replace").decode()
    return text[:255]


def drain_owner(stack: str, nodeset: str) -> str:
    """The part of a reason that says whose drain it is: ``slinky-iac:<stack>/<nodeset>``."""
    return f"{REASON_PREFIX}{stack}/{nodeset}"


def owns_reason(reason: str, stack: str, nodeset: str) -> bool:
    """Whether a node's reason says that the drain is this stack's, for this NodeSet."""
    owner = drain_owner(stack, nodeset)
    return reason == owner or reason.startswith(f"{owner}:")


def user_token(cluster: str, token: str) -> str:
    """Name of a Token custom resource."""
    return shorten(f"{cluster}-{token}")


def user_token_secret(cluster: str, token: str) -> str:
    """Secret in which the operator keeps it."""
    return shorten(f"{cluster}-{token}-token")


def job_tags(stack: str, job: str, nonce: str = "") -> str:
    """How the tags begin that jobs of a stack carry: of one job's runs, or without ``nonce`` of all its lives' runs."""
    return f"{REASON_PREFIX}{stack}/{job}#{nonce}" + ("." if nonce else "")


def stack_job(tag: str) -> str:
    """``jobs.bench of stack dev`` where a job's tag is a stack's; else ``""``."""
    match = re.fullmatch(rf"{REASON_PREFIX}([^/#]+)/([^/#]+)#[0-9a-z.]+", tag)
    return f"jobs.{match[2]} of stack {match[1]}" if match else ""


def permit_to_scale(number: int, generation: int) -> str:
    """Value of :data:`ANNOTATION_PERMIT` that lets a NodeSet of this ``metadata.generation`` be lowered to ``number``."""
    return f"{PERMIT_SCALE}{number}{PERMIT_AT}{generation}"


def permit_to_configure(generation: int) -> str:
    """Value of :data:`ANNOTATION_PERMIT` that lets a Controller of this ``metadata.generation`` get another extraConf."""
    return f"{PERMIT_CONFIGURE}{PERMIT_AT}{generation}"


def permit_to_select(generation: int) -> str:
    """Value of :data:`ANNOTATION_PERMIT` that lets a NodeSet of this ``metadata.generation`` come to DaemonSet mode, or have
    other Kubernetes nodes in it."""
    return f"{PERMIT_SELECT}{PERMIT_AT}{generation}"


def permit_holds(permit: str, generation: int) -> bool:
    """Whether a value of :data:`ANNOTATION_PERMIT` still lets anything through: each is for one ``metadata.generation``."""
    return permit.rpartition(PERMIT_AT)[2] == str(generation)


def permit_to_delete(generation: int) -> str:
    """Value of :data:`ANNOTATION_PERMIT` that lets a NodeSet of this ``metadata.generation`` be deleted."""
    return f"{PERMIT_DELETE}{PERMIT_AT}{generation}"


def registered_by(states: Collection[str], features: Collection[str], nodeset: str) -> bool:
    """Whether a pod of the NodeSet registered a node with these states and features."""
    return "DYNAMIC_NORM" in states and nodeset in features
