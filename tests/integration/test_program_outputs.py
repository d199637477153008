"""A user's program on the real engine: what is wrong with an Output's value is shown, and the program ends with it."""

from __future__ import annotations

import base64

import pytest

from tests.integration.engine import Project
from tests.raw_keys import text_key
from tests.stacks import ROOT

PROGRAM = """
    import pulumi
    import slinky_iac

    atlas = slinky_iac.HybridCluster(
        "atlas",
        slurmctld={slurmctld},
        slurmdbd={slurmdbd},
        keys={{"source": "imported"}},
        slurm_key={slurm_key},
        operator={{"install": False}},
        nodesets={{"cpu": {{"replicas": 1}}}},
    )
    slinky_iac.NodeSet("gpu", cluster=atlas, replicas={replicas})
    {more}
"""
RIGHT = {"slurmctld": "'ctl.example.org'", "slurmdbd": "'dbd.example.org'", "slurm_key": "None", "replicas": "1", "more": ""}
CLUSTER, NODESET = "HybridCluster atlas (__main__.py:5)", "NodeSet gpu (__main__.py:14)"
"""The calls of the program, with their lines."""


def said(project: Project, **wrong: str) -> str:
    project.write(main=PROGRAM.format(**{**RIGHT, **wrong}))
    for name in ("slurmKey", "jwtKey"):
        value = base64.b64encode(text_key(name)).decode()
        project.run("config", "set", "--secret", f"slinky-iac:{name}", stdin=value)
    done = project.preview(ok=False, env={"PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1"})
    assert done.returncode not in (0, -1)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"slurmctld": "pulumi.Output.from_input('not a host!')"}, f"{CLUSTER}: controller.external.host: must be "),
        (
            {"slurmdbd": "pulumi.Output.from_input('10.0.0.6')"},
            f"{CLUSTER}: accounting.external.host: the Output that it is given is an",
        ),
        (
            {"replicas": "pulumi.Output.from_input('2')"},
            f"{NODESET}: nodesets.gpu.replicas: the Output that it is given is the text '2'",
        ),
        (
            {"slurm_key": "pulumi.Output.secret('" + "QUFB" * 30 + "')"},
            f"{CLUSTER}: slurmKey: the program gives it by slurm_key, and the stack's secret slinky-iac:slurmKey is another",
        ),
        ({"more": "pulumi.export('x', atlas.urn.apply(lambda _: 1 / 0))"}, "division by zero"),
    ],
)
def test_an_output_that_is_wrong_ends_the_program_with_its_sentence(
    project: Project, wrong: dict[str, str], sentence: str
) -> None:
    """With a gRPC server for each hook that is registered at once, the end of the program killed Python (SDK 3.272)."""
    found = said(project, **wrong)
    assert sentence in found
    assert "QUFB" not in found
    assert "Segmentation fault" not in found
    assert "exit code: -1" not in found
    assert "KeyboardInterrupt" not in found
