"""AuthAltParameters: by which keys slurmctld and slurmdbd judge tokens. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.keys.catalogue import JWT
from slinky_iac.keys.public import kids
from slinky_iac.parts.tokens.key import TOKENS

JWT_PATH: Final = f"/etc/slurm/{JWT.file}"


def auth_alt_parameters(config: ClusterConfig) -> str:
    """AuthAltParameters of an outside slurmctld or slurmdbd: the JWT key, and the set of public keys where there is one.

    ``jwks=`` alone would switch HS256 off, and with it the operator's tokens.
    """
    items = [f"jwt_key={JWT_PATH}"]
    items += [f"jwks=/etc/slurm/{key.bundle}" for key in config.own_keys]
    return ",".join([*items, *user_claim(config)])


def file_checks(conf: str, parameters: str, public: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Calls of check.sh about the files that a daemon's AuthAltParameters names: the JWT key, and the set, of which
    ``public`` has the text."""
    named = next((item.partition("=")[2] for item in parameters.split(",") if item.startswith("jwks=")), "")
    if not named:
        yield ("check_jwt_key", conf, JWT_PATH)
        return
    yield ("check_jwt_key", conf, JWT_PATH, parameters)
    yield ("check_jwks", conf, named, *_set_words(public.get(PurePosixPath(named).name, "")))


def _set_words(text: str) -> tuple[str, ...]:
    """Digest of the set, without line breaks at its end, and the names of its keys."""
    if not text:
        return ("",)
    return (sha256(text.rstrip("\n").encode()).hexdigest(), *sorted(kids(text.encode())))


def user_claim(config: ClusterConfig) -> tuple[str, ...]:
    """The item that names the claim with the user, where tokens of an identity provider have another than ``sun``."""
    provider = config.identity.oidc
    return () if provider is None or provider.user_claim is None else (f"userclaimfield={provider.user_claim}",)


def inside_auth_alt_parameters(config: ClusterConfig) -> dict[str, str]:
    """AuthAltParameters that slurmctld or slurmdbd in Kubernetes needs besides the operator's own; nothing where there are
    none. From 1.2 on the operator adds them to its own; earlier ones write the line before, and of two the last holds."""
    items = user_claim(config)
    if items and not config.operator_version.prunes_slurm_conf:
        items = ("jwt_key=/etc/slurm/jwt.key", f"jwks=/etc/slurm/{TOKENS.bundle}", *items)
    return {"AuthAltParameters": ",".join(items)} if items else {}
