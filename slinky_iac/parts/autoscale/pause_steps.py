"""What a gate was told of its NodeSet's ScaledObject, what a look shows of it, and the next step towards one that is paused
or given back: pure decisions of :mod:`slinky_iac.parts.autoscale.pause`."""

from __future__ import annotations

from dataclasses import dataclass

from slinky_iac.drain.protocol import Done, Step, Wait
from slinky_iac.drain.settings import GateSettings, Owner


@dataclass(frozen=True)
class PauseScaler(Step):
    """Let KEDA scale nothing, with our mark, if the ScaledObject is still the one of this look."""

    doing = "pausing the autoscaler"
    mark: str


@dataclass(frozen=True)
class ResumeScaler(Step):
    """Take our pause back and write the maximum, in one patch, if the ScaledObject is still the one of this look."""

    doing = "giving the autoscaler back"
    max_replicas: int | None
    """None: it stays as it is."""


@dataclass(frozen=True)
class Told:
    """What the gate was told (:func:`slinky_iac.parts.autoscale.scaler.gate_props`)."""

    name: str = ""
    """The ScaledObject that the stack makes for the NodeSet; ``""`` where it makes none."""
    leaving: str = ""
    """The one that it had, and that the engine removes after this update."""
    step: int = 1
    """Nodes that it asks for at once for jobs of one node."""
    least: int = 0
    """Fewest replicas that it asks for."""

    @classmethod
    def of(cls, settings: GateSettings) -> Told:
        """Read the gate's inputs; numbers may have come as floats."""
        told = settings.props
        return cls(
            name=str(told.get("autoscaler") or ""),
            leaving=settings.leaving,
            step=int(told.get("autoscalerStep") or 1),
            least=int(told.get("autoscalerMinimum") or 0),
        )

    @property
    def pausable(self) -> str:
        """The one that is paused while the gate drains; ``""`` where there is none."""
        return self.name or self.leaving


@dataclass(frozen=True)
class ScalerView:
    """A ScaledObject in one look."""

    paused: bool
    mark: str
    """Our annotation; ``""`` where it has none."""
    stopped: bool
    """KEDA has seen the pause, and no HorizontalPodAutoscaler is left that writes the NodeSet."""
    max_replicas: int | None

    def is_ours(self, owner: Owner) -> bool:
        """Whether a run of this gate has paused it."""
        return self.mark.partition(" ")[0] == owner.text

    def is_of(self, owner: Owner, run: str) -> bool:
        """Whether this very run has."""
        return self.mark == mark(owner, run)


def mark(owner: Owner, run: str) -> str:
    """Value of the annotation by which a gate says that the pause is its own."""
    return f"{owner.text} {run}"


def pause_step(seen: ScalerView | None, owner: Owner, run: str) -> Step:
    """The next act towards an autoscaler that stands still. Done where there is none, or where a person has paused it."""
    if seen is None:
        return Done()
    if not seen.paused or (seen.is_ours(owner) and not seen.is_of(owner, run)):
        return PauseScaler(mark(owner, run))
    return (
        Done() if seen.stopped else Wait("KEDA has not yet stopped: its HorizontalPodAutoscaler is still there", soon=True)
    )


def resume_step(seen: ScalerView | None, owner: Owner, run: str, max_replicas: int | None) -> Step:
    """What gives the autoscaler back. ``run``: ``""`` for a pause of any run of this gate."""
    if seen is None or not (seen.is_of(owner, run) if run else seen.is_ours(owner)):
        return Done()
    return ResumeScaler(None if max_replicas == seen.max_replicas else max_replicas)
