"""EKS, in a VPC that is there. Asks for `subnets` (ids of private subnets in two zones, with a NAT gateway: pods leave with
their own addresses) and `image` (an AMI with slurmctld and slurmdbd)."""

from __future__ import annotations

import json

import pulumi
from cloud import POOL, Cloud
from pulumi_aws import ec2, eks, iam

OF_CLUSTER = ("AmazonEKSClusterPolicy",)
OF_MACHINES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly")


def made(config: pulumi.Config) -> Cloud:
    """The cluster, a pool for system pods, a pool for jobs, and the machine of slurmctld."""
    subnets: list[str] = config.require_object("subnets")
    ruler, rules = _role("hpc-cluster", "eks.amazonaws.com", OF_CLUSTER)
    worker, works = _role("hpc-machines", "ec2.amazonaws.com", OF_MACHINES)
    cluster = eks.Cluster(
        "hpc",
        name="hpc",
        role_arn=ruler.arn,
        vpc_config={"subnet_ids": subnets, "endpoint_private_access": True},
        opts=pulumi.ResourceOptions(depends_on=rules),
    )
    # Hosts of the other site see pods by their own addresses.
    network = eks.Addon(
        "vpc-cni",
        cluster_name=cluster.name,
        addon_name="vpc-cni",
        configuration_values=json.dumps({"env": {"AWS_VPC_K8S_CNI_EXTERNALSNAT": "true"}}),
    )
    after = pulumi.ResourceOptions(depends_on=[*works, network])
    system = eks.NodeGroup(
        "system",
        cluster_name=cluster.name,
        node_role_arn=worker.arn,
        subnet_ids=subnets,
        instance_types=["m7i.large"],
        scaling_config={"desired_size": 2, "min_size": 2, "max_size": 2},
        opts=after,
    )
    jobs = eks.NodeGroup(
        POOL,
        cluster_name=cluster.name,
        node_role_arn=worker.arn,
        subnet_ids=subnets,
        instance_types=["c7i.8xlarge"],
        scaling_config={"desired_size": 2, "min_size": 0, "max_size": 8},
        labels={"slurm": POOL},
        taints=[{"key": "slurm", "value": POOL, "effect": "NO_SCHEDULE"}],
        opts=after,
    )
    # In the security group of the cluster's machines, whose members reach each other on every port.
    slurmctld = ec2.Instance(
        "slurmctld",
        ami=config.require("image"),
        instance_type="m7i.large",
        subnet_id=subnets[0],
        vpc_security_group_ids=[cluster.vpc_config.apply(lambda vpc: str(vpc.cluster_security_group_id))],
    )
    command = pulumi.Output.format("aws eks update-kubeconfig --name {0} --alias hpc", cluster.name)
    return Cloud(command, slurmctld.private_ip, [system, jobs, slurmctld])


def _role(name: str, service: str, policies: tuple[str, ...]) -> tuple[iam.Role, list[iam.RolePolicyAttachment]]:
    allowed = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    role = iam.Role(name, assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [allowed]}))
    return role, [
        iam.RolePolicyAttachment(f"{name}-{each}", role=role.name, policy_arn=f"arn:aws:iam::aws:policy/{each}")
        for each in policies
    ]
