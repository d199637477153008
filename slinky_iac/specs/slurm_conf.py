"""Lines of slurm.conf: those that this program adds inside Kubernetes, and those that an outside slurmctld must have.

Source: slurm.conf(5), the hybrid guide (Slurm Configuration), slurm-operator ``controller_config.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from slinky_iac import names
from slinky_iac.config.stack import StackConfig

LISTS = frozenset({"AuthInfo", "AuthAltTypes", "AuthAltParameters", "SlurmctldParameters", "GresTypes"})
"""slurm.conf parameters that are lists: what is asked for may stand among others."""
_REASONS = {
    "SlurmctldParameters": "pods fetch their configuration; add to other SlurmctldParameters with a comma",
    "ReturnToService": "a pod that comes back may run jobs again without an admin",
}

OPERATOR_MAX_NODE_COUNT = 1024
"""What the operator writes by itself (controller_config.go)."""


def pairs(parameters: Mapping[str, str]) -> str:
    """``KEY=VALUE`` pairs on one line, in the order given."""
    return " ".join(f"{key}={value}" for key, value in parameters.items())


def partition_line(name: str, nodes: str, parameters: Mapping[str, str]) -> str:
    """A PartitionName= line; one without a node keeps its queue."""
    members = nodes or '""'
    return " ".join(filter(None, [f"PartitionName={name}", f"Nodes={members}", pairs(parameters)]))


def shared_partitions(config: StackConfig) -> dict[str, str]:
    """The PartitionName= lines of partitions that name several NodeSets, by name."""
    return {
        name: partition_line(name, ",".join(partition.nodesets), partition.config)
        for name, partition in config.partitions.items()
    }


def partition_lines(config: StackConfig) -> dict[str, str]:
    """The PartitionName= line of every partition that slurmctld must have, by name: the NodeSets' own, and those shared."""
    own = {
        name: partition_line(name, name, nodeset.partition.config)
        for name, nodeset in config.nodesets.items()
        if nodeset.partition.enabled
    }
    return own | shared_partitions(config)


def nodeset_lines(config: StackConfig) -> dict[str, str]:
    """The NodeSet= line of every NodeSet, by name: its pods' nodes have its name for a feature."""
    return {name: f"NodeSet={name} Feature={name}" for name in config.nodesets}


def controller_extra_conf(config: StackConfig) -> str:
    """``spec.extraConf`` of a Controller in Kubernetes: its tail of slurm.conf, or nothing."""
    lines = [f"{key}={value}" for key, value in config.controller.extra_conf.items()]
    if config.cluster.max_node_count != OPERATOR_MAX_NODE_COUNT:
        lines.append(f"MaxNodeCount={config.cluster.max_node_count}")
    lines.extend(_gres_line(config))
    lines.extend(host_lines(config).values())
    # The operator writes the same NodeSet= lines, but not before their NodeSets are there, nor after; without one, slurmctld
    # refuses its whole file. Slurm takes two of one name for one.
    named = {member for partition in config.partitions.values() for member in partition.nodesets}
    lines.extend(line for name, line in nodeset_lines(config).items() if name in named)
    lines.extend(shared_partitions(config).values())
    return "\n".join(lines)


def host_lines(config: StackConfig) -> dict[str, str]:
    """The NodeName= line of every bare-metal host, by name."""
    return {h.name: host_line(h.name, h.address, h.config) for h in config.external.slurmd_hosts}


def host_line(name: str, address: str | None, parameters: Mapping[str, str]) -> str:
    """The NodeName= line of a bare-metal host."""
    where = f"NodeAddr={address}" if address else ""
    return " ".join(filter(None, [f"NodeName={name}", where, pairs(parameters)]))


def gres_types(config: StackConfig) -> tuple[str, ...]:
    """Names of the generic resources that NodeSets and outside hosts have, for GresTypes=."""
    nodes = [n.slurmd_conf for n in config.nodesets.values()] + [h.config for h in config.external.slurmd_hosts]
    texts = [text for parameters in nodes for key, text in parameters.items() if key.lower() == "gres"]
    return tuple(sorted({item.split(":", 1)[0] for text in texts for item in text.split(",")}))


def _gres_line(config: StackConfig) -> list[str]:
    """GresTypes= of a slurmctld in Kubernetes: operators up to 1.1 write ``gpu`` and nothing else, from 1.2 on nothing."""
    written = () if config.operator_version.prunes_slurm_conf else ("gpu",)
    types = gres_types(config)
    if not set(types) - set(written) or any(key.lower() == "grestypes" for key in config.controller.extra_conf):
        return []
    return [f"GresTypes={','.join(sorted({*types, *written}))}"]


def auth_alt_parameters(config: StackConfig) -> str:
    """AuthAltParameters of an outside slurmctld or slurmdbd: the JWT key, and the set of public keys where there is one.

    ``jwks=`` alone would switch HS256 off, and with it the operator's tokens.
    """
    found = f"jwt_key=/etc/slurm/{names.JWT_KEY_FILE}"
    return f"{found},jwks=/etc/slurm/{names.JWKS_FILE}" if config.keys.has_token_keys else found


def outside_parameters(config: StackConfig) -> dict[str, str]:
    """Parameters that slurm.conf of an outside slurmctld must hold. Those of LISTS may hold more, after a comma."""
    parameters = {
        "ClusterName": config.cluster.name,
        "AuthType": "auth/slurm",
        "CredType": "cred/slurm",
        "AuthInfo": "use_client_ids",
        "AuthAltTypes": "auth/jwt",
        "AuthAltParameters": auth_alt_parameters(config),
        "SlurmctldParameters": "enable_configless",
        "MaxNodeCount": str(config.cluster.max_node_count),
        "ReturnToService": "2",
    }
    if types := gres_types(config):
        parameters["GresTypes"] = ",".join(types)
    if config.accounting.enabled and config.accounting.external is not None:
        outside = config.accounting.external
        parameters |= {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": outside.host,
            "AccountingStoragePort": str(outside.port),
        }
    return parameters


def outside_lines(config: StackConfig) -> tuple[str, ...]:
    """NodeName=, NodeSet= and PartitionName= lines that slurm.conf of an outside slurmctld must hold."""
    return (*host_lines(config).values(), *nodeset_lines(config).values(), *partition_lines(config).values())


def outside_slurm_conf(config: StackConfig) -> str:
    """The lines that slurm.conf of an outside slurmctld must hold for this stack's NodeSets, with the reason of each.

    An outside slurmctld learns nothing from the operator (no partition, no NodeSet line, no extraConf), so what is
    missing here is missing. The text holds no secret. Where slurmctld is in Kubernetes, it says that there is nothing to do.
    """
    if config.keys.auth == "auth/munge":
        return f"# {config.cluster.name} has auth/munge: its clients in Kubernetes need no line in its slurm.conf\n"
    if config.controller.external is None:
        return f"# slurmctld of {config.cluster.name} is in Kubernetes: the operator writes its slurm.conf\n"
    lines = [f"# slurm.conf of {config.cluster.name}: what the NodeSets in Kubernetes need"]
    for key, value in outside_parameters(config).items():
        lines += [f"# {_REASONS[key]}"] if key in _REASONS else []
        lines.append(f"{key}={value}")
    return "\n".join([*lines, *outside_lines(config)]) + "\n"
