"""Siblings of what a thirteenth set found: evil neighbours of each opening beside what it is for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from slurm_rules.closed import cluster_as_made

from tests.policies.judging import judged, messages, spec
from tests.policies.test_siblings import chart, said

Data = dict[str, Any]


def config_map(namespace: str, **data: str) -> str:
    return said("core/v1:ConfigMap", namespace, data={key.replace("__", "."): text for key, text in data.items()})


ADMIN = "g, hpc-admins, role:admin\n"


@pytest.mark.parametrize(
    ("default", "lines", "passes"),
    [
        ("", ADMIN, True),
        ("role:readonly", ADMIN + "p, role:wiki, applications, sync, wiki/*, allow\ng, wiki-authors, role:wiki\n", True),
        ("role:readonly", "p, role:readonly, logs, get, */*, allow\n", True),
        ("role:admin", ADMIN, False),
        ("role:users", "p, role:users, applications, *, */*, allow\n", False),
        ("role:readonly", ADMIN + "p, role:readonly, exec, create, */*, allow\n", False),
        ("", "g, hpc-users, role:admin\n", False),
        ("", "p, students, applications, delete, */*, allow\n", False),
        ("", "p, alice, *, *, *, allow\n", False),
    ],
)
def test_what_a_deployer_gives_to_everybody_is_to_look(default: str, lines: str, passes: bool) -> None:
    values = {"policy.default": default, "policy.csv": lines}
    assert (said("core/v1:ConfigMap", "argocd", data=values) == "") is passes
    assert (chart("argo-cd", configs={"rbac": values}) == "") is passes


@pytest.mark.parametrize(
    ("values", "passes"),
    [
        ({"server": {"authModes": ["server"]}}, False),
        ({"server": {"extraArgs": ["--auth-mode=server"]}}, False),
        ({"server": {"authModes": ["client"]}}, True),
        ({"grafana.ini": {"users": {"auto_assign_org_role": "Admin"}}}, False),
        ({"grafana.ini": {"users": {"auto_assign_org_role": "Viewer"}}}, True),
        ({"configs": {"cm": {"users.anonymous.enabled": "true"}}}, False),
        ({"realm": '{"realm": "hpc", "editUsernameAllowed": true}'}, False),
        ({"realm": '{"realm": "hpc", "editUsernameAllowed": false}'}, True),
    ],
)
def test_what_everybody_may_who_comes_is_one_of_few_values(values: Data, passes: bool) -> None:
    assert (chart("some", **values) == "") is passes


FORCED = {"driver": {"upgradePolicy": {"autoUpgrade": True, "podDeletion": {"force": True}}}}
BY_HAND = {"driver": {"upgradePolicy": {"autoUpgrade": False, "podDeletion": {"force": False}}}}


@pytest.mark.parametrize(
    ("kind", "body", "passes"),
    [
        ("nvidia.com/v1:ClusterPolicy", FORCED, False),
        ("nvidia.com/v1:ClusterPolicy", {"driver": {"upgradePolicy": {"autoUpgrade": True}}}, False),
        ("nvidia.com/v1:ClusterPolicy", {"migManager": {"env": [{"name": "WITH_REBOOT", "value": "true"}]}}, False),
        ("nvidia.com/v1alpha1:NVIDIADriver", FORCED["driver"], False),
        ("mellanox.com/v1alpha1:NicClusterPolicy", {"ofedDriver": {"upgradePolicy": {"autoUpgrade": True}}}, False),
        ("nvidia.com/v1:ClusterPolicy", BY_HAND, True),
        ("nvidia.com/v1:ClusterPolicy", {"migManager": {"env": [{"name": "WITH_REBOOT", "value": "false"}]}}, True),
        ("nvidia.com/v1:ClusterPolicy", {"driver": {"manager": {"env": [{"name": "ENABLE_GPU_POD_EVICTION"}]}}}, True),
    ],
)
def test_no_driver_is_upgraded_under_jobs(kind: str, body: Data, passes: bool) -> None:
    assert (said(kind, spec=body) == "") is passes
    assert (chart("gpu-operator", **body) == "") is passes


ACI = '(targetattr{0}"{1}")(version 3.0; acl "own"; allow ({2}) userdn="ldap:///{3}";)'


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("olcAccess: {1}to attrs=mail,mobile,loginShell by self write by users read", True),
        ("olcAccess: {0}to attrs=userPassword by self =xw by anonymous auth by * none", True),
        ('access to attrs=uidNumber by dn.exact="cn=admin,dc=example,dc=org" write by * read', True),
        ('access to attrs=uidNumber\n  by group.exact="cn=admins,dc=example,dc=org" write\n  by * read', True),
        ("olcAccess: {1}to attrs=mail,uidNumber by self write by users read", False),
        ("access to *\n  by self write\n  by * read", False),
        ("access to attrs=memberUid\n  by users selfwrite", False),
        ("olcAccess: to attrs=userPassword by users =w by anonymous auth", False),
        ("olcAccess: to attrs=gidNumber by self =rscxw", False),
        ('access to attrs=uid by dn.subtree="ou=people,dc=example,dc=org" write', False),
        ("access to attrs=uid by dn=* write", False),
        (ACI.format("=", "mail || mobile", "write", "self"), True),
        (ACI.format("=", "uidNumber", "read,search", "all"), True),
        (ACI.format("=", "mail || gidNumber", "write", "self"), False),
        (ACI.format("!=", "userPassword", "write", "self"), False),
        (ACI.format("=", "userPassword", "all", "anyone"), False),
    ],
)
def test_nobody_writes_of_himself_by_what_slurm_knows_him(text: str, passes: bool) -> None:
    assert (config_map("identity", acl=f"# rules\n{text}\n") == "") is passes
    assert (said("core/v1:Secret", "identity", stringData={"acl": f"{text}\n"}) == "") is passes


@pytest.mark.parametrize(
    ("name", "ignored", "passes"),
    [
        ("operator", ["version", "values"], False),
        ("controller", ["spec.slurmKeyRef"], False),
        ("nodeset", ["spec.replicas"], True),
        ("nodeset", ["spec.replicas", "spec.slurmd"], False),
        ("fence-nodesets", ["spec"], False),
    ],
)
def test_a_change_that_is_ignored_is_one_that_no_review_sees(name: str, ignored: list[str], passes: bool) -> None:
    change = {"resources": {name: {"options": {"ignoreChanges": ignored}}}}
    assert ("ignoreChanges" not in messages(judged(cluster_as_made, change))) is passes


def role(group: str, kind: str, *verbs: str, namespace: str = "jupyter") -> str:
    rules = [{"apiGroups": [group], "resources": [kind], "verbs": [*verbs]}]
    return said("rbac.authorization.k8s.io/v1:Role", namespace, rules=rules)


@pytest.mark.parametrize(
    ("group", "kind", "passes"),
    [
        *(("slinky.slurm.net", each, False) for each in ("tokens", "nodesets", "*", "tokens/status")),
        *((group, "*", False) for group in ("argoproj.io", "velero.io", "kustomize.toolkit.fluxcd.io", "k8s.mariadb.com")),
        ("argoproj.io", "applications", False),
        ("velero.io", "restores", False),
        ("external-secrets.io", "pushsecrets", False),
        ("*", "tokens", False),
        ("*", "*", False),
        ("*", "pods", False),  # of which group, it doesn't say
        *(("", each, True) for each in ("pods", "secrets", "configmaps")),
        ("apps", "deployments", True),
        ("argoproj.io", "workflows", True),
        ("kyverno.io", "policies", True),
        ("ray.io", "rayclusters", True),
        ("external-secrets.io", "externalsecrets", True),
        ("networking.k8s.io", "ingresses", True),
    ],
)
def test_a_role_of_another_namespace_acts_within_it(group: str, kind: str, passes: bool) -> None:
    assert (role(group, kind, "get", "create") == "") is passes
    assert role(group, kind, "get", "list", "watch") == ""


def files(name: str, used: str | None = None, **data: str) -> str:
    """What is said of a ConfigMap of the cluster's namespace, of which the Controller takes its files."""
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "slurm"}}
    body = {**head, "data": {key.replace("__", "."): text for key, text in data.items()}}
    found: Data = {"x": {"type": "kubernetes:core/v1:ConfigMap", "properties": body}}
    if used is not None:
        found["controller"] = {"properties": {"spec": {"configFileRefs": [{"name": used}]}}}
    return messages(judged(cluster_as_made, {"resources": found}))


