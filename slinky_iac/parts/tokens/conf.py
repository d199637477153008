"""AuthAltParameters: by which keys slurmctld and slurmdbd judge tokens. Pure."""

from __future__ import annotations

from slinky_iac import names
from slinky_iac.config.stack import ClusterConfig


def auth_alt_parameters(config: ClusterConfig) -> str:
    """AuthAltParameters of an outside slurmctld or slurmdbd: the JWT key, and the set of public keys where there is one.

    ``jwks=`` alone would switch HS256 off, and with it the operator's tokens.
    """
    items = [f"jwt_key=/etc/slurm/{names.JWT_KEY_FILE}"]
    if config.public_set is not None:
        items.append(f"jwks=/etc/slurm/{config.public_set.entry}")
    return ",".join([*items, *user_claim(config)])


def user_claim(config: ClusterConfig) -> tuple[str, ...]:
    """The item that names the claim with the user, where tokens of an identity provider have another than ``sun``."""
    provider = config.identity.oidc
    return () if provider is None or provider.user_claim is None else (f"userclaimfield={provider.user_claim}",)


def inside_auth_alt_parameters(config: ClusterConfig) -> dict[str, str]:
    """AuthAltParameters that slurmctld or slurmdbd in Kubernetes needs besides the operator's own; nothing where there are
    none. From 1.2 on the operator adds them to its own; earlier ones write the line before, and of two the last holds."""
    items = user_claim(config)
    if items and not config.operator_version.prunes_slurm_conf:
        items = ("jwt_key=/etc/slurm/jwt.key", f"jwks=/etc/slurm/{names.JWKS_FILE}", *items)
    return {"AuthAltParameters": ",".join(items)} if items else {}
