"""Kubernetes' rules of amounts: resources of containers, sizes of claims, and what variables have of them. Pure.

Source: ``pkg/apis/core/validation/validation.go`` of :data:`.types.RELEASE`, by the functions that are named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slinky_iac.config.kubernetes import names
from slinky_iac.config.kubernetes.pieces import Faults, Piece, listed, mapped
from slinky_iac.config.quantities import amount
from slinky_iac.config.shown import name_of

_PLAIN: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_PAGES: Final = "hugepages-"
_UNITS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def resources(value: Piece) -> Faults:
    """``ValidateContainerResourceRequirements``, ``validateContainerResourceName``."""
    limits, requests = mapped(value, "limits"), mapped(value, "requests")
    for field, given in (("limits", limits), ("requests", requests)):
        for name, quantity in given.items():
            yield from _entry(f".{field}.{name_of(str(name))}", str(name), quantity)
    for name, asked in requests.items():
        yield from _against(str(name), asked, limits)
    every = {str(name) for name in (*limits, *requests)}
    if any(name.startswith(_PAGES) for name in every) and not every & {"cpu", "memory"}:
        yield "", "has hugepages, and Kubernetes then requires cpu or memory beside them"
    yield from _claims(value)


def _claims(value: Piece) -> Faults:
    """``validateResourceClaimNames``: a claim as a whole once, or requests of it, each once."""
    seen = dict[str, set[str]]()
    for number, claim in enumerate(listed(value, "claims")):
        name, request = str(claim.get("name") or ""), str(claim.get("request") or "")
        before = seen.setdefault(name, set())
        if request in before:
            yield f".claims[{number}]", "is a second time what is claimed already; Kubernetes takes it once"
        elif before and "" in {request, *before}:
            yield f".claims[{number}]", "is a part of a claim that is there as a whole; Kubernetes takes one of the two"
        before.add(request)


def _entry(path: str, name: str, quantity: object) -> Faults:
    number = amount(quantity)
    if not (name in _PLAIN or name.startswith(_PAGES) or names.is_device(name)):
        yield path, "isn't a resource of a container; Kubernetes takes cpu, memory, ephemeral-storage and DOMAIN/DEVICE"
    elif number is None:
        return
    elif number < 0:
        yield path, "is below 0"
    elif name.startswith(_PAGES):
        page = amount(name.removeprefix(_PAGES))
        if not page or number <= 0 or number % page:
            yield path, "isn't a whole number of pages of that size, which is written as hugepages-2Mi or hugepages-1Gi"
    elif "/" in name and number.denominator != 1:
        yield path, "isn't a whole number, and devices are counted"


def _against(name: str, asked: object, limits: Piece) -> Faults:
    """A request beside its limit. Those of devices and pages are the same: nothing is shared."""
    path, limit, request = f".requests.{name_of(name)}", amount(limits.get(name)), amount(asked)
    whole = "/" in name or name.startswith(_PAGES)
    if request is None:
        return
    if limit is None:
        if whole and name not in limits:
            yield path, "is set without a limit, which Kubernetes requires of devices and hugepages"
    elif whole and request != limit:
        yield path, "is another number than the limit; Kubernetes takes the same of devices and hugepages"
    elif request > limit:
        yield path, "is above the limit; Kubernetes takes requests up to the limit"


def size(value: Piece) -> Faults:
    """``ValidatePersistentVolumeClaimSpec``: the size of a whole claim."""
    if not isinstance(value.get("resources"), Mapping):
        return
    asked = mapped(value, "resources", "requests")
    if asked.get("storage") in (None, ""):
        yield ".resources", "has no requests.storage, which Kubernetes requires"
    elif (number := amount(asked["storage"])) is not None and number <= 0:
        yield ".resources.requests.storage", "must be above 0"


def of_container(value: Piece) -> Faults:
    """``validateContainerResourceFieldSelector``, ``validateContainerResourceDivisor``."""
    what, _, name = str(value.get("resource") or "").partition(".")
    if what not in {"limits", "requests"} or not (name in _PLAIN or name.startswith(_PAGES)):
        yield ".resource", "must be limits or requests, a dot, and cpu, memory, ephemeral-storage or hugepages-SIZE"
        return
    taken = ("1m", "1") if name == "cpu" else _UNITS
    divisor = amount(value.get("divisor"))
    if divisor and divisor not in {amount(unit) for unit in taken}:
        yield ".divisor", f"must be one of {', '.join(taken)} for {name_of(name)}"
