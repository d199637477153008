"""A trial of the stack's files by the daemons themselves, before anything of the cluster is made or changed."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pulumi

from slinky_iac.cluster_access import kube_connection
from slinky_iac.config.stack import StackConfig

from .threads import in_thread

if TYPE_CHECKING:  # few stacks ask for a trial
    from slinky_iac.preflight.untried import Outcome

Trial = Callable[[StackConfig], Awaitable["Outcome"]]
"""Tries what is new of a configuration's files."""


def trial_of(config: StackConfig) -> Trial | None:
    """The trial that a stack asks for; None where it asks for none."""
    return _tried if config.slurmctld.tries_files else None


async def _tried(config: StackConfig) -> Outcome:
    from slinky_iac.preflight.ask_trials import try_first  # noqa: PLC0415 - see above
    from slinky_iac.preflight.untried import Outcome  # noqa: PLC0415

    def tried() -> Outcome:
        with kube_connection(config, os.environ, Path.home()) as way:
            return try_first(config, way)

    return await in_thread(tried, Outcome())


async def require_taken(trial: Trial, config: StackConfig, about: pulumi.Resource) -> None:
    """Say what the daemons said of ``config``'s files. Raises RunError, which ends the run before anything is changed, where
    one refuses them; and in an update where there is no verdict."""
    verdict, preview = await trial(config), pulumi.runtime.is_dry_run()
    said = verdict.in_words(preview=preview)
    if verdict.stops(preview=preview):
        raise pulumi.RunError(said)
    if verdict.said and verdict.is_known:
        pulumi.log.info(said, resource=about)
    elif verdict.said:
        pulumi.log.warn(said, resource=about)
