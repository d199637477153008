"""AKS, in a network of its own. Asks for `image` (id of an image with slurmctld and slurmdbd), `sshKey` (a public key for
its user) and azure-native:location."""

from __future__ import annotations

import pulumi
from cloud import POOL, Cloud
from pulumi_azure_native import compute, containerservice, network, resources

ALL, MACHINES, PODS, SERVICES, DNS = "10.10.0.0/15", "10.10.0.0/20", "10.11.0.0/16", "10.30.0.0/20", "10.30.0.10"
SLURMCTLD = "10.10.15.250"  # the last of MACHINES: Azure gives a subnet's addresses from the first on


def made(config: pulumi.Config) -> Cloud:
    """The network, the cluster with a pool for system pods, a pool for jobs, and the machine of slurmctld."""
    group = resources.ResourceGroup("hpc", resource_group_name="hpc").name
    # Slurm's ports are open both ways: a network security group allows what stays in the network, unless you change it.
    virtual = network.VirtualNetwork("hpc", resource_group_name=group, address_space={"address_prefixes": [ALL]})
    machines = network.Subnet(
        "machines", resource_group_name=group, virtual_network_name=virtual.name, address_prefix=MACHINES
    )
    pods = network.Subnet(
        "pods",
        resource_group_name=group,
        virtual_network_name=virtual.name,
        address_prefix=PODS,
        delegations=[{"name": "aks", "service_name": "Microsoft.ContainerService/managedClusters"}],
        opts=pulumi.ResourceOptions(depends_on=[machines]),  # Azure changes one subnet of a network at a time
    )
    cluster = containerservice.ManagedCluster(
        "hpc",
        resource_name_="hpc",
        resource_group_name=group,
        dns_prefix="hpc",
        identity={"type": containerservice.ResourceIdentityType.SYSTEM_ASSIGNED},
        # Azure CNI with a pod subnet: hosts reach pods by their own addresses. Not Overlay.
        network_profile={"network_plugin": "azure", "service_cidr": SERVICES, "dns_service_ip": DNS},
        agent_pool_profiles=[
            {
                "name": "system",
                "mode": "System",
                "count": 2,
                "vm_size": "Standard_D4s_v5",
                "vnet_subnet_id": machines.id,
                "pod_subnet_id": pods.id,
            }
        ],
        auto_upgrade_profile={"upgrade_channel": "none", "node_os_upgrade_channel": "None"},  # they know no job
    )
    jobs = containerservice.AgentPool(
        POOL,
        agent_pool_name=POOL.replace("-", ""),  # letters and digits
        resource_group_name=group,
        resource_name_=cluster.name,
        count=2,
        vm_size="Standard_F32s_v2",
        vnet_subnet_id=machines.id,
        pod_subnet_id=pods.id,
        node_labels={"slurm": POOL},
        node_taints=[f"slurm={POOL}:NoSchedule"],
    )
    card = network.NetworkInterface(
        "slurmctld",
        resource_group_name=group,
        ip_configurations=[
            {
                "name": "private",
                "subnet": {"id": machines.id},
                "private_ip_allocation_method": "Static",
                "private_ip_address": SLURMCTLD,
                "primary": True,
            }
        ],
    )
    slurmctld = compute.VirtualMachine(
        "slurmctld",
        resource_group_name=group,
        hardware_profile={"vm_size": "Standard_D4s_v5"},
        storage_profile={"image_reference": {"id": config.require("image")}, "os_disk": {"create_option": "FromImage"}},
        os_profile={
            "computer_name": "slurmctld",
            "admin_username": "slurmadmin",
            "linux_configuration": {
                "disable_password_authentication": True,
                "ssh": {
                    "public_keys": [{"path": "/home/slurmadmin/.ssh/authorized_keys", "key_data": config.require("sshKey")}]
                },
            },
        },
        network_profile={"network_interfaces": [{"id": card.id, "primary": True}]},
    )
    command = pulumi.Output.format(
        "az aks get-credentials --resource-group {0} --name {1} --context hpc && kubelogin convert-kubeconfig -l azurecli",
        group,
        cluster.name,
    )
    address = card.ip_configurations.apply(lambda found: str((found or [])[0].private_ip_address))
    return Cloud(command, address, [cluster, jobs, slurmctld])
