"""A passphrase of words has the form of a name: a message has it whole where a site gives names of its own, nowhere else."""

from __future__ import annotations

import re
from typing import Any

import pytest

from slinky_iac.config.shown import SHORT, hidden, word_of
from tests.clusters import STACKS
from tests.stacks import merged, minimal
from tests.unit.config.test_shown import broken, places, said, whole

PASSPHRASE = "correct-horse-battery-staple"
OWN_NAMES = re.compile(
    r"(?:nodesets|logins)(?:\.[a-z]+)?"  # of parts
    r"|nodesets\.\w+\.(?:features|gres)(?:\.\d+)?"
    r"|nodesets\.\w+\.env|(?:nodesets|logins)\.\w+\.(?:pod|service)\.(?:annotations|labels|nodeSelector)"
    r"|nodesets\.\w+\.resources\.extended(?:\..+)?"
    r"|controller\.extraConf|nodesets\.\w+\.partition\.config"  # of any parameter, whose value has another type
    r"|accounting\.database\.name"
    r"|(?:nodesets|logins)\.\w+\.(?:ssh\.)?sssdConfFrom\.secret"  # a Secret that is in the stack's objects by this name
)
"""Places where names are the site's own."""


def test_a_passphrase_of_words_is_whole_in_no_message_but_where_it_is_a_name_of_the_site_s() -> None:
    data = whole(STACKS[0])
    shows = []
    for where in places(data):
        for edit in (
            lambda inner, key: inner.__setitem__(key, PASSPHRASE),
            lambda inner, key: inner.__setitem__(key, {PASSPHRASE: {}}),
            lambda inner, key: inner.__setitem__(PASSPHRASE, inner.pop(key)) if isinstance(inner, dict) else None,
        ):
            path = ".".join(map(str, where))
            if PASSPHRASE in said(broken(data, where, edit)) and OWN_NAMES.fullmatch(path) is None:
                shows.append(path)
    assert shows == []


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"controller": {"extraConf": {"SlurmctldDebug": PASSPHRASE}}}, "slurmctld takes one or more of"),
        ({"controller": {"extraConf": {"SchedulerParameters": PASSPHRASE}}}, "passes over"),
        ({"controller": {"extraConf": {PASSPHRASE: "1"}}}, "slurm.conf parameters are letters and digits"),
        ({"controller": {"persistence": {PASSPHRASE: 1}}}, "it is `controller.raw.spec.persistence"),
        (
            {"nodesets": {"gpu": {"replicas": 1, "pod": {"tolerations": [{"key": "a", "effect": PASSPHRASE}]}}}},
            "Kubernetes takes NoExecute",
        ),
        (
            {"nodesets": {"gpu": {"replicas": 1, "pod": {"tolerations": [{PASSPHRASE: "a"}]}}}},
            "is not a field of Kubernetes' Toleration",
        ),
        (
            {"nodesets": {"gpu": {"replicas": 1, "pod": {"tolerations": PASSPHRASE}}}},
            "write, for example, tolerations: [{key: ",
        ),
        ({"external": {"loginHosts": PASSPHRASE}}, "write, for example, loginHosts: [{name: "),
        ({"cluster": {"images": {"pullSecrets": PASSPHRASE}}}, "must be a list"),
    ],
)
def test_where_only_some_words_may_be_another_is_in_part(over: dict[str, Any], words: str) -> None:
    told = said(merged(minimal(), over))
    assert words in told
    assert PASSPHRASE[: SHORT + 1] not in told


def test_a_word_that_is_like_one_of_them_is_whole() -> None:
    assert word_of("PreferNoSchedul", ("NoSchedule", "PreferNoSchedule")) == "PreferNoSchedul"
    assert word_of("loud", ("debug",)) == "loud"
    assert word_of(PASSPHRASE, ("debug",)) == "correct-h…(28 characters)"


def test_names_of_secrets_are_hidden_in_lists_too() -> None:
    assert hidden("cluster.images.pullSecrets")
    assert not hidden("secretsStore.name")
