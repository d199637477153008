"""Where a stack's keys are, as its state says: pure reading. No secret is decrypted for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import CONFIG_MAP, SECRET, State, custom, dynamic
from slinky_iac.cluster.reach import Reach
from slinky_iac.keys.catalogue import JWT, SLURM, TOKENS
from slinky_iac.keys.jwks import kids
from slinky_iac.text import moment

EXTERNAL_KEY: Final = dynamic("ExternalKey")


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


def key_places(state: State) -> Iterable[KeyPlace]:
    """All keys of the stack. Its Controller names the Secrets of the daemons' keys."""
    controller = state.first(custom("Controller"))
    slurm = controller.spec.get("slurmKeyRef")
    places = (
        (SLURM, slurm if isinstance(slurm, dict) else {}, "slurmKeyFingerprint"),
        (JWT, jwt_reference(controller.spec), "jwtKeyFingerprint"),
    )
    jwks = state.of_key(SECRET, "-slurm-jwks-secret")
    for key, reference, output in places:
        if reference:
            secret = str(reference.get("name") or "")
            said = state.outputs.get(output)
            fingerprint = said if isinstance(said, str) else ""
            beside = jwks.object_name if key is SLURM else ""
            made = _made(state, secret)
            entry, record = str(reference.get("key") or ""), _record(state, secret)
            yield KeyPlace(key.label, controller.namespace, secret, entry, fingerprint, made, beside, record=record)
    yield from _token_key(state)


def _token_key(state: State) -> Iterable[KeyPlace]:
    """The key of the stack's own tokens. Its Secret is changed in place, so the key is as old as that at least."""
    secret, public = state.of_key(SECRET, "-token-key-secret"), state.of_key(CONFIG_MAP, "-token-jwks")
    if secret:
        yield KeyPlace(
            TOKENS.label,
            secret.namespace,
            secret.object_name,
            TOKENS.file,
            "",
            moment(secret.modified or secret.created),
            public.object_name,
            public_kids(public.part("data").get(names.JWKS_FILE)),
        )


def public_kids(document: object) -> frozenset[str]:
    """Names of the keys in a public set; none where there is none, or it can't be read."""
    try:
        return kids(str(document).encode())
    except ValueError:
        return frozenset()


def _record(state: State, secret: str) -> Mapping[str, Any] | None:
    kept = (each.outputs for each in state.all(EXTERNAL_KEY))
    return next((each for each in kept if each.get("secret") == secret and each.get("mark")), None)


def _made(state: State, secret: str) -> int | None:
    return next((moment(each.created) for each in state.all(SECRET) if each.object_name == secret), None)


def jwt_reference(controller: Mapping[str, Any]) -> Mapping[str, Any]:
    """Secret and entry of the JWT key, as a Controller's spec of any operator names them; empty where there is none."""
    found = controller.get("jwtKeyRef") or controller.get("jwtHs256KeyRef")
    return found if isinstance(found, dict) else {}


def signing(reach: Reach | None, keys: tuple[KeyPlace, ...]) -> str:
    """Name of the key that signs the stack's tokens, by what its gates say; ``reach`` None: it has no gate, and then two
    keys leave it open (empty)."""
    if reach is not None:
        return TOKENS.label if reach.tokens == names.RS256 else JWT.label
    return "" if any(place.name == TOKENS.label for place in keys) else JWT.label
