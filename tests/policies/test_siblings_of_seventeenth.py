"""Siblings of what a seventeenth set found: of each opening evil neighbours beside what it is for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from slurm_rules.closed import cluster_as_made

from slinky_iac.config.operator.own_pieces import own_pieces
from slinky_iac.releases import OperatorVersion
from tests.policies.judging import judged, messages, spec
from tests.policies.test_siblings import said
from tests.stacks import merged

Data = dict[str, Any]
DAEMONS = {"controller": "slurmctld", "accounting": "slurmdbd", "restapi": "slurmrestd", "nodeset": "slurmd"}
IMAGE = "ghcr.io/slinkyproject/{}:26.05-ubuntu26.04"
CONFIG_MAP = {"configMap": {"name": "mariadb-ca"}}
SECRET = {"secret": {"secretName": "mariadb-client-tls", "defaultMode": 288}}
SCRATCH = {"hostPath": {"path": "/scratch/ca"}}


def of(part: str, daemon: Data, template: Data | None = None, **fields: Any) -> str:
    """What is said of a part whose daemon, pod or spec has these fields more."""
    name = DAEMONS[part]
    more = {"template": {"spec": template}} if template else {}
    return messages(judged(cluster_as_made, spec(part, **{name: {"image": IMAGE.format(name), **daemon}}, **more, **fields)))


def with_volumes(part: str, *found: tuple[str, Data, Data], **fields: Any) -> str:
    """The same, where the pod has these volumes: a name, a source and a mount of each."""
    mounts = [{"name": name, **mount} for name, _, mount in found]
    host = {"hostname": "gpu-"} if part == "nodeset" else {}
    volumes = [{"name": name, **source} for name, source, _ in found]
    return of(part, {"volumeMounts": mounts}, {**host, "volumes": volumes}, **fields)


def at(path: str, **more: Any) -> Data:
    return {"mountPath": path, "readOnly": True, **more}


@pytest.mark.parametrize("path", ["/etc/mariadb-ca", "/etc/db-tls", "/etc/ssl/slurmdbd", "/database-ca"])
def test_slurmdbd_checks_its_database_by_files_of_a_secret_or_config_map(path: str) -> None:
    for source in (CONFIG_MAP, SECRET):
        ca = f"StorageParameters=SSL_CA={path}/ca.crt,SSL_CERT={path}/tls.crt,SSL_KEY={path}/tls.key"
        assert with_volumes("accounting", ("db", source, at(path)), extraConf=ca) == ""


@pytest.mark.parametrize(
    "parameters",
    [
        "SSL_CA=/etc/mariadb-ca/ca.crt",
        "SSL_CA=/scratch/ca.crt",
        "SSL_CA=/tmp/ca.crt",
        "SSL_CA=/var/spool/slurmdbd/ca.crt",
        "SSL_CA=/etc/ssl/certs/../../../tmp/ca.crt",
        "SSL_CA=/database-ca/../tmp/ca.crt",
        "SSL_CA=/database-ca/users/ca.crt",
        "SSL_CA=/database-ca-of-others/ca.crt",
        "SSL_CERT=/etc/ssl/certs/a.crt,SSL_KEY=/etc/slurm/slurm.key",
        "SSL_CIPHER=NULL-SHA256",
        "SSL_CA=/database-ca/ca.crt,SSL_CIPHER=eNULL",
        "SSL_CA=",
        "SSL_CA=ca.crt",
    ],
)
def test_nobody_else_writes_whom_slurmdbd_believes(parameters: str) -> None:
    volumes = (("db", CONFIG_MAP, at("/database-ca")), ("users", SCRATCH, at("/database-ca/users")))
    assert "storageparameters" in with_volumes("accounting", *volumes, extraConf=f"StorageParameters={parameters}")
    assert "storageparameters" in with_volumes(
        "accounting", ("db", SCRATCH, at("/database-ca")), extraConf="StorageParameters=SSL_CA=/database-ca/ca.crt"
    )


def test_roots_of_the_image_are_believed() -> None:
    for file in ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"):
        assert of("accounting", {}, extraConf=f"StorageParameters=SSL_CA={file}\nPurgeStepAfter=6month") == ""


@pytest.mark.parametrize("part", ["controller", "accounting", "nodeset"])
@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("/etc/site-ca", True),
        ("/etc/sssd-tls", True),
        ("/etc/ldap-certs", True),
        ("/etc/ssl/certs/site-ca.pem", True),
        ("/etc/ssl/certs", False),
        ("/etc/ssl/private", False),
        ("/etc/ssl", False),
        ("/etc/ssl/openssl.cnf", False),
        ("/etc/ssl/certs/../openssl.cnf", False),
        ("/etc/slurm/x-ca", False),
        ("/etc/slurm-tls/../slurm", False),
        ("/etc/ca-certificates", False),
        ("/etc/ld.so.preload", False),
        ("/etc/pam.d", False),
        ("/etc/profile.d/x-ca", False),
        ("/usr/lib/x-tls", False),
    ],
)
def test_certificates_are_beside_what_the_image_has(part: str, path: str, passes: bool) -> None:
    for source in (CONFIG_MAP, SECRET):
        assert (with_volumes(part, ("given", source, at(path, subPath="ca.pem"))) == "") is passes
    for source in (SCRATCH, {"emptyDir": {}}, {"persistentVolumeClaim": {"claimName": "homes"}}):
        assert "covers" in with_volumes(part, ("given", source, at(path if path.startswith("/etc") else "/etc/a-ca")))
    assert with_volumes(part, ("given", {"secret": {"secretName": "slurm-auth-slurm"}}, at("/etc/site-ca"))) != ""


LOGIN = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "LoginSet", "metadata": {"name": "slurm-login-main"}}


def login(spec: Data, **of_login: Any) -> str:
    """What is said of a set of login pods."""
    own = {"image": IMAGE.format("login"), **of_login}
    fields = {"controllerRef": {"name": "slurm"}, "sssdConfRef": {"name": "sssd", "key": "sssd.conf"}, "login": own, **spec}
    metadata = {"name": "slurm-login-main", "namespace": "slurm"}
    props = {**LOGIN, "metadata": metadata, "spec": fields}
    type_ = "kubernetes:slinky.slurm.net/v1beta1:LoginSet"
    return messages(judged(cluster_as_made, {"resources": {"l": {"type": type_, "properties": props}}}))


@pytest.mark.parametrize("name", ["sssd-tls", "sssd-ca", "sssd", "runtime", "ssh-banner", "sack-lunch"])
def test_a_site_names_its_volumes_as_it_likes(name: str) -> None:
    pod = {"template": {"spec": {"volumes": [{"name": name, "secret": {"secretName": "sssd-client-tls"}}]}}}
    assert login(pod, volumeMounts=[{"name": name, "mountPath": "/etc/sssd-tls", "readOnly": True}]) == ""


PARTS = {
    "controller": "controller",
    "accounting": "accounting",
    "restapi": "restapi",
    "nodeset": "nodesets",
    "login": "logins",
}
NEWEST = OperatorVersion.parse("1.2.1")
OWN = {part: own_pieces(NEWEST, section, ssh=True).volumes for part, section in PARTS.items()}
OURS = ("slinky-tls-own", "slinky-database-ca", "slurm-users", "slurm-users-given", "sssd-given", "sssd-own", "sssd-state")
SITES = ("sssd", "sssd-tls", "slurm-scripts", "slurm-prolog", "munge-key", "authorized-keys", "statesave-copy")
OF_OTHERS = {"configMap": {"name": "of-others"}}


def of_volume(part: str, name: str, *, ssh: object = None) -> str:
    """What is said of a part whose pod has a volume of this name."""
    volume, mount = {"name": name, **OF_OTHERS}, {"name": name, **at("/mnt/x")}
    if part == "login":
        return login({"template": {"spec": {"volumes": [volume]}}}, volumeMounts=[mount])
    fields = {} if ssh is None else {"ssh": {"enabled": ssh, "sssdConfRef": {"name": "sssd", "key": "sssd.conf"}}}
    return with_volumes(part, (name, OF_OTHERS, at("/mnt/x")), **fields)


def is_refused(part: str, name: str, **more: Any) -> bool:
    """Whether the name is the fault, of the volume and of its mount."""
    said = of_volume(part, name, **more)
    found = [
        f"has the name {name}, of a volume that the operator" in said,
        f"mounts {name}, a volume that the operator" in said,
    ]
    assert len(set(found)) == 1, said
    return found[0]


@pytest.mark.parametrize("part", PARTS)
def test_a_volume_takes_no_place_of_what_its_pod_has(part: str) -> None:
    """The names are those that `slinky check` refuses (``Part.has_volume``), of this pod and of no other."""
    of_ssh = OWN[part] - own_pieces(NEWEST, PARTS[part]).volumes
    assert all(is_refused(part, name) for name in (OWN[part] - of_ssh) | {*OURS})
    free = {name for own in OWN.values() for name in own} - OWN[part] | of_ssh | {*SITES}
    assert [name for name in sorted(free) if is_refused(part, name)] == []


def test_sshd_of_workers_brings_its_volumes() -> None:
    for name in ("ssh-config", "sssd-conf"):
        assert is_refused("nodeset", name, ssh=True)
        assert is_refused("nodeset", name, ssh="${of-another}"), "what isn't known may be true"
        assert not is_refused("nodeset", name, ssh=False)


def claims(mount: str = "/local", keep: str = "Delete", name: str = "local", **more: Any) -> str:
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Ti"}}}
    return of(
        "nodeset",
        {"volumeMounts": [{"name": name, "mountPath": mount}]},
        persistentVolumeClaimRetentionPolicy={"whenDeleted": keep, "whenScaled": keep},
        volumeClaimTemplates=[{"metadata": {"name": name}, "spec": {**claim, **more}}],
    )


@pytest.mark.parametrize("more", [{}, {"volumeMode": "Filesystem"}, {"accessModes": ["ReadWriteOncePod"]}])
def test_each_worker_has_a_disk_of_its_own(more: Data) -> None:
    for keep in ("Delete", "Retain"):
        assert claims(keep=keep, **more) == ""
        assert claims("/tmp", keep, **more) == ""
    assert claims("/home", "Retain") == ""


@pytest.mark.parametrize("mount", ["/home", "/homes", "/srv/home", "/users", "/project/home/x", "/home/../home"])
def test_files_of_users_stay_when_a_worker_goes(mount: str) -> None:
    assert "whenScaled" in claims(mount)


@pytest.mark.parametrize(
    "more",
    [
        {"volumeName": "homes"},
        {"volumeName": "pvc-of-statesave"},
        {"selector": {"matchLabels": {"app": "homes"}}},
        {"dataSource": {"kind": "PersistentVolumeClaim", "name": "statesave-slurm-controller-0"}},
        {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "homes", "namespace": "portal"}},
        {"volumeMode": "Block"},
        {"resources": {"requests": {"storage": "1Mi"}}},
    ],
)
def test_a_workers_disk_is_new_and_large_enough(more: Data) -> None:
    assert "volumeClaimTemplates" in claims(**more)
    assert "volumeClaimTemplates" in claims(name="slurm-logfile")
    assert "volumeClaimTemplates" in claims(name="slurm-etc")


CLOSED = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "privileged": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def test_daemons_with_keys_may_gain_nothing() -> None:
    for part in ("controller", "accounting", "restapi"):
        assert of(part, {"securityContext": CLOSED}) == ""
    assert of("restapi", {"securityContext": {**CLOSED, "readOnlyRootFilesystem": True}}) == ""


@pytest.mark.parametrize(
    "security",
    [
        {"runAsUser": 0},
        {"runAsNonRoot": False},
        {"allowPrivilegeEscalation": True},
        {"privileged": True},
        {"capabilities": {"add": ["SYS_ADMIN"]}},
        {"capabilities": {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}},
        {"seccompProfile": {"type": "Unconfined"}},
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "x.json"}},
        {"procMount": "Unmasked"},
        {"appArmorProfile": {"type": "Unconfined"}},
    ],
)
def test_what_opens_a_daemon_is_refused(security: Data) -> None:
    for part in ("controller", "accounting", "restapi"):
        assert "securityContext" in of(part, {"securityContext": security})


@pytest.mark.parametrize(
    "security", [{"capabilities": {"drop": ["ALL"]}}, {"capabilities": {"add": ["IPC_LOCK"]}}, {"runAsNonRoot": True}]
)
def test_slurmd_keeps_what_holds_jobs(security: Data) -> None:
    assert "securityContext" in of("nodeset", {"securityContext": security})


def project(**spec: Any) -> str:
    own = {"sourceRepos": ["https://git.example.org/x.git"], "destinations": [{"server": "x", "namespace": "wiki"}], **spec}
    return said("argoproj.io/v1alpha1:AppProject", "argocd", spec=own)


RBAC = "rbac.authorization.k8s.io"


def test_what_a_project_forbids_gives_nothing() -> None:
    for each in ({"group": RBAC, "kind": "RoleBinding"}, {"group": "*", "kind": "*"}):
        assert project(clusterResourceBlacklist=[each]) == ""
        assert project(namespaceResourceBlacklist=[each]) == ""
        assert project(clusterResourceWhitelist=[each], clusterResourceBlacklist=[each]) != ""
        assert project(namespaceResourceWhitelist=[each], namespaceResourceBlacklist=[each]) != ""
        assert project(namespaceResourceBlacklist=[each], destinations=[{"server": "x", "namespace": "slurm"}]) != ""
        assert project(namespaceResourceBlacklist=[each], destinations=[{"server": "x", "namespace": "*"}]) != ""


BUCKET = "arn:aws:s3:::example-velero"


def policy(action: str, *things: str) -> str:
    text = json.dumps({"Statement": [{"Effect": "Allow", "Action": [action], "Resource": list(things)}]})
    stack = {"resources": {"p": {"type": "aws:iam/rolePolicy:RolePolicy", "properties": {"role": "x", "policy": text}}}}
    return messages(judged(cluster_as_made, stack))


@pytest.mark.parametrize(
    "action", ["DeleteObject", "AbortMultipartUpload", "ListMultipartUploadParts", "GetBucketLocation", "PutObjectTagging"]
)
def test_a_backup_writes_one_bucket(action: str) -> None:
    assert policy(f"s3:{action}", BUCKET, f"{BUCKET}/*", f"{BUCKET}/wiki/*") == ""
    for thing in (
        "*",
        "arn:aws:s3:::*",
        "arn:aws:s3:::*/*",
        "arn:aws:s3:::exa*",
        "arn:aws:s3:::exa*/*",
        "arn:aws:s3:::e?ample/*",
    ):
        assert policy(f"s3:{action}", thing) != ""
        assert policy(f"s3:{action}", BUCKET, thing) != ""


def test_an_action_on_all_things_is_listed_so() -> None:
    for action, passes in (("sqs:SendMessage", False), ("logs:PutLogEvents", False), ("ec2:DescribeInstances", True)):
        assert (policy(action, "*") == "") is passes
        assert policy(action, "arn:aws:sqs:eu-central-1:111122223333:render") == ""


@pytest.mark.parametrize(
    "action",
    [
        *("*", "Delete*", "DeleteBucket", "DeleteObjectVersion", "PutBucketPolicy", "PutObjectAcl", "PutBucketVersioning"),
        *("PutLifecycleConfiguration", "BypassGovernanceRetention", "PutReplicationConfiguration", "PutObjectRetention"),
    ],
)
def test_what_a_bucket_keeps_stays(action: str) -> None:
    assert policy(f"s3:{action}", BUCKET, f"{BUCKET}/*") != ""


ISSUED = {"secretName": "x-tls", "usages": ["client auth"], "issuerRef": {"name": "kubernetes-ca", "kind": "ClusterIssuer"}}
CERTIFICATE = "cert-manager.io/v1:Certificate"


@pytest.mark.parametrize(
    ("spec", "passes"),
    [
        ({"commonName": "reader"}, True),
        ({"commonName": "api.example.org", "subject": {"organizations": ["Example University"]}}, True),
        ({"uris": ["spiffe://example.org/ns/shop/sa/api"]}, True),
        ({"literalSubject": "CN=api,O=Example"}, True),
        ({"commonName": "portal", "subject": {"organizations": ["system:masters"]}}, False),
        ({"commonName": "portal", "subject": {"organizations": ["Example", "kubeadm:cluster-admins"]}}, False),
        ({"commonName": "system:kube-controller-manager"}, False),
        ({"commonName": "system:node:gpu-1", "subject": {"organizations": ["system:nodes"]}}, False),
        ({"literalSubject": "CN=portal,O=system:masters"}, False),
        ({"literalSubject": "CN=portal,O=system\\:masters"}, False),
        ({"literalSubject": "O=SYSTEM:MASTERS"}, False),
    ],
)
def test_a_certificate_makes_nobody_one_of_kubernetes_own(spec: Data, passes: bool) -> None:
    assert (said(CERTIFICATE, spec={**ISSUED, **spec}) == "") is passes
    release = {"chart": "x", "version": "1.0.0", "namespace": "portal", "values": {"certificate": {**ISSUED, **spec}}}
    stack = {"resources": {"r": {"type": "kubernetes:helm.sh/v3:Release", "properties": release}}}
    assert (messages(judged(cluster_as_made, stack)) == "") is passes


@pytest.mark.parametrize("note", ["common-name", "subject-organizations", "literal-subject"])
def test_an_annotation_asks_for_no_such_certificate(note: str) -> None:
    for value, passes in (("O=system:masters", False), ("example", True)):
        for kind in ("networking.k8s.io/v1:Ingress", "gateway.networking.k8s.io/v1:Gateway"):
            notes = {f"cert-manager.io/{note}": value, "cert-manager.io/cluster-issuer": "kubernetes-ca"}
            head = {"name": "x", "namespace": "portal", "annotations": notes}
            assert (said(kind, metadata=head, spec={"ingressClassName": "x"}) == "") is passes
        spec = {"tls": [{"hosts": ["a.example.org"]}], "rules": [{"host": "a.example.org"}]}
        head = {"name": "x", "namespace": "slurm", "annotations": notes}
        assert (said("networking.k8s.io/v1:Ingress", metadata=head, spec=spec) == "") is passes


def test_nobody_signs_past_these_names() -> None:
    assert (
        said("cert-manager.io/v1:CertificateRequest", spec={"request": "TFMwdA==", "issuerRef": ISSUED["issuerRef"]}) != ""
    )
    for type_, props in (
        ("tls:index/certRequest:CertRequest", {"subject": {"organization": "system:masters", "commonName": "x"}}),
        ("vault:pkiSecret/secretBackendCert:SecretBackendCert", {"commonName": "system:kube-scheduler"}),
    ):
        assert messages(judged(cluster_as_made, {"resources": {"t": {"type": type_, "properties": props}}})) != ""


def test_login_pods_have_harmless_variables_and_a_class_of_balancer() -> None:
    service = {"service": {"spec": {"type": "LoadBalancer", "loadBalancerClass": "metallb.io/campus"}}}
    servers = {"name": "SLURM_CONF_SERVER", "value": "slurmctld.example.org:6817"}
    assert login(service, env=[{"name": "TZ", "value": "Europe/Berlin"}, servers]) == ""
    for name in ("LD_PRELOAD", "SACKD_OPTIONS", "SLURM_CONF", "PATH", "BASH_ENV", "KRB5_CONFIG", "LDAPRC", "SSS_NSS_X"):
        assert "env" in login({}, env=[{"name": name, "value": "/tmp/x"}])
    assert "env" in login({}, env=[{"name": "SLURM_CONF_SERVER", "value": "evil"}])


def profile(folder: str) -> str:
    files = {"cgroup.conf": "CgroupPlugin=cgroup/v2\n", "acct_gather.conf": f"ProfileHDF5Dir={folder}\n"}
    return messages(judged(cluster_as_made, {"resources": {"cgroup": {"properties": {"data": files}}}}))


@pytest.mark.parametrize("folder", ["/lustre/slurm/profiles", "/gpfs/profiles", "/beegfs/profiles", "/scratch/profiles"])
def test_profiles_of_jobs_go_to_a_parallel_file_system(folder: str) -> None:
    assert profile(folder) == ""


@pytest.mark.parametrize("folder", ["/root", "/boot/x", "/lustre/../etc", "/lustrex/y", "/home/alice", "/proc"])
def test_profiles_go_nowhere_else(folder: str) -> None:
    assert "ProfileHDF5Dir" in profile(folder)


POD = ("controller", "accounting", "restapi", "nodeset")


def test_pods_have_no_token_of_kubernetes() -> None:
    for part in POD:
        host = {"hostname": "gpu-"} if part == "nodeset" else {}
        assert of(part, {}, {**host, "automountServiceAccountToken": False, "enableServiceLinks": False}) == ""
        assert "automount" in of(part, {}, {**host, "automountServiceAccountToken": True})
        assert "serviceAccount" in of(part, {}, {**host, "serviceAccountName": "slurm-operator"})


def test_daemons_have_a_time_zone() -> None:
    for part in POD:
        assert of(part, {"env": [{"name": "TZ", "value": "Europe/Berlin"}, {"name": "LANG", "value": "C.UTF-8"}]}) == ""
        for name, value in (("TZ", "/tmp/zone"), ("TZ", ":/home/x"), ("TZ", "../../tmp/x"), ("LC_ALL", "/tmp/x")):
            assert ("env" in of(part, {"env": [{"name": name, "value": value}]})) is (part != "nodeset")
        for name in ("LD_PRELOAD", "SLURM_CONF", "MALLOC_TRACE", "LOCPATH", "TZDIR", "LANGUAGES"):
            assert part == "nodeset" or "env" in of(part, {"env": [{"name": name, "value": "x"}]})


@pytest.mark.parametrize("field", ["status.podIP", "spec.nodeName", "metadata.annotations['example.org/rack']"])
def test_jobs_know_their_pod(field: str) -> None:
    given = {"fieldRef": {"fieldPath": field}}
    assert of("nodeset", {"env": [{"name": "POD_IP", "valueFrom": given}]}) == ""
    assert "env" in of("nodeset", {"env": [{"name": "LD_PRELOAD", "valueFrom": given}]})
    assert "env" in of("nodeset", {"env": [{"name": "SLURM_CONF_SERVER", "valueFrom": given}]})
    for source in ({"secretKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"}}, {"configMapKeyRef": {}}):
        assert "env" in of("nodeset", {"env": [{"name": "X", "valueFrom": source}]})
        assert "env" in of("nodeset", {"env": [{"name": "X", "valueFrom": {**given, **source}}]})
    assert "env" in of("controller", {"env": [{"name": "TZ", "valueFrom": given}]})


def test_jobs_have_what_a_secret_of_the_site_has() -> None:
    """`slinky check` says so of a variable that is named like a secret."""
    secret = {"secretKeyRef": {"name": "wandb", "key": "token"}}
    for source in (secret, {"configMapKeyRef": {"name": "site", "key": "proxy", "optional": True}}):
        assert of("nodeset", {"env": [{"name": "WANDB_API_KEY", "valueFrom": source}]}) == ""
        for name in ("LD_PRELOAD", "SLURM_CONF_SERVER", "POD_CPUS", "KRB5_CONFIG"):
            assert name in of("nodeset", {"env": [{"name": name, "valueFrom": source}]})
        for part in ("controller", "accounting", "restapi"):
            assert "env" in of(part, {"env": [{"name": "TZ", "valueFrom": source}]})
    for evil in (
        {"secretKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"}},
        {"secretKeyRef": {"name": "", "key": "slurm.key"}},
        {"secretKeyRef": {"name": "wandb"}},
        {"secretKeyRef": "wandb"},
        {"configMapKeyRef": {}},
        {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}},
        {**secret, "fieldRef": {"fieldPath": "spec.nodeName"}},
        {},
        "wandb",
    ):
        assert "env" in of("nodeset", {"env": [{"name": "X", "valueFrom": evil}]}), evil
    assert "env" in of("nodeset", {"env": [{"name": "X", "value": "", "valueFrom": secret}]})


@pytest.mark.parametrize("secret", ["slurm-mariadb", "slurm-tls"])
def test_no_pod_of_jobs_has_what_another_daemon_holds(secret: str) -> None:
    tls = {"volumes": [{"name": "slinky-tls", "secret": {"secretName": "slurm-tls", "items": [{"key": "tls.key"}]}}]}
    password = {"storageConfig": {"passwordKeyRef": {"name": "slurm-mariadb", "key": "password"}}}
    change = {
        "resources": {
            "accounting": {"properties": {"spec": password}},
            "restapi": {"properties": {"spec": {"template": {"spec": tls}}}},
        }
    }
    pod = {"hostname": "gpu-", "volumes": [{"name": "v", "secret": {"secretName": secret}}]}
    env = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": secret, "key": "password"}}}]
    slurmd = {"image": IMAGE.format("slurmd"), "env": env}
    for more, place in (
        ({"template": {"spec": pod}}, "spec.template.spec.volumes.0"),
        ({"slurmd": slurmd}, "spec.slurmd.env.0"),
    ):
        jobs = {"nodeset": {"properties": {"spec": more}}}
        told = messages(judged(cluster_as_made, merged(change, {"resources": jobs})))
        assert f"NodeSet slurm-worker-gpu: {place}" in told, told
        assert "NodeSet" not in messages(judged(cluster_as_made, {"resources": jobs}))


def projected(*sources: Data, part: str = "nodeset") -> str:
    return with_volumes(part, ("given", {"projected": {"sources": [*sources]}}, at("/etc/site-ca")))


def test_a_volume_of_several_config_maps_and_secrets() -> None:
    config, secret = {"configMap": {"name": "site-ca"}}, {"secret": {"name": "db-client", "items": []}}
    for part in POD:
        assert projected(config, secret, part=part) == ""
        assert projected(config, {"serviceAccountToken": {"path": "token"}}, part=part) != ""
        assert projected(config, {"secret": {"name": "slurm-auth-slurm"}}, part=part) != ""
        assert projected({**config, "serviceAccountToken": {"path": "token"}}, part=part) != ""
        assert projected({"podCertificate": {"signerName": "x"}}, part=part) != ""
        assert projected({"clusterTrustBundle": {"signerName": "x", "path": "ca"}}, part=part) != ""
        assert projected(part=part) != ""
        assert projected(None, part=part) != ""  # type: ignore[arg-type]


def test_mounts_that_only_close_or_part() -> None:
    for more in ({"subPathExpr": "$(POD_NAME)"}, {"recursiveReadOnly": "Enabled"}):
        assert with_volumes("nodeset", ("s", {"hostPath": {"path": "/scratch"}}, {"mountPath": "/local", **more})) == ""
    for folder in ("/cvmfs", "/beegfs/x"):
        assert with_volumes("nodeset", ("s", {"hostPath": {"path": folder}}, at(folder))) == ""


@pytest.mark.parametrize("path", ["/tmp", "/var/tmp"])
def test_a_daemon_has_a_place_of_its_own_to_write(path: str) -> None:
    for part in ("controller", "accounting", "restapi"):
        assert with_volumes(part, ("tmp", {"emptyDir": {"sizeLimit": "64Mi"}}, {"mountPath": path})) == ""
        for source in (SCRATCH, {"persistentVolumeClaim": {"claimName": "homes"}}, {"nfs": {"server": "x", "path": "/y"}}):
            assert "covers" in with_volumes(part, ("tmp", source, {"mountPath": path}))
        for over in ("/run", "/var/spool", "/etc/slurm", "/usr/lib", "/var/lib"):
            assert "covers" in with_volumes(part, ("tmp", {"emptyDir": {}}, {"mountPath": over}))
