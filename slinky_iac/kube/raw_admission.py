"""The wire format of a ValidatingAdmissionPolicy and of its binding: the spec as it is, to be compared whole."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict

ADMISSION: Final = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
"""Where each kind is served."""


class _Raw(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True, strict=True, defer_build=True)


class AdmissionBody(_Raw):
    """Only the spec."""

    spec: dict[str, Any]


class _Served(_Raw):
    name: str


class ServedBody(_Raw):
    """The resources of one version of an API group."""

    resources: list[_Served]


class GroupsBody(_Raw):
    """All API groups."""

    groups: list[_Served]
