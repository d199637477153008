"""Rules of the fence in the API server."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig


def _of_pods(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    cluster = config.cluster
    if cluster.fence_pods and not cluster.fence:
        yield at("cluster.fencePods").ignored("cluster.fence is false, so the stack makes no fence")


RULES = (_of_pods,)
