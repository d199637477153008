"""Sections of the configuration as types of mappings. `slinky docs configuration` says what each one is.

Made by `python -m slinky_iac reference settings`; a test keeps it current. Change slinky_iac/config, not this file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from pulumi import Input

from slinky_iac.components.inputs import Address

class StackSettings(TypedDict, total=False):
    cluster: ClusterSettings
    """The Slurm cluster and its namespace."""
    operator: OperatorSettings
    """slurm-operator."""
    keys: KeysSettings
    """slurm.key and JWT key."""
    munge: MungeSettings
    """Clients of a cluster with auth/munge."""
    controller: ControllerSettings
    """slurmctld."""
    accounting: AccountingSettings
    """slurmdbd."""
    restapi: RestApiSettings
    """slurmrestd."""
    identity: IdentitySettings
    """How slurmctld, slurmd and login pods know the cluster's users."""
    drain: DrainSettings | None
    """Drain settings for all NodeSets that have none of their own."""
    kubernetes: KubernetesSettings
    """Which Kubernetes cluster."""
    slurmrest: AccessSettings
    """How this program reaches slurmrestd."""
    adopted: AdoptedSettings | None
    """What the stack took over from a Helm release. `slinky adopt` writes it."""
    nodeset_defaults: NodeSetDefaultsSettings | None
    """What all NodeSets have, unless their own section says another. `slinky check --resolved` shows what comes of
    it."""
    nodesets: Mapping[str, NodeSetSettings]
    """NodeSets by name."""
    partitions: Mapping[str, PartitionSettings]
    """Partitions over several NodeSets, by name."""
    login_defaults: LoginSetDefaultsSettings | None
    """What all login sets have, in the same way."""
    logins: Mapping[str, LoginSetSettings]
    """Login sets by name."""
    clients: Mapping[str, ClientSettings]
    """Clients of the cluster in pods of your own (Jupyter, CI, portals), by name: each in a namespace that isn't the
    cluster's."""
    external: ExternalSettings
    """What lives outside Kubernetes."""
    network_policies: NetworkPoliciesSettings
    """Who may connect to the stack's pods."""
    jobs: Mapping[str, JobSettings]
    """Slurm jobs that `pulumi up` submits through slurmrestd, by name."""
    monitoring: MonitoringSettings
    """What Prometheus and Grafana are given."""
    nodes: NodesSettings
    """One table of nodes for Kubernetes and Slurm."""
    tokens: Mapping[str, UserTokenSettings]
    """Tokens of slurmrestd for programs in Kubernetes, by name: slurm-operator makes and renews them."""
    smoke: SmokeSettings
    """Short jobs that show, after each `pulumi up`, that every partition runs jobs."""
    acknowledged: Mapping[str, str]
    """Findings that you accept: the id of each, as docs/findings.md lists it, and your reason. Of one that refuses the
    stack the message has the id with its setting: `slurm-runs@controller.extraConf.MailProg`. A preview no longer warns
    of them and names their ids in one line; `slinky check` shows them with their reasons."""

class AccessSettings(TypedDict, total=False):
    ca_file: str | None
    """Certificate authority of the address, as a file."""
    client_cert_file: str | None
    """Client certificate of this program, as a PEM file, where the address asks for one. Read at each request."""
    client_key_file: str | None
    """Key of it, as a PEM file without a passphrase."""
    allow_plain_http: bool
    """Send tokens to an http address of another host at `url`: they can be read on the network, and answers changed."""
    url: Input[str] | None
    """A direct address of slurmrestd. By default the Kubernetes API server's service proxy, so a kubeconfig is
    enough."""
    user: str
    """Slurm user that tokens of gates and commands name: SlurmUser, or one with AdminLevel=Admin in slurmdbd; a lower
    level is an error before anything is drained. Slurm's logs and reasons show a separate user, and `sacctmgr` can take
    its rights away."""

class AccountingSettings(TypedDict, total=False):
    enabled: bool
    """Whether the cluster has accounting at all."""
    external: ExternalSlurmdbdSettings | None
    """The outside slurmdbd."""
    database: DatabaseSettings | None
    """Database of an in-cluster slurmdbd."""
    extra_conf: Mapping[str, str | float | bool]
    """More slurmdbd.conf parameters (in Kubernetes only)."""
    service: ServiceSettings
    """Service of slurmdbd (in Kubernetes only)."""
    resources: ContainerResourcesSettings | None
    """CPU and memory of slurmdbd (in Kubernetes only)."""
    pod: PodSettings
    """Placement (in Kubernetes only)."""
    raw: RawSettings
    """Raw pieces of its pod, container and Service, for what has no setting (in Kubernetes only)."""

class AdoptedSettings(TypedDict, total=False):
    release: str
    """Name of the Helm release. While Helm has it, no update is made: `slinky adopt --let-go` takes it from Helm."""
    record: str | None
    """Name of the Secret with Helm's record of it, by which an update sees who has it. Without it the release has no
    record, because Argo CD made its objects."""
    namespace: str | None
    """Namespace of the release; by default the cluster's."""
    objects: Mapping[str, AdoptedObjectSettings]
    """The custom resources, each by its kind and its name in Kubernetes, e.g. "NodeSet slurm-worker-gpu"."""

class AdoptedObjectSettings(TypedDict, total=False):
    uid: str
    """Its UID. Another object under its name is refused, in a preview too."""
    keep: Sequence[str]
    """Fields that stay as they are in Kubernetes, because a change of them restarts pods, e.g. metadata.labels or
    spec.slurmrestd.env. A setting of such a field has no effect. Remove a line when the pods may restart: the next
    `pulumi up` writes the field, and gates wait for the jobs."""

class AutoscaleSettings(TypedDict, total=False):
    by: Literal["keda", "hpa"]
    """keda: a ScaledObject, which KEDA 2.17 or newer carries out, down to zero. hpa: a HorizontalPodAutoscaler on a
    metric of your own (`metric`), down to one."""
    min_replicas: int
    """Nodes that stay when there are no jobs."""
    step: int
    """Nodes requested at a time for one-node jobs; a job that needs more nodes gets them at once."""
    poll: int | str
    """How often KEDA asks for the metrics."""
    cooldown: int | str
    """How long demand must have been lower before nodes go, and how long there must have been none before the last one
    goes: 1 min to 1 day. Between two numbers above zero Kubernetes allows at most 1 h of it."""
    scale_down: ScaleDownSettings
    """How fast idle nodes go while others still work."""
    source: str
    """Where KEDA reads slurmctld's metrics: slurmctld itself, or the address of a Prometheus that scrapes
    /metrics/partitions and /metrics/jobs."""
    metric: str | None
    """With by: hpa, the name of an external metric whose value is the number of nodes that the NodeSet should have."""
    labels: Mapping[str, str]
    """Labels that tell this cluster's series from others: of Prometheus as the source, or of `metric`."""

