"""The bad stack of each rule over the real engine: refused by the rule it is named after and by no other.

tests/policies has some of them, and all without an engine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.conftest import tools
from tests.integration.engine import Tools
from tests.policies.over_engine import FIRST, assert_refused_by_its_rule_alone, begun
from tests.policies.pack import Outcome

__all__ = ["tools"]


@pytest.fixture(scope="module")
def previews(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """Previews of all of them."""
    return begun(tools, tmp_path_factory.mktemp("bad"), FIRST)


@pytest.mark.parametrize("file", FIRST, ids=lambda file: file.stem)
def test_a_preview_of_a_bad_stack_is_refused_by_its_rule_and_by_no_other(
    previews: Callable[[str], Outcome], file: Path
) -> None:
    assert_refused_by_its_rule_alone(previews(file.stem), file)
