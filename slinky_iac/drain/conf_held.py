"""What a gate has closed or drained before a change of slurm.conf, remembered where a later run finds it: a ConfigMap.

A partition has no field for whose its state is, and an annotation on the Controller would restart slurmctld's pod (operator
1.1 and newer copy them to it). Wire format: one entry ``held``, JSON
``{"began":null,"hosts":[],"partitions":{"batch":"UP"}}``, with the state that each partition had.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final

from slinky_iac import names
from slinky_iac.drain.conf_steps import CLOSED
from slinky_iac.drain.protocol import Undrain
from slinky_iac.drain.session import Session, act_on_slurm
from slinky_iac.drain.settings import Owner
from slinky_iac.errors import KubeNotFound, StateError
from slinky_iac.slurmrest.client import SlurmrestClient

ENTRY: Final = "held"
_ONE_AT_A_TIME: Final = Lock()
"""The gates of several NodeSets run in one process, and each writes down its own partition."""


@dataclass(frozen=True)
class Held:
    """Partitions with the state that they had, and bare-metal hosts."""

    partitions: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    began: int | None = None
    """When slurmctld last began with a configuration, as it was before the Controller got the new one."""

    def __bool__(self) -> bool:
        return bool(self.partitions or self.hosts)

    def text(self) -> str:
        """The entry's value."""
        plain = {"partitions": dict(self.partitions), "hosts": sorted(self.hosts), "began": self.began}
        return json.dumps(plain, sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> Held:
        """The value back. Raises StateError where it isn't one that this program wrote."""
        try:
            raw: Any = json.loads(text)
            partitions = {str(name): str(state) for name, state in raw["partitions"].items()}
            hosts, began = raw["hosts"], raw["began"]
            if not isinstance(hosts, list) or not (began is None or type(began) is int):
                raise TypeError  # noqa: TRY301 - as other shapes that this program never wrote
            return cls(partitions, tuple(str(host) for host in hosts), began)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise StateError(
                "the ConfigMap of closed partitions can't be read, so whose they are isn't known; nothing was changed. See"
                " `kubectl get configmaps`, set the partitions right by scontrol, and delete it"
            ) from None


def place(controller: str) -> str:
    """Name of the ConfigMap."""
    return names.shorten(f"{controller}-closed-partitions")


def read(session: Session, controller: str) -> Held:
    """What is held; nothing where there is no ConfigMap. Raises what Kubernetes raises."""
    try:
        data = session.kube.config_map_data(session.reach.namespace, place(controller))
    except KubeNotFound:
        return Held()
    return Held.read(data.get(ENTRY, ""))


def write(session: Session, controller: str, held: Held) -> None:
    """Remember ``held``; the ConfigMap goes where there is nothing to remember."""
    namespace, name = session.reach.namespace, place(controller)
    if held:
        session.kube.set_config_map(namespace, name, {ENTRY: held.text()})
    else:
        with suppress(KubeNotFound):
            session.kube.set_config_map(namespace, name, None)


def remember(session: Session, controller: str, partition: str, before: str | None) -> None:
    """Add one partition with the state that it had, unless it is held already; None forgets it."""
    with _ONE_AT_A_TIME:
        held = read(session, controller)
        others = {name: state for name, state in held.partitions.items() if name != partition}
        was = held.partitions.get(partition, before)
        wanted = others if before is None or was is None else {**others, partition: was}
        if wanted != held.partitions:
            write(session, controller, replace(held, partitions=wanted))


def partition_states(client: SlurmrestClient) -> dict[str, frozenset[str]]:
    """States of all partitions that slurmctld has."""
    return {each.name: each.partition.state for each in client.partitions()}


def reopen(session: Session, controller: str, name: str) -> None:
    """Open a NodeSet's own partition where the gate of its predecessor closed it.

    For a NodeSet that is replaced: slurmctld may never have read a file without the partition, and then keeps its state.
    """
    before = read(session, controller).partitions.get(name)
    if before is None:
        return
    if CLOSED.get(before, "") in partition_states(session.slurm).get(name, frozenset()):
        session.slurm.set_partition_state(name, before)
        session.report(f"partition {name} is {before} again", keep=True)
    remember(session, controller, name, None)


def restore(session: Session, owner: Owner, held: Held, states: Mapping[str, frozenset[str]]) -> None:
    """Set partitions to the states that they had, where ours still stand, and undrain hosts that carry our reason."""
    for name, before in sorted(held.partitions.items()):
        if CLOSED.get(before, "") in states.get(name, frozenset()):
            session.slurm.set_partition_state(name, before)
            session.report(f"partition {name} is {before} again", keep=True)
    if held.hosts:
        act_on_slurm(session.slurm, Undrain(held.hosts), owner, session.report)
