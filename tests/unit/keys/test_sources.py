"""Where keys come from: each way of `keys.source` has its value, and what it says of keys can be so."""

from __future__ import annotations

from typing import get_args

import pytest

from slinky_iac.commands.rotation.planned_stop import reason
from slinky_iac.config.reading.load import load
from slinky_iac.config.sections import Keys
from slinky_iac.keys.catalogue import DAEMON_KEYS, JWT
from slinky_iac.keys.sources import KEY_SOURCES, KeySource
from tests.stacks import merged, outside

ALL = KEY_SOURCES.values()


def test_each_way_that_the_setting_takes_has_its_value() -> None:
    assert tuple(KEY_SOURCES) == get_args(Keys.model_fields["source"].annotation)
    for words in ("origin", "unknown_prints"):
        assert len({getattr(source, words) for source in ALL}) == len(KEY_SOURCES)


@pytest.mark.parametrize("source", ALL, ids=tuple(KEY_SOURCES))
def test_a_key_is_made_given_awaited_or_never_seen(source: KeySource) -> None:
    assert (source.makes_values + source.configured + source.awaited) == source.in_state
    assert source.makes_secrets == (source.makes_values or source.configured), "no Secret without its key"


@pytest.mark.parametrize("source", ALL, ids=tuple(KEY_SOURCES))
def test_what_a_cluster_makes_and_reads_is_what_the_source_of_its_keys_says(source: KeySource) -> None:
    config = load(merged(outside(), {"keys": {"source": source.setting, "tokens": "rs256"}}))
    assert config.key_source == source
    own = set(config.own_keys)
    assert own
    assert set(config.made_keys) - own == (set(DAEMON_KEYS) if source.makes_secrets else set())
    assert set(config.in_configuration) - own == (set(DAEMON_KEYS) if source.configured else set())
    assert own <= {*config.made_keys} & {*config.in_configuration}, "keys of this program alone are its own in each case"
    assert (reason(config, JWT) is None) == source.configured, "a next key can be beside the one in use"
