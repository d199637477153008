"""What the stack knows beyond its configuration: fingerprints, slurmctld's address, keys where they are kept. Shell.

Imported keys come from the configuration, others from their Kubernetes Secrets. They go to the files that were asked for
and into no message.
"""

from __future__ import annotations

import os
from pathlib import Path

from slinky_iac import names
from slinky_iac.cluster.pulumi_command import Runner, answer, run_pulumi
from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.stack_config import configured
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.values import Values
from slinky_iac.errors import HandoffError, KubeError, StateError
from slinky_iac.keys.catalogue import DAEMON_KEYS, JWT, SLURM
from slinky_iac.keys.raw import fingerprint
from slinky_iac.reach import kube_connection

Keys = dict[str, bytes]


def known(
    stack: str | None,
    config: StackConfig,
    address: str | None,
    held: Keys | None,
    run: Runner = run_pulumi,
    *,
    two_slurm_keys: bool = False,
) -> Known:
    """Fingerprints of the keys: of those at hand, of those imported, else those that the last `pulumi up` exported.

    ``two_slurm_keys``: slurm.key is being replaced under running jobs, so that slurm.jwks is needed too.
    """
    address = address or _balancer_address(config)
    public = _token_set(stack, config, run)
    if held is None and config.keys.source == "imported":
        held = _imported(stack, run)
    if held is not None:
        prints = {file: fingerprint(raw) for file, raw in held.items()}
        slurm, jwt, jwks = (prints.get(file) for file in (SLURM.file, JWT.file, names.SLURM_JWKS_FILE))
        return Known(slurm, jwt, address, slurm_jwks=jwks, token_set=public)
    outputs = _outputs(stack, run)
    found = (outputs.get(name) for name in ("slurmKeyFingerprint", "jwtKeyFingerprint"))
    slurm, jwt = (text if isinstance(text, str) and text.startswith("SHA256:") else None for text in found)
    return Known(slurm, jwt, address, slurm_jwks="" if two_slurm_keys else None, token_set=public)


def _token_set(stack: str | None, config: StackConfig, run: Runner) -> str | None:
    """jwks.json: of the keys that are set, else as the last `pulumi up` exported it."""
    if not config.keys.has_token_keys:
        return None
    try:
        found = configured(stack, run, with_keys=True).keys.token_set()
    except StateError:  # this shell may not decrypt them
        said = _outputs(stack, run).get("tokenKeySet")
        return said if isinstance(said, str) and said else None
    return None if found is None else found.decode()


def _balancer_address(config: StackConfig) -> str | None:
    """Where a load balancer made slurmctld's Service reachable; None where there is none, or Kubernetes doesn't answer."""
    if config.controller.external is not None or config.controller.service.type != "LoadBalancer":
        return None
    try:
        with kube_connection(config, os.environ, Path.home()) as way:
            return way.kube(5.0).balancer_address(
                config.cluster.namespace, names.controller_service(config.cluster.resource_name)
            )
    except KubeError:
        return None  # before the first `pulumi up`; the hand-off says that it isn't known


def _imported(stack: str | None, run: Runner) -> Keys | None:
    """The imported keys; None where this shell may not decrypt them (it may still know what an `up` exported)."""
    try:
        return _named(configured(stack, run, with_keys=True))
    except StateError:
        return None


def _named(values: Values) -> Keys | None:
    found = {key.file: raw for key in DAEMON_KEYS if (raw := values.keys.of(key)) is not None}
    if not found:
        return None
    jwks = values.keys.slurm_jwks() if values.has_two_slurm_keys else None
    return found if jwks is None else found | {names.SLURM_JWKS_FILE: jwks}


def _outputs(stack: str | None, run: Runner) -> dict[str, object]:
    """The stack's outputs; none before the first `pulumi up`, and none where pulumi doesn't answer: they are a help only."""
    try:
        return answer(run, ["stack", "output", "--json"], stack, dict, wanted="a stack's outputs")
    except StateError:
        return {}


def held_keys(values: Values) -> Keys:
    """Both keys' raw bytes by file name, and slurm.jwks while slurm.key is being replaced under running jobs.

    Raises :class:`HandoffError` where they can't be had.
    """
    named = _named(values)
    if named is not None:
        return named
    config = values.config
    try:
        with kube_connection(config, os.environ, Path.home()) as way:
            kube = way.kube()
            return {
                key.file: kube.secret_entry(config.cluster.namespace, place.name, place.entry)
                for key in DAEMON_KEYS
                if (place := config.secret_of(key))
            }
    except KubeError as error:
        raise HandoffError(
            f"--with-keys: the keys of this stack are in Kubernetes Secrets (keys.source: {config.keys.source}), and reading"
            f" them failed: {error} Nothing was written. Run `pulumi up` first, or leave the flag out and place keys by hand"
        ) from None
