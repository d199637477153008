"""Pulumi as a rotation uses it: secrets by standard input, one update that may touch nothing but keys."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac.cluster.pulumi_command import printed
from slinky_iac.cluster.pulumi_state import (
    CONFIG_MAP,
    OF_CLIENTS,
    OF_KEYS,
    SECRET,
    STACK,
    State,
    custom,
    export,
    name_of,
    type_of,
)
from slinky_iac.config.stack import PROJECT
from slinky_iac.errors import RotationError, StateError
from slinky_iac.keys.registry import SIGNING

UP_S: Final = 3600
_MADE: Final = frozenset({SECRET, CONFIG_MAP})
_NOTED: Final = frozenset(custom(kind) for kind in ("Controller", "Accounting"))
"""Types of which an update of a rotation changes :data:`_NOTES` and nothing else."""
_NOTES: Final = frozenset(key.annotation for key in SIGNING.values())

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass
class Engine:
    """`pulumi` for one stack, the selected one where ``stack`` is None; in the folder and environment of this process."""

    stack: str | None
    run: Run = subprocess.run
    policies: tuple[str, ...] = ()
    """Options that name a policy pack, for every update and for the preview before it; a destroy knows no policies."""
    read_state: Callable[[str | None], State] = export
    checked: bool = False
    """Whether this process has seen that nothing but keys would change. A preview takes as long as an update."""

    def pulumi(
        self, *arguments: str, stdin: str = "", timeout: float | None = 120, more: Mapping[str, str] | None = None
    ) -> str:
        """What `pulumi` prints. ``more``: variables beside those of this process. Raises :class:`StateError` where it fails;
        what it was given isn't quoted."""
        which = ["--stack", self.stack] if self.stack else []
        env = {**os.environ, **(more or {})}

        def run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
            return self.run(
                ["pulumi", *words], input=stdin, env=env, capture_output=True, text=True, timeout=timeout, check=False
            )

        return printed(run, [*arguments, "--non-interactive", *which])

    def resources(self) -> State:
        """The resources in the stack's state."""
        return self.read_state(self.stack)

    def set_key(self, name: str, raw: bytes) -> None:
        """Set a secret of the configuration to a key, which goes by standard input: arguments can be read by others."""
        self.pulumi("config", "set", "--secret", f"{PROJECT}:{name}", stdin=base64.b64encode(raw).decode())

    def remove(self, name: str) -> None:
        """Remove a value of the configuration; nothing happens where it isn't set."""
        self.pulumi("config", "rm", f"{PROJECT}:{name}")

    def update_keys(self, say: Callable[[str], None], *, replaces: bool = True) -> None:
        """`pulumi up`, where nothing but keys would change; looked at once a process, before its first update.

        Raises :class:`RotationError` where something else would: it has to be applied, or taken back, on its own first. The
        protection of the key Secrets is lifted for this one update, which sets it again; not where it ``replaces`` none.
        """
        if replaces:
            self._unprotect()
        others = [] if self.checked else others_that_change(self.pulumi("preview", "--json", *self.policies, timeout=UP_S))
        if others:
            but = " but the protection of the key Secrets, which the next `pulumi up` sets" if replaces else ""
            raise RotationError(
                f"`pulumi up` would change more than keys: {', '.join(others[:6])}. Apply or revert that first, then"
                f" run this again. Nothing was changed{but}"
            )
        self.checked = True
        say("pulumi up")
        self.up()

    def remove_with_dependents(
        self, holders: Sequence[str], protected: Sequence[str], more: Mapping[str, str] | None = None
    ) -> None:
        """Destroy the resources ``holders`` (URNs) and all that was made after them; the gates among these drain first.
        ``more`` as for :meth:`pulumi`.

        No bound of time: a drain has its own, and an engine that is killed leaves its lock. Raises :class:`StateError` where
        it fails, as at a drain's deadline; what is gone then is out of the state, and the next call continues.
        """
        if protected:
            self.pulumi("state", "unprotect", *protected, "--yes")
        targets = [word for urn in holders for word in ("--target", urn)]
        self.pulumi("destroy", "--yes", "--skip-preview", *targets, "--target-dependents", timeout=None, more=more)

    def up(self) -> None:
        """`pulumi up`, whatever it changes, with the policies. Raises :class:`StateError` where it fails."""
        self.pulumi("up", "--yes", "--skip-preview", *self.policies, timeout=UP_S)

    def settled(self) -> None:
        """Raises :class:`RotationError` where the stack isn't as its configuration says, before any key is made."""
        try:
            self.pulumi("preview", "--expect-no-changes", "--diff", timeout=UP_S)
        except StateError as error:
            raise RotationError(
                "this stack has changes that are not applied yet, so a rotation would apply more than keys. Run `pulumi up`"
                f" first; `pulumi preview --diff` shows what it would do ({str(error).splitlines()[-1]})"
            ) from None
        self.checked = True

    def _unprotect(self) -> None:
        if wanted := [
            resource.urn for resource in self.resources().all(SECRET) if resource.protect and _of_keys(resource.urn)
        ]:
            self.pulumi("state", "unprotect", *wanted, "--yes")


def others_that_change(preview: str) -> list[str]:
    """Logical names of resources that a `preview --json` changes and that are no keys', or are changed in more than the
    annotations that tell of a key. Raises :class:`StateError`."""
    try:
        steps: Sequence[Mapping[str, Any]] = json.loads(preview).get("steps") or []
        changed = [step for step in steps if step["op"] not in ("same", "read", "refresh")]
        return [name_of(str(step["urn"])) for step in changed if not _of_a_rotation(step)]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise StateError("`pulumi preview --json` printed no preview: nothing was updated") from None


def _of_a_rotation(step: Mapping[str, Any]) -> bool:
    urn = str(step["urn"])
    kind = type_of(urn)
    if kind in _NOTED:
        return step["op"] == "update" and _without_notes(step["oldState"]) == _without_notes(step["newState"])
    return kind == STACK or _of_keys(urn)


def _without_notes(state: Mapping[str, Any]) -> dict[str, Any]:
    """A resource's inputs but for the annotations that tell of a key."""
    inputs = dict(state["inputs"])
    metadata = dict(inputs.get("metadata") or {})
    notes = {name: text for name, text in (metadata.get("annotations") or {}).items() if name not in _NOTES}
    return inputs | {"metadata": metadata | {"annotations": notes}}


def _of_keys(urn: str) -> bool:
    return (type_of(urn) in _MADE and OF_KEYS in urn) or (type_of(urn) == SECRET and OF_CLIENTS in urn)
