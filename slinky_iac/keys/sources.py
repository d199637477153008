"""Where the keys that daemons share come from: a value for each way of `keys.source`. ``config/stack.py`` chooses one. All
other code asks it for what it needs, never which one it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class KeySource:
    """One way in which a cluster gets its keys."""

    setting: str
    """Its name in `keys.source`, for messages."""
    origin: str
    """Where the keys are from, in words."""
    unknown_prints: str
    """While their fingerprints aren't known: when they will be, or what to compare instead."""
    makes_values: bool = False
    """Whether the stack makes the keys, at random."""
    makes_secrets: bool = False
    """Whether the stack makes their Secrets. Otherwise others do, in the cluster's namespace, and no key is at hand here."""
    configured: bool = False
    """Whether they are the stack's secret configuration values. Then a next key can be beside the one in use, so that one is
    replaced step by step."""
    awaited: bool = False
    """Whether `pulumi up` waits until others have made the Secrets, and keeps a hash by which it knows each key again."""

    @property
    def in_state(self) -> bool:
        """Whether the state tells of the keys, by their Secrets or by a hash. Otherwise this program can't replace one."""
        return self.makes_secrets or self.awaited


KEY_SOURCES: Final = {
    source.setting: source
    for source in (
        KeySource(
            setting="generated",
            origin="made by the stack",
            unknown_prints="they are made by `pulumi up`: render again after it",
            makes_values=True,
            makes_secrets=True,
        ),
        KeySource(
            setting="imported",
            origin="imported, as the outside hosts have it",
            unknown_prints="render again with the stack's passphrase at hand, or after `pulumi up`",
            makes_secrets=True,
            configured=True,
        ),
        KeySource(
            setting="existing",
            origin="existing",
            unknown_prints="the stack never sees them: compare those that the checks print with the Secrets'",
        ),
        KeySource(
            setting="external",
            origin="from an external store",
            unknown_prints="the stack only knows them again: compare those that the checks print with the Secrets'",
            awaited=True,
        ),
    )
}
"""By the setting's value."""
