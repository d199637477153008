"""What people read about the rules is what the rules are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from slurm_rules.catalogue import RULES
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule

from tests.policies import manual
from tests.policies.pack import LAB, PACK, SITE


def test_the_page_and_the_schema_are_made_of_the_rules() -> None:
    again = "run `PYTHONPATH=policies venv/bin/python -m tests.policies.manual`"
    assert manual.PAGE.read_text() == manual.page(manual.PAGE.read_text()), again
    assert manual.SCHEMA.read_text() == manual.schema_text(), again


def test_the_page_tells_of_every_rule_and_every_bound() -> None:
    page = manual.PAGE.read_text()
    for each in RULES:
        assert f"### {each.name}\n" in page
        assert all(f"**`{name}`**" in page for name in each.options)


def test_names_of_rules_are_told_apart() -> None:
    names = [each.name for each in RULES]
    assert len(set(names)) == len(names)
    assert "all" not in names  # the engine's word for every rule


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.name)
def test_a_rule_says_why_from_where_and_what_to_do(each: object) -> None:
    assert isinstance(each, manual.Rule)
    assert all(len(part) >= 15 for part in (each.summary, each.why, each.source, each.todo, each.level_reason))


def test_a_rule_without_a_manual_is_refused() -> None:
    def check(resource: Resource, stack: Stack, options: Options):
        """It asks for something.

        Why: for no reason.
        """
        yield from ()

    with pytest.raises(ValueError, match="lacks the paragraphs Source, Do, Level"):
        rule("lazy", lambda _: True)(check)


@pytest.mark.parametrize("file", [SITE, LAB], ids=lambda file: file.name)
def test_a_shipped_site_file_holds_to_the_schema(file: Path) -> None:
    jsonschema.validate(json.loads(file.read_text()), manual.site_schema())


def test_the_schema_refuses_a_slip_of_the_pen() -> None:
    for slip in ({"key-sources": "advisory"}, {"token-lifetimes": {"maxSecond": 60}}, {"key-source": "off"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(slip, manual.site_schema())


def test_the_rules_need_nothing_but_the_standard_library() -> None:
    code = "import sys; import slurm_rules.catalogue; print([m for m in sys.modules if m.split('.')[0] in sys.argv[1:]])"
    wanted = ["pulumi", "pulumi_policy", "slinky_iac", "components", "yaml"]
    done = subprocess.run([sys.executable, "-c", code, *wanted], cwd=PACK, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
