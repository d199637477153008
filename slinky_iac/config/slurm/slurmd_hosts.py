"""Bare-metal hosts of slurmd: what one entry of ``external.slurmdHosts`` says, and the hosts that it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, Literal

from pydantic import Field, PrivateAttr, model_validator

from slinky_iac.config.base import Section
from slinky_iac.config.fields import HostConf, Hosts, NodeNames, is_address
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import bracketed, expand


class SlurmdHost(Section):
    """Bare-metal slurmd hosts that belong to the same cluster: one, or a hostlist of equal ones."""

    name: NodeNames
    """NodeName, or a hostlist such as metal-[001-500], which is one NodeName= line in slurm.conf."""
    address: Hosts | None = None
    """NodeAddr where the name doesn't resolve on slurmctld's host; for a hostlist one of as many addresses, as
    10.1.0.[1-4] for metal-[001-004], or one of all, with `Port` in config, a hostlist of as many ports."""
    config: HostConf = Field(default_factory=dict)
    """Parameters of its NodeName= line, e.g. CPUs: 64."""
    state: Literal["active", "drained"] = "active"
    """active: may run jobs. drained: held for maintenance; `pulumi up` waits until its jobs have ended."""
    _entry: int = PrivateAttr(default=0)
    _written: tuple[str, str | None] = PrivateAttr(default=("", None))
    _ports: str = PrivateAttr(default="")

    @property
    def path(self) -> str:
        """The setting that names it, once it is one host."""
        return f"external.slurmdHosts.{self._entry}"

    @property
    def written(self) -> tuple[str, str | None]:
        """Name and address of the entry that names it, as hostlists."""
        return self._written if self._written[0] else (self.name, self.address)

    @property
    def ports(self) -> str:
        """Port of the entry that names it, where that is a hostlist of one for each host; config has its own then."""
        return self._ports

    @model_validator(mode="after")
    def _as_many(self) -> SlurmdHost:
        """``build_node_line_info`` of node_conf.c: fatal."""
        names = len(expand(self.name))
        counts = {"address": (len(expand(self.address or "")), "address", "addresses", f"address: {addresses(names)}")}
        counts["config.Port"] = (len(_ports_of(self.config)), "port", "ports", f"Port: {ports(names)}")
        for field, (count, one, several, example) in counts.items():
            if count not in (0, 1, names):
                such = "" if names == 1 else f" (as `{example}`)"
                raise ValueError(
                    f"{field}: {count} {several} for {names} name{'' if names == 1 else 's'}; slurmctld stops at such a"
                    f" line. Give one {one} for each name, in the same order{such}, or one for all"
                )
        return self

    def each(self, entry: int) -> Iterator[SlurmdHost]:
        """The hosts that it stands for, one by one, each with the place of its entry."""
        names, ports = expand(self.name), _ports_of(self.config)
        key = next((key for key in self.config if key.lower() == "port"), "")
        for number, name in enumerate(names):
            own = {**self.config, key: ports[number]} if len(ports) > 1 else self.config
            address = _nth(expand(self.address), number) if self.address is not None else None
            host = self.model_copy(update={"name": name, "address": address, "config": own})
            host._entry, host._written = entry, (self.name, self.address)
            host._ports = self.config[key] if len(ports) > 1 else ""
            yield host


def addresses(count: int, first: str = "10.1.0.1") -> str:
    """An example of addresses for as many hosts, from ``first`` on where all of them are in its network of 256."""
    network, _, number = first.rpartition(".")
    if not (is_address(first) and network and int(number) + count <= _BROADCAST):
        network, number = "192.0.2", "1"
    if int(number) + count <= _BROADCAST:
        return f"{network}.[{number}-{int(number) + count - 1}]"
    return "192.0.2.[1-250],198.51.100.[1-250],…"


_BROADCAST: Final = 255


def ports(count: int) -> str:
    """The same of ports of slurmds on one host."""
    return f"17001-{17000 + count}"


def _nth(of: tuple[str, ...], number: int) -> str:
    """One of several, or the one of all."""
    return of[number] if len(of) > 1 else of[0]


def _ports_of(parameters: Mapping[str, str]) -> tuple[str, ...]:
    """Ports of a NodeName= line; none where they can't be read."""
    text = next((value for key, value in parameters.items() if key.lower() == "port"), "")
    with suppress(HostlistError):
        return expand(bracketed(text))
    return ()
