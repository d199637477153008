"""topology.yaml for an outside slurmctld: placed before the lines that need it, and never over an admin's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slinky_iac.commands.handoff.forms import render
from slinky_iac.commands.handoff.model import Role
from slinky_iac.commands.handoff.role_sheets import handoff
from slinky_iac.parts.node_table.topology import text_of
from tests.stacks import form
from tests.unit.handoff.made import KNOWN, texts
from tests.unit.handoff.scratch import Scratch, scratch
from tests.unit.handoff.test_check import Tree, tree

__all__ = ["scratch", "tree"]

CONFIG = form(
    "all-outside",
    nodes={
        "topologies": {"topo-switch": {"tree": {"core": ["s[1-2]"]}}},
        "table": [{"hosts": ["metal-1"], "topology": "topo-switch:s1"}],
    },
    external={"slurmdHosts": [{"name": "metal-1"}]},
)
HANDED = handoff(CONFIG, KNOWN, [Role.SLURMCTLD])
TEXT = text_of(CONFIG)
PLACE = "etc/slurm/topology.yaml"
UNITS = ("topology: topo-switch", "switch: core", "switch: s1", "switch: s2")
CONF = "/etc/slurm/slurm.conf"
LINE = "NodeName=metal-9 Topology=topo-switch:s1"


def test_the_file_is_in_the_folder_and_on_the_page_and_its_check_comes_before_the_lines() -> None:
    found = texts(render("folder", HANDED, None))
    assert found[f"slurmctld/files/{PLACE}"] == TEXT
    assert TEXT in found[f"{Role.SLURMCTLD}/README.md"]
    names = [call[0] for call in HANDED.sheets[0].checks]
    assert names.index("check_topology") < names.index("check_line")
    assert ("check_topology", f"/{PLACE}", *UNITS) in HANDED.sheets[0].checks


def test_other_forms_never_replace_a_file_that_is_there() -> None:
    play = texts(render("ansible", HANDED, None))
    assert re.search(r"dest: /etc/slurm/topology.yaml[^-]*force: false", "".join(play.values()))
    data = texts(render("cloud-init", HANDED, None))
    assert "path: /etc/slurm/topology.yaml" not in data["slurmctld.yaml"]
    assert TEXT in data["README.md"]


def test_no_role_has_it_where_the_stack_declares_no_topology() -> None:
    for each in handoff(form("all-outside"), KNOWN).sheets:
        assert not [file for file in each.files if file.path.endswith("topology.yaml")]
        assert not [call for call in each.checks if call[0] == "check_topology"]


@pytest.mark.parametrize(
    ("there", "kept"), [("", False), (f"{TEXT.splitlines()[0]}\n- topology: old\n", False), ("- topology: mine\n", True)]
)
def test_an_admins_own_file_stays_and_an_older_one_of_ours_does_not(scratch: Scratch, there: str, kept: bool) -> None:
    place = scratch.root / PLACE
    if there:
        place.write_text(there)
    script = _install(scratch, "put_beside", PLACE, "644", "root")
    assert place.read_text() == (there if kept else TEXT)
    assert ("which is your own" in script) is kept


def _install(scratch: Scratch, *call: str) -> str:
    """One function of install.sh, on the made-up host."""
    return scratch.call(texts(render("folder", HANDED, None)), Role.SLURMCTLD, *call)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (TEXT, "ok"),
        (TEXT.replace("s2\n", "s2 # the second\n") + "- topology: more\n  flat: true\n", "ok"),
        (TEXT.replace("switch: s1", 'switch:   "s1"'), "ok"),
        (TEXT.replace("- switch: s1\n", ""), "bad"),
        (TEXT.replace("- switch: s1\n", "# - switch: s1\n"), "bad"),
        (TEXT.replace("switch: s1", "switch: s11"), "bad"),
        (None, "bad"),
    ],
)
def test_the_check_finds_units_that_the_file_lacks(tree: Tree, text: str | None, kind: str) -> None:
    if text is not None:
        (tree.root / PLACE).write_text(text)
    said = tree.check("check_topology", f"/{PLACE}", *UNITS)
    assert [line.split()[0] for line in said.lines] == [kind]
    assert said.status == (kind == "bad")


@pytest.mark.parametrize("there", [True, False])
def test_a_line_with_topology_is_added_only_where_the_file_has_its_unit(tree: Tree, there: bool, tmp_path: Path) -> None:
    """slurmctld ends over the line else."""
    if there:
        (tree.root / PLACE).write_text(TEXT)
    said = tree.checks(("check_topology", f"/{PLACE}", *UNITS), ("check_line", CONF, LINE), missing=True)
    assert said.lines == ([LINE] if there else [])
    assert said.status == 1
