"""What all parts keep: a name that is their folder's, and a component for what they make."""

from __future__ import annotations

import pytest

from slinky_iac.parts.part import Part
from slinky_iac.parts.registry import PARTS
from tests.stacks import ROOT


def test_each_is_in_a_folder_of_its_name() -> None:
    assert [part.name for part in PARTS] == [type(part).__module__.split(".")[2] for part in PARTS]
    assert len({part.name for part in PARTS}) == len(PARTS)


def test_each_folder_is_listed_or_has_a_daemons_places() -> None:
    folders = {path.parent.name for path in (ROOT / "slinky_iac" / "parts").glob("*/settings.py")}
    daemons = {path.parent.name for path in (ROOT / "slinky_iac" / "parts").glob("*/place.py")}
    of_others = {"fence", "tokens"}
    """Parts whose settings are fields of another section."""
    assert folders == {part.name for part in PARTS} - of_others | daemons


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_that_makes_objects_or_gates_before_nodesets_has_a_component(part: Part) -> None:
    own = type(part)
    makes = own.objects is not Part.objects or own.before_nodesets is not Part.before_nodesets
    assert bool(part.component) == makes
