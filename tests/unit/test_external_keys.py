"""A key of another's Secret: awaited, checked, known again, never copied; its change under a live cluster is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pulumi.output import Unknown

from slinky_iac import external_keys
from slinky_iac.errors import KubeUnreachable, StateError
from slinky_iac.external_keys import MARK, RECORDED, SALT, SINCE, ExternalKeyProvider
from slinky_iac.keys.raw import fingerprint
from tests.api_server import ApiServer
from tests.raw_keys import raw_key

OLD, NEW, JWT = raw_key("old"), raw_key("new"), raw_key("jwt")
THEN, NOW = "2026-11-20T10:00:00Z", "2026-11-22T10:00:00Z"
Props = dict[str, Any]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer() as server:
        server.pods()
        yield server


@pytest.fixture
def props(api: ApiServer, tmp_path: Path) -> Props:
    return {
        "key": "slurm",
        "namespace": "slurm",
        "secret": "store-slurm",
        "entry": "slurm.key",
        "otherSecret": "store-jwt",
        "otherEntry": "jwt.key",
        "madeBy": "ExternalSecret slurm of team platform",
        "waitS": 0,
        "newline": False,
        "accepted": "",
        "kubeconfig": api.kubeconfig(tmp_path),
        "context": "",
        "urn": "urn:pulumi:dev::p::t::k",
    }


def made(api: ApiServer, props: Props, raw: bytes = OLD, at: str = THEN) -> Props:
    """The state of a stack whose key is ``raw``."""
    api.put("store-slurm", {"slurm.key": raw}, at)
    return dict(ExternalKeyProvider().create(props).outs or {})


def differs(olds: Props, news: Props) -> bool:
    return bool(ExternalKeyProvider().diff("id", olds, news).changes)


def refused(olds: Props, news: Props) -> str:
    with pytest.raises(StateError) as error:
        differs(olds, news)
    return str(error.value)


def test_the_state_knows_a_key_again_and_holds_nothing_of_it(api: ApiServer, props: Props) -> None:
    state = made(api, props)
    text = json.dumps(state)
    assert OLD.hex() not in text
    assert fingerprint(OLD)[7:20] not in text
    assert set(state) == set(RECORDED)
    assert state[SINCE] == THEN
    assert external_keys.is_recorded(OLD, state)
    assert not external_keys.is_recorded(NEW, state)
    again = dict(ExternalKeyProvider().create(props).outs or {})
    assert again[MARK] != state[MARK], "the same key in another stack has another mark"


def test_the_same_key_is_no_change_however_often_its_secret_is_written(api: ApiServer, props: Props) -> None:
    state = made(api, props)
    api.put("store-slurm", {"slurm.key": OLD, "more": b"x"}, NOW)
    assert not differs(state, props)


def test_a_changed_key_is_refused_with_who_has_the_old_one_and_what_to_do(api: ApiServer, props: Props) -> None:
    state = made(api, props)
    api.put("store-slurm", {"slurm.key": NEW}, NOW)
    api.pods(lab_controller_0="2026-11-21T00:00:00Z", gpu_0="2026-11-21T00:00:00Z", gpu_1="2026-11-22T11:00:00Z")
    said = refused(state, props)
    assert f"Secret slurm/store-slurm with entry slurm.key has another key since {NOW}" in said
    assert "Each of the pods lab-controller-0, gpu-0, and every outside host, has the key from before" in said
    assert "gpu-1" not in said
    assert "keys rotate slurm --stop" in said
    assert "ExternalSecret slurm of team platform makes it" in said
    assert f"keys.acceptedChange: {NOW}" in said
    with pytest.raises(StateError, match="has another key"):
        ExternalKeyProvider().update("id", state, props)


def test_a_change_that_daemons_have_followed_is_accepted_by_its_time_only(api: ApiServer, props: Props) -> None:
    state = made(api, props)
    api.put("store-slurm", {"slurm.key": NEW}, NOW)
    assert "has another key" in refused(state, props | {"accepted": THEN})
    news = props | {"accepted": NOW}
    assert differs(state, news)
    after = dict(ExternalKeyProvider().update("id", state, news).outs or {})
    assert external_keys.is_recorded(NEW, after)
    assert after[SINCE] == NOW
    assert not differs(after, news)


def test_a_secret_that_is_gone_is_refused(api: ApiServer, props: Props) -> None:
    state = made(api, props)
    api.remove("store-slurm")
    assert "isn't there any more" in refused(state, props)


def test_no_answer_is_an_update_that_asks_again_and_fails_without_one(
    api: ApiServer, props: Props, capsys: pytest.CaptureFixture[str]
) -> None:
    state = made(api, props)
    api.down = True
    assert differs(state, props)
    assert "whether the key is the same is not known" in capsys.readouterr().err
    with pytest.raises(KubeUnreachable, match="503"):
        ExternalKeyProvider().update("id", state, props)
    api.down = False
    after = dict(ExternalKeyProvider().update("id", state, props).outs or {})
    assert (after[MARK], after[SALT]) == (state[MARK], state[SALT])
    assert not differs(after, props)


def test_a_secret_that_a_preview_does_not_know_is_asked_by_the_update(
    api: ApiServer, props: Props, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is asked of a name that isn't known, and a preview never says that the key is the same."""
    state = made(api, props)
    api.remove("store-slurm")
    assert differs(state, {**props, "secret": Unknown()})
    assert "secret is an Output that this preview doesn't know" in capsys.readouterr().err


