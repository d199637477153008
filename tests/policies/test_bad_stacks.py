"""The whole pack over the real engine: sound stacks pass, and each bad one is refused by the rule it is named after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from slurm_rules.catalogue import RULES

from tests.integration.engine import Tools
from tests.policies.in_memory import in_memory, speaking
from tests.policies.over_engine import FIRST, assert_refused_by_its_rule_alone, begun, rule_of
from tests.policies.pack import BAD, SOUND, Outcome, also_of, bad_stack, plain_stack, site_of

SHOWN = (
    *("cluster-complete", "no-secrets-in-outputs", "keys-not-in-clear", "tokens-for-users"),
    *(f"cluster-complete.{row}" for row in ("key-secrets-protected", "nodesets-depend-on-restapi", "operator-runs")),
    *(f"cluster-complete.replicas-left-to-gate-{how}" for how in ("autoscaler", "typed-in")),
    "cluster-complete.removal-by-gate-independent",
)
"""Rules, or bad stacks, that go over the engine here: of options, dependencies, outputs, secrets, a gate, a release of a
chart and a job. All of them do in tests/faults/test_policies_over_the_engine.py; here the rules judge them without it."""
FILES = [file for file in BAD if file.stem in SHOWN or (file in FIRST and rule_of(file) in SHOWN)]


@pytest.fixture(scope="module")
def previews(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """Previews of the sound stacks and of these."""
    return begun(tools, tmp_path_factory.mktemp("bad"), FILES)


@pytest.mark.parametrize("name", ["inside", "outside"])
def test_a_sound_stack_passes_with_every_rule_mandatory(previews: Callable[[str], Outcome], name: str) -> None:
    seen = previews(name)
    assert seen.code == 0, seen.output
    assert seen.spoke == set()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_preview_of_a_bad_stack_is_refused_by_its_rule_and_by_no_other(
    previews: Callable[[str], Outcome], file: Path
) -> None:
    assert_refused_by_its_rule_alone(previews(file.stem), file)


@pytest.mark.parametrize("name", ["inside", "outside"])
def test_no_rule_speaks_of_a_sound_stack(name: str) -> None:
    assert speaking(in_memory(plain_stack(name))) == set()


@pytest.mark.parametrize("file", SOUND, ids=lambda file: file.stem)
def test_no_mandatory_rule_speaks_of_what_sites_have_beside_a_cluster(file: Path) -> None:
    mandatory = {rule.name for rule in RULES if rule.level == "mandatory"}
    assert speaking(in_memory(bad_stack(file))) & mandatory == set()


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_bad_stack_violates_its_rule_and_none_that_it_does_not_name(file: Path) -> None:
    assert speaking(in_memory(bad_stack(file)), site_of(file)) == {rule_of(file)} | also_of(file)


def test_every_rule_has_a_bad_stack() -> None:
    assert {rule_of(file) for file in BAD} == {rule.name for rule in RULES}


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_bad_stack_says_what_is_wrong_with_it(file: Path) -> None:
    assert file.read_text().startswith("# ")
