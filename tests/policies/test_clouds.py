"""Resources of other providers: kinds that hold data or lead connections pass, where they name and open nothing of Slurm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from slurm_rules.catalogue import RULES
from slurm_rules.model import UNKNOWN, Resource, Stack

from tests.integration.engine import Engine, create_project
from tests.policies.in_memory import in_memory
from tests.policies.pack import environment, flags, outcome, plain_stack

RULE = next(rule for rule in RULES if rule.name == "cluster-as-made")
EVERYWHERE = ["0.0.0.0/0"]


def said(type_: str, properties: dict[str, Any]) -> str:
    stack = in_memory(plain_stack("inside", {"resources": {"cloud": {"type": type_, "properties": properties}}}))
    return " ".join(message for _, message in RULE.judge(stack).violations)


def aws(**rule: Any) -> tuple[str, dict[str, Any]]:
    return "aws:ec2/securityGroup:SecurityGroup", {"ingress": [{"protocol": "tcp", **rule}]}


def allowed(action: str, resource: str, effect: str = "Allow") -> str:
    return json.dumps({"Statement": {"Effect": effect, "Principal": "*", "Action": [action], "Resource": resource}})


def account(namespace: str) -> dict[str, str]:
    return {"role": "roles/iam.workloadIdentityUser", "member": f"serviceAccount:x.svc.id.goog[{namespace}/writer]"}


def role(namespace: str) -> dict[str, Any]:
    return {"boundServiceAccountNames": ["wiki"], "boundServiceAccountNamespaces": [namespace]}


@pytest.mark.parametrize(
    ("type_", "properties"),
    [
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"}),
        ("aws:ec2/subnet:Subnet", {"mapPublicIpOnLaunch": True}),
        ("aws:ec2/routeTable:RouteTable", {"routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": "igw-1"}]}),
        ("aws:efs/fileSystem:FileSystem", {"encrypted": True}),
        ("aws:rds/instance:Instance", {"publiclyAccessible": False, "port": 3306, "username": "slurm"}),
        ("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", {"blockPublicPolicy": True}),
        ("aws:lb/listener:Listener", {"port": 443}),
        ("gcp:filestore/instance:Instance", {"name": "homes"}),
        ("cloudflare:index/record:Record", {"name": "hub"}),
        ("grafana:index/dashboard:Dashboard", {"configJson": "{}"}),
        ("pulumi:providers:aws", {"region": "eu-central-1"}),
        ("aws:s3/bucketPolicy:BucketPolicy", {"policy": allowed("s3:*", "*", "Deny")}),
        ("aws:iam/policy:Policy", {"policy": allowed("route53:ListHostedZones", "*")}),
        ("aws:iam/policy:Policy", {"policy": allowed("s3:GetObject", "arn:aws:s3:::example-data/*")}),
        ("gcp:serviceaccount/iAMMember:IAMMember", account("team-ml")),
        ("vault:index/policy:Policy", {"policy": 'path "secret/data/wiki/*" { capabilities = ["read"] }'}),
        ("vault:kubernetes/authBackendRole:AuthBackendRole", role("team-web")),
        aws(fromPort=443, toPort=443, cidrBlocks=EVERYWHERE),
        aws(fromPort=6817, toPort=6818, cidrBlocks=["10.0.0.0/8"]),
        aws(protocol="icmp", fromPort=-1, toPort=-1, cidrBlocks=EVERYWHERE),
        ("aws:ec2/securityGroup:SecurityGroup", {"egress": [{"protocol": "-1", "cidrBlocks": EVERYWHERE}]}),
        ("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", {"cidrIpv4": "0.0.0.0/0", "ipProtocol": "-1"}),
        ("gcp:compute/firewall:Firewall", {"direction": "EGRESS", "destinationRanges": EVERYWHERE}),
    ],
)
def test_what_holds_data_or_leads_connections_passes(type_: str, properties: dict[str, Any]) -> None:
    assert said(type_, properties) == ""


@pytest.mark.parametrize(
    ("type_", "properties", "why"),
    [
        ("aws:ec2/instance:Instance", {"iamInstanceProfile": "x"}, "others may come in"),
        ("aws:autoscaling/group:Group", {"minSize": 0}, "may run programs"),
        ("aws:s3/bucketPolicy:BucketPolicy", {"bucket": "x"}, "gives more"),
        ("aws:s3/bucketPolicy:BucketPolicy", {"policy": allowed("s3:*", "arn:aws:s3:::x")}, "allows s3:*"),
        ("aws:iam/policy:Policy", {"policy": allowed("route53:ChangeResourceRecordSets", "*")}, "allows route53:Change"),
        ("aws:iam/policy:Policy", {"policy": allowed("ec2:TerminateInstances", "arn:aws:ec2:::instance/i")}, "allows ec2"),
        ("aws:iam/policy:Policy", {"policy": "{"}, "can be read"),
        ("gcp:storage/bucketIAMMember:BucketIAMMember", {"role": "roles/owner", "member": "user:a@b"}, "gives roles/owner"),
        ("gcp:serviceaccount/iAMMember:IAMMember", account("slurm"), "account of the cluster"),
        ("vault:index/policy:Policy", {"policy": 'path "sys/policies/*" { capabilities = ["read"] }'}, "gives more"),
        ("vault:index/policy:Policy", {"policy": 'path "secret/*" { capabilities = ["read"] }'}, "gives more"),
        ("vault:kubernetes/authBackendRole:AuthBackendRole", role("*"), "lets accounts"),
        ("vault:kubernetes/authBackendRole:AuthBackendRole", role("slurm"), "lets accounts"),
        ("datadog:index/webhook:Webhook", {"url": "https://rest.example.org:6820/slurm"}, "port of Slurm"),
        ("aws:kms/grant:Grant", {"operations": ["Decrypt"]}, "may run programs"),
        ("github:index/actionsVariable:ActionsVariable", {"value": "x"}, "may run programs"),
        ("elsewhere:index/bucket:Bucket", {}, "is of elsewhere"),
        ("aws:s3/bucket:Bucket", {"acl": "public-read"}, "acl is open to everybody"),
        ("aws:s3/bucket:Bucket", {"policy": '{"Statement": [{"Principal": {"AWS": "*"}}]}'}, "policy is open to everybody"),
        ("aws:rds/instance:Instance", {"publiclyAccessible": True}, "publiclyAccessible is open to everybody"),
        ("aws:lb/targetGroup:TargetGroup", {"port": 6820}, "leads connections to a port of Slurm's"),
        ("aws:route53/record:Record", {"records": ["slurm-restapi.slurm"]}, "leads to slurm-restapi"),
        ("gcp:storage/bucket:Bucket", {"labels": {"pvc-namespace": "slurm"}}, "names slurm of the cluster"),
        (*aws(fromPort=0, toPort=0, protocol="-1", cidrBlocks=EVERYWHERE), "ingress[0] opens more than the web's ports"),
        (*aws(fromPort=6000, toPort=7000, cidrBlocks=["0.0.0.0/1"]), "opens more"),
        (*aws(protocol="-1", description="icmp", cidrBlocks=EVERYWHERE), "opens more"),
        (*aws(fromPort=22, toPort=22, ipv6CidrBlocks=["::/0"]), "opens more"),
        ("gcp:compute/firewall:Firewall", {"sourceRanges": EVERYWHERE, "allows": [{"ports": ["6800-6900"]}]}, "opens more"),
        (
            "hcloud:index/firewall:Firewall",
            {"rules": [{"direction": "in", "port": "any", "sourceIps": EVERYWHERE}]},
            "opens",
        ),
        ("pulumi:providers:aws", {"pluginDownloadURL": "https://example.net"}, "fetches a program"),
    ],
)
def test_what_may_do_more_or_opens_more_is_refused(type_: str, properties: dict[str, Any], why: str) -> None:
    assert why in said(type_, properties)


def test_what_a_preview_does_not_know_of_a_firewall_is_said_and_of_a_bucket_is_not_asked() -> None:
    for type_, hidden in (("aws:ec2/securityGroup:SecurityGroup", True), ("aws:s3/bucket:Bucket", False)):
        verdict = RULE.judge(Stack((Resource(type_, "x", "urn:x", {"vpcId": UNKNOWN}),)))
        assert verdict.violations == ()
        assert bool(verdict.not_judged) is hidden


PROGRAM = """
import os
import pulumi

options = pulumi.ResourceOptions(plugin_download_url="https://plugins.example.net", version=os.environ["KUBERNETES_VERSION"])
metadata = {"name": "motd", "namespace": "team-web"}
props = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"motd": "welcome"}}
pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "motd", props, options)
"""


def test_an_option_by_which_a_plugin_comes_from_elsewhere_is_seen_in_the_name_of_its_provider(
    engine: Engine, tmp_path: Path
) -> None:
    project = create_project(engine, tmp_path / "plugin", "plain")
    (project.folder / "__main__.py").write_text(PROGRAM)
    seen = outcome(project.preview(*flags(project.folder), ok=False, env=environment()))
    assert seen.refused_by == {"cluster-as-made"}, seen.output
    assert "says from where the engine fetches a program" in seen.output
