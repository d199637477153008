"""No file of the settings gets into the place of one that the operator, this program or a Slurm daemon has in /etc/slurm."""

from __future__ import annotations

import pytest

from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.rules.slurm_conf import SLURM_FILES, TAKEN_FILES
from tests.stacks import SECRETS, minimal

MAPS = ("configFiles", "prolog", "epilog")
KEYS = ("auth.key", "jwt-2.key", "old.jwks")


def errors(**controller: dict[str, str]) -> list[str]:
    """Paths of the errors of a stack with these maps."""
    found = findings(load(minimal(controller=controller)), SECRETS)
    return [each.path for each in found if each.level is Level.ERROR]


@pytest.mark.parametrize("field", MAPS)
@pytest.mark.parametrize("name", [*TAKEN_FILES, *KEYS])
def test_no_map_replaces_a_file_that_is_written_for_the_daemons(field: str, name: str) -> None:
    assert errors(**{field: {name: "#!/bin/sh"}}) == [f"controller.{field}.{name}"]


@pytest.mark.parametrize("field", ["prolog", "epilog"])
@pytest.mark.parametrize("name", [*sorted(SLURM_FILES), "site.conf", "x.yml", "CGROUP.CONF"])
def test_no_script_has_the_name_of_a_file_that_a_daemon_may_open(field: str, name: str) -> None:
    assert errors(**{field: {name: "#!/bin/sh"}}) == [f"controller.{field}.{name}"]


@pytest.mark.parametrize("name", ["90-mark.sh", "health", "check.py", "10.2-gpu.sh", "a.pl", "b.bash"])
def test_a_script_s_name_is_free(name: str) -> None:
    assert errors(prolog={name: "#!/bin/sh"}) == []


@pytest.mark.parametrize(("first", "second"), [("prolog", "epilog"), ("configFiles", "prolog"), ("configFiles", "epilog")])
def test_two_maps_have_no_file_of_one_name(first: str, second: str) -> None:
    assert errors(**{first: {"gpu.sh": "#!/bin/sh"}, second: {"gpu.sh": "#!/bin/bash"}}) == [f"controller.{second}.gpu.sh"]


def test_files_that_slurm_reads_stay_config_files() -> None:
    topologies = {"topology.yaml": "- {topology: t, flat: true}", "namespace.yaml": "defaults: {}"}
    assert errors(configFiles=dict.fromkeys(SLURM_FILES, "# x") | topologies) == []
