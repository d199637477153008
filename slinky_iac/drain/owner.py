"""Whose drain it is: stack and NodeSet, as written in reasons and tags."""

from __future__ import annotations

from dataclasses import dataclass

from slinky_iac import names


@dataclass(frozen=True)
class Owner:
    """One stack's hold on one NodeSet. ``nodeset`` is its name in the configuration."""

    stack: str
    nodeset: str

    @property
    def text(self) -> str:
        """``stack/nodeset``, as tags have it."""
        return f"{self.stack}/{self.nodeset}"

    @property
    def prefix(self) -> str:
        """Beginning of each reason that is this owner's."""
        return names.drain_owner(self.stack, self.nodeset)

    def owns(self, reason: str) -> bool:
        """Whether a drain reason is this owner's; Slurm may have appended to it, so its beginning decides."""
        return names.owns_reason(reason, self.stack, self.nodeset)

    def reason(self, why: str) -> str:
        """Reason for a drain of this owner's."""
        return names.drain_reason(self.stack, self.nodeset, why)