CGROUP = "ConstrainCores=yes\nConstrainDevices=yes\nConstrainRAMSpace=yes\n"


@pytest.mark.parametrize(
    ("name", "used", "data", "passes"),
    [
        ("slurm-cgroup", "slurm-cgroup", {"cgroup__conf": CGROUP}, True),
        ("slurm-cgroup", None, {"cgroup__conf": CGROUP}, True),
        ("site-motd", None, {"motd": "Maintenance on Monday"}, True),
        ("slurm-cgroup", "slurm-cgroup", {"cgroup__conf": "ConstrainDevices=no\n"}, False),
        ("slurm-cgroup", "of-another-stack", {"cgroup__conf": CGROUP}, False),
        ("slurm-client-nb", "slurm-client-nb", {"slurm__conf": "ClusterName=other\n"}, False),
        ("slurm-token-jwks", "slurm-token-jwks", {"jwks__json": '{"keys": []}'}, False),
        ("site-files", "site-files", {"slurm__key": "x"}, False),
        ("site-files", "site-files", {"plugstack__conf": "required /scratch/x.so\n"}, False),
        ("site-files", "site-files", {"job_submit__lua": "os.execute(job_desc.name)\n"}, False),
        ("slurm-config", None, {"motd": "x"}, False),
        ("slurm-worker-gpu-ssh-config", None, {"motd": "x"}, False),
        ("kube-root-ca.crt", None, {"ca__crt": "x"}, False),
        ("istio-ca-root-cert", None, {"root-cert__pem": "x"}, False),
    ],
)
def test_a_map_of_any_name_is_judged_as_what_the_controller_takes_it_for(
    name: str, used: str | None, data: dict[str, str], passes: bool
) -> None:
    assert (files(name, used, **data) == "") is passes