class BlockTopologySettings(TypedDict, total=False):
    block_sizes: Sequence[int]
    """Nodes of a block, then those of the groups of blocks above it: each is the first one times a power of two, e.g.
    [4, 16]."""
    blocks: Sequence[str]
    """Blocks in their order, as hostlists: b[1-4]. By default those that nodes have a place in."""

class ChartSourceSettings(TypedDict, total=False):
    oci: str | None
    """OCI folder that holds `slurm-operator` and `slurm-operator-crds`."""
    path: str | None
    """Local folder that holds `slurm-operator` and `slurm-operator-crds`, absolute or relative to Pulumi.yaml."""
    digest: str | None
    """Digest of the chart slurm-operator in the registry, sha256:…: Helm then takes these bytes or none."""
    crds_digest: str | None
    """Digest of the chart slurm-operator-crds, in the same way."""

class ClientSettings(TypedDict, total=False):
    namespace: str
    """Namespace of the pods. Never the cluster's: an account that may create pods there can mount all its Secrets."""
    create_namespace: bool
    """Whether this stack makes the namespace, and removes it on destroy."""
    image: Input[str] | None
    """Image of the sidecar: sackd (or munged), sh, cp, mv and sha256sum. By default, with auth/slurm, the login image;
    with auth/munge there is no default."""
    slurm_user: str
    """SlurmUser of the cluster. Slurm's commands end at once in an image that doesn't know this name."""
    slurm_uid: int
    """SlurmUser's number on the cluster, as which sackd runs (auth/slurm). 401 in Slinky's images, 64030 on Debian."""
    group: int
    """A group of the whole pod, with which the sidecar reads the key, and munged's own number: no user or group of the
    cluster may have it."""
    key_from: SecretReferenceSettings | None
    """Where the key is in that namespace, where keys.source is existing or external: a pod can't mount another
    namespace's Secret."""
    people: Mapping[str, PersonSettings]
    """Who uses the cluster from these pods, by name. slurmctld holds jobs of a uid that sackd can't name. Leave it
    empty where the image asks a directory (LDAP)."""
    login_environment: bool
    """Whether the cluster's nodes know the people (LDAP, passwd): jobs then get their owner's login environment, and
    nothing of the pod's. Jobs of a person whom a node doesn't know would be held. Always so with auth/munge."""
    deployment: ClientDeploymentSettings | None
    """A pod with Slurm's commands that this stack makes; none by default."""
    jupyterhub: JupyterHubSettings | None
    """JupyterHub, deployed by this stack; none by default."""

class ClientDeploymentSettings(TypedDict, total=False):
    person: str
    """The name in `people` that the pod runs as: anyone who may open a shell in it is this person to Slurm."""
    image: Input[str] | None
    """Image with Slurm's commands; by default the client's image."""
    command: Sequence[str]
    """What the container runs."""

class ClientsSettings(TypedDict, total=False):
    slurmctld: Sequence[PeerSettings]
    """Clients of slurmctld in Kubernetes (6817), e.g. Prometheus with controller.metrics."""
    slurmdbd: Sequence[PeerSettings]
    """Clients of slurmdbd in Kubernetes (6819), e.g. slurmctld of another cluster."""
    slurmrestd: Sequence[PeerSettings]
    """Clients of slurmrestd (6820, and 6843 with restapi.tls), e.g. JupyterHub, an Ingress, the desks of
    slurmrest.url."""
    slurmd: Sequence[PeerSettings]
    """Clients of slurmd's pods, on every TCP port, e.g. Prometheus."""
    login: Sequence[PeerSettings]
    """Clients of sshd in login pods (22). By default everyone: sshd authenticates them."""
    operator: Sequence[PeerSettings]
    """Clients of slurm-operator's pods, e.g. Prometheus. Asked where this stack installs the operator."""

class ClusterSettings(TypedDict, total=False):
    name: str
    """ClusterName: must equal the outside slurm.conf's. Can't change after the first `pulumi up`."""
    namespace: str
    """Namespace of all custom resources of this cluster; references never cross namespaces."""
    create_namespace: bool
    """Whether this stack makes the namespace, and removes it on destroy. Can't go from true to false on a live stack,
    except with keepNamespace. A namespace that is there already and that this stack did not make is refused with
    true."""
    keep_namespace: bool
    """Leave a namespace that this stack made, with what others made in it, when the stack is destroyed."""
    fence: bool
    """Whether the API server itself refuses to delete or shrink NodeSets, and to delete what they need or their pods,
    unless their nodes are drained; kubectl, Helm and all others are refused. Needs Kubernetes 1.30 or newer: set false
    on 1.29."""
    fence_pods: bool
    """Whether the fence also refuses slurm-operator the pods of NodeSets with owner: autoscaler that it has not
    reported as drained. No restart of the operator costs a busy pod then. The price: an ordinary scale-in can be
    refused once, and the operator then adds and removes no pod of that NodeSet for five minutes or more. Needs fence:
    true."""
    pod_security: Literal["privileged", "baseline"] | None
    """Pod Security Standard that the API server enforces in a namespace of this stack. privileged: what slurmd's pods
    need where the cluster's default is stricter. baseline: for a stack without NodeSets. By default the cluster's own;
    warnings and audit are at restricted in any case, which none of the operator's pods meets."""
    quota: Mapping[str, str | float]
    """ResourceQuota of the namespace, e.g. {pods: 40, services.loadbalancers: 1, requests.nvidia.com/gpu: 8}: a limit
    for others who create objects there. CPU and memory need defaultResources: Kubernetes refuses pods that ask for
    none."""
    default_resources: bool
    """Give each container of a daemon, login pod, sidecar, TLS proxy or client's deployment that has no `resources` a
    request of CPU, and a request and a limit of memory (docs/operations.md has the sizes). Namespaces with a quota of
    CPU or memory, and policies that ask for requests, admit no pod without. A change replaces the pods; NodeSets have
    `resources` of their own."""
    sidecar_resources: ContainerResourcesSettings | None
    """CPU and memory of each log, reconfigure and init sidecar of the operator's pods."""
    resource_name: str
    """Name of the Controller, RestApi and Accounting resources; Services are `<this>-restapi` and so on. With
    slurm-operator 1.0 give every Slurm cluster in one Kubernetes a name of its own: it mixes up equal names of two
    namespaces."""
    slurm_version: str | None
    """Slurm release of the outside daemons, e.g. 26.05; by default the release of Slinky's images. Where slurmctld's
    own image has a tag of their form (VERSION-OS), slurmctld's release is the tag's."""
    max_node_count: int
    """MaxNodeCount of slurm.conf: the most nodes that slurmctld may have: slurm.conf's own and the pods of all NodeSets
    together. `slinky preflight` counts those of a slurmctld outside."""
    images: ImagesSettings
    """Container images."""

class ContainerResourcesSettings(TypedDict, total=False):
    cpus: str | float | None
    """Limit of CPUs. None by default: a daemon that is throttled answers late."""
    memory: str | float | None
    """Limit of memory, beyond which the container is killed and restarted."""
    requests: RequestsSettings
    """What is set aside for it."""

