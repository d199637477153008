"""Rules of the cluster's name and of outside hosts: what Slurm takes two machines for."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac import names
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm.refusals import Conf, spelt
from slinky_iac.config.slurm.slurmd_hosts import addresses, ports
from slinky_iac.config.stack import StackConfig
from slinky_iac.hostlist import expand


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
    first: dict[tuple[str, str], str] = {}
    told: set[str] = set()
    of_all = Conf(config.slurmctld.extra_conf)["SlurmdPort"] or str(names.SLURMD_PORT)
    for host in config.external.slurmd_hosts:
        if host.address is None:
            continue
        place = (host.address, Conf(host.config)["Port"] or of_all)
        if (other := first.setdefault(place, host.name)) != host.name and host.path not in told:
            told.add(host.path)
            hosts, own = host.written
            count = len(expand(hosts))
            is_shared = count > 1 and len(expand(own or "")) == 1
            yield at(f"{host.path}.address").warning(
                f"{name_of(host.address)} is the address of all {count} hosts of {name_of(hosts)}: slurmctld sends the jobs"
                f" of all to one slurmd. Give as many addresses, as {addresses(count, host.address)}; slurmds of one machine"
                f" have a port each in `config`, as `Port: {ports(count)}`"
                if is_shared
                else f"{name_of(host.address)} is also the address of {name_of(other)}: slurmctld sends the jobs of both to"
                " one slurmd. Correct one of them; two slurmds of one machine have a `Port` each in `config`",
                id="same-address",
            )


def _families(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Slurm's daemons speak IPv4 alone unless slurm.conf has EnableIPv6 (``slurm_set_addr``; run: "Address family '0' not
    supported")."""
    if not config.slurmctld.owns_conf or "enableipv6" in Conf(config.slurmctld.extra_conf)["CommunicationParameters"]:
        return
    outside = {f"{host.path}.address": host.address for host in config.external.slurmd_hosts}
    outside["accounting.external.host"] = next((host.host for host in config.slurmdbd.hosts), None)
    for path, address in outside.items():
        if address and ":" in address:
            yield at(path).error(
                f"{name_of(address)} is an IPv6 address, and slurmctld speaks IPv4 alone: it never gets an answer. Add"
                " CommunicationParameters: EnableIPv6 to controller.extraConf (IPv4 stays), or give an IPv4 address"
            )


def _powered(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A node in the cloud is powered down until ResumeProgram starts it (slurm.conf(5), State; power_save.c)."""
    conf = Conf(config.slurmctld.extra_conf)
    if not config.slurmctld.owns_conf or (conf["ResumeProgram"] and conf["SuspendProgram"]):
        return
    for path, host in {host.path: host for host in config.external.slurmd_hosts}.items():
        key = spelt(host.config, "State")
        if host.config.get(key, "").lower() == "cloud":
            yield at(f"{path}.config.{key}").warning(
                "is CLOUD, and controller.extraConf lacks ResumeProgram or SuspendProgram: slurmctld takes the node for"
                " powered down, gives it jobs, and nothing starts it. Leave State out for a host that runs, or set both",
                id="cloud-without-programs",
            )


RULES = (_names, _addresses, _families, _powered)
