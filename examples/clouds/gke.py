"""GKE, in a network of its own. Asks for `zone` and `image` (an image with slurmctld and slurmdbd), and for gcp:project."""

from __future__ import annotations

import pulumi
from cloud import POOL, Cloud
from pulumi_gcp import compute, container

MACHINES, PODS, SERVICES = "10.10.0.0/20", "10.20.0.0/16", "10.30.0.0/20"


def made(config: pulumi.Config) -> Cloud:
    """The network, the cluster with a pool for system pods, a pool for jobs, and the machine of slurmctld."""
    zone = config.require("zone")
    network = compute.Network("hpc", auto_create_subnetworks=False)
    subnet = compute.Subnetwork(
        "hpc",
        network=network.id,
        region=zone.rpartition("-")[0],
        ip_cidr_range=MACHINES,
        secondary_ip_ranges=[
            {"range_name": "pods", "ip_cidr_range": PODS},
            {"range_name": "services", "ip_cidr_range": SERVICES},
        ],
    )
    # Slurm's ports, both ways: between machines, slurmctld and pods.
    ports = compute.Firewall("slurm", network=network.id, source_ranges=[MACHINES, PODS], allows=[{"protocol": "tcp"}])
    cluster = container.Cluster(
        "hpc",
        name="hpc",
        location=zone,
        network=network.id,
        subnetwork=subnet.id,
        networking_mode="VPC_NATIVE",  # pods have addresses of the VPC; between private ones nothing is translated
        ip_allocation_policy={"cluster_secondary_range_name": "pods", "services_secondary_range_name": "services"},
        remove_default_node_pool=True,
        initial_node_count=1,
    )
    system = container.NodePool("system", cluster=cluster.id, node_count=2, node_config={"machine_type": "e2-standard-4"})
    jobs = container.NodePool(
        POOL,
        cluster=cluster.id,
        node_count=2,
        management={"auto_upgrade": False, "auto_repair": False},  # a repair makes a machine again under its jobs
        node_config={
            "machine_type": "c2d-highcpu-32",
            "labels": {"slurm": POOL},
            "taints": [{"key": "slurm", "value": POOL, "effect": "NO_SCHEDULE"}],
        },
    )
    slurmctld = compute.Instance(
        "slurmctld",
        zone=zone,
        machine_type="e2-standard-4",
        boot_disk={"initialize_params": {"image": config.require("image")}},
        network_interfaces=[{"subnetwork": subnet.id}],
    )
    command = pulumi.Output.format(
        "gcloud container clusters get-credentials {0} --location {1}"
        ' && kubectl config rename-context "$(kubectl config current-context)" hpc',
        cluster.name,
        zone,
    )
    address = slurmctld.network_interfaces.apply(lambda cards: str(cards[0].network_ip))
    return Cloud(command, address, [system, jobs, slurmctld, ports])
