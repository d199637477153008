"""Sections of the configuration as types of mappings. `slinky docs configuration` says what each one is.

Made by `python -m slinky_iac reference settings`; a test keeps it current. Change slinky_iac/config, not this file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from pulumi import Input

from slinky_iac.components.inputs import Address

class StackSettings(TypedDict, total=False):
    cluster: ClusterSettings
    operator: OperatorSettings
    keys: KeysSettings
    munge: MungeSettings
    controller: ControllerSettings
    accounting: AccountingSettings
    restapi: RestApiSettings
    identity: IdentitySettings
    drain: DrainSettings | None
    kubernetes: KubernetesSettings
    slurmrest: AccessSettings
    adopted: AdoptedSettings | None
    nodeset_defaults: NodeSetDefaultsSettings | None
    nodesets: Mapping[str, NodeSetSettings]
    partitions: Mapping[str, PartitionSettings]
    login_defaults: LoginSetDefaultsSettings | None
    logins: Mapping[str, LoginSetSettings]
    clients: Mapping[str, ClientSettings]
    external: ExternalSettings
    network_policies: NetworkPoliciesSettings
    jobs: Mapping[str, JobSettings]
    monitoring: MonitoringSettings
    nodes: NodesSettings
    tokens: Mapping[str, UserTokenSettings]
    smoke: SmokeSettings
    acknowledged: Mapping[str, str]

class AccessSettings(TypedDict, total=False):
    ca_file: str | None
    client_cert_file: str | None
    client_key_file: str | None
    allow_plain_http: bool
    url: Input[str] | None
    user: str

class AccountingSettings(TypedDict, total=False):
    enabled: bool
    external: ExternalSlurmdbdSettings | None
    database: DatabaseSettings | None
    extra_conf: Mapping[str, str | float | bool]
    service: ServiceSettings
    resources: ContainerResourcesSettings | None
    pod: PodSettings
    raw: RawSettings

class AdoptedSettings(TypedDict, total=False):
    release: str
    record: str | None
    namespace: str | None
    objects: Mapping[str, AdoptedObjectSettings]

class AdoptedObjectSettings(TypedDict, total=False):
    uid: str
    keep: Sequence[str]

class AutoscaleSettings(TypedDict, total=False):
    by: Literal["keda", "hpa"]
    min_replicas: int
    step: int
    poll: int | str
    cooldown: int | str
    scale_down: ScaleDownSettings
    source: str
    metric: str | None
    labels: Mapping[str, str]

class BlockTopologySettings(TypedDict, total=False):
    block_sizes: Sequence[int]
    blocks: Sequence[str]

class ChartSourceSettings(TypedDict, total=False):
    oci: str | None
    path: str | None
    digest: str | None
    crds_digest: str | None

class ClientSettings(TypedDict, total=False):
    namespace: str
    create_namespace: bool
    image: Input[str] | None
    slurm_user: str
    slurm_uid: int
    group: int
    key_from: SecretReferenceSettings | None
    people: Mapping[str, PersonSettings]
    login_environment: bool
    deployment: ClientDeploymentSettings | None
    jupyterhub: JupyterHubSettings | None

class ClientDeploymentSettings(TypedDict, total=False):
    person: str
    image: Input[str] | None
    command: Sequence[str]

class ClientsSettings(TypedDict, total=False):
    slurmctld: Sequence[PeerSettings]
    slurmdbd: Sequence[PeerSettings]
    slurmrestd: Sequence[PeerSettings]
    slurmd: Sequence[PeerSettings]
    login: Sequence[PeerSettings]
    operator: Sequence[PeerSettings]

class ClusterSettings(TypedDict, total=False):
    name: str
    namespace: str
    create_namespace: bool
    keep_namespace: bool
    fence: bool
    fence_pods: bool
    pod_security: Literal["privileged", "baseline"] | None
    quota: Mapping[str, str | float]
    default_resources: bool
    sidecar_resources: ContainerResourcesSettings | None
    resource_name: str
    slurm_version: str | None
    max_node_count: int
    images: ImagesSettings

class ContainerResourcesSettings(TypedDict, total=False):
    cpus: str | float | None
    memory: str | float | None
    requests: RequestsSettings

class ControllerSettings(TypedDict, total=False):
    external: ExternalSlurmctldSettings | None
    extra_conf: Mapping[str, str | float | bool]
    config_files: Mapping[str, str]
    prolog: Mapping[str, str]
    epilog: Mapping[str, str]
    trial: FileTrialSettings
    persistence: PersistenceSettings
    service: ServiceSettings
    metrics: bool
    resources: ContainerResourcesSettings | None
    pod: PodSettings
    raw: RawSettings

class DatabaseSettings(TypedDict, total=False):
    host: Input[str] | Address
    port: int
    name: Input[str]
    username: Input[str]
    password_from: SecretReferenceSettings | None
    tls: DatabaseTlsSettings | None

class DatabaseTlsSettings(TypedDict, total=False):
    ca_secret: Input[str]
    client_secret: Input[str] | None

class DrainSettings(TypedDict, total=False):
    deadline: int | str
    on_deadline: Literal["keep", "undo", "requeue", "cancel"]
    grace: int | str
    signal: Literal["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT"]
    max_at_once: int | None
    register_deadline: int | str
    start_at_once: int | None
    limits: DrainLimitsSettings
    show_users: bool

class DrainLimitsSettings(TypedDict, total=False):
    max_share: float | str | None
    max_jobs: int | None
    max_job_age: int | str | None

class EgressSettings(TypedDict, total=False):
    parts: Sequence[Literal["slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login"]]
    blocked: Sequence[Input[str]]
    dns: Sequence[PeerSettings]
    database: Sequence[PeerSettings]
    slurmctld: Sequence[PeerSettings]
    slurmdbd: Sequence[PeerSettings]
    slurmrestd: Sequence[PeerSettings]

class ExternalSettings(TypedDict, total=False):
    slurmrestd: ExternalSlurmrestdSettings | None
    slurmd_hosts: Sequence[SlurmdHostSettings]
    login_hosts: Sequence[LoginHostSettings]

class ExternalSlurmctldSettings(TypedDict, total=False):
    host: Input[str] | Address
    port: int
    backups: Sequence[Input[str] | Address]

class ExternalSlurmdbdSettings(TypedDict, total=False):
    host: Input[str] | Address
    port: int

class ExternalSlurmrestdSettings(TypedDict, total=False):
    ca_file: str | None
    client_cert_file: str | None
    client_key_file: str | None
    allow_plain_http: bool
    url: Input[str]

class FileTrialSettings(TypedDict, total=False):
    enabled: bool
    namespace: str | None

class HubChartSettings(TypedDict, total=False):
    repo: str | None
    oci: str | None
    path: str | None
    version: str | None
    digest: str | None

class IdentitySettings(TypedDict, total=False):
    passwd: PasswdSettings | None
    sssd: SssdSettings | None
    oidc: OidcSettings | None

class ImagesSettings(TypedDict, total=False):
    slurmctld: Input[str] | None
    slurmdbd: Input[str] | None
    slurmrestd: Input[str] | None
    slurmd: Input[str] | None
    login: Input[str] | None
    sidecar: Input[str]
    pull_policy: Literal["IfNotPresent", "Always", "Never"]
    pull_secrets: Sequence[Input[str]]

class IssuerSettings(TypedDict, total=False):
    name: Input[str]
    kind: Literal["Issuer", "ClusterIssuer"]
    group: str

class JobSettings(TypedDict, total=False):
    user: str
    script: JobScriptSettings | None
    command: Sequence[str]
    partition: str | None
    account: str | None
    qos: str | None
    nodes: int
    time_limit: int | str | None
    environment: Mapping[str, str]
    working_directory: str
    output: str | None
    wait_for: Literal["completed", "submitted"]
    runs: Literal["on-change", "on-every-update"]
    on_destroy: Literal["cancel", "wait"]
    timeout: int | str

class JobScriptSettings(TypedDict, total=False):
    text: str | None
    file: str | None

class JupyterHubSettings(TypedDict, total=False):
    chart: HubChartSettings
    image: str | None
    spawn: Literal["pod", "slurm"]
    partition: str | None
    options: str
    values: Mapping[str, Any]
    timeout: int | str

class KeysSettings(TypedDict, total=False):
    source: Literal["generated", "imported", "existing", "external"]
    made_by: str
    wait: int | str
    accepted_change: str
    max_age: int | str | None
    auth: Literal["auth/slurm", "auth/munge"]
    slurm_key_from: SecretReferenceSettings | None
    jwt_key_from: SecretReferenceSettings | None
    tokens: Literal["hs256", "prepared", "rs256"]
    max_token_lifespan: int | str
    jwks: bool
    allow_trailing_newline: bool
    protect: bool

class KubernetesSettings(TypedDict, total=False):
    kubeconfig: str | None
    context: str | None
    cluster: str | None

class LoginHostSettings(TypedDict, total=False):
    name: str
    address: Input[str] | Address | None

class LoginSetSettings(TypedDict, total=False):
    replicas: int
    image: Input[str] | None
    root_authorized_keys: Input[str]
    extra_sshd_config: str
    sssd_conf_from: SecretReferenceSettings | None
    service: ServiceSettings
    resources: ContainerResourcesSettings | None
    raw: RawSettings
    pod: PodSettings
    volumes: Sequence[VolumeSettings]
    interrupt_sessions: bool

class LoginSetDefaultsSettings(TypedDict, total=False):
    replicas: int
    image: Input[str] | None
    root_authorized_keys: Input[str]
    extra_sshd_config: str
    sssd_conf_from: SecretReferenceSettings | None
    service: ServiceSettings
    resources: ContainerResourcesSettings | None
    raw: RawSettings
    pod: PodSettings
    volumes: Sequence[VolumeSettings]
    interrupt_sessions: bool

class MonitoringSettings(TypedDict, total=False):
    slurmctld: bool
    slurmctld_address: Input[str] | Address | None
    interval: int | str
    rules: bool
    labels: Mapping[str, Input[str]]
    key_age: int | str
    dashboard: bool
    dashboard_labels: Mapping[str, Input[str]]
    status: StatusJobSettings | None

class MungeSettings(TypedDict, total=False):
    image: Input[str] | None
    user: int
    slurm_user: str
    key_from: SecretReferenceSettings | None
    slurm_conf: str

class NetworkPoliciesSettings(TypedDict, total=False):
    enabled: bool
    api_server: Sequence[PeerSettings]
    nodes: Sequence[Input[str]]
    addresses: Mapping[str, Sequence[str]]
    clients: ClientsSettings
    egress: EgressSettings

class NodeRowSettings(TypedDict, total=False):
    names: Sequence[str]
    selector: Mapping[str, str]
    nodesets: Sequence[str]
    hosts: Sequence[str]
    labels: Mapping[str, str]
    features: Sequence[str]
    gres: Sequence[str]
    topology: str | None

class NodeSetSettings(TypedDict, total=False):
    replicas: Input[int]
    scaling_mode: Literal["StatefulSet", "DaemonSet"]
    owner: Literal["stack", "autoscaler"]
    max_replicas: int | None
    autoscale: AutoscaleSettings | None
    image: Input[str] | None
    resources: ResourcesSettings
    partition: NodeSetPartitionSettings
    features: Sequence[str]
    gres: Sequence[str]
    extra_conf: Mapping[str, str | float | bool]
    pod: PodSettings
    privileged: bool | None
    env: Mapping[str, Input[str]]
    volumes: Sequence[VolumeSettings]
    update_strategy: RollingUpdateSettings
    ssh: SshSettings
    drain: DrainSettings
    raw: RawSettings

class NodeSetDefaultsSettings(TypedDict, total=False):
    replicas: int
    scaling_mode: Literal["StatefulSet", "DaemonSet"]
    owner: Literal["stack", "autoscaler"]
    max_replicas: int | None
    autoscale: AutoscaleSettings | None
    image: Input[str] | None
    resources: ResourcesSettings
    partition: NodeSetPartitionSettings
    features: Sequence[str]
    gres: Sequence[str]
    extra_conf: Mapping[str, str | float | bool]
    pod: PodSettings
    privileged: bool | None
    env: Mapping[str, Input[str]]
    volumes: Sequence[VolumeSettings]
    update_strategy: RollingUpdateSettings
    ssh: SshSettings
    drain: DrainSettings
    raw: RawSettings

class NodeSetPartitionSettings(TypedDict, total=False):
    enabled: bool
    config: Mapping[str, str | float | bool]

class NodesSettings(TypedDict, total=False):
    prefix: str
    table: Sequence[NodeRowSettings]
    topologies: Mapping[str, TopologySettings]

class OidcSettings(TypedDict, total=False):
    jwks: Mapping[str, Any] | None
    jwks_file: str | None
    user_claim: str | None

class OperatorSettings(TypedDict, total=False):
    install: bool
    version: str
    namespace: str
    create_namespace: bool
    chart: ChartSourceSettings
    install_crds: bool
    protect_crds: bool
    service_monitor_stub: bool | None
    webhook: WebhookSettings
    values: Mapping[str, Any]
    timeout: int | str

class PartitionSettings(TypedDict, total=False):
    nodesets: Sequence[str]
    config: Mapping[str, str | float | bool]

class PasswdSettings(TypedDict, total=False):
    users: Mapping[str, UserSettings]
    groups: Mapping[str, int]

class PeerSettings(TypedDict, total=False):
    cidr: Input[str] | None
    namespace: Input[str] | None
    pods: Mapping[str, Input[str]]

class PersistenceSettings(TypedDict, total=False):
    enabled: bool
    existing_claim: Input[str] | None
    storage_class: Input[str] | None
    access_modes: Sequence[Literal["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]]
    size: str | float

class PersonSettings(TypedDict, total=False):
    uid: int
    gid: int
    home: str

class PodSettings(TypedDict, total=False):
    node_selector: Mapping[str, Input[str]]
    tolerations: Sequence[Mapping[str, Any]]
    affinity: Mapping[str, Any]
    priority_class: Input[str] | None
    annotations: Mapping[str, Input[str]]
    labels: Mapping[str, Input[str]]
    termination_grace: int | str | None
    host_network: bool

class RawSettings(TypedDict, total=False):
    pod: Mapping[str, Any]
    container: Mapping[str, Any]
    service: Mapping[str, Any]
    spec: Mapping[str, Any]

class RequestsSettings(TypedDict, total=False):
    cpus: str | float | None
    memory: str | float | None

class ResourcesSettings(TypedDict, total=False):
    cpus: str | float | None
    memory: str | float | None
    extended: Mapping[str, int]

class RestApiSettings(TypedDict, total=False):
    replicas: int
    service: ServiceSettings
    resources: ContainerResourcesSettings | None
    raw: RawSettings
    pod: PodSettings
    tls: RestApiTlsSettings | None

class RestApiTlsSettings(TypedDict, total=False):
    source: Literal["generated", "existing", "cert-manager"]
    secret: Input[str] | None
    issuer: IssuerSettings | None
    since: str | None
    days: int
    hosts: Sequence[str]
    client_ca_secret: Input[str] | None
    image: Input[str]
    service: ServiceSettings

class RollingUpdateSettings(TypedDict, total=False):
    type: Literal["Gated", "RollingUpdate", "OnDelete"]
    max_unavailable: int | str

class ScaleDownSettings(TypedDict, total=False):
    nodes: int
    every: int | str

class SecretReferenceSettings(TypedDict, total=False):
    secret: Input[str]
    key: str | None

class ServiceSettings(TypedDict, total=False):
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"]
    node_port: int | None
    annotations: Mapping[str, Input[str]]

class SlurmdHostSettings(TypedDict, total=False):
    name: str
    address: Input[str] | Address | None
    config: Mapping[str, str | float | bool]
    state: Literal["active", "drained"]

class SmokeSettings(TypedDict, total=False):
    enabled: bool
    user: str | None
    partitions: Sequence[str]
    timeout: int | str

class SshSettings(TypedDict, total=False):
    enabled: bool
    sssd_conf_from: SecretReferenceSettings | None
    extra_sshd_config: str

class SssdSettings(TypedDict, total=False):
    conf_from: SecretReferenceSettings | None
    ca_file: str | None
    image: Input[str] | None
    revision: int

class StatusJobSettings(TypedDict, total=False):
    image: Input[str]
    service_account: Input[str]
    folder: str
    schedule: str
    node_selector: Mapping[str, Input[str]]

class TopologySettings(TypedDict, total=False):
    default: bool
    tree: Mapping[str, Sequence[str]] | None
    block: BlockTopologySettings | None
    flat: bool

class UserSettings(TypedDict, total=False):
    uid: int
    gid: int
    groups: Sequence[str]
    home: str | None
    shell: str

class UserTokenSettings(TypedDict, total=False):
    user: str
    lifetime: int | str
    refresh: bool
    secret: str | None

class VolumeSettings(TypedDict, total=False):
    name: str
    mount_path: str
    source: Mapping[str, Any]
    read_only: bool
    sub_path: str
    mount_propagation: Literal["", "None", "HostToContainer", "Bidirectional"]

class WebhookSettings(TypedDict, total=False):
    enabled: bool
    cert_manager: bool
