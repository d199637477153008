"""The node table in whole programs."""

from __future__ import annotations

SECTIONS = {"nodes": {"table": [{"names": ["worker-1"], "features": ["ib"]}]}}
