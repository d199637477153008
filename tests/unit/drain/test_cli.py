"""`drain cancel` of a whole stack."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from slinky_iac.commands import drain as command
from slinky_iac.drain.settings import Owner
from slinky_iac.errors import DrainBlocked, KubeUnreachable
from tests.unit.drain.model_session import settings


def test_trouble_with_one_nodeset_keeps_none_of_the_others(monkeypatch):
    asked = []

    @contextmanager
    def opened(*_arguments, **_more):
        yield None

    def give_back(_session, one):
        asked.append(one.owner.nodeset)
        if one.owner.nodeset in {"a", "c"}:
            raise KubeUnreachable(f"{one.owner.nodeset}: no route")
        return 2

    selected = [replace(settings(1), owner=Owner("dev", name)) for name in "abc"]
    monkeypatch.setattr(command, "_chosen", lambda _stack, _nodeset: selected)
    monkeypatch.setattr(command, "open_session", opened)
    monkeypatch.setattr(command.scale, "give_back", give_back)
    with pytest.raises(DrainBlocked, match="a: no route\nc: no route"):
        command.cancel(None, None)
    assert asked == ["a", "b", "c"]
