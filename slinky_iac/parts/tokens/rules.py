"""Rules about what signs tokens: its secrets, and daemons that can't read its public half."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.tokens.key import TOKENS


def tokens(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Findings about `keys.tokens` and the secrets that go with it."""
    chosen, given = config.signing.setting, [name for name in (TOKENS.config, *TOKENS.rotation_secrets) if name in secrets]
    if not config.signing.own_keys:
        if given:
            yield at("keys.tokens").warning(
                f"is {chosen}, so {', '.join(given)} is not used; set keys.tokens: prepared, or run `pulumi config rm`",
                id="token-keys-unused",
            )
        return
    if TOKENS.config not in secrets:
        yield at("keys.tokens").error(
            f"{chosen}, but tokenKey is not set; run `slinky keys generate tokens --out token.pem`, then"
            " `slinky keys import tokens --file token.pem`"
        )
    if secrets.issuperset(TOKENS.rotation_secrets):
        yield at("keys").error(
            "tokenKeyNext and tokenKeyPrevious are both set: a rotation has one of them at a time. `slinky"
            " keys rotate tokens` continues from here"
        )
    elif rotating := [name for name in given if name in TOKENS.rotation_secrets]:
        yield at("keys").info(
            f"{rotating[0]} is set: the token key is being replaced, under running jobs and with no token refused."
            " `slinky keys rotate tokens --plan` shows the steps, where it stands and who has to act; `slinky keys"
            " rotate tokens` continues",
            id="token-rotation",
        )
    yield from _who_verifies(config)


def _who_verifies(config: StackConfig) -> Iterator[Finding]:
    """slurmctld and slurmdbd in Kubernetes get the set from the operator, those outside from their admin."""
    daemons = {"slurmctld": config.slurmctld, "slurmdbd": config.slurmdbd}
    inside = [name for name, daemon in daemons.items() if daemon.pods]
    if inside and not config.operator_version.has_jwks:
        yield at("keys.tokens").error(
            f"{config.signing.setting} needs slurm-operator 1.1 or newer where {' and '.join(inside)} is in Kubernetes:"
            f" {config.operator.version} can't give it jwks.json (jwksKeyRef), so every such token would be refused. Update"
            " operator.version first, or leave keys.tokens: hs256"
        )
    elif inside and config.signing.setting == "prepared":
        pods = "their pods restart" if len(inside) > 1 else "its pod restarts"
        yield at("keys.tokens").info(
            f"prepared: slurm-operator gives {' and '.join(inside)} the set, and {pods} once. Running jobs continue"
            " (where slurmctld has a volume), a step that starts in that half minute may fail. Then `slinky"
            " preflight` says when tokens of the key are taken",
            id="tokens-prepared",
        )
    confs = {"slurmctld": "slurm.conf", "slurmdbd": "slurmdbd.conf"}
    if files := [confs[name] for name, daemon in daemons.items() if daemon.hosts]:
        yield at("keys.tokens").info(
            f"{config.signing.setting}: {' and '.join(files)} outside must name jwks.json beside the JWT key, and the file"
            " be there; `slinky handoff` makes both, `slinky preflight` says if they are taken",
            id="tokens-outside-files",
        )
