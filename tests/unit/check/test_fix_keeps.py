"""`check --fix` takes no value away that the new file doesn't have elsewhere, unless it is named as left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.commands import mend
from slinky_iac.commands.check import judge
from slinky_iac.commands.cli import main
from slinky_iac.config.chart.table import ROWS
from slinky_iac.config.reading.stack_file import parse
from slinky_iac.config.stack import PROJECT

HEAD = "config:\n  slinky-iac:cluster: {name: lab}\n"


def fixed(more: str) -> tuple[dict[str, Any], tuple[mend.LeftOut, ...]]:
    found = mend.mended(HEAD + more, PROJECT, lambda text, project: judge(text, project)[1])
    return dict(parse(found.text).sections), found.left


def test_a_section_in_another_spelling_is_renamed_with_all_that_is_in_it() -> None:
    sections, left = fixed(
        "  slinky-iac:nodeSets:\n    cpu:\n      replicas: 4\n      resources: {cpus: 32, memory: 128Gi}\n"
        "    gpu:\n      replicas: 2\n      gres: ['gpu:4']\n      resources: {extended: {nvidia.com/gpu: 4}}\n"
    )
    assert sections["nodesets"] == {
        "cpu": {"replicas": 4, "resources": {"cpus": 32, "memory": "128Gi"}},
        "gpu": {"replicas": 2, "gres": ["gpu:4"], "resources": {"extended": {"nvidia.com/gpu": 4}}},
    }
    assert "nodeSets" not in sections
    assert left == ()
    (place,) = (each for each in judge(HEAD + "  slinky-iac:nodeSets: {cpu: {replicas: 1}}\n")[1] if each.finding.instead)
    assert str(place.finding) == "nodeSets: is not a setting; did you mean nodesets?"


def test_a_section_in_another_spelling_keeps_its_text_and_comments() -> None:
    more = "  slinky-iac:nodeSets: # ours\n    cpu: {replicas: 4} # four\n  slinky-iac:accounting: {enabled: false}\n"
    found = mend.mended(HEAD + more, PROJECT, lambda text, project: judge(text, project)[1])
    assert found.text == HEAD + more.replace("nodeSets", "nodesets")


def test_a_list_of_nodesets_keeps_all_their_settings() -> None:
    sections, left = fixed(
        "  slinky-iac:nodesets:\n    - name: cpu\n      replicas: 4\n      resources: {cpus: 32}\n      features: [big]\n"
    )
    assert sections["nodesets"] == {"cpu": {"replicas": 4, "resources": {"cpus": 32}, "features": ["big"]}}
    assert left == ()


@pytest.mark.parametrize("word", ["gpu", "gpus"])
def test_gpus_among_resources_are_a_device_and_a_gres(word: str) -> None:
    sections, _ = fixed(f"  slinky-iac:nodesets:\n    gpu:\n      replicas: 2\n      resources: {{cpus: 8, {word}: 4}}\n")
    assert sections["nodesets"]["gpu"] == {
        "replicas": 2,
        "resources": {"cpus": 8, "extended": {"nvidia.com/gpu": 4}},
        "gres": ["gpu:4"],
    }


@pytest.mark.parametrize("section", ["controller", "accounting"])
def test_a_switch_that_says_that_a_daemon_is_outside_stays_until_its_host_is_named(section: str) -> None:
    sections, left = fixed(f"  slinky-iac:{section}:\n    external: true\n")
    assert sections[section] == {"external": True}
    assert left == ()
    sections, left = fixed(f"  slinky-iac:{section}:\n    external: true\n    externalConfig: {{host: a.example.org}}\n")
    assert sections[section] == {"external": {"host": "a.example.org"}}


def test_a_word_that_means_a_setting_with_another_value_stays() -> None:
    sections, left = fixed("  slinky-iac:nodesets: {cpu: {count: 3, replicas: 2}}\n")
    assert sections["nodesets"] == {"cpu": {"count": 3, "replicas": 2}}
    assert left == ()


def test_what_is_left_out_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(f"{HEAD}  slinky-iac:nodesets: {{cpu: {{replicas: 2, useResourceLimits: true}}}}\n")
    main(["check", "--fix", str(file)])
    assert "Left out: nodesets.cpu.useResourceLimits (true)" in capsys.readouterr().out
    file.with_name(f"{file.name}.new").unlink()
    main(["check", "--fix", "--json", str(file)])
    assert '"nodesets.cpu.useResourceLimits"' in capsys.readouterr().out


WORDS = sorted({each.at.removesuffix(".**").replace("*/gpu", "nvidia.com/gpu").replace("*", "gpu") for each in ROWS})
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([True, False, 3, 77, "a.example.org", "gpu:4", "64Gi", "Weight=10 Features=x", "busy"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "key", "host", "port", "tag", "repository", "limits", "cpu", "memory", "replicas"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=4,
)


def tokens(value: object, *, keys: bool) -> set[str]:
    """Words and numbers of a value; with ``keys`` those of names, too: a line of slurm.conf becomes a mapping."""
    if isinstance(value, dict):
        parts = [*value.values(), *(value if keys else ())]
        return set().union(*(tokens(each, keys=keys) for each in parts))
    if isinstance(value, list):
        return set().union(*(tokens(each, keys=keys) for each in value))
    return set(re.findall(r"[a-z0-9]+", str(value).lower()))


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(WORDS), VALUES, min_size=1, max_size=3))
def test_no_value_goes_without_being_named(typed: dict[str, Any]) -> None:
    given_: dict[str, Any] = {"cluster": {"name": "lab"}, "nodesets": {"gpu": {"replicas": 5}}}
    for path, value in typed.items():
        inner = given_
        *above, last = path.replace("nvidia.com", "nvidia_com").split(".")
        for part in above:
            inner = inner.setdefault(part, {}) if isinstance(inner.setdefault(part, {}), dict) else {}
        inner[last.replace("nvidia_com", "nvidia.com")] = value
    text = yaml.safe_dump({"config": {f"{PROJECT}:{name}": value for name, value in given_.items()}})
    found = mend.mended(text, PROJECT, lambda text, project: judge(text, project)[1])
    now = tokens(yaml.safe_load(found.text), keys=True) | tokens([each.value for each in found.left], keys=False)
    assert tokens(given_, keys=False) - {"true", "false"} <= now, found