class ControllerSettings(TypedDict, total=False):
    external: ExternalSlurmctldSettings | None
    """The outside slurmctld. The outside admin then sets what the other settings here would set."""
    extra_conf: Mapping[str, str | float | bool]
    """More slurm.conf parameters (in Kubernetes only). Those this program or the operator owns are refused."""
    config_files: Mapping[str, str]
    """More files for /etc/slurm by name, e.g. cgroup.conf, which needs `IgnoreSystemd=yes` where slurmd is in pods (in
    Kubernetes only). Names of slurm.conf and keys are refused."""
    prolog: Mapping[str, str]
    """Prolog scripts by name, e.g. 10-gpu.sh (in Kubernetes only). They are in /etc/slurm, beside slurm.conf."""
    epilog: Mapping[str, str]
    """Epilog scripts by name, e.g. 90-tmp.sh (in Kubernetes only). They are in /etc/slurm, beside slurm.conf."""
    trial: FileTrialSettings
    """A trial of the files above before they change (in Kubernetes only)."""
    persistence: PersistenceSettings
    """State volume (in Kubernetes only)."""
    service: ServiceSettings
    """Service of slurmctld (in Kubernetes only); outside slurmd and sackd hosts need to reach it."""
    metrics: bool
    """Serve /metrics for Prometheus (in Kubernetes only)."""
    resources: ContainerResourcesSettings | None
    """CPU and memory of slurmctld (in Kubernetes only)."""
    pod: PodSettings
    """Placement (in Kubernetes only)."""
    raw: RawSettings
    """Raw pieces of its pod, container and Service, for what has no setting (in Kubernetes only)."""

class DatabaseSettings(TypedDict, total=False):
    host: Input[str] | Address
    """Host name of the server."""
    port: int
    """Port of the server."""
    name: Input[str]
    """Database. slurmdbd makes one that is missing, unless its name has a '-': make that one yourself."""
    username: Input[str]
    """User. The password is the secret configuration value databasePassword, or that of `passwordFrom`."""
    password_from: SecretReferenceSettings | None
    """A Secret that has the password, in the place of databasePassword: mariadb-operator's, for instance. slurmdbd's
    pod waits until it is there. Its value must be readable in slurmdbd.conf: no space, quote, '#' or '\\'."""
    tls: DatabaseTlsSettings | None
    """TLS to the server; none by default: what slurmdbd asks and stores is then readable on the way."""

class DatabaseTlsSettings(TypedDict, total=False):
    ca_secret: Input[str]
    """Secret whose entry ca.crt has the certificate authority of the server."""
    client_secret: Input[str] | None
    """Secret of type kubernetes.io/tls with the client certificate that the server asks of its user (REQUIRE X509)."""

class DrainSettings(TypedDict, total=False):
    deadline: int | str
    """Longest wait of one `pulumi up` for the jobs of this NodeSet, in seconds or as 30m, 2h; 365d at the most."""
    on_deadline: Literal["keep", "undo", "requeue", "cancel"]
    """keep: fail, leave the nodes drained, the next `pulumi up` continues. undo: fail and return them. requeue: requeue
    the jobs. cancel: signal them, then cancel after `grace`. Only the last two touch jobs."""
    grace: int | str
    """Between the signal and the cancel, with onDeadline: cancel; 30d at the most."""
    signal: Literal["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT"]
    """Signal sent at the deadline, with onDeadline: cancel."""
    max_at_once: int | None
    """Nodes drained at the same time while jobs still run on them; the others follow as these get free, and the pods go
    together at the end, in one write of replicas. By default all."""
    register_deadline: int | str
    """How long new nodes may take to register with slurmctld after a scale-out."""
    start_at_once: int | None
    """Pods of a scale-out that start at the same time; the others follow as these register. By default all, of which
    slurm-operator creates up to 250 in one pass. Doesn't bind an autoscaler."""
    limits: DrainLimitsSettings
    """What blocks a preview."""
    show_users: bool
    """Name the users whose jobs are waited for, in plans, stack outputs, change orders and progress. With false each
    has a short hash in place of the name, as user-3f2a: for sites where Slurm's PrivateData hides whose jobs run."""

class DrainLimitsSettings(TypedDict, total=False):
    max_share: float | str | None
    """Share of the NodeSet that is selected for removal at once, above 0 to 1, or as 50%."""
    max_jobs: int | None
    """Jobs on the nodes that are selected for removal."""
    max_job_age: int | str | None
    """No job that has run longer than this may be on them."""

class EgressSettings(TypedDict, total=False):
    parts: Sequence[Literal["slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login"]]
    """Parts whose pods are limited. slurmctld, slurmdbd and slurmrestd may connect to the parts of the cluster that
    they need, to DNS, and to what is named here. Jobs (slurmd) and users (login) may connect to everything but
    `blocked`. Nodes that slurmctld may not connect to are set DOWN, and their jobs are lost: name all of them before
    slurmctld."""
    blocked: Sequence[Input[str]]
    """What pods of slurmd and login may not connect to. By default the metadata addresses of clouds, which give each
    pod the rights of its node."""
    dns: Sequence[PeerSettings]
    """Who answers DNS, on ports 53 and 5353. By default everybody, since some clusters answer on the node."""
    database: Sequence[PeerSettings]
    """The database of slurmdbd, on its port. By default the address in accounting.database.host; needed for a name."""
    slurmctld: Sequence[PeerSettings]
    """What else slurmctld connects to, on every port, e.g. another stack's nodes, or hosts that its scripts ask."""
    slurmdbd: Sequence[PeerSettings]
    """What else slurmdbd connects to, on every port, e.g. slurmctld of another cluster."""
    slurmrestd: Sequence[PeerSettings]
    """What else slurmrestd connects to, on every port."""

class ExternalSettings(TypedDict, total=False):
    slurmrestd: ExternalSlurmrestdSettings | None
    """An outside slurmrestd."""
    slurmd_hosts: Sequence[SlurmdHostSettings]
    """Bare-metal slurmd hosts."""
    login_hosts: Sequence[LoginHostSettings]
    """Login hosts."""

class ExternalSlurmctldSettings(TypedDict, total=False):
    host: Input[str] | Address
    """Address under which pods reach it."""
    port: int
    """SlurmctldPort, which all hosts of a slurmctld have in common."""
    backups: Sequence[Input[str] | Address]
    """Hosts of backup slurmctlds, as pods reach them, in the order of their SlurmctldHost lines behind that of
    `host`."""

class ExternalSlurmdbdSettings(TypedDict, total=False):
    host: Input[str] | Address
    """Address under which pods reach it."""
    port: int
    """DbdPort."""

class ExternalSlurmrestdSettings(TypedDict, total=False):
    ca_file: str | None
    """Certificate authority of the address, as a file."""
    client_cert_file: str | None
    """Client certificate of this program, as a PEM file, where the address asks for one. Read at each request."""
    client_key_file: str | None
    """Key of it, as a PEM file without a passphrase."""
    allow_plain_http: bool
    """Send tokens to an http address of another host at `url`: they can be read on the network, and answers changed."""
    url: Input[str]
    """Base address, e.g. https://slurmrestd.example.org:6820."""

