"""What a stack's state says, read through `pulumi stack export`: which gates it has and how they reach their clusters.

The gates' props hold no secret, so nothing is decrypted and no passphrase is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from slinky_iac import names
from slinky_iac.drain.settings import GateSettings, OutsideSettings
from slinky_iac.errors import StateError
from slinky_iac.pulumi_command import Runner, answer, run_pulumi

OUTSIDE_HOSTS: Final = "pulumi-python:dynamic/slurm:OutsideHosts"


@contextmanager
def as_written() -> Iterator[None]:
    """Around reading a state: raises :class:`StateError` where a part isn't as any release of this program writes it. A
    number of a shape that isn't known stays a ValueError, which says so."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise StateError(
            f"the stack's state isn't as this program writes it ({type(error).__name__}), so nothing was concluded from it."
            " Somebody may have edited it: `pulumi stack export` shows it, and the backend's backups have it as it was"
        ) from None


def export(stack: str | None, run: Runner = run_pulumi) -> list[Mapping[str, Any]]:
    """The resources in a stack's state; the selected stack where ``stack`` is None.

    Raises :class:`StateError` where pulumi can't be run or doesn't answer with a state.
    """
    advice = "Run it from the project's folder, logged in to its backend, or name the stack with --stack"
    return answer(run, ["stack", "export"], stack, _resources, wanted="a stack's state", advice=advice)


def _resources(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(state["deployment"].get("resources") or [])


def everything(stack: str | None, run: Runner = run_pulumi, *, decrypted: bool) -> list[Mapping[str, Any]]:
    """All resources of a state, those of operations that were cut short among them; ``decrypted``: with all secrets in
    clear, so show none of it. Raises :class:`StateError`."""
    arguments = ["stack", "export", *(["--show-secrets"] if decrypted else [])]
    return answer(run, arguments, stack, _everything, wanted="a stack's state")


def _everything(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    pending = [each["resource"] for each in state["deployment"].get("pending_operations") or []]
    found = [*_resources(state), *pending]
    if not all(isinstance(each, dict) for each in found):
        raise TypeError
    return found


def history(stack: str | None, entries: int, run: Runner = run_pulumi) -> list[Mapping[str, Any]]:
    """The last ``entries`` updates, refreshes and destroys of a stack, newest first. Raises :class:`StateError`.

    The entries hold the configuration of their time, encrypted secrets included: show none of it.
    """
    arguments = ["stack", "history", "--json", "--page-size", str(entries)]
    return answer(run, arguments, stack, _entries, wanted="a list of updates")


def _entries(listed: object) -> list[Mapping[str, Any]]:
    if not isinstance(listed, list):
        raise TypeError
    return [each for each in listed if isinstance(each, dict)]


@as_written()
def gates(resources: Sequence[Mapping[str, Any]]) -> dict[str, GateSettings]:
    """Settings of all NodeSets' gates, by NodeSet; of states of releases before 0.2 too."""
    found = (GateSettings.from_props(each["outputs"]) for each in resources if each.get("type") in names.DRAINING_GATES)
    return {settings.owner.nodeset: settings for settings in found}


@as_written()
def outside_hosts(resources: Sequence[Mapping[str, Any]]) -> OutsideSettings | None:
    """Settings of the gate of the bare-metal hosts, where the stack has one."""
    found = [OutsideSettings.from_props(each["outputs"]) for each in resources if each.get("type") == OUTSIDE_HOSTS]
    return found[0] if found else None
