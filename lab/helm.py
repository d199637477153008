"""The program helm, as users of a chart have it: Helm 3 and Helm 4, which write objects in two different ways."""

from pathlib import Path

from lab import obtain, tools
from lab.obtain import Say

NAME = "helm"


def program(version: str, *, say: Say = print) -> Path:
    """helm of one of the versions that the lab has; built if it is not in CACHE."""
    (tool,) = (tool for tool in tools.HELMS if tool.version == version)
    return obtain.ensure((tool,), say=say)[NAME]


def programs() -> None:
    """All of them."""
    for tool in tools.HELMS:
        program(tool.version)
