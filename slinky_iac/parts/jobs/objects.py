"""The operator's Token resources: tokens of slurmrestd for programs in Kubernetes."""

from __future__ import annotations

from typing import Final

from slinky_iac import names
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.keys.catalogue import JWT
from slinky_iac.parts.jobs.settings import UserToken
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec

TOKEN_ENTRY: Final = "token"


def token(config: StackConfig, name: str) -> Object:
    """A token of slurmrestd for a program in Kubernetes."""
    own = names.user_token(config.cluster.resource_name, name)
    return Object(
        logical=f"{config.cluster.namespace}-{own}-token",
        api_version=names.API_VERSION,
        kind="Token",
        name=own,
        body={"spec": token_spec(config, name, config.tokens[name])},
    )


def token_spec(config: ClusterConfig, name: str, token: UserToken) -> Spec:
    """Spec of a Token: a token of slurmrestd that the operator makes and renews."""
    secret = token.secret or names.user_token_secret(config.cluster.resource_name, name)
    return {
        config.operator_version.jwt_ref_field: config.secret_of(JWT).reference,
        "username": token.user,
        "lifetime": f"{token.lifetime}s",
        "refresh": token.refresh,
        "secretRef": {"name": secret, "key": TOKEN_ENTRY},
    }
