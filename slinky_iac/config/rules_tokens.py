"""Rules about the RSA key of this program's tokens: who can take such tokens, and which secrets may stand beside which."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, error, info, warning
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import TOKEN_SECRETS, TOKENS


def tokens(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Findings about `keys.tokens` and the secrets that go with it."""
    if config.keys.auth == "auth/munge":
        if config.keys.has_token_keys:
            yield warning(
                "keys.tokens",
                "is ignored: with auth/munge this stack makes no slurmrestd, and signs no tokens",
                id="tokens-ignored",
            )
        return
    chosen, given = config.keys.tokens, [name for name in TOKEN_SECRETS if name in secrets]
    if not config.keys.has_token_keys:
        if given:
            yield warning(
                "keys.tokens",
                f"is {chosen}, so {', '.join(given)} is not used; set keys.tokens: prepared, or run `pulumi config rm`",
                id="token-keys-unused",
            )
        return
    if TOKENS.config not in secrets:
        yield error(
            "keys.tokens",
            f"{chosen}, but tokenKey is not set; run `slinky keys generate tokens --out token.pem`, then"
            " `slinky keys import tokens --file token.pem`",
        )
    if secrets.issuperset(TOKENS.rotation_secrets):
        yield error(
            "keys",
            "tokenKeyNext and tokenKeyPrevious are both set: a rotation has one of them at a time. `slinky"
            " keys rotate tokens` continues from here",
        )
    elif rotating := [name for name in given if name in TOKENS.rotation_secrets]:
        yield info(
            "keys",
            f"{rotating[0]} is set: the token key is being replaced, under running jobs and with no token refused."
            " `slinky keys rotate tokens --plan` shows the steps, where it stands and who has to act; `slinky keys"
            " rotate tokens` continues",
            id="token-rotation",
        )
    yield from _daemons(config)


def _daemons(config: StackConfig) -> Iterator[Finding]:
    """slurmctld and slurmdbd in Kubernetes get the set from the operator, those outside from their admin."""
    external = {"slurmctld": config.controller.external is not None}
    if config.accounting.enabled:
        external["slurmdbd"] = config.accounting.external is not None
    inside = [daemon for daemon, is_external in external.items() if not is_external]
    if inside and not config.operator_version.has_jwks:
        yield error(
            "keys.tokens",
            f"{config.keys.tokens} needs slurm-operator 1.1 or newer where {' and '.join(inside)} is in Kubernetes:"
            f" {config.operator.version} can't give it jwks.json (jwksKeyRef), so every such token would be refused. Update"
            " operator.version first, or leave keys.tokens: hs256",
        )
    elif inside and config.keys.tokens == "prepared":
        pods = "their pods restart" if len(inside) > 1 else "its pod restarts"
        yield info(
            "keys.tokens",
            f"prepared: slurm-operator gives {' and '.join(inside)} the set, and {pods} once. Running jobs continue"
            " (where slurmctld has a volume), a step that starts in that half minute may fail. Then `slinky"
            " preflight` says when tokens of the key are taken",
            id="tokens-prepared",
        )
    if len(inside) < len(external):
        files = [f"{daemon}.conf" if daemon == "slurmdbd" else "slurm.conf" for daemon in external if daemon not in inside]
        yield info(
            "keys.tokens",
            f"{config.keys.tokens}: {' and '.join(files)} outside must name jwks.json beside the JWT key, and the file be"
            " there; `slinky handoff` makes both, `slinky preflight` says if they are taken",
            id="tokens-outside-files",
        )