class FileTrialSettings(TypedDict, total=False):
    enabled: bool
    """Previews, and each update before its first change, try slurm.conf, slurmdbd.conf and `configFiles` where they, or
    the images, aren't those of the last trial (slurmctld in Kubernetes only). Without a trial the update stops."""
    namespace: str | None
    """Namespace of these pods: one without Secrets, since an account that may make pods can mount every Secret beside
    them. By default the cluster's own."""

class HubChartSettings(TypedDict, total=False):
    repo: str | None
    """Repository; by default JupyterHub's own."""
    oci: str | None
    """OCI reference of the chart itself."""
    path: str | None
    """Local folder of the chart, absolute or relative to Pulumi.yaml."""
    version: str | None
    """Version of the chart, e.g. 4.2.0; needed with a repository or OCI."""
    digest: str | None
    """Digest of the chart in the registry of `oci`, sha256:…: Helm then takes these bytes or none."""

class IdentitySettings(TypedDict, total=False):
    passwd: PasswdSettings | None
    """Users and groups that this file lists: for sites with no directory. A change reaches running pods within two
    minutes, and replaces none."""
    sssd: SssdSettings | None
    """Users of a directory, by sssd. Instead of `passwd`."""
    oidc: OidcSettings | None
    """An identity provider whose tokens slurmrestd's users have. Needs `keys.tokens: rs256` or `prepared`."""

class ImagesSettings(TypedDict, total=False):
    slurmctld: Input[str] | None
    """slurmctld and its reconfigure sidecar; by default Slinky's image for the operator's release."""
    slurmdbd: Input[str] | None
    """slurmdbd; by default Slinky's image for the operator's release."""
    slurmrestd: Input[str] | None
    """slurmrestd; by default Slinky's image for the operator's release. Never newer than slurmctld."""
    slurmd: Input[str] | None
    """slurmd of all NodeSets that name no image of their own."""
    login: Input[str] | None
    """Login pods (sackd and sshd)."""
    sidecar: Input[str]
    """Log and init sidecars: any image with a POSIX shell, tail and ls."""
    pull_policy: Literal["IfNotPresent", "Always", "Never"]
    """imagePullPolicy of every container."""
    pull_secrets: Sequence[Input[str]]
    """Names of image pull secrets in the cluster's namespace."""

class IssuerSettings(TypedDict, total=False):
    name: Input[str]
    """Its name."""
    kind: Literal["Issuer", "ClusterIssuer"]
    """Its kind; an Issuer is in the cluster's namespace."""
    group: str
    """Its API group; another one for issuers that aren't cert-manager's own."""

class JobSettings(TypedDict, total=False):
    user: str
    """Who runs it: a user whom slurmctld's host knows. root and SlurmUser are refused."""
    script: JobScriptSettings | None
    """Its batch script."""
    command: Sequence[str]
    """A program and its arguments, in place of a script: no shell reads them."""
    partition: str | None
    """Partition; by default slurmctld's default partition."""
    account: str | None
    """Account that it is charged to; by default the user's default account."""
    qos: str | None
    """Quality of service."""
    nodes: int
    """Number of nodes."""
    time_limit: int | str | None
    """Time limit, in seconds or as 30m; Slurm counts whole minutes. By default the partition's."""
    environment: Mapping[str, str]
    """Its environment, PATH included. Nothing of the environment of `pulumi up` goes to it. No secrets: previews and
    the state show it."""
    working_directory: str
    """Where it begins, on the nodes where it runs."""
    output: str | None
    """File of its output, with sbatch's patterns such as %j; by default slurm-%j.out in the working directory."""
    wait_for: Literal["completed", "submitted"]
    """completed: `pulumi up` waits for its end, and fails where the job fails. submitted: it continues once the job is
    in the queue."""
    runs: Literal["on-change", "on-every-update"]
    """on-change: it runs once, and again when what it is has changed or its last run failed. on-every-update: each
    `pulumi up` runs it, and each preview shows that."""
    on_destroy: Literal["cancel", "wait"]
    """What becomes of a run that is not over when the job is removed, or when another run takes its place."""
    timeout: int | str
    """How long one `pulumi up` waits for it, in seconds or as 2h. Then the update fails, the job stays as it is, and
    the next `pulumi up` continues waiting."""

class JobScriptSettings(TypedDict, total=False):
    text: str | None
    """The script itself. It begins with `#!`. slurmrestd reads no #SBATCH lines."""
    file: str | None
    """Path of a file with it, absolute or relative to Pulumi.yaml. Its text is part of the job: if it changes, the job
    runs again."""

class JupyterHubSettings(TypedDict, total=False):
    chart: HubChartSettings
    """Where the chart comes from."""
    image: str | None
    """Image of the notebooks: Jupyter, and Slurm's commands. With spawn: slurm the image of the hub too, with
    JupyterHub, batchspawner, setpriv and Slurm's commands; the notebooks then run what the cluster's nodes have."""
    spawn: Literal["pod", "slurm"]
    """pod: each notebook is a pod with the sidecar. slurm: each notebook is a Slurm job of its person (batchspawner),
    for which drains wait as for any job."""
    partition: str | None
    """Partition of the jobs (spawn: slurm); by default the cluster's own default."""
    options: str
    """More options of sbatch for the jobs (spawn: slurm), e.g. --mem=4G --time=8:00:00."""
    values: Mapping[str, Any]
    """More Helm values, merged over ours: hub.config.JupyterHub.authenticator_class, who logs in and how, belongs
    here."""
    timeout: int | str
    """How long to wait for the hub to become ready."""

class KeysSettings(TypedDict, total=False):
    source: Literal["generated", "imported", "existing", "external"]
    """generated: made by this stack. imported: from the secret configuration values slurmKey and jwtKey (base64 of the
    files, byte for byte), as an outside slurmctld or slurmdbd needs. existing: Secrets that are in the namespace.
    external: Secrets that somebody else makes there (External Secrets, Vault, sealed-secrets): awaited, checked, and
    watched for change."""
    made_by: str
    """Who makes the Secrets (external), for messages: ExternalSecret slurm-keys of team platform."""
    wait: int | str
    """How long `pulumi up` waits for the Secrets (external), in seconds or as 10m."""
    accepted_change: str
    """Time of a change of a Secret's key (external) that all daemons have followed, in a stop that you carried out by
    yourself: the message that refuses the change names it."""
    max_age: int | str | None
    """Age from which status and preflight call a key old, as 365d; by default none is."""
    auth: Literal["auth/slurm", "auth/munge"]
    """AuthType of the cluster. With auth/munge the stack makes what login and Jupyter pods need (section munge) and
    refuses NodeSets, which need auth/slurm."""
    slurm_key_from: SecretReferenceSettings | None
    """Where slurm.key is; by default in a Secret that is named after the cluster's resource name."""
    jwt_key_from: SecretReferenceSettings | None
    """Where the JWT HS256 key is, in the same way."""
    tokens: Literal["hs256", "prepared", "rs256"]
    """What signs the tokens of gates and commands. hs256: the JWT key. rs256: an RSA key of their own (secret
    tokenKey), of which slurmctld and slurmdbd know the public half only, and which can be replaced without a refused
    token. prepared: the daemons get the public half and the JWT key still signs, so that a running cluster can change
    over without a refused token."""
    max_token_lifespan: int | str
    """Longest lifespan of a token that `slinky token` makes for a user, in seconds or as 12h: a leaked one can't be
    revoked."""
    jwks: bool
    """Give slurmd's pods slurm.key as slurm.jwks, in a Secret that is changed in place: then `keys rotate slurm`
    replaces the key under running jobs, and no pod is restarted. Switching it replaces the pods of every NodeSet once,
    drained."""
    allow_trailing_newline: bool
    """Accept an imported key that is text ending in a line break. Slurm reads the break as part of the key, so this is
    right only where the outside file ends with it as well."""
    protect: bool
    """Protect the Secrets: `pulumi destroy --exclude-protected` leaves them; without the flag it ends with an error at
    them."""

