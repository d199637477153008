"""What a release of the operator would drop without a word is an error with the reason, before anything is made."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.commands.check import judge
from slinky_iac.config.chart.translation import as_yaml
from slinky_iac.config.operator.empty_values import places
from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import require_sound
from slinky_iac.specs.dropped import dropped
from tests.clusters import MUNGE, STACKS, recorded, stack_sections
from tests.stacks import form, merged, without_networks

RELEASES = ("1.1.0", "1.1.2", "1.2.1")
_NOT_ROOT = {"securityContext": {"runAsNonRoot": False, "fsGroup": 401}}
LOGIN = {"main": {"sssdConfFrom": {"secret": "sssd"}}}
CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"nodesets": {"gpu": {"privileged": False}}}, "nodesets.gpu.privileged", "is false"),
    ({"nodesets": {"gpu": {"pod": {"terminationGrace": 0}}}}, "nodesets.gpu.pod.terminationGrace", "is 0"),
    ({"nodesets": {"gpu": {"pod": {"nodeSelector": {"node-role/gpu": ""}}}}}, "nodesets.gpu.pod.nodeSelector", "is empty"),
    ({"restapi": {"pod": {"terminationGrace": 0}}}, "restapi.pod.terminationGrace", "is 0"),
    ({"controller": {"pod": {"nodeSelector": {"infra": ""}}}}, "controller.pod.nodeSelector", "is empty"),
    ({"accounting": {"pod": {"nodeSelector": {"infra": ""}}}}, "accounting.pod.nodeSelector", "is empty"),
    ({"logins": {"main": {**LOGIN["main"], "pod": {"terminationGrace": 0}}}}, "logins.main.pod.terminationGrace", "is 0"),
    ({"nodesets": {"gpu": {"pod": {"affinity": {"podAffinity": {}}}}}}, "nodesets.gpu.pod.affinity", "is empty"),
    *(
        (
            {part: {**held, "raw": {"pod": _NOT_ROOT}} if at == part else {"a": {**held, "raw": {"pod": _NOT_ROOT}}}},
            f"{at}.raw.pod.securityContext.runAsNonRoot",
            "is false",
        )
        for part, at, held in (
            ("controller", "controller", {}),
            ("accounting", "accounting", {}),
            ("restapi", "restapi", {}),
            ("nodesets", "nodesets.a", {"replicas": 1}),
            ("logins", "logins.a", LOGIN["main"]),
        )
    ),
    (
        {"controller": {"raw": {"container": {"securityContext": {"readOnlyRootFilesystem": False}}}}},
        "controller.raw.container.securityContext.readOnlyRootFilesystem",
        "is false",
    ),
    (
        {"controller": {"raw": {"spec": {"logfile": {"securityContext": {"runAsNonRoot": False}}}}}},
        "controller.raw.spec.logfile.securityContext.runAsNonRoot",
        "is false",
    ),
]


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(("over", "path", "words"), CASES, ids=[path for _, path, _ in CASES])
def test_an_empty_value_that_the_operator_drops_is_an_error(
    over: dict[str, Any], path: str, words: str, version: str
) -> None:
    (found,) = dropped(form("all-in-kubernetes", operator={"version": version, "webhook": {"enabled": False}}, **over))
    assert (found.level, found.path) == ("error", path)
    assert words in found.message
    assert f"slurm-operator {version} drops" in found.message


@pytest.mark.parametrize(("over", "path", "words"), CASES, ids=[path for _, path, _ in CASES])
def test_slurm_operator_1_0_keeps_what_it_is_given(over: dict[str, Any], path: str, words: str) -> None:
    assert dropped(form("all-in-kubernetes", operator={"version": "1.0.5"}, **over)) == ()


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("stack", STACKS)
def test_nothing_that_is_rendered_without_being_asked_for_is_dropped(stack: str, version: str) -> None:
    """Among them false in lists (readOnly of a mount), which the operator leaves as they are."""
    volume = {"name": "v", "mountPath": "/v", "source": {"emptyDir": {}}}
    over = {"nodesets": {"gpu": {"replicas": 1, "volumes": [volume], "env": {"EMPTY": ""}}}, "logins": LOGIN}
    asked = merged(without_networks(stack_sections(stack)), over)
    require_sound(dropped(load(merged(asked, {"operator": {"version": version, "webhook": {"enabled": False}}}))))


@pytest.mark.parametrize(("over", "path", "words"), CASES, ids=[path for _, path, _ in CASES])
def test_check_finds_what_a_preview_refuses(over: dict[str, Any], path: str, words: str) -> None:
    asked = merged(stack_sections("all-in-kubernetes"), {"operator": {"version": "1.2.1"}, **over})
    config, found = judge("config:\n" + textwrap.indent(as_yaml(asked), "  "))
    assert config is None
    (error,) = [each for each in found if each.finding.level == "error"]
    assert (error.finding.path, words in error.finding.message) == (path, True)
    assert error.line > 1


def test_the_program_ends_before_the_first_resource() -> None:
    with pytest.raises(StackRefused, match=r"nodesets\.gpu\.privileged: is false, which slurm-operator"):
        recorded("all-in-kubernetes", operator={"version": "1.2.1"}, nodesets={"gpu": {"privileged": False}})


def test_a_munge_cluster_renders_no_specs_of_the_operators() -> None:
    recorded(MUNGE)


_JSON = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.lists(inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=3), _JSON))
def test_nothing_is_found_exactly_where_the_operator_would_remove_nothing(part: dict[str, Any]) -> None:
    """The operator's own way (removeEmpty), written down a second time as a transformation."""

    def pruned(given: dict[str, Any]) -> dict[str, Any]:
        kept = {k: pruned(v) if isinstance(v, dict) else v for k, v in given.items() if v or v is None}
        return {k: v for k, v in kept.items() if v != {}}

    assert (list(places(part)) == []) is (pruned(part) == part)
