"""The reference: each section is headed by its path, and its example is sound and sets what the section is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.config.findings import Level
from slinky_iac.config.reference import examples, headed, reference
from tests.clusters import MUNGE, stack_sections
from tests.stacks import merged, read_yaml, yaml_of

OUTSIDE = {
    "cluster": {"name": "atlas", "maxNodeCount": 2048},
    "keys": {"source": "imported"},
    "controller": {"external": {"host": "slurmctld.example.org"}},
    "accounting": {"external": {"host": "slurmdbd.example.org"}},
    "nodesets": {"cpu": {"replicas": 1}},
}
INSIDE = {
    "cluster": {"name": "atlas"},
    "accounting": {"database": {"host": "db.example.org"}},
    "nodesets": {"cpu": {"replicas": 1}},
}
ADOPTED = OUTSIDE | {
    "cluster": {"name": "atlas", "createNamespace": False},
    "keys": {
        "source": "existing",
        "slurmKeyFrom": {"secret": "slurm-auth-slurm", "key": "slurm.key"},
        "jwtKeyFrom": {"secret": "slurm-auth-jwths256", "key": "jwt_hs256.key"},
    },
}
"""As `slinky adopt` leaves a stack."""
PAGE = reference()
SHOWN = examples()


def base(path: str) -> dict[str, Any]:
    """A sound stack in which an example's daemons are where the example has them."""
    if path == "munge":
        return stack_sections(MUNGE)
    if path.startswith("adopted"):
        return ADOPTED
    inside = path.startswith(("controller", "accounting")) and not path.endswith(".external")
    return INSIDE if inside else OUTSIDE


def at(value: Any, path: list[str]) -> Iterator[Any]:
    """What an example says at a path; ``<name>`` is any name."""
    if not path:
        yield value
        return
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            found = each.values() if path[0] == "<name>" else [each[path[0]]] if path[0] in each else []
            for inner in found:
                yield from at(inner, path[1:])


@pytest.mark.parametrize("path", SHOWN)
def test_an_example_is_sound_and_sets_its_section(path: str) -> None:
    said = {name.removeprefix("slinky-iac:"): value for name, value in read_yaml(SHOWN[path]).items()}
    whole = {f"slinky-iac:{name}": value for name, value in merged(base(path), said).items()}
    _, found = judge(yaml_of({"config": whole}))
    assert [str(place.finding) for place in found if place.finding.level is Level.ERROR] == []
    assert [each for each in at(said, path.split(".")) if each], "the example doesn't set its section"


@pytest.mark.parametrize("path", SHOWN)
def test_a_section_is_headed_by_its_path_with_its_example(path: str) -> None:
    (section,) = re.findall(rf"^##+ `{re.escape(path)}`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert f"```yaml\n{SHOWN[path]}```\n" in section
    assert "| Setting | Type |" in section


def test_every_link_of_the_page_leads_to_a_section() -> None:
    heads = {re.sub(r"[^\w-]", "", path.lower()) for path in SHOWN}
    assert len(heads) == len(SHOWN)
    linked = set(re.findall(r"\]\(#([^)]+)\)", PAGE))
    assert linked <= heads
    assert len(linked) > 50


def test_a_section_without_an_example_and_an_example_of_no_section_are_refused() -> None:
    places = {"Drain": ["drain", "nodesets.<name>.drain"], "Pod": ["nodesets.<name>.pod"]}
    assert headed(places, {"nodesets.<name>.pod": "", "drain": ""}) == {"Pod": "nodesets.<name>.pod", "Drain": "drain"}
    for shown in ({"drain": ""}, dict.fromkeys(["drain", "nodesets.<name>.drain", "nodesets.<name>.pod"], "")):
        with pytest.raises(ValueError, match="one example a section"):
            headed(places, shown)
    with pytest.raises(ValueError, match="elsewhere"):
        headed(places, {"drain": "", "nodesets.<name>.pod": "", "elsewhere": ""})