class KubernetesSettings(TypedDict, total=False):
    kubeconfig: str | None
    """Path of a kubeconfig file; by default $KUBECONFIG or the usual place. Each run of pulumi leaves a copy of a file
    that is named here in $TMPDIR, readable by its user only: pulumi-kubernetes makes it. With $KUBECONFIG it makes
    none."""
    context: str | None
    """Context of it; by default the current one."""
    cluster: str | None
    """UID of the namespace kube-system: a preview or an update fails if another Kubernetes cluster answers, or none. By
    default the stack keeps to the cluster of its first `pulumi up`, where that can be asked."""

class LoginHostSettings(TypedDict, total=False):
    name: str
    """Host name."""
    address: Input[str] | Address | None
    """Address."""

class LoginSetSettings(TypedDict, total=False):
    replicas: int
    """Number of pods."""
    image: Input[str] | None
    """Login image; by default cluster.images.login."""
    root_authorized_keys: Input[str]
    """Public keys that may log in as root."""
    extra_sshd_config: str
    """More lines for sshd_config."""
    sssd_conf_from: SecretReferenceSettings | None
    """Where sssd.conf is; by default that of `identity.sssd`. One of the two is needed."""
    service: ServiceSettings
    """Service of sshd."""
    resources: ContainerResourcesSettings | None
    """CPU and memory of a login pod: what its users' shells share."""
    raw: RawSettings
    """Raw pieces of its pod, container and Service, for what has no setting."""
    pod: PodSettings
    """Placement."""
    volumes: Sequence[VolumeSettings]
    """More volumes, such as /home."""
    interrupt_sessions: bool
    """Let login pods be replaced and removed while srun or salloc runs in them. By default an update stops before the
    login set, and its removal waits, since their jobs end with the pod. Shells without a job are not seen."""

class LoginSetDefaultsSettings(TypedDict, total=False):
    replicas: int
    """Number of pods."""
    image: Input[str] | None
    """Login image; by default cluster.images.login."""
    root_authorized_keys: Input[str]
    """Public keys that may log in as root."""
    extra_sshd_config: str
    """More lines for sshd_config."""
    sssd_conf_from: SecretReferenceSettings | None
    """Where sssd.conf is; by default that of `identity.sssd`. One of the two is needed."""
    service: ServiceSettings
    """Service of sshd."""
    resources: ContainerResourcesSettings | None
    """CPU and memory of a login pod: what its users' shells share."""
    raw: RawSettings
    """Raw pieces of its pod, container and Service, for what has no setting."""
    pod: PodSettings
    """Placement."""
    volumes: Sequence[VolumeSettings]
    """More volumes, such as /home."""
    interrupt_sessions: bool
    """Let login pods be replaced and removed while srun or salloc runs in them. By default an update stops before the
    login set, and its removal waits, since their jobs end with the pod. Shells without a job are not seen."""

class MonitoringSettings(TypedDict, total=False):
    slurmctld: bool
    """A ServiceMonitor for slurmctld's metrics: slurm-operator's own where slurmctld is in Kubernetes, which then
    serves metrics; else a Service, an EndpointSlice and a ServiceMonitor for the host in controller.external."""
    slurmctld_address: Input[str] | Address | None
    """IP address of the host in controller.external where that has a name: an EndpointSlice takes no name."""
    interval: int | str
    """Between two scrapes of slurmctld, which takes them from the same threads as everything else."""
    rules: bool
    """A PrometheusRule with the alerts of docs/monitoring.md."""
    labels: Mapping[str, Input[str]]
    """Labels by which your Prometheus selects ServiceMonitors and PrometheusRules, e.g. {release:
    kube-prometheus-stack}."""
    key_age: int | str
    """Age from which an alert says that a key is old, in seconds or as 365d."""
    dashboard: bool
    """A ConfigMap with the dashboard, for a Grafana that loads those with `dashboardLabels`."""
    dashboard_labels: Mapping[str, Input[str]]
    """Labels by which your Grafana's sidecar finds dashboards."""
    status: StatusJobSettings | None
    """A CronJob that writes the metrics of `slinky status --prometheus`."""

class MungeSettings(TypedDict, total=False):
    image: Input[str] | None
    """Image of the munged sidecar; needed. It has munged, munge, sh, cp and chmod: the pod's own image often does."""
    user: int
    """Numeric user and group that munged runs as, and a group of all of the pod: one that no one on the cluster has,
    neither as user nor as group. (64030 is slurm on Debian.)"""
    slurm_user: str
    """SlurmUser of the outside cluster. The pod's image must know this name, otherwise every command ends at once, and
    give it the cluster's UID, otherwise srun fails. root: for an image without this user; sbatch and query commands
    work."""
    key_from: SecretReferenceSettings | None
    """Where munge.key is; by default in a Secret that is named after the cluster's resource name."""
    slurm_conf: str
    """The clients' slurm.conf, whole, in the place of the few lines that are made by default: with MpiDefault, plugins
    of a job's submission, or what else the cluster's own has for its users."""

class NetworkPoliciesSettings(TypedDict, total=False):
    enabled: bool
    """Make them. Off by default: a client that the stack doesn't know would be cut off by an upgrade."""
    api_server: Sequence[PeerSettings]
    """From where the API server connects to pods; gates reach slurmrestd through it. Control plane nodes, or the pods
    of konnectivity's agent."""
    nodes: Sequence[Input[str]]
    """Addresses of Kubernetes nodes as pods see them. Needed for pods on the host network, and for clients that come
    through a Service from outside, since kube-proxy gives their connections a node's address. May be empty where it
    doesn't."""
    addresses: Mapping[str, Sequence[str]]
    """Addresses of outside hosts that the stack knows by name only: a policy can't hold a name. By default a host has
    the address that the stack has for it."""
    clients: ClientsSettings
    """Who else may connect."""
    egress: EgressSettings
    """What pods may connect to themselves."""

