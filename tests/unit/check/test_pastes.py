"""What `check` shows to paste is the mended file, or says what isn't mended in it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from slinky_iac.commands.check import judge
from slinky_iac.commands.cli import main
from slinky_iac.commands.paste import BY_NAME, block
from slinky_iac.config.reading.stack_file import parse

HEAD = "config:\n  slinky-iac:cluster: {name: c}\n  slinky-iac:accounting: {enabled: false}\n"


def shown(more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(HEAD + more)
    main(["check", str(file)])
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "resources",
    ["{requests: {cpu: 1}, limits: {cpu: 16, memory: 64Gi}}", "{limits: {memory: 64Gi, cpu: 16}, requests: {cpu: 1}}"],
)
def test_requests_and_limits_are_one_setting_in_whatever_order(
    resources: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = f"  slinky-iac:nodesets:\n    cpu:\n      replicas: 1\n      resources: {resources}\n"
    (found,) = (place.finding for place in judge(HEAD + more)[1] if place.finding.path.startswith("nodesets.cpu"))
    assert str(found).count("cpu is 16 (requests say 1)") == 1
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(HEAD + more)
    main(["check", "--fix", str(file)])
    capsys.readouterr()
    new = yaml.safe_load((tmp_path / "Pulumi.dev.yaml.new").read_text())
    assert new["config"]["slinky-iac:nodesets"]["cpu"]["resources"] == {"cpus": "16", "memory": "64Gi"}


def test_two_numbers_that_contradict_each_other_are_left_to_a_person() -> None:
    more = "  slinky-iac:nodesets:\n    cpu:\n      replicas: 1\n      resources: {limits: {cpu: 2}, cpus: 3}\n"
    (found,) = (place.finding for place in judge(HEAD + more)[1] if place.finding.path.startswith("nodesets.cpu"))
    assert found.instead is None


def test_what_is_still_wrong_in_a_paste_is_named_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown("  slinky-iac:drain: {dealine: 30m, onDeadline: kill}\n", tmp_path, capsys)
    assert "Still to be put right in it: drain.onDeadline" in out
    assert "it mends 1 of 2 errors" in out


def test_a_paste_that_mends_all_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown("  slinky-iac:drain: {dealine: 30m}\n", tmp_path, capsys)
    assert "Still to be put right" not in out
    assert "it mends all errors" in out


def test_the_key_of_a_toleration_is_a_label_and_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = "  slinky-iac:nodesets:\n    cpu:\n      replicas: 1\n      tolerations: [{key: a, value: b}]\n"
    out = shown(more, tmp_path, capsys)
    assert "No YAML is shown" not in out
    assert "- key: a" in out


SOUND: dict[str, Any] = {
    "cluster": {"name": "lab", "slurmVersion": "26.05"},
    "accounting": {"enabled": False},
    "controller": {"extraConf": {"SlurmctldTimeout": 300, "MailDomain": "example.org"}},
    "nodesets": {
        "cpu": {
            "replicas": 8,
            "resources": {"cpus": 16, "memory": "64Gi"},
            "features": ["ib", "12.6"],
            "pod": {"labels": {"5": "web", "team": "hpc"}, "nodeSelector": {"pool": "1"}},
            "extraConf": {"Weight": 10},
        },
        "gpu": {"replicas": 1, "gres": ["gpu:4"], "resources": {"cpus": 4, "extended": {"nvidia.com/gpu": 4}}},
    },
    "partitions": {"batch": {"nodesets": ["cpu"], "config": {"MaxTime": "1-0"}}},
}
VALUES = (5, 26.5, 12.6, True, None, "word", "0300", ["word"], [12.6, 4], {"5": 5}, {"word": "word"}, "Name=gpu File=/dev/x")
KEYS = ("partition", "Replicas", "limits", "count", "gpu", "slurmd", "feature", "1.5", "imagePullPolicy", "labels", "nodes")


def places_in(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places_in(inner, (*path, key))


def changed(data: st.DataObject) -> dict[str, Any]:
    """The sound stack with a slip or two in it."""
    found = copy.deepcopy(SOUND)
    for _ in range(data.draw(st.integers(1, 2))):
        *above, last = data.draw(st.sampled_from(list(places_in(found))))
        inner: Any = found
        for key in above:
            inner = inner[key]
        if isinstance(last, str) and data.draw(st.booleans()):
            inner[data.draw(st.sampled_from(KEYS))] = inner.pop(last)
        else:
            inner[last] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
    return found


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if pairs is None:
        yield path, value
    for key, inner in pairs or ():
        yield from leaves(inner, f"{path}.{key}".lstrip("."))


@given(st.data())
@settings(max_examples=60, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_what_is_pasted_ends_its_finding_and_keeps_every_other_value(data: st.DataObject) -> None:
    """Of `features: [12.6]` it made a mapping, and it took the value of a label whose name is a number."""
    sections = changed(data)
    text = yaml.safe_dump({"config": {f"slinky-iac:{name}": each for name, each in sections.items()}})
    file = parse(text)
    found = [place.finding for place in judge(text)[1]]
    pasted, _ = block(file.sections, judge(text)[1])
    if not pasted:
        return
    new = {name.removeprefix("slinky-iac:"): each for name, each in yaml.safe_load(pasted).items()}
    mended = [each for each in found if each.instead is not None or each.paste]
    old = {name: each for name, each in file.sections.items() if name not in {*new, *(each.path for each in mended)}}
    for name in BY_NAME & new.keys() & file.sections.keys():
        before = file.sections[name]
        new[name] = {**(before if isinstance(before, dict) else {}), **new[name]}
    after = {**old, **new}
    written = yaml.safe_dump({"config": {f"slinky-iac:{name}": each for name, each in after.items()}})
    assert parse(written).sections == after
    still = {str(place.finding) for place in judge(written)[1]}
    assert mended
    there = dict(leaves(after))
    for path, value in leaves(dict(file.sections)):
        of_mended = any(path == each.path or path.startswith(f"{each.path}.") for each in mended)
        assert value is None or of_mended or there.get(path) == value, (path, pasted)
    ended = [each for each in mended if str(each) not in still]
    assert ended == mended, pasted


@pytest.mark.parametrize("line", ["features: [12.6]", "features: [13, true]", "gres: [4]"])
def test_an_item_of_a_list_is_quoted_as_one(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(f"  slinky-iac:nodesets:\n    cpu:\n      replicas: 1\n      {line}\n", tmp_path, capsys)
    assert "Paste this" not in out
    assert '0: "' not in out
    assert 'quote it: - "' in out


def test_a_word_that_only_a_person_can_decide_is_in_no_paste(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The octal number would be written as Pulumi reads it, and its error would be gone."""
    more = "  slinky-iac:nodesets:\n    cpu:\n      Replicas: 1\n      extraConf: {Weight: 0300}\n"
    assert "Paste this" not in shown(more, tmp_path, capsys)
    assert "Paste this" in shown(more.replace("0300", "300"), tmp_path, capsys)


def test_a_section_under_another_name_is_named_as_the_file_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If you keep it beside what is pasted the error comes again."""
    out = shown("  slinky-iac:nodeSets:\n    gpu: {replicas: 1}\n", tmp_path, capsys)
    assert "in place of what the file has of slinky-iac:nodeSets, slinky-iac:nodesets (gpu alone)" in " ".join(out.split())
