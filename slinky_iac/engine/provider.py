"""What all dynamic providers do with the inputs and outputs that the engine hands them.

Every program imports this module, to hand its providers to the engine; only the plugin process calls their methods.
"""

from __future__ import annotations

from typing import Any, final

from pulumi.dynamic import CheckResult, DiffResult, ResourceProvider
from pulumi.output import Unknown

from slinky_iac.engine.plugin_process import engine_report, prepare

Props = dict[str, Any]


class Gate(ResourceProvider):
    """What all gates have in common: known inputs only, whole outputs always, and the stack name of their creation."""

    @final
    def check(self, _olds: Props, news: Props) -> CheckResult:
        """The inputs with what :meth:`planned` adds to them.

        A gate keeps the stack name under which it was created, for what it has written carries it: reasons of drains, tags
        of pods, comments of jobs. A stack that is renamed must still find its own.
        """
        prepare()
        news = self.recorded(_olds, sticky(_olds, news))
        if unknown := sorted(name for name, value in self.needed(news).items() if is_unknown(value)):
            _say_unplanned(_olds, news, unknown)
            return CheckResult(news, [])
        return self.planned(_olds, news)

    def recorded(self, _olds: Props, news: Props) -> Props:
        """The inputs with what the state is to know besides, for a destroy that no program guards."""
        return news

    def needed(self, news: Props) -> Props:
        """The inputs without which nothing can be planned."""
        return news

    def planned(self, _olds: Props, news: Props) -> CheckResult:
        """The inputs with a plan, and what must stop the preview. Called where all that is needed is known."""
        return CheckResult(news, [])

    def diff(self, _id: str, _olds: Props, _news: Props) -> DiffResult:
        """A difference where any input differs from the state."""
        return DiffResult(changes=any(_olds.get(key) != value for key, value in own_inputs(_news).items()))


def _say_unplanned(olds: Props, news: Props, unknown: list[str]) -> None:
    """A preview that can't plan is never a preview of nothing. Before the first update no node of the gate's runs jobs."""
    said = (
        f"not known in this preview: {', '.join(unknown)} (an Output of another resource). So it isn't planned here which"
        " nodes are drained and whose jobs are waited for, and no limit is judged. The update does both when it knows, and"
        " before it changes anything"
    )
    engine_report(str(news.get("urn", "")))(said, severity="warning" if olds else "info", keep=True)


def own_inputs(props: Props) -> Props:
    """A gate's inputs without what the SDK adds."""
    return {key: value for key, value in props.items() if not key.startswith("__")}


def outputs(props: Props) -> Props:
    """A gate's outputs: its inputs without that which only one update needs."""
    return {key: value for key, value in own_inputs(props).items() if key != "due"}


def sticky(olds: Props, news: Props) -> Props:
    """A resource keeps the stack name under which it was made: what it has written carries it."""
    return {**news, "stack": olds["stack"]} if olds.get("stack") else news


def is_unknown(value: object) -> bool:
    """Whether a value, or any part of it, is known only after an update."""
    if isinstance(value, dict):
        return any(is_unknown(part) for part in value.values())
    if isinstance(value, list):
        return any(is_unknown(part) for part in value)
    return isinstance(value, Unknown)
