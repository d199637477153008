"""The wire format of any object's metadata: what it is called, which one it is, and who made it."""

from __future__ import annotations

from types import MappingProxyType

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from slinky_iac.kube.models import Marks


class _Raw(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True, strict=True, defer_build=True)


class _Metadata(_Raw):
    name: str = Field(min_length=1)
    uid: str = Field(min_length=1)
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    created: AwareDatetime | None = Field(None, alias="creationTimestamp")


class ObjectBody(_Raw):
    """An object of any kind."""

    metadata: _Metadata

    def value(self) -> Marks:
        """As a frozen value."""
        meta = self.metadata
        created = None if meta.created is None else int(meta.created.timestamp())
        return Marks(meta.name, meta.uid, MappingProxyType(meta.labels), MappingProxyType(meta.annotations), created)


class ObjectList(_Raw):
    """Objects of one kind: without a single one the API server says null where it is asked for metadata only."""

    items: list[ObjectBody] | None
