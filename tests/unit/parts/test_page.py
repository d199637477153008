"""The example of docs/add-a-part.md is a part: it says what is wrong, and makes its object."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from tests.stacks import ROOT


def example() -> dict[str, Any]:
    page = (ROOT / "docs" / "add-a-part.md").read_text()
    code: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(f"from __future__ import annotations\n{block}", code)
    return code


def stack(code: dict[str, Any], text: str) -> Any:
    return SimpleNamespace(cluster=SimpleNamespace(resource_name="slurm"), motd=code["Motd"](text=text))


def test_the_example_makes_one_object_and_no_more() -> None:
    code = example()
    part = code["MessageOfTheDay"]()
    (made,) = part.objects(stack(code, "closed on Sunday"), str)
    assert (made.resource, made.name, made.body) == ("configmaps", "slurm-motd", {"data": {"motd": "closed on Sunday"}})
    assert list(part.objects(stack(code, ""), str)) == []


def test_its_rule_refuses_a_long_text() -> None:
    code = example()
    (rule,) = code["MessageOfTheDay"].rules
    assert [each.path for each in rule(stack(code, "x" * 5000), frozenset())] == ["motd.text"]
    assert list(rule(stack(code, "short"), frozenset())) == []
