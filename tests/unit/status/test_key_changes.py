"""Keys that are being replaced are on the screen, by what can be seen; what can't be told is said as unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from slinky_iac.commands.status.build import status
from slinky_iac.commands.status.model import Answer, Configured, KeyChange, SeenKey, Status
from slinky_iac.commands.status.render import screen
from tests.rsa_keys import token_key
from tests.unit.status.made import NOW, PRINTS, answers, configured, facts, gate, resources, token_objects, token_parts

TOKENS = {"jwtSecret": "slurm-token-key", "jwtEntry": "token.pem", "tokens": "rs256"}
A, B = token_key("old").kid, token_key("new").kid


def shown(
    *marks: str,
    state: Sequence[dict[str, Any]] | None = None,
    keys: dict[str, SeenKey] | None = None,
    section: dict[str, Any] | None = None,
    **more: Any,
) -> Status:
    """The screen of the example, with these secrets set, this state, these keys in Kubernetes and this section `keys`."""
    seen = answers(configured=Answer(configured(*marks, **(section or {}))), **more)
    if keys is not None:
        seen = answers(configured=seen.configured, keys={**seen.keys, **{name: Answer(key) for name, key in keys.items()}})
    return status(facts("prod", state if state is not None else resources()), seen)


def with_tokens(*kids: str, tokens: str = "rs256") -> list[dict[str, Any]]:
    """The example's state with a token key, by which the gates sign unless ``tokens`` is ``prepared``."""
    signs = TOKENS if tokens == "rs256" else {}
    made = [
        each if "NodeSetScale" not in each["type"] else {**each, "outputs": gate("gpu", 3, **signs)}
        for each in resources(**token_parts(*kids))
    ]
    return [*made, *token_objects()]


def token_row(found: Status) -> tuple[str, int | None, str, tuple[str, ...], str]:
    (key,) = [each for each in found.keys if each.name == "token key"]
    return key.fingerprint, key.made, key.cluster, key.signs, key.text


def test_at_rest_no_key_is_being_replaced_and_the_screen_has_no_word_of_it() -> None:
    found = shown()
    assert found.key_changes == ()
    assert "being replaced" not in screen(found)
    assert [each.signs for each in found.keys] == [(), ("operator", "this stack")]


def test_the_token_key_is_listed_by_kid_with_its_age_and_signs() -> None:
    found = shown(state=with_tokens(A), keys={"token key": SeenKey(f"kid {A}", NOW - 60)})
    assert token_row(found) == (f"kid {A}", NOW - 60, "same", ("this stack",), "")
    assert [each.signs for each in found.keys] == [(), ("operator",), ("this stack",)]
    assert f"kid {A}" in screen(found)
    assert found.key_changes == ()


def test_a_prepared_token_key_signs_nothing_yet() -> None:
    found = shown(state=with_tokens(A, tokens="prepared"), keys={"token key": SeenKey(f"kid {A}", NOW)})
    assert [each.signs for each in found.keys] == [(), ("operator", "this stack"), ()]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (Answer(configured(tokens="rs256")), [(), ("operator",), ("this stack",)]),
        (Answer(configured(tokens="prepared")), [(), ("operator", "this stack"), ()]),
        (Answer(trouble="no pulumi"), [(), ("operator",), ("unknown",)]),
    ],
)
def test_without_a_gate_the_configuration_tells_which_key_signs(answer: Answer[Any], wanted: list[tuple[str, ...]]) -> None:
    bare = [each for each in with_tokens(A) if "dynamic" not in each["type"]]
    assert [each.signs for each in status(facts("prod", bare), answers(configured=answer)).keys] == wanted


@pytest.mark.parametrize(
    ("seen", "cluster", "text"),
    [
        (SeenKey(f"kid {B}", NOW), "differs", "the stack has published another"),
        (SeenKey(f"kid {A}", NOW, text="the set lacks it"), "differs", "the set lacks it"),
        (SeenKey("", None), "differs", "there is no Secret with token.pem"),
    ],
)
def test_a_token_key_that_daemons_would_refuse_differs(seen: SeenKey, cluster: str, text: str) -> None:
    assert token_row(shown(state=with_tokens(A), keys={"token key": seen}))[2::2] == (cluster, text)


def test_a_token_secret_that_can_not_be_read_is_known_by_its_public_half_only_where_that_is_one() -> None:
    one, two = (status(facts("prod", with_tokens(*kids)), answers()) for kids in ((A,), (A, B)))
    assert [token_row(each)[0] for each in (one, two)] == [f"kid {A}", "unknown"]


@pytest.mark.parametrize("mark", ["tokenKeyNext", "tokenKeyPrevious"])
def test_a_rotation_of_the_token_key_shows_both_and_does_not_guess_which_goes(mark: str) -> None:
    found = shown(mark, state=with_tokens(A, B), keys={"token key": SeenKey(f"kid {A}", NOW, (f"kid {B}",))})
    (change,) = found.key_changes or ()
    assert change == KeyChange(
        "token key",
        "under running jobs",
        (f"{mark} is set", "the public set has another key"),
        (f"kid {B}",),
        "slinky keys rotate tokens --plan --stack prod",
    )
    text = screen(found)
    assert "token key being replaced" in text.splitlines()[1]
    assert (f"kid {A}" in text, f"kid {B}" in text) == (True, True)


