"""The first look: a hook right before something is created or changed, in preview too, so that nothing of others is taken
up, and nothing changed that a person has frozen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pulumi

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.taken import Question, refusal

Inputs = Mapping[str, Any]
Lost = Callable[[str], str | None]
"""What to say where a resource of the state (its kind in the plural, as in the API's paths) isn't in Kubernetes."""


def first_look(which: str, config: ClusterConfig, question: Question) -> pulumi.ResourceHookBinding:
    """The hook before one resource is created; ``which`` tells the hooks of a program apart."""
    return pulumi.ResourceHookBinding(before_create=[_hook(f"slinky-first-look-{which}", config, question)])


def look_before_update(which: str, config: ClusterConfig, question: Question) -> pulumi.ResourceHookBinding:
    """The hook before one resource is changed."""
    return pulumi.ResourceHookBinding(before_update=[_hook(f"slinky-before-update-{which}", config, question)])


def _hook(name: str, config: ClusterConfig, question: Question) -> pulumi.ResourceHook:
    async def look(_args: pulumi.ResourceHookArgs) -> None:
        preview = pulumi.runtime.is_dry_run()
        found = await asyncio.to_thread(refusal, config, question, os.environ, Path.home(), preview=preview)
        if found is not None:
            raise pulumi.RunError(found)

    return pulumi.ResourceHook(name, look, pulumi.ResourceHookOptions(on_dry_run=True))


def look_before(
    name: str, changes: Callable[[Inputs, Inputs], bool], look: Callable[[], str], *, warns: str, stops: str
) -> pulumi.ResourceHook:
    """A look, right before an update, at the jobs that it would end. ``changes``: whether the update from the old inputs to
    the new ones can end any. What ``look`` finds takes the place of ``{}``: a preview warns by ``warns``, and an update ends
    with ``stops`` before anything is changed."""

    async def before_update(args: pulumi.ResourceHookArgs) -> None:
        if not changes(args.old_inputs or {}, args.new_inputs or {}):
            return
        found = await asyncio.to_thread(look)
        if found and pulumi.runtime.is_dry_run():
            pulumi.log.warn(warns.replace("{}", found))
        elif found:
            raise pulumi.RunError(stops.replace("{}", found))

    return pulumi.ResourceHook(name, before_update, pulumi.ResourceHookOptions(on_dry_run=True))


def none_lost(_plural: str) -> str | None:
    """The answer where Kubernetes is not asked."""
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