def secret(name: str, namespace: str = "slurm", key: str | None = None, **data: str) -> str:
    """What is said of a Secret of the cluster, from whose entry a NodeSet's pods take sssd.conf."""
    head = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "type": "Opaque"}
    body = {**head, "stringData": {each.replace("__", "."): text for each, text in data.items()}}
    found: Data = {"x": {"type": "kubernetes:core/v1:Secret", "properties": body}}
    if key is not None:
        ssh = {"enabled": True, "sssdConfRef": {"name": name, "key": key}}
        found["nodeset"] = {"properties": {"spec": {"ssh": ssh}}}
    return "\n".join(
        line for line in messages(judged(cluster_as_made, {"resources": found})).splitlines() if line.startswith("Secret")
    )


SSSD = "[domain/hpc]\nid_provider = ldap\nmin_id = 1000\nldap_uri = ldaps://ldap.example.org\n"


def test_a_secret_of_any_name_is_judged_by_who_reads_it() -> None:
    assert secret("login-sssd", key="sssd.conf", sssd__conf=SSSD) == ""
    assert secret("login-sssd", key="config", config=SSSD) == ""
    assert secret("of-the-portal", password="x") == ""
    for text in (
        "ldap_user_name = mail\n",
        "krb5_validate = false\n",
        "id_provider = proxy\n",
        "ldap_uri = ldap://ldap.example.org\n",
        "min_id = 0\n",
    ):
        assert "data.config" in secret("login-sssd", key="config", config=f"[domain/hpc]\n{text}").replace(
            "stringData", "data"
        )
    assert "a key's name" in secret("of-the-portal", slurm__key="x")
    assert "a key's name" in secret("of-the-portal", jwt_hs256__key="x")
    assert "a name of a key's Secret" in secret("other-auth-slurm", note="x")
    assert "which slurm-operator or Kubernetes makes" in secret("slurm-accounting", slurmdbd__conf="x")
    assert "operator's namespace has none" in secret("of-the-portal", "slinky", password="x")


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        ("NodeName=gpu-[0-7] Name=nic Count=1 Flags=CountOnly", True),
        ("Flags=CountOnly Name=license Count=4", True),
        ("Name=gpu Count=8 Flags=CountOnly", False),
        ('Name="gpu" Count=8 Flags=CountOnly', False),
        ("Name=shard Count=64 Flags=CountOnly", False),
        ("Name=nic Name=gpu Count=1 Flags=CountOnly", False),
        ("Name=nic File=/dev/infiniband/uverbs0 Flags=CountOnly", False),
        ("Count=8 Flags=CountOnly", False),
    ],
)
def test_what_is_no_gpu_may_be_counted_alone(line: str, passes: bool) -> None:
    assert (files("slurm-gres", "slurm-gres", gres__conf=line) == "") is passes


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        ("AuthorizedKeysFile none", True),
        ("AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2", True),
        ("AuthorizedKeysFile=/etc/ssh/authorized_keys.d/%u", True),
        ("AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys %u", True),
        ("AuthenticationMethods publickey,keyboard-interactive", True),
        ("Banner /etc/issue.net", True),
        ("AuthorizedKeysFile /etc/ssh/authorized_keys", False),  # one file for all of them
        ("AuthorizedKeysFile .ssh/authorized_keys /scratch/keys/%u", False),
        ("AuthorizedKeysFile /etc/ssh/keys/../../scratch/%u", False),
        ("AuthorizedKeysCommand /usr/bin/curl -s https://keys.example.org/%u", False),
        ("AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys %u --domain x", False),
        ("AuthenticationMethods none", False),
        ("Banner /etc/slurm/slurm.key", False),
        ("LogLevel DEBUG3", False),
        ("StrictModes no", False),
        ("HostbasedAuthentication yes", False),
    ],
)
def test_a_value_of_sshd_is_judged_and_not_its_word(line: str, passes: bool) -> None:
    told = messages(judged(cluster_as_made, spec("nodeset", ssh={"enabled": True, "extraSshdConfig": line})))
    assert ("of sshd" not in told) is passes


