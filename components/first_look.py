"""The first look: a hook right before something is created or changed, in preview too, so that nothing of others is taken
up, and nothing changed that a person has frozen."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pulumi

from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.ownership import Question, adopted, refusal

from .threads import has_mocks, in_thread

Inputs = Mapping[str, Any]
Lost = Callable[[str], str | None]
"""What to say where a resource of the state (its kind in the plural, as in the API's paths) isn't in Kubernetes."""
Command = Callable[[], Awaitable[str]]


def first_look(
    which: str, config: ClusterConfig, question: Question, mends: Command | None = None
) -> pulumi.ResourceHookBinding:
    """The hook before one resource is created; ``which`` tells the hooks of a program apart. ``mends``: what takes the place
    of ``{}`` in its refusal."""
    return pulumi.ResourceHookBinding(before_create=[_hook(f"slinky-first-look-{which}", config, question, mends)])


def look_before_update(which: str, config: ClusterConfig, question: Question) -> pulumi.ResourceHookBinding:
    """The hook before one resource is changed."""
    return pulumi.ResourceHookBinding(before_update=[_hook(f"slinky-before-update-{which}", config, question)])


def import_command(component: pulumi.Resource, parent: pulumi.Resource | None, kind: str, name: str, there: str) -> Command:
    """The command that takes up what is in Kubernetes (``there``: namespace and name) as a child of ``component``, which an
    older state may lack too. Tried on the engine: tests/integration/test_older_state.py."""

    async def command() -> str:
        own = {"type": component._type, "name": component._name, "component": True}
        made = {"type": kind, "name": name, "id": there, "parent": component._name}
        known: dict[str, str | None] = {}
        if parent is not None:
            own["parent"], known["its-parent"] = "its-parent", await parent.urn.future()
        if (provider := component.get_provider(kind)) is not None:
            made["provider"], known["its-provider"] = "its-provider", await provider.urn.future()
        text = json.dumps({"nameTable": known, "resources": [own, made]}, separators=(",", ":"))
        return (
            f"echo {shlex.quote(text)} | pulumi import --stack {shlex.quote(pulumi.get_stack())} --file /dev/stdin"
            " --generate-code=false --protect=false --yes"
        )

    return command


def _hook(name: str, config: ClusterConfig, question: Question, mends: Command | None = None) -> pulumi.ResourceHook:
    async def look(_args: pulumi.ResourceHookArgs) -> None:
        preview = pulumi.runtime.is_dry_run()
        message = await in_thread(lambda: refusal(config, question, os.environ, Path.home(), preview=preview), None)
        if message is not None:
            raise pulumi.RunError(message if mends is None else message.replace("{}", await mends()))

    return pulumi.ResourceHook(name, look, pulumi.ResourceHookOptions(on_dry_run=True))


def look_before(
    name: str,
    changes: Callable[[Inputs, Inputs], bool],
    look: Callable[[], Awaitable[str]],
    *,
    warns: str,
    stops: str,
) -> pulumi.ResourceHook:
    """A look, right before an update, at the jobs that it would end. ``changes``: whether the update from the old inputs to
    the new ones can end any. What ``look`` finds takes the place of ``{}``: a preview warns by ``warns``, and an update ends
    with ``stops`` before anything is changed."""

    async def before_update(args: pulumi.ResourceHookArgs) -> None:
        old, new = args.old_inputs or {}, args.new_inputs or {}
        if "spec" in new and "spec" not in old:  # imported right before: its inputs are a name, what it is like is an output
            old = within(args.old_outputs or {}, new)
        if not changes(old, new):
            return
        message = await look()
        if message and pulumi.runtime.is_dry_run():
            pulumi.log.warn(warns.replace("{}", message))
        elif message:
            raise pulumi.RunError(stops.replace("{}", message))

    return pulumi.ResourceHook(name, before_update, pulumi.ResourceHookOptions(on_dry_run=True))


def within(there: Any, asked: Any) -> Any:  # noqa: ANN401 - any JSON
    """Of what is in Kubernetes the fields that an update names, which are all that it can change."""
    if isinstance(there, Mapping) and isinstance(asked, Mapping):
        return {key: within(there[key], inner) for key, inner in asked.items() if key in there}
    if isinstance(there, list) and isinstance(asked, list) and len(there) == len(asked):
        return [within(*pair) for pair in zip(there, asked, strict=True)]
    return there


def require_adopted(config: ClusterConfig) -> None:
    """Before anything is registered: what the stack takes over is there, and Helm has let it go. Raises StackRefused."""
    question = adopted(config)
    if question is None or has_mocks():
        return
    message = refusal(config, question, os.environ, Path.home(), preview=pulumi.runtime.is_dry_run())
    if message is not None:
        raise StackRefused(message)


def none_lost(_plural: str) -> str | None:
    """The answer where Kubernetes is not asked."""
    return None


def require_there(resource: pulumi.CustomResource, plural: str, lost: Lost) -> None:
    """Say at once that a resource of the state isn't in Kubernetes. An update ends with it, since each step that follows
    would wait out its deadline. In a preview a resource has an ID only where the state has it."""

    async def look(_known: str) -> None:
        message = await in_thread(lambda: lost(plural), None)
        if message is not None and not pulumi.runtime.is_dry_run():
            raise pulumi.RunError(message)
        if message is not None:
            pulumi.log.warn(message, resource=resource)

    told: pulumi.Output[None] = resource.id.apply(look)
    del told
