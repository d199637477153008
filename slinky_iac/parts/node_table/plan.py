"""Which labels and annotations each Kubernetes node should have, and who is in the way. Pure.

Every apply names the node's uid: without one the API server makes what isn't there, and a node that has left the cluster
would come back as an object without a machine (run; pulumi-kubernetes' NodePatch does so, when it is deleted too).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.settings import known_schema, reach_from
from slinky_iac.errors import SlinkyError
from slinky_iac.hostlist import expand
from slinky_iac.kube.machines import PARTS, Machine
from slinky_iac.text import some

Values = Mapping[tuple[str, str], str]
"""Of one node: by part (labels or annotations) and key."""
Plan = Mapping[str, Values]
"""By node."""
MANAGER: Final = "slinky-iac"
"""Beginning of the field manager; the stack's name follows. The API server keeps what each manager has set apart."""
NAMED: Final = 5


class NodeTableError(SlinkyError):
    """The node table can't be written as it is: two values for one node, or a value of another manager's."""


@dataclass(frozen=True)
class Row:
    """One row of the table, as far as Kubernetes nodes go."""

    names: tuple[str, ...]
    """Hostlists."""
    selector: Mapping[str, str]
    values: Values


@dataclass(frozen=True)
class TableSettings:
    """What the resource's props say."""

    stack: str
    rows: tuple[Row, ...]
    reach: Reach
    urn: str

    @property
    def manager(self) -> str:
        """This stack's field manager."""
        return f"{MANAGER}/{self.stack}"[:128]

    @classmethod
    def from_props(cls, props: Mapping[str, Any]) -> TableSettings:
        """Read props, from a program or from a state file. :raises ValueError: they are of another program's making."""
        known_schema(props)
        return cls(str(props["stack"]), tuple(_row(row) for row in props["rows"]), reach_from(props), str(props["urn"]))


def _row(props: Mapping[str, Any]) -> Row:
    return Row(tuple(map(str, props["names"])), dict(props["selector"]), values(props))


def values(props: Mapping[str, Any]) -> Values:
    """Labels and annotations, as the props have them."""
    return {(part, str(key)): str(value) for part in PARTS for key, value in (props.get(part) or {}).items()}


def plain(plan: Plan) -> dict[str, dict[str, dict[str, str]]]:
    """A plan as props, in a stable order."""
    return {
        node: {part: {key: own[at, key] for at, key in sorted(own) if at == part} for part in PARTS}
        for node, own in sorted(plan.items())
    }


def planned(rows: Iterable[Row], live: Mapping[str, Machine]) -> dict[str, Values]:
    """What each node that is there should have. :raises NodeTableError: two rows give it two values."""
    plan: dict[str, dict[tuple[str, str], str]] = {}
    for number, row in enumerate(rows):
        for node in _nodes(row, live):
            own = plan.setdefault(node, {})
            for key, value in row.values.items():
                if own.setdefault(key, value) != value:
                    raise NodeTableError(
                        f"row {number} of the node table's Kubernetes nodes gives {node} another {key[1]} than a row before"
                        " it. Leave it out of one"
                    )
    return dict(plan)


def _nodes(row: Row, live: Mapping[str, Machine]) -> dict[str, None]:
    named = (name for text in row.names for name in expand(text) if name in live)
    meant = (name for name, at in live.items() if row.selector and row.selector.items() <= at.metadata.labels.items())
    return dict.fromkeys((*named, *meant))


def absent(rows: Iterable[Row], live: Mapping[str, Machine]) -> str:
    """A sentence about nodes that the table names and that aren't there; ``""`` where all are."""
    gone = sorted({name for row in rows for text in row.names for name in expand(text)} - live.keys())
    if not gone:
        return ""
    return (
        f"the node table names {some(gone, NAMED)}, and Kubernetes has no such node. It gets its labels from the"
        " first `pulumi up` that finds it"
    )


def conflicts(plan: Plan, live: Mapping[str, Machine], manager: str) -> tuple[str, ...]:
    """Values that other managers have set: an apply would be refused, and nothing is taken over."""
    sentences: list[str] = []
    for node, own in plan.items():
        for (part, key), value in own.items():
            got = getattr(live[node].metadata, part).get(key)
            others = [setter for setter in live[node].setters(part, key) if setter != manager]
            if got is not None and got != value and others:
                sentences.append(
                    f"conflict on node {node}: {key} is {got!r}, set by {', '.join(others)}, and the node table says"
                    f" {value!r}. It is never taken over: remove it there, or take it out of the table"
                )
    return tuple(sentences)


def due(plan: Plan, live: Mapping[str, Machine], manager: str) -> str:
    """Why the update must write though the settings are as before: what is lacking, or left; ``""`` where nothing is."""
    lacking = sorted(
        node
        for node, own in plan.items()
        if any(getattr(live[node].metadata, part).get(key) != value for (part, key), value in own.items())
    )
    left = sorted(node for node, at in live.items() if node not in plan and at.managed_by(manager))
    differences = (("lacks what the table says", lacking), ("has what the table no longer says", left))
    return "; ".join(f"{', '.join(nodes)} {what}" for what, nodes in differences if nodes)
