"""The fence in whole programs."""

from __future__ import annotations

SECTIONS = {"cluster": {"fence": True}}
