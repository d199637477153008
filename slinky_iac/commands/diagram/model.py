"""What a picture holds, before anybody knows where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Place = Literal["desk", "kubernetes", "outside"]
Kind = Literal["desk", "control", "daemon", "service", "nodes", "login", "database"]


@dataclass(frozen=True)
class Box:
    """Something that runs, or leads somewhere."""

    id: str
    title: str
    lines: tuple[str, ...] = ()
    place: Place = "kubernetes"
    kind: Kind = "daemon"
    keys: tuple[str, ...] = ()
    """Ids of the keys that it holds."""
    column: int = 0
    """0 desk, 1 control plane, 2 Slurm in Kubernetes, 3 outside."""
    row: int = 0


@dataclass(frozen=True)
class Arrow:
    """Who opens a connection to whom, and on which port."""

    tail: str
    head: str
    label: str = ""
    dashed: bool = False
    """By a detour that is not drawn: the API server's service proxy."""
    both: bool = False
    """Connections are opened in both directions."""


@dataclass(frozen=True)
class Key:
    """A key by name."""

    id: str
    name: str
    text: str
    """Where it is and what it is for."""


@dataclass(frozen=True)
class Picture:
    """A hybrid cluster."""

    title: str
    description: str
    """The whole picture in a sentence or two, for who can't see it."""
    kubernetes: str
    """Caption of what is inside."""
    external: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    keys: tuple[Key, ...]

    def box(self, wanted: str) -> Box:
        """The box of an id. Raises KeyError where there is none."""
        for each in self.boxes:
            if each.id == wanted:
                return each
        raise KeyError(wanted)