class NodeRowSettings(TypedDict, total=False):
    names: Sequence[str]
    """Kubernetes nodes, as hostlists: worker-[1-8]. They get the labels, and a label for each feature."""
    selector: Mapping[str, str]
    """Kubernetes nodes that have all these labels when `pulumi up` runs, e.g. {node.kubernetes.io/instance-type: hpc}.
    Each preview and update asks the API server which they are."""
    nodesets: Sequence[str]
    """NodeSets that have these features and GRES in Slurm. In a row with names or a selector their pods run on
    Kubernetes nodes with these labels only."""
    hosts: Sequence[str]
    """Hosts of external.slurmdHosts, as hostlists: metal-[001-500]. Their NodeName= lines get these features and
    GRES."""
    labels: Mapping[str, str]
    """Labels of the Kubernetes nodes, each under `nodes.prefix`, e.g. {cuda: "12.6"}."""
    features: Sequence[str]
    """Words that jobs ask for (sbatch -C). Each becomes a label `<prefix>/<word>: "true"` too, so that pods can; a word
    that no label can have goes to `features` of its NodeSet."""
    gres: Sequence[str]
    """Generic resources in Slurm, e.g. gpu:a100:8."""
    topology: str | None
    """Place in Slurm's topology, e.g. topo-switch:s1,topo-block:b1: an annotation of the Kubernetes nodes, which
    slurm-operator 1.1 and newer gives to slurmctld, and Topology= of the hosts' NodeName= lines. topology.yaml must
    have these units: `nodes.topologies` makes it so."""

class NodeSetSettings(TypedDict, total=False):
    replicas: Input[int]
    """Number of pods, each on a Kubernetes node of its own. Lowered only after the nodes that are selected for removal
    are drained. None with scalingMode: DaemonSet."""
    scaling_mode: Literal["StatefulSet", "DaemonSet"]
    """StatefulSet: `replicas` pods. DaemonSet: a pod on each Kubernetes node that fits `pod.nodeSelector`,
    `pod.affinity` and `pod.tolerations`, under the Kubernetes node's name (operator 1.1 or newer). Nodes that no longer
    fit are drained before these three are written. A change of the mode replaces the NodeSet, drained."""
    owner: Literal["stack", "autoscaler"]
    """Who sets replicas after creation: this stack, or an autoscaler (HPA, KEDA)."""
    max_replicas: int | None
    """With owner: autoscaler, the most it may ask for; with scalingMode: DaemonSet, how many Kubernetes nodes may fit.
    Counted against MaxNodeCount."""
    autoscale: AutoscaleSettings | None
    """The autoscaler that this stack makes for `owner: autoscaler`. By default you make it yourself."""
    image: Input[str] | None
    """slurmd image; by default cluster.images.slurmd."""
    resources: ResourcesSettings
    """CPUs, memory and devices."""
    partition: NodeSetPartitionSettings
    """The partition named after this NodeSet."""
    features: Sequence[str]
    """Slurm features besides the NodeSet's name, which every node has."""
    gres: Sequence[str]
    """Generic resources as a list, e.g. ["gpu:a100:8"]; their devices are `resources.extended`."""
    extra_conf: Mapping[str, str | float | bool]
    """More node parameters for slurmd --conf, e.g. Weight: 10."""
    pod: PodSettings
    """Placement, grace period, host network."""
    privileged: bool | None
    """Run slurmd privileged; by default what the operator sets, which is true, with SYS_ADMIN, NET_ADMIN and BPF beside
    it: anyone who becomes root in such a pod is close to root on its Kubernetes node. false is refused where the
    release drops it."""
    env: Mapping[str, Input[str]]
    """Environment of the slurmd container. No secrets: pod specs are readable. Nothing that runs other code (PATH)."""
    volumes: Sequence[VolumeSettings]
    """Volumes in the slurmd container."""
    update_strategy: RollingUpdateSettings
    """How changed pods are replaced."""
    ssh: SshSettings
    """sshd in worker pods."""
    drain: DrainSettings
    """How scale-in waits for jobs."""
    raw: RawSettings
    """Raw pieces of its pod, container and custom resource, for what has no setting."""

class NodeSetDefaultsSettings(TypedDict, total=False):
    replicas: int
    """Number of pods of a NodeSet that names none."""
    scaling_mode: Literal["StatefulSet", "DaemonSet"]
    """StatefulSet: `replicas` pods. DaemonSet: a pod on each Kubernetes node that fits `pod.nodeSelector`,
    `pod.affinity` and `pod.tolerations`, under the Kubernetes node's name (operator 1.1 or newer). Nodes that no longer
    fit are drained before these three are written. A change of the mode replaces the NodeSet, drained."""
    owner: Literal["stack", "autoscaler"]
    """Who sets replicas after creation: this stack, or an autoscaler (HPA, KEDA)."""
    max_replicas: int | None
    """With owner: autoscaler, the most it may ask for; with scalingMode: DaemonSet, how many Kubernetes nodes may fit.
    Counted against MaxNodeCount."""
    autoscale: AutoscaleSettings | None
    """The autoscaler that this stack makes for `owner: autoscaler`. By default you make it yourself."""
    image: Input[str] | None
    """slurmd image; by default cluster.images.slurmd."""
    resources: ResourcesSettings
    """CPUs, memory and devices."""
    partition: NodeSetPartitionSettings
    """The partition named after this NodeSet."""
    features: Sequence[str]
    """Slurm features besides the NodeSet's name, which every node has."""
    gres: Sequence[str]
    """Generic resources as a list, e.g. ["gpu:a100:8"]; their devices are `resources.extended`."""
    extra_conf: Mapping[str, str | float | bool]
    """More node parameters for slurmd --conf, e.g. Weight: 10."""
    pod: PodSettings
    """Placement, grace period, host network."""
    privileged: bool | None
    """Run slurmd privileged; by default what the operator sets, which is true, with SYS_ADMIN, NET_ADMIN and BPF beside
    it: anyone who becomes root in such a pod is close to root on its Kubernetes node. false is refused where the
    release drops it."""
    env: Mapping[str, Input[str]]
    """Environment of the slurmd container. No secrets: pod specs are readable. Nothing that runs other code (PATH)."""
    volumes: Sequence[VolumeSettings]
    """Volumes in the slurmd container."""
    update_strategy: RollingUpdateSettings
    """How changed pods are replaced."""
    ssh: SshSettings
    """sshd in worker pods."""
    drain: DrainSettings
    """How scale-in waits for jobs."""
    raw: RawSettings
    """Raw pieces of its pod, container and custom resource, for what has no setting."""

class NodeSetPartitionSettings(TypedDict, total=False):
    enabled: bool
    """Whether the NodeSet has a partition of its own."""
    config: Mapping[str, str | float | bool]
    """Parameters of the PartitionName= line, e.g. MaxTime: UNLIMITED."""