CAMPUS = "campus.example.edu:53 {\n  errors\n  cache 60\n  forward . 198.51.100.53 2001:db8::53 {\n    prefer_udp\n  }\n}\n"


@pytest.mark.parametrize(
    ("name", "file", "text", "passes"),
    [
        ("coredns-custom", "campus.server", CAMPUS, True),
        ("coredns-custom", "campus.server", CAMPUS + "10.in-addr.arpa {\n forward . 10.0.0.53\n}\n", True),
        ("coredns-custom", "campus.override", CAMPUS, False),
        ("coredns", "campus.server", CAMPUS, False),
        ("coredns-custom", "campus.server", CAMPUS.replace("campus.example.edu", "."), False),
        ("coredns-custom", "campus.server", CAMPUS.replace("campus.example.edu", "cluster.local"), False),
        ("coredns-custom", "campus.server", CAMPUS.replace("campus.example.edu", "slurm.svc.cluster.local"), False),
        ("coredns-custom", "campus.server", CAMPUS.replace("errors", "rewrite name a b"), False),
        ("coredns-custom", "campus.server", CAMPUS.replace("errors", "hosts /etc/hosts"), False),
        ("coredns-custom", "campus.server", CAMPUS + "import other", False),
    ],
)
def test_the_clusters_dns_asks_others_for_zones_of_their_own(name: str, file: str, text: str, passes: bool) -> None:
    change: Data = {"metadata": {"name": name}, "data": {file: text}}
    props = {"apiVersion": "v1", "kind": "ConfigMap", **change}
    props["metadata"]["namespace"] = "kube-system"
    stack = {"resources": {"x": {"type": "kubernetes:core/v1:ConfigMap", "properties": props}}}
    assert (messages(judged(cluster_as_made, stack)) == "") is passes


def test_no_zone_is_that_of_the_stacks_hosts() -> None:
    host = {"external": True, "externalConfig": {"host": "slurmctld.campus.example.edu", "port": 6817}}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns-custom", "namespace": "kube-system"}}
    props = {**body, "data": {"campus.server": CAMPUS}}
    stack = {
        "resources": {
            "x": {"type": "kubernetes:core/v1:ConfigMap", "properties": props},
            "controller": {"properties": {"spec": host}},
        }
    }
    assert "changes what Kubernetes itself runs by" in messages(judged(cluster_as_made, stack))


def cloud(type_: str, **props: Any) -> str:
    return messages(judged(cluster_as_made, {"resources": {"x": {"type": type_, "properties": props}}}))


GITHUB, MAIN = "token.actions.githubusercontent.com", "repo:example-hpc/docs:ref:refs/heads/main"


