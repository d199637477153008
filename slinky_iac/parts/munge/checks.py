"""What can be said of a cluster with auth/munge: its clients' ways, their munge.key, the clocks. Pure; fingerprints only.

Such a stack makes no slurmrestd, so slurmctld isn't asked, and what NodeSets want of it (auth/slurm, configless, JWT) is no
concern here: advice about it would break the cluster that it is given to.
"""

from __future__ import annotations

from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.munge.settings import MUNGE
from slinky_iac.preflight.check import BY_HAND, Answers, At, Expect, Run, same_key, unknown
from slinky_iac.preflight.facts import Facts


def _secret(config: StackConfig, facts: Facts) -> Answers:
    """The configuration's munge.key is the Secret's."""
    todo = "The outside hosts' file decides which is right; `slinky docs munge` says how to change it (A new munge.key)"
    yield from same_key(config, facts, MUNGE, todo)


def _key(_: StackConfig, facts: Facts) -> Answers:
    """The external hosts' own munge.key is compared by hand."""
    if facts.keys_trouble:
        yield unknown(facts.keys_trouble, "Set the stack's passphrase, then run it again", source="here")
    expected = facts.keys.get(MUNGE.label) or facts.kube.keys.get(MUNGE.label)
    yield unknown(
        "not known: no daemon of this stack can show that the outside hosts have the same key",
        f"The fingerprint there must be {expected}; this shows it" if expected else "Compare with mungeKeyFingerprint",
        f"openssl dgst -sha256 -binary /etc/munge/{MUNGE.file} | base64",
        at=At.HOSTS,
        about=f"{MUNGE.label} ({expected or 'no fingerprint'})",
    )


def _daemons(_: StackConfig, __: Facts) -> Answers:
    """What only a client can try."""
    yield unknown(
        "not asked: with auth/munge this stack has no slurmrestd to ask through",
        "Try it as a client does",
        "scontrol ping && sinfo && sacctmgr -n show cluster",
        at="in a pod with munged beside it",
    )


def _clocks(_: StackConfig, __: Facts) -> Answers:
    """slurmctld's clock is compared by hand."""
    compare, show = "Compare: munge's credentials live five minutes", "date -u; timedatectl show -p NTPSynchronized"
    yield unknown("not known: slurmctld was not asked", compare, show, at=f"{At.SLURMCTLD} and here")


EXPECTED: Final = (
    Expect("key-secret", f"Secret of {MUNGE.label}", "Kubernetes", _secret, Run.CLIENTS),
    Expect("munge-key", MUNGE.label, BY_HAND, _key, Run.CLIENTS),
    Expect("slurmctld", "slurmctld and slurmdbd", BY_HAND, _daemons, Run.CLIENTS),
    Expect("clock", "slurmctld's clock", BY_HAND, _clocks, Run.CLIENTS),
)
