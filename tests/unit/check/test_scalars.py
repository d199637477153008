"""A stack's file is read as Pulumi reads it, word for word: what each scalar is was asked of `pulumi config --json`."""

from __future__ import annotations

import pytest
import yaml

from slinky_iac import pulumi_yaml, safe_yaml
from slinky_iac.commands.check import judge
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.stack_file import parse

HEAD = "config:\n  slinky-iac:cluster:\n    name: lab\n  slinky-iac:accounting:\n    enabled: false\n"
TEXTS = ("OFF", "off", "yes", "No", "on", "y", "n", "12:30:00", "2026-13-01", "1.2.3", "1e400", "_1", "0x", "1-0", "0x1.8")
VALUES = {
    "True": True,
    "FALSE": False,
    "~": None,
    "1e3": 1000,
    "1E3": 1000,
    "1.5e3": 1500,
    "1e-3": 0.001,
    "1.0": 1,
    ".5": 0.5,
    "26.05": 26.05,
    "010": 8,
    "08": 8,
    "0o17": 15,
    "-0b11": -3,
    "0x_1F": 31,
    "1_000": 1000,
    "2026-01-01": "2026-01-01 00:00:00 +0000 UTC",
    "2026-11-22T10:00:00Z": "2026-11-22 10:00:00 +0000 UTC",
    "0300": 192,
    "0o300": 192,
    "0x12c": 300,
    "1:30:00": "1:30:00",
    "1e22": 1e22,
    "18446744073709551615": 18446744073709552000,
    ".7_5": 0.75,
    "._75": "._75",
    "-_75": -75,
}


def conf(line: str) -> str:
    return f"{HEAD}  slinky-iac:controller:\n    extraConf:\n      {line}\n"


def errors(text: str) -> list[tuple[str, str]]:
    return [(f.path, f.message) for f in (place.finding for place in judge(text)[1]) if f.level is Level.ERROR]


@pytest.mark.parametrize(("written", "value"), [*VALUES.items(), *((text, text) for text in TEXTS)])
def test_a_scalar_is_what_pulumi_reads(written: str, value: object) -> None:
    read = parse(conf(f"X: {written}")).sections["controller"]  # with words of it that a person has to decide, as 010
    assert read == {"extraConf": {"X": value}}
    (got,) = read["extraConf"].values()
    assert isinstance(got, bool) is isinstance(value, bool)


@pytest.mark.parametrize("line", ["PreemptMode: OFF", "UsePAM: yes", "DisableRootJobs: no", "MaxJobCount: 1e4"])
def test_a_word_of_slurms_needs_no_quotes(line: str) -> None:
    """PreemptMode: OFF was refused as NO."""
    assert errors(conf(line)) == []


def test_what_is_said_names_the_word_of_the_file() -> None:
    ((path, message),) = errors(conf("PreemptMode: yes"))
    assert path == "controller.extraConf.PreemptMode"
    assert "has yes;" in message


def test_values_of_helm_have_helms_truth_values() -> None:
    assert safe_yaml.read("a: yes\nb: OFF\n") == {"a": True, "b": False}


@pytest.mark.parametrize("text", ["0E0", "1e3", "08", "0o17", "0b11", "1_0.5"])
def test_a_text_that_is_written_is_a_text_to_pulumi(text: str) -> None:
    written = yaml.dump({"a": text}, Dumper=pulumi_yaml.StackDumper)
    assert safe_yaml.read(written, pulumi_yaml.StackLoader) == {"a": text}


@pytest.mark.parametrize(
    ("written", "value"), [("y", True), ("Y", True), ("n", False), ("N", False), ("on", True), ("NO", False)]
)
def test_a_truth_value_of_helms_is_one(written: str, value: bool) -> None:
    """`helm template` 3 and 4 of a chart that prints it: to Pulumi these are texts."""
    assert safe_yaml.read(f"enabled: {written}", safe_yaml.HelmLoader) == {"enabled": value}
    assert safe_yaml.read(f"enabled: '{written}'", safe_yaml.HelmLoader) == {"enabled": written}


def test_a_word_that_begins_as_a_truth_value_is_a_text() -> None:
    assert safe_yaml.read("a: ye\nb: nn\nc: y n", safe_yaml.HelmLoader) == {"a": "ye", "b": "nn", "c": "y n"}


def test_dimensions_of_a_torus_are_texts_in_what_slurm_reads() -> None:
    assert safe_yaml.read("{x: 2, y: 2, z: 1}") == {"x": 2, "y": 2, "z": 1}
