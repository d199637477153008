"""A whole program in one call: read the stack's settings, build the cluster, export what the next person needs."""

import os
from functools import partial
from pathlib import Path

import pulumi

from slinky_iac.collector import collect_seldom
from slinky_iac.config.findings import Finding
from slinky_iac.config.reading.engine import read_stack
from slinky_iac.config.stack import StackConfig
from slinky_iac.engine.program_process import end_silently
from slinky_iac.ownership import lost
from slinky_iac.preflight import notices

from .first_look import require_adopted
from .hybrid_cluster import HybridCluster, HybridClusterArgs
from .joining import require_alone
from .threads import in_thread
from .trial import trial_of


def hybrid_cluster(opts: pulumi.ResourceOptions | None = None) -> HybridCluster:
    """The cluster of the current stack, with all outputs exported. Raises
    :class:`slinky_iac.config.reading.engine.StackRefused` if the stack's configuration has errors."""
    end_silently()
    collect_seldom()
    require_alone()
    settings = read_stack()
    config, home = settings.config, Path.home()
    require_adopted(config)
    args = HybridClusterArgs(
        settings=settings,
        notices=_notices,
        lost=partial(lost, config, os.environ, home),
        trial=trial_of(config),
    )
    cluster = HybridCluster(config.cluster.name, args, opts)
    cluster.export()
    return cluster


async def _notices(config: StackConfig) -> tuple[Finding, ...]:
    nothing: tuple[Finding, ...] = ()
    return await in_thread(partial(notices, config, os.environ, Path.home()), nothing)