@pytest.mark.parametrize(
    ("issuer", "key", "subject", "passes"),
    [
        (GITHUB, GITHUB, MAIN, True),
        (GITHUB, GITHUB, "repo:example-hpc/docs:environment:preview", True),
        ("gitlab.com", "gitlab.com", "project_path:hpc/docs:ref_type:branch:ref:main", True),
        ("id.example.net", "id.example.net", MAIN, False),
        ("id.example.net", GITHUB, MAIN, False),
        (GITHUB, GITHUB, "repo:example-hpc/docs:*", False),
        (GITHUB, GITHUB, "repo:example-hpc/docs:pull_request", False),
        (GITHUB, GITHUB, "repo:example-hpc/*:ref:refs/heads/main", False),
        (GITHUB, GITHUB, "", False),
    ],
)
def test_a_branch_takes_a_role_as_who_signs_for_it_says(issuer: str, key: str, subject: str, passes: bool) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"Federated": f"arn:aws:iam::123456789012:oidc-provider/{issuer}"},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {f"{key}:sub": subject}},
    }
    trust = json.dumps({"Statement": [statement]})
    assert (cloud("aws:iam/role:Role", name="ci", assumeRolePolicy=trust) == "") is passes


@pytest.mark.parametrize(
    ("action", "passes"),
    [
        *((each, True) for each in ("eks:ListClusters", "ec2:DescribeInstanceTypes", "ecr:DescribeImages")),
        *(
            (each, False)
            for each in ("ec2:DescribeInstanceAttribute", "ec2:DescribeLaunchTemplateVersions", "ec2:Describe*")
        ),
        *((each, False) for each in ("lambda:ListFunctions", "ssm:ListCommands", "ecs:DescribeTaskDefinition", "eks:*")),
    ],
)
def test_a_policy_lists_what_there_is_and_not_what_it_holds(action: str, passes: bool) -> None:
    policy = json.dumps({"Statement": [{"Effect": "Allow", "Action": [action], "Resource": "*"}]})
    assert (cloud("aws:iam/rolePolicy:RolePolicy", role="ci", policy=policy) == "") is passes


@pytest.mark.parametrize(
    ("statement", "passes"),
    [
        ("Allow group auditors to inspect instance-family in compartment hpc", True),
        ("allow group auditors to inspect all-resources in tenancy", True),
        ("Allow group auditors to read instance-family in compartment hpc", False),
        ("Allow group auditors to manage instance-family in compartment hpc", False),
        ("Allow any-user to inspect buckets in tenancy", False),
        ("Allow dynamic-group nodes to use secret-family in tenancy", False),
        ("Endorse group auditors to inspect buckets in any-tenancy", False),
    ],
)
def test_a_statement_of_oracles_cloud_looks_at_what_there_is(statement: str, passes: bool) -> None:
    assert (cloud("oci:Identity/policy:Policy", name="auditors", statements=[statement]) == "") is passes


def test_a_bucket_of_oracles_cloud_is_not_everybodys() -> None:
    for access, passes in (("NoPublicAccess", True), ("ObjectRead", False), ("ObjectReadWithoutList", False)):
        assert (cloud("oci:ObjectStorage/bucket:Bucket", name="docs", accessType=access) == "") is passes


CLOSED: Data = {
    "tenantId": "00000000-0000-0000-0000-000000000002",
    "sku": {"family": "A", "name": "standard"},
    "enableRbacAuthorization": True,
    "enablePurgeProtection": True,
    "publicNetworkAccess": "Disabled",
}
OPEN: list[Data] = [
    {"publicNetworkAccess": "Enabled"},
    {"publicNetworkAccess": None},
    {"enableRbacAuthorization": False},
    {"enablePurgeProtection": None},
    {"enabledForDeployment": True},
    {"networkAcls": {"defaultAction": "Allow"}},
    {"accessPolicies": [{"objectId": "x", "permissions": {"secrets": ["get"]}}]},
]


def test_a_vault_is_closed_in_every_respect() -> None:
    assert cloud("azure-native:keyvault:Vault", vaultName="web", properties=CLOSED) == ""
    for each in OPEN:
        assert cloud("azure-native:keyvault:Vault", vaultName="web", properties={**CLOSED, **each}) != "", each