class NodesSettings(TypedDict, total=False):
    prefix: str
    """Prefix of the labels. They are this stack's alone: one that somebody else has set is refused, never
    overwritten."""
    table: Sequence[NodeRowSettings]
    """Rows. A node, a host or a NodeSet may be in several, a NodeSet in one with names or without."""
    topologies: Mapping[str, TopologySettings]
    """Slurm's topologies, by name. The stack makes topology.yaml from them and from the places of its nodes: a file of
    slurmctld in Kubernetes, or one for the external slurmctld's host."""

class OidcSettings(TypedDict, total=False):
    jwks: Mapping[str, Any] | None
    """The provider's public key set: what the `jwks_uri` of its discovery document serves, as a mapping."""
    jwks_file: str | None
    """The same as a file, relative to Pulumi.yaml."""
    user_claim: str | None
    """Claim with the user's name (userclaimfield), e.g. preferred_username. Slurm reads `sun` and `username` before
    it."""

class OperatorSettings(TypedDict, total=False):
    install: bool
    """Whether this stack deploys the operator; false where another stack or team already has."""
    version: str
    """Release of slurm-operator: decides chart version, images and the shape of all specs."""
    namespace: str
    """Namespace of the operator's own pods."""
    create_namespace: bool
    """Whether this stack makes that namespace."""
    chart: ChartSourceSettings
    """Chart source; by default Slinky's published charts."""
    install_crds: bool
    """Whether this stack, where it deploys the operator, installs the CRDs too."""
    protect_crds: bool
    """Protect the CRDs: removing them removes every NodeSet of every stack in this Kubernetes cluster."""
    service_monitor_stub: bool | None
    """Make a stand-in for Prometheus' ServiceMonitor CRD, which operators up to 1.0.4 and 1.1.0 can't do without; by
    default where the release needs it. Set false where Prometheus' operator is installed."""
    webhook: WebhookSettings
    """Admission webhook."""
    values: Mapping[str, Any]
    """More Helm values, merged over ours."""
    timeout: int | str
    """How long to wait for the operator to become ready, in seconds or as 10m."""

class PartitionSettings(TypedDict, total=False):
    nodesets: Sequence[str]
    """Names of NodeSets or of outside slurmd hosts, of these also hostlists such as metal-[001-250], or ALL for every
    node of the cluster. None keeps the partition and its queue without a node."""
    config: Mapping[str, str | float | bool]
    """Parameters of the PartitionName= line."""

class PasswdSettings(TypedDict, total=False):
    users: Mapping[str, UserSettings]
    """Users, by name."""
    groups: Mapping[str, int]
    """gid of each group, by name; 1000 or above."""

class PeerSettings(TypedDict, total=False):
    cidr: Input[str] | None
    """Addresses as pods see them, e.g. 192.0.2.0/24."""
    namespace: Input[str] | None
    """Pods of this namespace; by default of the cluster's own."""
    pods: Mapping[str, Input[str]]
    """Labels of these pods; all pods of `namespace` where none is given."""