def test_a_key_that_comes_late_is_awaited(api: ApiServer, props: Props) -> None:
    """As an operator makes it: the Secret first, empty, then the entry."""
    api.put("store-slurm", {}, THEN)
    late = threading.Timer(0.2, lambda: api.put("store-slurm", {"slurm.key": OLD}, NOW))
    late.start()
    outs = dict(ExternalKeyProvider().create(props | {"waitS": 60}).outs or {})
    late.join()
    assert external_keys.is_recorded(OLD, outs)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (None, "isn't there"),
        ({"other": OLD}, "isn't there"),
        ({"slurm.key": b"short"}, "has 5 bytes"),
        ({"slurm.key": b"a" * 1024}, "can be guessed"),
        ({"slurm.key": b"a text with a break at its end 0123456789 abcdef\n"}, "line break"),
        ({"slurm.key": JWT}, "same key as Secret store-jwt"),
    ],
)
def test_a_key_that_does_not_come_ends_with_who_should_make_it(
    api: ApiServer, props: Props, entries: dict[str, bytes] | None, said: str
) -> None:
    api.put("store-jwt", {"jwt.key": JWT}, THEN)
    if entries is not None:
        api.put("store-slurm", entries, THEN)
    with pytest.raises(StateError, match=said) as error:
        ExternalKeyProvider().create(props)
    assert "ExternalSecret slurm of team platform makes it" in str(error.value)
    assert "None of the daemons that read it was made" in str(error.value)
    assert "0123456789" not in str(error.value)


def test_a_stack_that_is_not_told_who_makes_it_says_so(api: ApiServer, props: Props) -> None:
    with pytest.raises(StateError, match=r"keys\.madeBy"):
        ExternalKeyProvider().create(props | {"madeBy": ""})


def test_a_refresh_takes_no_changed_key_for_the_cluster_s(api: ApiServer, props: Props) -> None:
    state = made(api, props)
    api.put("store-slurm", {"slurm.key": NEW}, NOW)
    refreshed = dict(ExternalKeyProvider().read("id", state).outs or {})
    assert refreshed == state
    assert refused(refreshed, props)


@settings(max_examples=2, deadline=None)  # scrypt is slow on purpose, and bytes have no shape that it could mistake
@example(b"k" * 32, b"k" * 32)
@example(b"k" * 32, b"k" * 31)
@given(st.binary(min_size=1), st.binary(min_size=1))
def test_a_mark_knows_its_own_key_only(one: bytes, other: bytes) -> None:
    record = {SALT: "00" * 16, MARK: external_keys.mark(one, "00" * 16)}
    assert external_keys.is_recorded(one, record)
    assert external_keys.is_recorded(other, record) is (one == other)
