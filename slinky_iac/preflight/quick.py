"""The look at Slurm that a preview has time for: a handful of short questions, none of which grows with the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeNotFound
from slinky_iac.keys.catalogue import JWT, TOKENS
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.wire import Retry, Timeouts
from slinky_iac.preflight import check_keys, check_tokens
from slinky_iac.preflight.ask_slurm import Keys, ask_slurm, endpoint_of_drains, preflight_clients
from slinky_iac.preflight.check import Check, Run
from slinky_iac.preflight.compare import judged
from slinky_iac.preflight.facts import Facts, SlurmFacts
from slinky_iac.reach import kube_connection
from slinky_iac.slurmrest.signing import held


def compare(config: StackConfig, facts: Facts) -> tuple[Check, ...]:
    """The checks that these facts allow."""
    return tuple(judged(Run.PREVIEW, config, facts))


def ask_quickly(config: StackConfig, env: Mapping[str, str], home: Path, *, answer_s: float) -> Facts:
    """What Slurm says, asked with the Secret's key; each answer is waited for ``answer_s`` seconds, and none twice.

    Raises what reading the Secret raises: before the first `pulumi up` it isn't there, and there is nobody to ask.
    """
    bounds = Timeouts(connect_s=answer_s, read_s=answer_s, write_s=answer_s)
    once, namespace = Retry(tries=1), config.cluster.namespace
    place = config.secret_of(JWT)
    with kube_connection(config, env, home) as way:
        kube = way.client(KubeClient, budget_s=answer_s, timeouts=bounds, retry=once)
        found: dict[str, Keys] = {}
        if config.keys.has_token_keys:
            own = config.secret_of(TOKENS)
            with suppress(KubeNotFound):  # the setting is new: this very update makes it
                rsa = held(kube, namespace, own.name, own.entry, names.RS256)
                found[check_tokens.TOKEN_IN_SECRET] = tuple(rsa)
        if not found or config.keys.tokens != names.RS256:  # else who runs this needs no right to read the JWT key
            found[check_keys.IN_SECRET] = tuple(held(kube, namespace, place.name, place.entry, names.HS256))

        connect = preflight_clients(way.lead, budget_s=answer_s, timeouts=bounds, retry=once)
        seen = ask_slurm([endpoint_of_drains(config)], found, clock=way.clock, quick=True, connect=connect)
    return Facts(slurm=SlurmFacts() if seen.unanswered else seen)
