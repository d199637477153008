"""Fixtures of the policy tests. The rules themselves need no pulumi_policy, so they are imported as the pack does."""

import sys
from pathlib import Path

from tests.integration.conftest import engine, kube, project, tools

__all__ = ["engine", "kube", "project", "tools"]

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "policies"))
