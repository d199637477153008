"""How each key is replaced under running jobs; a key of a part by the part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slinky_iac.commands.rotation.driver import KeyRotation
from slinky_iac.commands.rotation.jwt import JwtRotation
from slinky_iac.commands.rotation.slurm import SlurmRotation
from slinky_iac.parts.tokens.rotation import TokenRotation

ROTATIONS: Final[Mapping[str, type[KeyRotation]]] = {
    rotation.of.name: rotation for rotation in (JwtRotation, SlurmRotation, TokenRotation)
}
"""By the key's name, in the order in which `keys verify` tells of them."""
