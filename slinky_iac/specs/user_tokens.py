"""Token custom resources: tokens of slurmrestd that slurm-operator makes and renews.

Source: slurm-operator ``api/v1beta1/token_types.go``: 1.0 has ``jwtHs256KeyRef`` alone, 1.1 and newer ``jwtKeyRef``.
"""

from __future__ import annotations

from typing import Any, Final

from slinky_iac import names
from slinky_iac.config.jobs import UserToken
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.keys.catalogue import JWT

ENTRY: Final = "token"


def token_spec(config: ClusterConfig, name: str, token: UserToken) -> dict[str, Any]:
    """Spec of one Token."""
    place = config.secret_of(JWT)
    field = config.operator_version.jwt_ref_field
    secret = token.secret or names.user_token_secret(config.cluster.resource_name, name)
    return {
        field: {"name": place.name, "key": place.entry},
        "username": token.user,
        "lifetime": f"{token.lifetime}s",
        "refresh": token.refresh,
        "secretRef": {"name": secret, "key": ENTRY},
    }
