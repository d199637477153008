"""What left the settings can be removed by the next `pulumi up`: rights hold for the settings of the updates before, too."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.commands.rights.cli import Account, printed, unfinished
from slinky_iac.commands.rights.table import rights, rights_over
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.rights import Use
from tests.stacks import EXAMPLES, merged, sections, told

ACCOUNT = Account("ci", "deployer")
(OUTSIDE,) = [path for path in EXAMPLES if path.stem == "Pulumi.all-outside"]
OLD: dict[str, Any] = {"nodesets": {"old": {"replicas": 1}}}


def entry(kind: str, result: str = "succeeded", *flags: str, config: dict[str, Any] | None = None) -> dict[str, Any]:
    """One update as `pulumi stack history --json` lists it."""
    texts = told(config or {})
    texts["slinky-iac:slurmKey"] = {"value": "[secret]", "secret": True}
    environment = {f"pulumi.flag.{flag}": "set" for flag in flags}
    return {"kind": kind, "result": result, "environment": environment, "config": texts, "startTime": "2026-01-02T03:04:05Z"}


def config_of(over: dict[str, Any] | None = None) -> StackConfig:
    return load(merged(sections(OUTSIDE), over or {}))


UP, FAILED, DESTROY = entry("update"), entry("update", "failed"), entry("destroy")
PART, PARTLY_GONE = entry("update", "succeeded", "target"), entry("destroy", "succeeded", "exclude-protected")


@pytest.mark.parametrize(
    ("newest_first", "wanted"),
    [
        ([], []),
        ([UP, UP], [UP]),
        ([FAILED, UP, UP], [FAILED, UP]),
        ([entry("refresh"), UP], [UP]),
        ([PART, UP, FAILED], [PART, UP]),
        ([PARTLY_GONE, UP, FAILED], [PARTLY_GONE, UP]),
        ([DESTROY, UP], []),
        ([FAILED, DESTROY, UP], [FAILED]),
        ([entry("destroy", "failed"), UP], [entry("destroy", "failed"), UP]),
        ([entry("rename"), UP], [UP]),
        ([{"kind": "update", "result": "succeeded"}, UP], [{"kind": "update", "result": "succeeded"}, UP]),
    ],
)
def test_objects_may_be_left_of_all_updates_since_one_that_was_whole(newest_first: Any, wanted: Any) -> None:
    assert list(unfinished(newest_first)) == wanted


@given(st.lists(st.sampled_from([UP, FAILED, DESTROY, PART, PARTLY_GONE])))
def test_an_update_that_failed_or_left_something_out_hides_no_earlier_one(entries: list[dict[str, Any]]) -> None:
    found = unfinished(entries)
    assert list(found) == entries[: len(found)]
    ended = next((at for at, each in enumerate(entries) if each in (UP, DESTROY)), None)
    if ended is None:
        assert len(found) == len(entries)
    else:
        assert len(found) == ended + (entries[ended] == UP)


@pytest.mark.parametrize("use", Use)
def test_rights_over_several_settings_are_all_of_each_and_no_more(use: Use) -> None:
    def each_verb(configs: list[StackConfig]) -> set[tuple[object, ...]]:
        return {
            (row.group, row.resource, row.namespace, verb, name)
            for config in configs
            for row in rights(config, use)
            for verb in row.verbs
            for name in row.names or ("*",)
        }

    both = [config_of(), config_of(OLD)]
    over = {
        (row.group, row.resource, row.namespace, verb, name)
        for row in rights_over(both, use)
        for verb in row.verbs
        for name in row.names or ("*",)
    }
    assert over == each_verb(both)
    if use is not Use.PREFLIGHT:
        assert over > each_verb(both[:1])


@pytest.mark.parametrize(("use", "verb"), [(Use.APPLY, "delete"), (Use.REVIEW, "get")])
def test_a_nodeset_that_left_the_settings_can_be_looked_at_and_removed(use: Use, verb: str) -> None:
    removed = "slurm-worker-old"
    history = [entry("update", config=merged(sections(OUTSIDE), OLD))]
    assert any(removed in row.names and verb in row.verbs for row in rights(config_of(OLD), use))
    assert removed not in printed(config_of(), use, ACCOUNT)
    text = printed(config_of(), use, ACCOUNT, history)
    assert removed in text
    assert "include what the stack may still have" in text


def test_nothing_is_said_of_earlier_settings_that_are_the_same() -> None:
    same = printed(config_of(), Use.APPLY, ACCOUNT, [entry("update", config=sections(OUTSIDE))])
    assert same == printed(config_of(), Use.APPLY, ACCOUNT)


@pytest.mark.parametrize("config", [None, {"nodesets": {"x": {"unknown": 1}}}, {"cluster": "text"}])
def test_settings_that_this_release_cannot_read_are_told(config: Any) -> None:
    broken = entry("update", config=config)
    if config is None:
        del broken["config"]
    text = printed(config_of(), Use.APPLY, ACCOUNT, [broken])
    assert "can't read the settings of the updates that began 2026-01-02T03:04:05Z: keep the Roles" in text


def test_a_file_alone_says_that_earlier_settings_are_not_in() -> None:
    assert "Read from a file alone" in printed(config_of(), Use.APPLY, ACCOUNT, alone=True)
    assert "Read from a file alone" not in printed(config_of(), Use.APPLY, ACCOUNT)