def test_an_old_public_key_that_is_left_is_a_rotation_without_its_end() -> None:
    found = shown(state=with_tokens(A, B), keys={"token key": SeenKey(f"kid {A}", NOW, (f"kid {B}",))})
    assert [each.signs for each in found.key_changes or ()] == [("the public set has another key",)]


def test_the_daemons_keys_by_their_marks_and_by_what_is_handed_out() -> None:
    other = "SHA256:" + "n" * 43
    keys = {"JWT key": SeenKey(PRINTS[1], NOW, (other,)), "slurm.key": SeenKey(PRINTS[0], NOW, (other,))}
    found = shown("slurmKeyPrevious", "jwtKeyNext", keys=keys, section={"jwks": True})
    assert [(each.key, each.how, each.signs, each.besides) for each in found.key_changes or ()] == [
        ("slurm.key", "under running jobs", ("slurmKeyPrevious is set", "slurm.jwks of the pods has another key"), (other,)),
        ("JWT key", "under running jobs", ("jwtKeyNext is set", "its Secret holds another key"), (other,)),
    ]


def removed() -> list[dict[str, Any]]:
    """What a planned stop leaves: neither the keys' Secrets nor what reads them."""
    gone = ("Secret", "NodeSetScale", "OutsideHosts", "Controller", "Accounting", "RestApi")
    return [each for each in resources() if not each["type"].endswith(gone)]


def test_a_planned_stop_of_an_imported_key_before_and_after_its_removal() -> None:
    before, after = (shown("slurmKeyNext", state=state) for state in (resources(), removed()))
    told = [[(each.key, each.how, each.signs[1]) for each in found.key_changes or ()] for found in (before, after)]
    assert told == [
        [("slurm.key", "planned stop", "its Secret and the daemons' resources are there")],
        [("slurm.key", "planned stop", "its Secret and all that reads it are removed")],
    ]
    text = screen(after)
    assert "the stack holds no Slurm to ask" in text
    assert "in a planned stop" in text, "who is called meanwhile sees why there is nothing"


def generated(*, protect: bool = True, without: str = "") -> list[dict[str, Any]]:
    """The example's state with slurm.key's Secret protected or not; ``without``: less the resource whose URN ends so."""
    kept = [each for each in resources() if not without or not str(each.get("urn")).endswith(without)]
    return [{**each, "protect": protect} if "slurm-key-secret" in str(each.get("urn")) else each for each in kept]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (generated(protect=False), "it isn't protected, as keys.protect wants"),
        (generated(without="slurm-key-secret"), "the state has no such key"),
    ],
)
def test_a_planned_stop_of_a_generated_key_shows_in_the_state(state: list[dict[str, Any]], said: str) -> None:
    found = shown(state=state, section={"source": "generated"})
    (change,) = found.key_changes or ()
    assert (change.key, change.how) == ("slurm.key", "planned stop")
    assert change.signs[0].startswith(said)


@pytest.mark.parametrize("section", [{"source": "generated"}, {"source": "existing"}, {"source": "imported"}])
def test_a_stack_at_rest_is_in_no_planned_stop(section: dict[str, Any]) -> None:
    assert shown(state=generated(), section=section).key_changes == ()


def test_without_the_configuration_what_is_not_told_is_unknown() -> None:
    found = status(facts("prod", resources()), answers(configured=Answer(trouble="no pulumi")))
    assert found.key_changes is None
    assert found.unknown == ("configuration: no pulumi",)
    assert "Keys being replaced\n  unknown\n" in screen(found)
    seen = {"JWT key": Answer(SeenKey(PRINTS[1], NOW, ("SHA256:other",)))}
    told = status(facts("prod", resources()), answers(configured=Answer(trouble="no pulumi"), keys=seen)).key_changes
    assert [(each.key, each.how) for each in told or ()] == [("JWT key", "unknown")]


def test_a_configuration_with_a_fault_still_tells_which_secrets_are_set() -> None:
    broken = Configured(frozenset({"tokenKeyNext", "tokenKeyPrevious"}), None, "workers: isn't a section")
    found = status(facts("prod", with_tokens(A)), answers(configured=Answer(broken)))
    assert [each.signs for each in found.key_changes or ()] == [("tokenKeyNext is set", "tokenKeyPrevious is set")]
    assert "configuration: workers: isn't a section" in found.unknown


def test_an_empty_stack_replaces_no_key() -> None:
    assert status(facts("prod", []), answers(configured=Answer(trouble="no pulumi"))).key_changes == ()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_lines_of_a_change_fit_the_screen(width: int) -> None:
    keys = {"token key": SeenKey(f"kid {A}", NOW, (f"kid {B}",), "ConfigMap slurm/slurm-token-jwks lacks its public half")}
    text = screen(shown("tokenKeyNext", "slurmKeyNext", state=with_tokens(A, B), keys=keys), width=width)
    assert max(map(len, text.splitlines())) <= width