class PersistenceSettings(TypedDict, total=False):
    enabled: bool
    """Keep the state in a volume; without it a pod restart forgets every job."""
    existing_claim: Input[str] | None
    """Use this claim instead of making one."""
    storage_class: Input[str] | None
    """StorageClass of the claim, by default Kubernetes' own default; an empty text takes a volume that is there
    already."""
    access_modes: Sequence[Literal["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]]
    """Access modes of the claim."""
    size: str | float
    """Size of the claim."""

class PersonSettings(TypedDict, total=False):
    uid: int
    """uid on the cluster's nodes: jobs run as this number."""
    gid: int
    """gid of the primary group there."""
    home: str
    """Home directory on the cluster's nodes."""

class PodSettings(TypedDict, total=False):
    node_selector: Mapping[str, Input[str]]
    """Kubernetes nodes to use."""
    tolerations: Sequence[Mapping[str, Any]]
    """Tolerations, as in a PodSpec."""
    affinity: Mapping[str, Any]
    """Affinity, as in a PodSpec."""
    priority_class: Input[str] | None
    """priorityClassName."""
    annotations: Mapping[str, Input[str]]
    """Pod annotations."""
    labels: Mapping[str, Input[str]]
    """Pod labels."""
    termination_grace: int | str | None
    """terminationGracePeriodSeconds: a number of seconds or a text such as 30s."""
    host_network: bool
    """Use the Kubernetes node's network (hybrid guide, Host Network). Refused for controller and accounting."""

class RawSettings(TypedDict, total=False):
    pod: Mapping[str, Any]
    """More fields of the pod (PodSpec), e.g. {runtimeClassName: nvidia}."""
    container: Mapping[str, Any]
    """More fields of the daemon's container, e.g. {args: [-v], lifecycle: …} or env with valueFrom."""
    service: Mapping[str, Any]
    """More fields of the Service (ServiceSpec), e.g. {externalTrafficPolicy: Local}. Read at its creation only."""
    spec: Mapping[str, Any]
    """More fields of the custom resource itself: those of NodeSets and login sets that no gate depends on."""

class RequestsSettings(TypedDict, total=False):
    cpus: str | float | None
    """CPUs; by default the limit."""
    memory: str | float | None
    """Memory; by default the limit."""

class ResourcesSettings(TypedDict, total=False):
    cpus: str | float | None
    """CPUs; whole numbers where Slurm shares cores among jobs."""
    memory: str | float | None
    """Memory; jobs of users count against it, and beyond it the whole slurmd pod is killed."""
    extended: Mapping[str, int]
    """Device plugin resources, e.g. nvidia.com/gpu: 8."""

class RestApiSettings(TypedDict, total=False):
    replicas: int
    """Pods of slurmrestd. Never 0: without an answer the operator deletes busy pods undrained."""
    service: ServiceSettings
    """Service of slurmrestd."""
    resources: ContainerResourcesSettings | None
    """CPU and memory of slurmrestd."""
    raw: RawSettings
    """Raw pieces of its pod, container and Service, for what has no setting."""
    pod: PodSettings
    """Placement."""
    tls: RestApiTlsSettings | None
    """TLS before slurmrestd; none by default."""

class RestApiTlsSettings(TypedDict, total=False):
    source: Literal["generated", "existing", "cert-manager"]
    """generated: this stack makes certificate authority and certificate, from a secret of its state. existing: a Secret
    of type kubernetes.io/tls is in the namespace. cert-manager: this stack makes a Certificate for an issuer of the
    site."""
    secret: Input[str] | None
    """Name of the Secret with tls.crt and tls.key (existing)."""
    issuer: IssuerSettings | None
    """Issuer (cert-manager)."""
    since: str | None
    """First day of the certificate (generated), e.g. 2026-11-22. A later day renews it in place, by the same
    authority."""
    days: int
    """How many days the certificate holds (generated). Every preview warns in the last 30."""
    hosts: Sequence[str]
    """More names and addresses that the certificate is for, beside those of the Service (generated, cert-manager)."""
    client_ca_secret: Input[str] | None
    """Secret whose entry ca.crt has the authorities of client certificates. With it a client without one is refused,
    and gates need slurmrest.url, clientCertFile and clientKeyFile: the API server shows none for them."""
    image: Input[str]
    """Image of the proxy: nginx 1.18 or newer, a POSIX shell and cksum."""
    service: ServiceSettings
    """Its Service. LoadBalancer or NodePort here opens TLS only; restapi.service would open plain HTTP."""

class RollingUpdateSettings(TypedDict, total=False):
    type: Literal["Gated", "RollingUpdate", "OnDelete"]
    """Gated: `pulumi up` drains and replaces pods by the rules of `drain`, and a preview shows whose jobs it waits for.
    RollingUpdate: slurm-operator does, in its own time and without limit, deadline or preview; it doesn't count
    suspended jobs. OnDelete: you delete pods yourself."""
    max_unavailable: int | str
    """Pods that may be away at once: a number above 0 or a percentage. Not read with OnDelete."""

class ScaleDownSettings(TypedDict, total=False):
    nodes: int
    """Nodes that may go in each period."""
    every: int | str
    """The period: 15 s to 30 min."""

class SecretReferenceSettings(TypedDict, total=False):
    secret: Input[str]
    """Name of the Secret."""
    key: str | None
    """Entry of it; by default that of the file that is meant: slurm.key, jwt_hs256.key, munge.key, sssd.conf, and
    password for a database."""

class ServiceSettings(TypedDict, total=False):
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"]
    """Service type; NodePort or LoadBalancer where hosts outside must reach it."""
    node_port: int | None
    """Node port (NodePort and LoadBalancer only)."""
    annotations: Mapping[str, Input[str]]
    """Annotations, e.g. for a load balancer."""

class SlurmdHostSettings(TypedDict, total=False):
    name: str
    """NodeName, or a hostlist such as metal-[001-500], which is one NodeName= line in slurm.conf."""
    address: Input[str] | Address | None
    """NodeAddr where the name doesn't resolve on slurmctld's host; for a hostlist one of as many addresses, as
    10.1.0.[1-4] for metal-[001-004], or one of all, with `Port` in config, a hostlist of as many ports."""
    config: Mapping[str, str | float | bool]
    """Parameters of its NodeName= line, e.g. CPUs: 64."""
    state: Literal["active", "drained"]
    """active: may run jobs. drained: held for maintenance; `pulumi up` waits until its jobs have ended."""

class SmokeSettings(TypedDict, total=False):
    enabled: bool
    """Run them. Each preview then shows one job a partition."""
    user: str | None
    """Who runs them: an ordinary user whom slurmctld's host knows."""
    partitions: Sequence[str]
    """Partitions; by default those of the stack that have a NodeSet with pods, or an outside host."""
    timeout: int | str
    """How long each may take, from its submission to its row in slurmdbd. Then the update fails, and says which
    partition it was."""

class SshSettings(TypedDict, total=False):
    enabled: bool
    """Run sshd beside slurmd."""
    sssd_conf_from: SecretReferenceSettings | None
    """Where sssd.conf for it is; by default that of `identity.sssd`."""
    extra_sshd_config: str
    """More lines for sshd_config."""

class SssdSettings(TypedDict, total=False):
    conf_from: SecretReferenceSettings | None
    """Where sssd.conf is. By default the stack makes a Secret of the secret sssdConf (`pulumi config set --secret
    slinky-iac:sssdConf`)."""
    ca_file: str | None
    """Certificate authority of the directory, as a PEM file relative to Pulumi.yaml. Pods have it as
    /etc/slinky-sssd/ca.crt, for ldap_tls_cacert in sssd.conf. In a Secret of your own it is the entry ca.crt."""
    image: Input[str] | None
    """Image of slurmctld's sidecar: sssd, and a libnss_sss that slurmctld's image can load. By default the login
    image."""
    revision: int
    """Raise it when sssd.conf has changed: sssd reads it at its start. slurmctld restarts, and NodeSets roll out as
    with any new pod template."""

class StatusJobSettings(TypedDict, total=False):
    image: Input[str]
    """Image with this program at the release that the stack is deployed with (examples/image/Containerfile). It needs
    no pulumi and no state: what it looks at is in a ConfigMap of the stack, without any secret."""
    service_account: Input[str]
    """ServiceAccount in the cluster's namespace with the rights that `slinky rights --for status` prints."""
    folder: str
    """Folder of the Kubernetes node for node_exporter's textfile collector, e.g. /var/lib/node_exporter/textfile. It
    must be there, and the image's user must own it: the pod has no capability."""
    schedule: str
    """When, as cron writes it. The alerts treat a status older than half an hour as missing."""
    node_selector: Mapping[str, Input[str]]
    """Labels of the Kubernetes node whose node_exporter reads the folder."""

class TopologySettings(TypedDict, total=False):
    default: bool
    """Holds for partitions that name no topology. One of several must have it."""
    tree: Mapping[str, Sequence[str]] | None
    """Switches (topology/tree): those above others, each with the switches below it as hostlists, e.g. {core:
    ["s[1-2]"]}; nodes are below the lowest. {} takes the switches that nodes have a place in, and what is above them
    from places such as topo-switch:core:s1."""
    block: BlockTopologySettings | None
    """Blocks (topology/block)."""
    flat: bool
    """All nodes alike (topology/flat)."""

class UserSettings(TypedDict, total=False):
    uid: int
    """uid, 1000 or above."""
    gid: int
    """gid of the primary group, 1000 or above. A group of the user's name is made where `groups` has none of this
    gid."""
    groups: Sequence[str]
    """Names of more groups, of those in `groups`."""
    home: str | None
    """Home directory; by default /home/NAME. The stack makes none: mount your file system there."""
    shell: str
    """Login shell."""

class UserTokenSettings(TypedDict, total=False):
    user: str
    """Whom it is for: an ordinary user whom slurmctld's host knows. root and SlurmUser are refused."""
    lifetime: int | str
    """Lifetime of each, in seconds or as 8h; at the most keys.maxTokenLifespan. The operator renews it at four fifths
    of it."""
    refresh: bool
    """Renew it. With false the Secret is immutable, and its token is not renewed."""
    secret: str | None
    """Name of the Secret, whose entry is `token`; by default the token's own name and `-token`. Mount it as a file: an
    environment variable would be inherited by jobs of sbatch."""

class VolumeSettings(TypedDict, total=False):
    name: str
    """Volume name."""
    mount_path: str
    """Where it is mounted."""
    source: Mapping[str, Any]
    """Volume source as in a PodSpec, e.g. {hostPath: {path: /scratch}} or {persistentVolumeClaim: {claimName:
    home}}."""
    read_only: bool
    """Mount read-only."""
    sub_path: str
    """A folder of the volume, in the place of all of it."""
    mount_propagation: Literal["", "None", "HostToContainer", "Bidirectional"]
    """mountPropagation, for file systems that are mounted below it later."""

class WebhookSettings(TypedDict, total=False):
    enabled: bool
    """Deploy it. Without it the CRD schemas still guard the resources, and so do this program's own checks."""
    cert_manager: bool
    """Let cert-manager issue its certificate; otherwise Helm signs one itself at each release."""
