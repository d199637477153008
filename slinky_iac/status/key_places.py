"""Where a stack's keys are, as its state says: pure reading. No secret is decrypted for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac import names
from slinky_iac.cluster.reach import Reach
from slinky_iac.status.exported import CONFIG_MAP, SECRET, STACK, Resources, meta_of, metadata, name_of, seconds

SLURM_KEY: Final = "slurm.key"
JWT_KEY: Final = "JWT key"
TOKEN_KEY: Final = "token key"
EXTERNAL_KEY: Final = "pulumi-python:dynamic/slurm:ExternalKey"


@dataclass(frozen=True)
class KeyPlace:
    """Where a key is, and what the stack says about it."""

    name: str
    namespace: str
    secret: str
    entry: str
    fingerprint: str
    """``SHA256:…``; something else where the stack doesn't know it."""
    made: int | None
    beside: str = ""
    """Object of the same namespace in which other keys are handed out while one is being replaced: for slurm.key the Secret
    with slurm.jwks, for the token key the ConfigMap with the public set. Empty where there is none."""
    public: frozenset[str] = frozenset()
    """Names (kid) of the keys in the public set, as the state has it."""
    record: Mapping[str, Any] | None = None
    """What the state knows of a key that somebody else makes (:mod:`slinky_iac.external_keys`); None for others."""


def key_places(resources: Resources, controller: Mapping[str, Any]) -> Iterable[KeyPlace]:
    """All keys of the stack. ``controller``: spec of its Controller, which names the Secrets of the daemons' keys."""
    outputs = next((each.get("outputs") or {} for each in resources if each.get("type") == STACK), {})
    namespace = str(metadata(resources, "Controller").get("namespace") or "")
    slurm = controller.get("slurmKeyRef")
    places = (
        (SLURM_KEY, slurm if isinstance(slurm, dict) else {}, "slurmKeyFingerprint"),
        (JWT_KEY, jwt_reference(controller), "jwtKeyFingerprint"),
    )
    jwks = _own(resources, SECRET, "-slurm-jwks-secret")
    for name, reference, output in places:
        if reference:
            secret = str(reference.get("name") or "")
            said = outputs.get(output)
            fingerprint = said if isinstance(said, str) else ""
            beside = name_of(jwks) if name == SLURM_KEY else ""
            made = _made(resources, secret)
            entry, record = str(reference.get("key") or ""), _record(resources, secret)
            yield KeyPlace(name, namespace, secret, entry, fingerprint, made, beside, record=record)
    yield from _token_key(resources)


def _token_key(resources: Resources) -> Iterable[KeyPlace]:
    """The key of the stack's own tokens. Its Secret is changed in place, so the key is as old as that at least."""
    secret, public = _own(resources, SECRET, "-token-key-secret"), _own(resources, CONFIG_MAP, "-token-jwks")
    if secret:
        document = ((public.get("inputs") or {}).get("data") or {}).get(names.JWKS_FILE)
        yield KeyPlace(
            TOKEN_KEY,
            str(meta_of(secret).get("namespace") or ""),
            name_of(secret),
            names.TOKEN_KEY_ENTRY,
            "",
            seconds(secret.get("modified") or secret.get("created")),
            name_of(public),
            public_kids(document),
        )


def public_kids(document: object) -> frozenset[str]:
    """Names of the keys in a public set; none where there is none, or it can't be read."""
    from slinky_iac.keys.jwks import kids  # noqa: PLC0415 - 100 ms that only stacks with such a key pay

    try:
        return kids(str(document).encode())
    except ValueError:
        return frozenset()


def _own(resources: Resources, kind: str, ending: str) -> Mapping[str, Any]:
    """The object of the stack's keys whose URN ends so; empty where there is none."""
    whose = f"{names.TYPE_PREFIX}:AuthKeys$"
    urns = ((str(each.get("urn")), each) for each in resources if each.get("type") == kind)
    return next((each for urn, each in urns if whose in urn and urn.endswith(ending)), {})


def _record(resources: Resources, secret: str) -> Mapping[str, Any] | None:
    kept = (each.get("outputs") or {} for each in resources if each.get("type") == EXTERNAL_KEY)
    return next((each for each in kept if each.get("secret") == secret and each.get("mark")), None)


def _made(resources: Resources, secret: str) -> int | None:
    named = (each for each in resources if each.get("type") == SECRET and name_of(each) == secret)
    return next((seconds(each.get("created")) for each in named), None)


def jwt_reference(controller: Mapping[str, Any]) -> Mapping[str, Any]:
    """Secret and entry of the JWT key, as a Controller's spec of any operator names them; empty where there is none."""
    found = controller.get("jwtKeyRef") or controller.get("jwtHs256KeyRef")
    return found if isinstance(found, dict) else {}


def signing(reach: Reach | None, keys: tuple[KeyPlace, ...]) -> str:
    """Name of the key that signs the stack's tokens, by what its gates say; ``reach`` None: it has no gate, and then two
    keys leave it open (empty)."""
    if reach is not None:
        return TOKEN_KEY if reach.tokens == names.RS256 else JWT_KEY
    return "" if any(place.name == TOKEN_KEY for place in keys) else JWT_KEY
