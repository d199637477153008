"""The wire format of a Secret: its entries, when it was made, and when each entry was last written."""

from __future__ import annotations

from typing import Any, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

_DATA: Final = "f:data"


class _Raw(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True, strict=True, defer_build=True)


class _Manager(_Raw):
    time: AwareDatetime | None = None
    fields: dict[str, Any] = Field(default_factory=dict, alias="fieldsV1")


class _Metadata(_Raw):
    created: AwareDatetime | None = Field(None, alias="creationTimestamp")
    managers: list[_Manager] = Field(default_factory=list, alias="managedFields")


class SecretBody(_Raw):
    """A Secret's entries, still in base64 (pydantic's own decoding would skip bytes that don't belong); not in ``repr``."""

    metadata: _Metadata = _Metadata()
    data: dict[str, str] = Field(default_factory=dict, repr=False)

    @property
    def made(self) -> int | None:
        """When it was made, in seconds since 1970; None where the API server doesn't say."""
        return None if self.metadata.created is None else int(self.metadata.created.timestamp())

    def written(self, entry: str) -> int | None:
        """When whoever owns ``entry`` last changed anything of theirs in the Secret: the entry is at least as old.

        Field managers say so (Kubernetes, "Server-Side Apply", ``managedFields[].time``); None where none owns the entry.
        """
        times = [
            int(manager.time.timestamp())
            for manager in self.metadata.managers
            if manager.time is not None and f"f:{entry}" in (manager.fields.get(_DATA) or {})
        ]
        return max(times, default=None)
