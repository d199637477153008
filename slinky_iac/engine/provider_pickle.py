"""A provider as a program hands it to the engine: the pickle of an instance, in base64, read without being loaded.

Loading a pickle runs what it names. Providers of this project have no attributes and are pickled by reference: the text
names a class and holds nothing else.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import pickletools
from typing import Final

_LABELS: Final = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"})
"""Opcodes that frame and number, and make nothing."""
_TEXTS: Final = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "UNICODE"})


def reference(text: str) -> str | None:
    """Dotted name of the class, where ``text`` is the pickle of an instance without attributes; None for all else."""
    try:
        steps = [(op.name, arg) for op, arg, _ in pickletools.genops(base64.b64decode(text, validate=True))]
    except (ValueError, binascii.Error, IndexError, OverflowError):
        return None
    steps = [step for step in steps if step[0] not in _LABELS]
    shape, values = tuple(name for name, _ in steps), [arg for _, arg in steps]
    if len(shape) == 6 and {shape[0], shape[1]} <= _TEXTS and shape[2:] == ("STACK_GLOBAL", "EMPTY_TUPLE", "NEWOBJ", "STOP"):
        return f"{values[0]}.{values[1]}"
    if shape == ("GLOBAL", "EMPTY_TUPLE", "NEWOBJ", "STOP"):
        return str(values[0]).replace(" ", ".", 1)
    return None


def is_ours(name: str) -> bool:
    """Whether a dotted name is that of a provider of this project."""
    from pulumi.dynamic import ResourceProvider  # noqa: PLC0415 - the whole SDK, which readers of a pickle don't need

    module, _, own = name.rpartition(".")
    if not module.startswith("slinky_iac."):
        return False
    try:
        member = getattr(importlib.import_module(module), own, None)
    except ImportError:
        return False
    return (
        isinstance(member, type)
        and issubclass(member, ResourceProvider)
        and member.__module__ == module
        and is_whole(member)
    )


def is_whole(provider: type) -> bool:
    """Whether a provider's class is one that a resource may have. What several have in common is none: its deletion is the
    SDK's, which does nothing, and a gate of that class would drain no node."""
    from pulumi.dynamic import ResourceProvider  # noqa: PLC0415 - as above

    return getattr(provider, "create", None) is not ResourceProvider.create
