"""Tokens of Kubernetes' service accounts that never end."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, words

_KIND = "kubernetes.io/service-account-token"
_ACCOUNT = "kubernetes.io/service-account.name"


@rule(
    "no-lasting-account-tokens",
    lambda resource: resource.is_a("", "Secret"),
    scope="resource",
    options={"accounts": words((), "Service accounts, as namespace/name, that may have a token without an end.")},
)
def no_lasting_account_tokens(secret: Resource, _: Stack, options: Options) -> Iterator[str]:
    """No Secret of the stack asks for a service account's token that never ends.

    Why: Kubernetes fills such a Secret with a token that is good until the Secret is deleted. One for the operator's
    account reads every Secret, the cluster's keys among them, and who has copied it once keeps it.

    Source: Kubernetes, "Service account token Secrets", "Good practices for Secrets" (short-lived tokens).

    Do: take a token from the TokenRequest API (`kubectl create token`) or a projected volume, or name the account in the
    site file.

    Level: mandatory, since it leaks keys.
    """
    if secret.text("type") != _KIND:
        return
    account = (secret.get("metadata", "annotations") or {}).get(_ACCOUNT, "?")
    if f"{secret.namespace}/{account}" not in options["accounts"]:
        yield f"{secret.label} is a token of {secret.namespace}/{account} that never ends; ask for short ones instead"
