"""What a gate has closed or drained before slurm.conf loses it or slurmctld ends: written down first, in a ConfigMap
(:class:`slinky_iac.closing.Held`), and given back from there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Final

from slinky_iac.closing import ENTRY, Held, place
from slinky_iac.drain import conf_steps
from slinky_iac.drain.conf_steps import ConfSettings
from slinky_iac.drain.observe import partition_states
from slinky_iac.drain.protocol import Undrain
from slinky_iac.drain.session import Session, act_on_slurm
from slinky_iac.drain.settings import Owner
from slinky_iac.errors import KubeNotFound

_ONE_AT_A_TIME: Final = Lock()
"""The gates of several NodeSets run in one process, and each writes down its own partition."""


def held_of(session: Session, controller: str) -> Held:
    """What is held; nothing where there is no ConfigMap. Raises what Kubernetes raises."""
    try:
        data = session.kube.config_map_data(session.reach.namespace, place(controller))
    except KubeNotFound:
        return Held()
    return Held.read(data.get(ENTRY, ""))


def hold(session: Session, controller: str, held: Held) -> None:
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
        held = held_of(session, controller)
        others = {name: state for name, state in held.partitions.items() if name != partition}
        was = held.partitions.get(partition, before)
        wanted = others if before is None or was is None else {**others, partition: was}
        if wanted != held.partitions:
            hold(session, controller, replace(held, partitions=wanted))


def reopen(session: Session, controller: str, name: str) -> None:
    """Open a NodeSet's own partition where the gate of its predecessor closed it.

    For a NodeSet that is replaced: slurmctld may never have read a file without the partition, and then keeps its state.
    """
    before = held_of(session, controller).partitions.get(name)
    if before is None:
        return
    _open(session, {name: before}, partition_states(session.slurm))
    remember(session, controller, name, None)


def restore(session: Session, owner: Owner, held: Held, states: Mapping[str, frozenset[str]]) -> None:
    """Set partitions to the states that they had, where ours still stand, and undrain hosts that carry our reason."""
    _open(session, held.partitions, states)
    if held.hosts:
        act_on_slurm(session.slurm, Undrain(held.hosts), owner, session.report)


def _open(session: Session, partitions: Mapping[str, str], states: Mapping[str, frozenset[str]]) -> None:
    for name, before in sorted(partitions.items()):
        if conf_steps.CLOSED.get(before, "") in states.get(name, frozenset()):
            session.slurm.set_partition_state(name, before)
            session.report(f"partition {name} is {before} again", keep=True)


def forget(session: Session, settings: ConfSettings) -> None:
    """slurmctld is gone, and with it what was closed and drained: leave nothing of that in a namespace that stays."""
    if not settings.outside and held_of(session, settings.controller):
        hold(session, settings.controller, Held())
