"""`drain cancel` of a whole stack."""

from dataclasses import replace

import pytest

from slinky_iac.commands.drain import given_back
from slinky_iac.drain.settings import Owner
from slinky_iac.errors import DrainBlocked, KubeUnreachable
from tests.unit.drain.model_session import settings


def test_trouble_with_one_nodeset_keeps_none_of_the_others():
    asked = []

    def give_back(one):
        asked.append(one.owner.nodeset)
        if one.owner.nodeset in {"a", "c"}:
            raise KubeUnreachable(f"{one.owner.nodeset}: no route")
        return 2

    with pytest.raises(DrainBlocked, match="a: no route\nc: no route"):
        given_back([replace(settings(1), owner=Owner("dev", name)) for name in "abc"], give_back)
    assert asked == ["a", "b", "c"]
