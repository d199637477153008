"""What can be said of a cluster with auth/munge: its clients' ways, their munge.key, the clocks. Pure; fingerprints only.

Such a stack makes no slurmrestd, so slurmctld isn't asked, and what NodeSets want of it (auth/slurm, configless, JWT) is no
concern here: advice about it would break the cluster that it is given to.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import MUNGE
from slinky_iac.preflight import check_keys, check_reach
from slinky_iac.preflight.check import EVERYWHERE, ON_SLURMCTLD, Check, fine, problem, unknown
from slinky_iac.preflight.facts import Facts


def key(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """The configuration's munge.key is the Secret's; the outside hosts' own is compared by hand."""
    ours, theirs = facts.keys.get(MUNGE.label), facts.kube.keys.get(MUNGE.label)
    secret = f"Secret of {MUNGE.label}"
    if facts.keys_trouble:
        yield unknown("munge-key", MUNGE.label, "here", facts.keys_trouble, "Give the stack's passphrase, then run it again")
    if MUNGE.label in facts.kube.keys_trouble:
        yield unknown("key-secret", secret, "Kubernetes", f"not known: {facts.kube.keys_trouble[MUNGE.label]}")
    elif config.keys.source == "existing" and facts.kube.namespace and theirs is None:
        yield problem(
            "key-secret",
            secret,
            "Kubernetes",
            f"isn't in namespace {config.cluster.namespace}, and keys.source is existing",
            "Make it before `pulumi up`, from an outside host's own file",
            f"kubectl -n {config.cluster.namespace} create secret generic NAME --from-file=ENTRY=FILE",
        )
    elif ours and theirs and ours != theirs:
        yield problem(
            "key-secret",
            secret,
            "Kubernetes",
            f"holds {theirs}, and mungeKey of the configuration is {ours}",
            "The outside hosts' file tells which is right; docs/munge.md says how to change it (A new munge.key)",
        )
    elif ours and theirs:
        yield fine("key-secret", secret, "Kubernetes", "is the configuration's")
    expected = ours or theirs
    yield unknown(
        "munge-key",
        f"{MUNGE.label} ({expected or 'no fingerprint'})",
        "nobody",
        "not known: no daemon of this stack's could show that the outside hosts have the same",
        f"The fingerprint there must be {expected}; this shows it" if expected else "Compare with mungeKeyFingerprint",
        f"openssl dgst -sha256 -binary /etc/munge/{MUNGE.file} | base64",
        at=EVERYWHERE,
    )


def daemons(_: StackConfig, __: Facts) -> Iterator[Check]:
    """What only a client can try."""
    yield unknown(
        "slurmctld",
        "slurmctld and slurmdbd",
        "nobody",
        "not asked: with auth/munge this stack makes no slurmrestd to ask them through",
        "Try it as a client does",
        "scontrol ping && sinfo && sacctmgr -n show cluster",
        at="in a pod with munged beside it",
    )


def clocks(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """The Kubernetes nodes' clocks and ours agree; slurmctld's is compared by hand."""
    yield unknown(
        "clock",
        "slurmctld's clock",
        "nobody",
        "not known: slurmctld was not asked",
        "Compare: munge's credentials live five minutes",
        "date -u; timedatectl show -p NTPSynchronized",
        at=f"{ON_SLURMCTLD} and here",
    )
    yield from check_keys.node_clocks(config, facts)


CHECKS = (check_reach.api_server, check_reach.from_here, check_reach.pods, check_reach.from_pods, key, daemons, clocks)
