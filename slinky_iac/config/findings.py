"""What is to say about a configuration: a level, a place, a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from slinky_iac.config.shown import place


class Level(StrEnum):
    """How much a finding weighs."""

    ERROR = "error"
    """Stops before the first resource."""
    WARNING = "warning"
    """Shown in every preview: works, but something will surprise."""
    INFO = "info"
    """Something that the outside half must do, or that this program did by itself."""


@dataclass(frozen=True)
class Finding:
    """One sentence about one setting: what was found, what follows, what to do next."""

    level: Level
    path: str
    message: str
    paste: str = ""
    """YAML that puts it right, to paste below ``config:``; empty where a sentence says it all."""

    def __str__(self) -> str:
        return f"{place(self.path)}: {self.message}"


def error(path: str, message: str, paste: str = "") -> Finding:
    """A finding that stops."""
    return Finding(Level.ERROR, path, message, paste)


def warning(path: str, message: str) -> Finding:
    """A finding that warns."""
    return Finding(Level.WARNING, path, message)


def info(path: str, message: str) -> Finding:
    """A finding that tells."""
    return Finding(Level.INFO, path, message)
