"""The first look: a hook right before something is created, in preview too, so that nothing of others is taken up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pulumi

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.taken import Question, refusal

Lost = Callable[[str], str | None]
"""What to say where a resource of the state (its kind in the plural, as in the API's paths) isn't in Kubernetes."""


def first_look(which: str, config: ClusterConfig, question: Question) -> pulumi.ResourceHookBinding:
    """The hook for one resource; ``which`` tells the hooks of a program apart."""

    async def before_create(_args: pulumi.ResourceHookArgs) -> None:
        preview = pulumi.runtime.is_dry_run()
        found = await asyncio.to_thread(refusal, config, question, os.environ, Path.home(), preview=preview)
        if found is not None:
            raise pulumi.RunError(found)

    hook = pulumi.ResourceHook(f"slinky-first-look-{which}", before_create, pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceHookBinding(before_create=[hook])


def none_lost(_plural: str) -> str | None:
    """Where nobody is asked."""
    return None


def require_there(resource: pulumi.CustomResource, plural: str, lost: Lost) -> None:
    """Say at once that a resource of the state isn't in Kubernetes. An update ends with it, since each step that follows
    would wait out its deadline. In a preview a resource has an ID only where the state has it."""

    async def look(_known: str) -> None:
        found = await asyncio.to_thread(lost, plural)
        if found is not None and not pulumi.runtime.is_dry_run():
            raise pulumi.RunError(found)
        if found is not None:
            pulumi.log.warn(found, resource=resource)

    told: pulumi.Output[None] = resource.id.apply(look)
    del told
