"""Which modules import from the folder of a part is listed here. A folder without importers can be deleted."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from slinky_iac.parts.registry import PARTS
from tests.clusters import recorded
from tests.contract.test_architecture import PRODUCTION, SETTINGS, imported, nodes
from tests.stacks import ROOT

REGISTRY = "slinky_iac/parts/registry.py"
LISTS = (REGISTRY, "slinky_iac/parts/writers.py", "slinky_iac/keys/registry.py", "slinky_iac/commands/keys/by_key.py")
"""What names the parts, each with what it is asked: the second in a process without configuration, the others by its key."""
LOOKS_IN = {
    "autoscale": set[str](),
    "fence": set[str](),
    "jobs": set(),
    "monitoring": set(),
    "munge": set(),
    "node_table": set(),
    "slurmrestd": {"components/rest_api.py"},
    "tokens": {"slinky_iac/commands/init/stack.py"},
}
"""Who imports more of a part than its settings, besides the registry: its own command, its component, and what isn't asked
by the interface yet. A line that goes is progress; one that comes needs a method of the interface instead."""
DELETED = ("autoscale", "fence", "jobs", "monitoring", "munge", "node_table")
"""Parts that nothing else looks into."""
STACK = "slurmdbd-outside"


def of_part(name: str, imports: frozenset[str]) -> set[str]:
    """Modules of a part that are among these, without its settings."""
    own = {module.split(".")[3] for module in imports if module.startswith(f"slinky_iac.parts.{name}.")}
    return own - SETTINGS


@pytest.mark.parametrize("name", [part.name for part in PARTS])
def test_who_looks_into_a_part_is_listed(name: str) -> None:
    others = [path for path in PRODUCTION if not path.startswith(f"slinky_iac/parts/{name}/") and path not in LISTS]
    assert {path for path in others if of_part(name, imported(path))} == LOOKS_IN.get(name, set()), "LOOKS_IN lists who does"


CHOOSING = {
    ("controller", "external"),
    ("accounting", "external"),
    ("section", "external"),
    ("keys", "auth"),
    ("keys", "source"),
    ("keys", "tokens"),
    ("section", "tokens"),
    ("restapi", "tls"),
    ("section", "tls"),
}
"""Settings that say where a daemon is, how it is asked, how daemons know each other and where their keys come from: the
section's name in code, and the field."""


def test_where_a_daemon_is_is_read_by_the_function_that_chooses_its_place() -> None:
    """All other code asks the place, which is one of several classes with the same attributes (docs/reading-the-code.md)."""
    library = [path for path in PRODUCTION if path.startswith(("slinky_iac/", "components/"))]
    assert {path for path in library if any(map(chooses, nodes(path)))} == {
        "slinky_iac/config/stack.py",
        "slinky_iac/parts/slurmctld/place.py",
        "slinky_iac/parts/slurmdbd/place.py",
        "slinky_iac/parts/slurmrestd/objects.py",
        "slinky_iac/parts/slurmrestd/part.py",
        "slinky_iac/parts/slurmrestd/place.py",
        "slinky_iac/parts/slurmrestd/rules.py",
        "slinky_iac/parts/tokens/signing.py",
    }


def chooses(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute):
        return False
    of = node.value
    section = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
    return (section, node.attr) in CHOOSING


def test_which_source_of_keys_is_chosen_is_asked_by_no_code() -> None:
    """What a source can do is asked. Its name is for messages, and its values are for who chooses."""
    library = [path for path in PRODUCTION if path.startswith(("slinky_iac/", "components/"))]
    choosing = {path for path in library if "slinky_iac.keys.sources" in imported(path)}
    assert choosing == {"slinky_iac/config/others.py", "slinky_iac/config/stack.py"}
    asking = {path for path in library if any(map(asks_by_name, nodes(path)))}
    assert asking == {"slinky_iac/parts/tokens/rules.py"}, "keys.tokens: prepared, which is for a time"


def asks_by_name(node: ast.AST) -> bool:
    asked = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    asked += [node.slice] if isinstance(node, ast.Subscript) else [node.subject] if isinstance(node, ast.Match) else []
    return any(isinstance(each, ast.Attribute) and each.attr == "setting" for each in asked)


SCRIPT = """
import json, os, slinky_iac, slinky_iac.drain.preview
assert slinky_iac.__file__.startswith(os.getcwd()), "another library than the copy is imported"
from tests.contract.test_parts_apart import made
print(json.dumps(made()))
"""


def made() -> dict[str, object]:
    """What a program registers in Kubernetes, by URN."""
    found = recorded(STACK).resources
    return {each.urn: json.loads(json.dumps(each.inputs, default=str)) for each in found if "kubernetes:" in each.type}


def without(name: str, folder: Path) -> None:
    """A copy of the library and its components without a part: its folder but for the settings, its lines, its command."""
    for package in ("slinky_iac", "components"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder / "slinky_iac" / "parts" / name).glob("*.py"):
        if path.stem not in {*SETTINGS, "__init__"}:
            path.unlink()
    for path in LOOKS_IN[name]:
        (folder / path).unlink()
    for path in LISTS:
        text = (folder / path).read_text()
        kinds = re.findall(rf"^from slinky_iac\.parts\.{name}\.\w+ import (\w+)$", text, flags=re.M)
        assert len(kinds) == 1 or path != REGISTRY
        for kind in kinds:
            text, entries = re.subn(rf"{kind}\(\),\s*", "", re.sub(rf"^from .* import {kind}\n", "", text, flags=re.M))
            assert entries == 1
        (folder / path).write_text(text)


@pytest.mark.parametrize("name", DELETED)
def test_without_a_part_a_program_makes_all_else(name: str, tmp_path: Path) -> None:
    without(name, tmp_path)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    component = next(part.component for part in PARTS if part.name == name)
    all_else = {urn: inputs for urn, inputs in made().items() if not component or f"slinky:slurm:{component}$" not in urn}
    assert json.loads(ran.stdout.splitlines()[-1]) == all_else
