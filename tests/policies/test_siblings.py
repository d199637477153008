"""Siblings of what a twelfth set found: of each kind sound and evil ones, told apart by their shape and not by a name."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules.clear_text import no_secrets_in_clear
from slurm_rules.closed import cluster_as_made

from tests.policies.judging import judged, messages, spec

Data = dict[str, Any]
NFS = {"nfs": {"server": "nfs.example.org", "path": "/export/home"}}
CLAIM = {"persistentVolumeClaim": {"claimName": "hpc-homes"}}
SCRATCH = {"hostPath": {"path": "/scratch"}}
CSI = {"csi": {"driver": "nfs.csi.k8s.io", "volumeAttributes": {"server": "nfs.example.org", "share": "/srv/homes"}}}
NOBODY = {"runAsNonRoot": True, "runAsUser": 65534, "allowPrivilegeEscalation": False}


def said(type_: str, namespace: str = "portal", **fields: Any) -> str:
    """What is said of an object beside the cluster."""
    group, _, kind = type_.rpartition(":")
    props = {
        "apiVersion": group.removeprefix("core/"),
        "kind": kind,
        "metadata": {"name": "x", "namespace": namespace},
        **fields,
    }
    stack = {"resources": {"x": {"type": f"kubernetes:{type_}", "properties": props}}}
    return messages(judged(cluster_as_made, stack))


def pod(source: Data, security: Data | None, mount: Data, **more: Any) -> Data:
    container = {
        "name": "a",
        "image": "registry.example.org/a:1",
        "ports": [{"containerPort": 8080}],
        "securityContext": security or {},
        "volumeMounts": [{"name": "v", **mount}],
    }
    return {"containers": [container], "volumes": [{"name": "v", **source}], **more}


def served(kind: str, pod: Data) -> str:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod}
    if kind == "batch/v1:CronJob":
        return said(kind, spec={"schedule": "0 4 * * *", "jobTemplate": {"spec": {"template": template}}})
    return said(kind, spec={"selector": {"matchLabels": {"app": "a"}}, "template": template})


HOME = {"mountPath": "/home"}
OVER_FILES: list[tuple[str, Data]] = [
    ("apps/v1:Deployment", pod(NFS, {"runAsUser": 0}, {"mountPath": "/srv"})),
    ("apps/v1:Deployment", pod(NFS, None, HOME)),
    ("apps/v1:StatefulSet", pod(CLAIM, {"runAsNonRoot": False}, {"mountPath": "/data"})),
    ("apps/v1:DaemonSet", pod(SCRATCH, {"privileged": True}, {"mountPath": "/x"})),
    ("apps/v1:Deployment", pod(CSI, None, {"mountPath": "/files"})),
    ("apps/v1:Deployment", pod(NFS, {"runAsUser": 1000, "capabilities": {"add": ["SETUID"]}}, HOME)),
    ("apps/v1:Deployment", pod({"persistentVolumeClaim": {"claimName": "shared"}}, None, HOME)),
    ("apps/v1:Deployment", pod(NFS, None, HOME, restartPolicy="Never")),
]
BESIDE_FILES: list[tuple[str, Data]] = [
    ("apps/v1:Deployment", pod(NFS, NOBODY, HOME)),
    ("apps/v1:Deployment", pod(NFS, None, HOME | {"readOnly": True})),
    ("apps/v1:Deployment", pod(NFS, None, HOME | {"subPath": "portal"})),
    ("apps/v1:Deployment", pod({"emptyDir": {}}, None, HOME)),
    (
        "apps/v1:Deployment",
        pod({"persistentVolumeClaim": {"claimName": "jenkins-home"}}, None, {"mountPath": "/var/jenkins_home"}),
    ),
    ("apps/v1:Deployment", pod({"configMap": {"name": "users"}}, None, {"mountPath": "/etc/users"})),
    ("apps/v1:Deployment", pod(NFS, None, HOME, securityContext={"runAsUser": 1000})),
    (
        "batch/v1:CronJob",
        {
            **pod(NFS, None, HOME, restartPolicy="Never"),
            "containers": [{"name": "quota", "volumeMounts": [{"name": "v", **HOME}]}],
        },
    ),
]


@pytest.mark.parametrize(("kind", "spec_"), OVER_FILES)
def test_what_serves_people_and_is_root_over_their_files_is_refused(kind: str, spec_: Data) -> None:
    assert "is root over the files of users" in served(kind, spec_)


@pytest.mark.parametrize(("kind", "spec_"), BESIDE_FILES)
def test_who_is_one_user_or_has_a_part_of_the_files_passes(kind: str, spec_: Data) -> None:
    assert served(kind, spec_) == ""


def chart(name: str, **values: Any) -> str:
    props = {"name": "x", "chart": name, "version": "4.2.0", "namespace": "portal", "values": values}
    return messages(
        judged(cluster_as_made, {"resources": {"x": {"type": "kubernetes:helm.sh/v3:Release", "properties": props}}})
    )


def hub(class_: str, every: object = None, **values: Any) -> str:
    config: Data = {"JupyterHub": {"authenticator_class": class_}}
    if every is not None:
        config["Authenticator"] = {"allow_all": every}
    return chart("jupyterhub", hub={"config": config}, **values)


HOMES = {"storage": {"extraVolumes": [{"name": "homes", **CLAIM}], "extraVolumeMounts": [{"name": "homes", **HOME}]}}


def test_a_hub_asks_somebody_who_a_person_is() -> None:
    for each in (
        "dummy",
        "tmp",
        "null",
        "native",
        "firstuseauthenticator.FirstUseAuthenticator",
        "jupyterhub.auth.DummyAuthenticator",
    ):
        assert "takes any name" in hub(each)
    text = 'c.JupyterHub.authenticator_class = "dummy"\n'
    assert "takes any name" in hub("generic-oauth") + chart("jupyterhub", hub={"extraConfig": {"a": text}})
    assert "takes any name" in said("core/v1:ConfigMap", data={"jupyterhub_config.py": text})
    assert "everybody who has an account" in hub("github", every=True)
    assert "everybody who has an account" in hub("oauthenticator.google.GoogleOAuthenticator", every=True)
    assert "files of users" in chart("jupyterhub", singleuser=HOMES)
    assert "files of users" in hub("generic-oauth", singleuser={**HOMES, "uid": 0})
    assert "files of users" in chart("filebrowser", extraVolumes=[{"name": "data", **NFS}])
    for sound in ("generic-oauth", "cilogon", "ldapauthenticator.LDAPAuthenticator", "openshift"):
        assert hub(sound) == ""
        assert hub(sound, singleuser=HOMES) == ""
    assert hub("azuread", every=True) == hub("generic-oauth", every=True) == hub("github", every=False) == ""
    assert chart("jupyterhub", hub={"existingSecret": "hub"}, singleuser={"storage": {"capacity": "10Gi"}}) == ""
    assert chart("filebrowser", extraVolumes=[{"name": "d", **NFS}], podSecurityContext={"runAsUser": 1000}) == ""


def address(parameters: str, **options: Any) -> str:
    lines = f"MaxNodeCount=16\nNodeName=metal-[1-2] {parameters} CPUs=64\nPartitionName=all Nodes=gpu,metal-[1-2]"
    return messages(judged(cluster_as_made, spec("controller", extraConf=lines), options))


@pytest.mark.parametrize(
    "parameters",
    [
        "NodeAddr=node[1-2].hpc.example.net",
        "NodeAddr=203.0.113.[7-8]",
        "NodeAddr=10.1.2.3,node2.example.net",
        "NodeHostname=a[1-2].example.com",
        "BcastAddr=b[1-2].example.com",
        "NodeAddr=2001:db8:ffff::7",
        "NodeAddr=https://x.example.net",
    ],
)
def test_an_address_that_anybody_can_have_is_no_nodes(parameters: str) -> None:
    assert "neither a private address nor a host of this stack" in address(parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        "NodeAddr=10.1.2.[1-2]",
        "NodeAddr=ib-metal[1-2]",
        "NodeAddr=node[1-2].cluster.internal",
        "NodeAddr=fd00:1::7",
        "NodeAddr=192.168.4.9 BcastAddr=172.20.1.9",
        "NodeAddr=192.0.2.[65-66]",  # of a network that a NetworkPolicy of the stack names
    ],
)
def test_a_private_address_or_a_known_network_is_a_nodes(parameters: str) -> None:
    assert address(parameters) == ""


def test_a_site_names_the_domain_of_its_hosts() -> None:
    assert address("NodeAddr=node[1-2].hpc.example.org", hosts=["*.hpc.example.org"]) == ""


@pytest.mark.parametrize(
    ("key", "passes"),
    [
        *((f"example.org/{each}", True) for each in ("contact", "owner", "cost-center", "billing.code", "project-id")),
        *((each, False) for each in ("janitor/ttl", "reloader.stakater.com/auto", "example.org/contact-restart")),
        *((f"{domain}/group", False) for domain in ("scheduling.k8s.io", "cnrm.cloud.google.com", "slinky.slurm.net")),
        ("iam.amazonaws.com/account", False),
    ],
)
def test_an_annotation_of_owners_and_costs_passes(key: str, passes: bool) -> None:
    for name, path in (("controller", ()), ("nodeset", ("spec", "template"))):
        change: Data = {"metadata": {"annotations": {key: "x"}}}
        for part in reversed(path):
            change = {part: change}
        said_of = messages(judged(cluster_as_made, {"resources": {name: {"properties": change}}}))
        assert (f"annotations.{key}" not in said_of) is passes


TRUST = """{"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity", "Condition": {"StringEquals":
 {"oidc.example.org:sub": "system:serviceaccount:dns:external-dns"}}}]}"""
ZONE = "arn:aws:route53:::hostedzone/Z01"


@pytest.mark.parametrize(
    ("action", "thing", "passes"),
    [
        ("route53:ChangeResourceRecordSets", ZONE, True),
        ("route53:ListHostedZones", "*", True),
        ("ecr:GetAuthorizationToken", "*", True),
        ("s3:GetObject", "arn:aws:s3:::data-of-the-portal/*", True),
        ("route53:ChangeResourceRecordSets", "*", False),
        ("route53:*", ZONE, False),
        ("iam:PassRole", "arn:aws:iam::1:role/nodes", False),
        ("ec2:TerminateInstances", "*", False),
    ],
)
def test_a_roles_own_policy_gives_what_a_policy_may(action: str, thing: str, passes: bool) -> None:
    policy = f'{{"Statement": [{{"Effect": "Allow", "Action": "{action}", "Resource": "{thing}"}}]}}'
    for kind in ("rolePolicy:RolePolicy", "policy:Policy"):
        props = {"policy": policy} | ({"role": "external-dns"} if kind.startswith("role") else {})
        stack = {"resources": {"x": {"type": f"aws:iam/{kind}", "properties": props}}}
        assert (messages(judged(cluster_as_made, stack)) == "") is passes


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        ("ldap_default_authtok = {{ .bind }}", True),
        ("ldap_default_authtok={{ .bind | trim }}", True),
        ("bindpw {{ .directory.bind }}", True),
        ("ldap_default_authtok = {{- .bind -}}", True),
        ("ldap_default_authtok = hunter2hunter2", False),
        ('ldap_default_authtok = {{ "hunter2" }}', False),
        ("ldap_default_authtok = {{ .bind }}hunter2", False),
        ("bindpw hunter2 {{ .bind }}", False),
        ("bindpw = {hunter2}", False),
    ],
)
def test_a_template_takes_a_password_from_its_store(line: str, passes: bool) -> None:
    text = f"[domain/campus]\nldap_uri = ldaps://ldap.example.org\n{line}\nmin_id = 1000\n"
    body = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": {"name": "sssd", "namespace": "slurm"},
    }
    props = {**body, "spec": {"target": {"template": {"data": {"sssd.conf": text}}}}}
    stack = {"resources": {"x": {"type": "kubernetes:external-secrets.io/v1:ExternalSecret", "properties": props}}}
    assert (messages(judged(no_secrets_in_clear, stack)) == "") is passes


CERT: Data = {"issuerRef": {"kind": "ClusterIssuer", "name": "site"}, "dnsNames": ["slurm.example.org"]}
OWN: Data = {
    **CERT,
    "secretName": "slurm-restapi-tls",
    "dnsNames": ["slurm-restapi-tls.slurm", "slurm-restapi-tls", "localhost"],
    "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
    "usages": ["digital signature", "server auth"],
}


def certificate(name: str, *others: tuple[str, Data], reader: str = "", **fields: Any) -> str:
    """What is said of a Certificate in the cluster's namespace, beside others and an Ingress that reads a Secret."""
    head = {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": name, "namespace": "slurm"}}
    own = {"type": "kubernetes:cert-manager.io/v1:Certificate", "properties": {**head, "spec": fields}}
    stack: Data = {"resources": {"c": own}}
    for at, (kind, body) in enumerate(others):
        props = {"apiVersion": "v1", "kind": kind, "metadata": {"name": body.pop("name"), "namespace": "slurm"}, **body}
        stack["resources"][f"o{at}"] = {"type": f"kubernetes:core/v1:{kind}", "properties": props}
    if reader:
        rule = {"host": "slurm.example.org", "http": {"paths": [{"path": "/", "pathType": "Prefix"}]}}
        body = {
            "ingressClassName": "nginx",
            "tls": [{"hosts": ["slurm.example.org"], "secretName": reader}],
            "rules": [rule],
        }
        head = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i", "namespace": "slurm"}}
        stack["resources"]["i"] = {"type": "kubernetes:networking.k8s.io/v1:Ingress", "properties": {**head, "spec": body}}
    spoken = messages(judged(cluster_as_made, stack)).splitlines()
    return "\n".join(each for each in spoken if each.startswith("Certificate"))


def test_a_certificate_fills_no_secret_of_the_programs_or_the_operators() -> None:
    taken = "which the program makes"
    assert taken in certificate("mine", reader="slurm-restapi-tls", **{**CERT, "secretName": "slurm-restapi-tls"})
    assert taken in certificate("slurm-restapi-tls", **{**CERT, "secretName": "slurm-restapi-tls"})
    assert taken in certificate("slurm-restapi-tls", reader="mine-tls", **{**OWN, "secretName": "mine-tls"})
    assert "another resource makes" in certificate("slurm-restapi-tls", ("Secret", {"name": "slurm-restapi-tls"}), **OWN)
    assert "no part of the stack reads" in certificate("mine", **{**CERT, "secretName": "mine-tls"})
    assert "slurm-operator makes" in certificate("mine", **{**CERT, "secretName": "slurm-accounting"})
    assert certificate("mine", reader="mine-tls", **{**CERT, "secretName": "mine-tls"}) == ""


def test_a_store_fills_no_secret_that_the_operator_makes() -> None:
    for secret in ("slurm-accounting", "slurm-login-main-ssh-host-keys"):
        login = {"kind": "LoginSet", "metadata": {"name": "slurm-login-main", "namespace": "slurm"}, "spec": {}}
        body = {"kind": "ExternalSecret", "metadata": {"name": secret, "namespace": "slurm"}, "spec": {}}
        stack = {
            "resources": {
                "l": {"type": "kubernetes:slinky.slurm.net/v1beta1:LoginSet", "properties": login},
                "x": {"type": "kubernetes:external-secrets.io/v1:ExternalSecret", "properties": body},
            }
        }
        assert f"fills {secret}, a Secret that slurm-operator makes" in messages(judged(cluster_as_made, stack))
