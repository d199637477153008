"""Where a key's value flows, also while it is not known yet: into Secrets, and into nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from slurm_rules.key_material import keys_of
from slurm_rules.made import Fault
from slurm_rules.model import UNKNOWN, Resource, Stack, hidden_paths

_OF_MUCH: Final = ("pulumi:", "tls:")
"""Sources of which one output is a key and others are none: another stack's, and a pair of keys."""

_FINGERPRINTS: Final = ("metadata.annotations.slinky-iac/jwt-key",)
"""What the program writes of a key: a hash, by whose change the operator makes tokens with the new key. Once it is known,
it is searched for the key itself."""


@lru_cache(maxsize=64)
def _held(stack: Stack) -> tuple[Mapping[str, str], frozenset[str]]:
    """What makes a key, by its URN, with what the key is called; and the URNs of the Secrets that have one."""
    makers, secrets = {}, set()
    for secret in stack.resources:
        for key in keys_of(secret, stack) if secret.is_a("", "Secret") else ():
            secrets.add(secret.urn)
            for urn in stack.sources(secret, "data", "stringData"):
                if urn in stack.by_urn and not stack.by_urn[urn].type.startswith(_OF_MUCH):
                    makers[urn] = key.what
    return makers, frozenset(secrets)


def key_flows(resource: Resource, stack: Stack) -> Iterator[Fault]:
    """Values of a resource that an update is yet to make, and makes of a key. A Secret's name is known before it, so what
    isn't known and comes from a Secret alone is of its data. Known values are searched (``keys-not-in-clear``)."""
    makers, secrets = _held(stack)
    if resource.is_a("", "Secret"):
        return  # `keys-not-in-clear` judges copies
    for path, why in hidden_paths(resource.props) if makers else ():
        if resource.is_slinky and path in _FINGERPRINTS:
            continue
        direct = stack.sources(resource, path.split(".", 1)[0].split("[", 1)[0])
        labels = [makers[urn] for urn in sorted(_through(direct, secrets, stack) & makers.keys())]
        if why is UNKNOWN and (labels or (direct and direct <= secrets)):
            yield Fault(
                path, f"takes {labels[0] if labels else 'what a Secret with a key holds'}: refer to the Secret by its name"
            )


def _through(first: frozenset[str], secrets: frozenset[str], stack: Stack) -> frozenset[str]:
    """URNs whose outputs flow there, by way of others too, but for Secrets, of which others take the name."""
    reached: set[str] = set()
    todo = [*first]
    while todo:
        urn = todo.pop()
        if urn not in reached and urn not in secrets:
            reached.add(urn)
            todo += stack.sources(stack.by_urn[urn]) if urn in stack.by_urn else ()
    return frozenset(reached)