def test_a_realm_lets_nobody_choose_whose_name_he_has() -> None:
    realm: Data = {"realm": "hpc", "enabled": True, "registrationAllowed": False, "sslRequired": "all"}
    assert cloud("keycloak:index/realm:Realm", **realm) == ""
    for each in ("registrationAllowed", "editUsernameAllowed", "duplicateEmailsAllowed"):
        assert cloud("keycloak:index/realm:Realm", **{**realm, each: True}) != ""
    assert cloud("keycloak:index/realm:Realm", **{**realm, "sslRequired": "none"}) != ""


def test_a_command_runs_programs_whatever_it_says() -> None:
    assert "may run programs" in cloud("command:local:Command", create="true")


@pytest.mark.parametrize(
    ("name", "values", "passes"),
    [
        ("descheduler", {"schedule": "0 * * * *"}, False),
        ("descheduler", {"policy": {"namespaces": {"include": ["portal", "slurm"]}}}, False),
        ("descheduler", {"policy": {"namespaces": {"include": ["portal"]}}}, True),
        ("reloader", {"reloader": {"autoReloadAll": True, "watchGlobally": True}}, False),
        ("reloader", {"reloader": {"watchGlobally": False}}, True),
        ("kube-janitor", {"rules": [{"resources": ["pods"], "ttl": "4h"}]}, False),
        ("headlamp", {"clusterRoleBinding": {"clusterRoleName": "cluster-admin"}}, False),
        ("headlamp", {"clusterRoleBinding": {"clusterRoleName": "view"}}, True),
        ("cilium", {"policyEnforcementMode": "never"}, False),
        ("ingress-nginx", {"controller": {"config": {"log-format-upstream": "$http_x_slurm_user_token"}}}, False),
        ("dex", {"config": {"connectors": [{"type": "mockCallback"}]}}, False),
        ("dex", {"config": {"connectors": [{"type": "ldap"}]}}, True),
    ],
)
def test_what_acts_on_the_pods_of_others_says_where(name: str, values: Data, passes: bool) -> None:
    assert (chart(name, **values) == "") is passes


def test_cluster_admin_of_another_namespace_makes_what_acts_elsewhere() -> None:
    for name, passes in (("cluster-admin", False), ("edit", True)):
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        who = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "portal-team"}]
        assert (said("rbac.authorization.k8s.io/v1:RoleBinding", roleRef=ref, subjects=who) == "") is passes


@pytest.mark.parametrize(
    ("kind", "props", "passes"),
    [
        ("azure-native:storage:FileShare", {"shareName": "homes", "rootSquash": "NoRootSquash"}, False),
        ("azure-native:storage:FileShare", {"shareName": "homes", "rootSquash": "RootSquash"}, True),
        ("gcp:filestore/instance:Instance", {"fileShares": {"nfsExportOptions": [{"squashMode": "NO_ROOT_SQUASH"}]}}, False),
        ("azure:netapp/volume:Volume", {"exportPolicyRules": [{"rootAccessEnabled": True}]}, False),
        ("aws:efs/accessPoint:AccessPoint", {"posixUser": {"uid": 0, "gid": 0}}, False),
        ("aws:efs/accessPoint:AccessPoint", {"posixUser": {"uid": 1000, "gid": 1000}}, True),
    ],
)
def test_root_of_a_machine_is_not_root_over_the_files_of_users(kind: str, props: Data, passes: bool) -> None:
    assert (cloud(kind, **props) == "") is passes


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("ipa selfservice-mod own --attrs=mail,mobile\n", True),
        ("ipa selfservice-mod own --attrs=uidnumber\n", False),
        ('{"attributes": [{"name": "mobile", "permissions": {"edit": ["admin", "user"]}}]}', True),
        ('{"attributes": [{"name": "uidNumber", "permissions": {"edit": ["admin"]}}]}', True),
        ('{"attributes": [{"name": "uidNumber", "permissions": {"edit": ["admin", "user"]}}]}', False),
        ("EXPORT {\n  Squash = No_Root_Squash;\n}\n", False),
        ("/export/home 10.0.0.0/16(rw,root_squash)\n", True),
    ],
)
def test_what_a_directory_or_a_file_server_gives_to_each_is_his_own(text: str, passes: bool) -> None:
    assert (config_map("identity", file=text) == "") is passes
