"""Rules of the cluster's name and of outside hosts: what Slurm takes two machines for."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac import names
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig


def _names(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    if config.cluster.name != config.cluster.name.lower():
        yield at("cluster.name").warning(
            "has capital letters; on some systems slurmdbd would then not find its tables",
            id="capital-letters",
        )
    seen: dict[str, str] = {}
    logins = ((f"external.loginHosts.{i}", h.name) for i, h in enumerate(config.external.login_hosts))
    for path, name in [*((host.path, host.name) for host in config.external.slurmd_hosts), *logins]:
        if name in seen:
            yield at(f"{path}.name").error(f"{name_of(name)} is also {seen[name]}; Slurm knows a host by its name")
        seen.setdefault(name, path)
    for nodeset in config.nodesets:
        for host, path in seen.items():
            taken = "the name of a pod of" if names.is_node_of(host, nodeset) else ""
            if host == nodeset and path.startswith("external.slurmdHosts"):
                taken = "also a NodeSet of slurm.conf, over which slurmctld refuses its whole file:"
            if taken:
                yield at(f"{path}.name").error(f"{name_of(host)} is {taken} nodesets.{nodeset}; rename the host")


def _addresses(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Two slurmds of one machine have a port each (slurm.conf(5), NodeAddr and Port); else both names are one slurmd."""
    first: dict[tuple[str, ...], str] = {}
    for host in config.external.slurmd_hosts:
        if host.address is None:
            continue
        ports = [value for name, value in host.config.items() if name.lower() == "port"]
        place = (host.address, *ports)
        if (other := first.setdefault(place, host.name)) != host.name:
            yield at(f"{host.path}.address").warning(
                f"{name_of(host.address)} is also the address of {name_of(other)}: slurmctld sends the jobs of both to one"
                " slurmd. Correct one of them; two slurmds of one machine have a `Port` each in `config`",
                id="same-address",
            )


RULES = (_names, _addresses)
