"""Dynamic providers in the project's Python: imported by reference, configured with secrets, known in preview."""

import base64
import json

import pytest

from slinky_iac.commands import verify_state
from slinky_iac.commands.plan import wire
from tests.integration import leaks
from tests.integration.engine import Project

TOKEN = "sesame-open-4711"
GATE = """
    from pulumi.dynamic import CheckResult, ConfigureRequest, CreateResult, DiffResult, ReadResult
    from pulumi.dynamic import Resource, ResourceProvider, UpdateResult
    import pulumi

    class GateProvider(ResourceProvider):
        def configure(self, req: ConfigureRequest) -> None:
            self.token = req.config.require("token")

        def _outputs(self, props):
            return {"replicas": int(props["replicas"]), "seen": len(self.token)}

        def diff(self, id, olds, news):
            return DiffResult(changes=olds["replicas"] != news["replicas"])

        def create(self, props):
            if props["replicas"] == 13:
                raise Exception("13 nodes are refused")
            return CreateResult("gate", self._outputs(props))

        def read(self, id, props):
            return ReadResult(id, props)

        def update(self, id, olds, news):
            return UpdateResult(self._outputs(news))

        def delete(self, id, props):
            open("deleted", "w").write(str(len(self.token)))

    class Gate(Resource, module="slurm", name="Gate"):
        replicas: pulumi.Output[int]
        seen: pulumi.Output[int]

        def __init__(self, name, replicas):
            super().__init__(GateProvider(), name, {"replicas": replicas, "seen": None})
"""


def main(replicas: int) -> str:
    return f"""
        import pulumi
        from gate import Gate
        gate = Gate("gate", {replicas})
        pulumi.export("replicas", gate.replicas)
        pulumi.export("seen", gate.seen)
    """


@pytest.fixture
def gated(project: Project) -> Project:
    """A gate over 3 replicas, with its token in the stack's secret configuration."""
    project.write(main=main(3), gate=GATE)
    project.run("config", "set", "--secret", "token", TOKEN)
    return project


def test_an_echoed_input_is_known_in_preview_and_an_output_is_not(gated: Project) -> None:
    shown = gated.preview("--diff").stdout
    assert "replicas: 3" in shown
    assert "seen    : [unknown]" in shown


def test_secret_configuration_reaches_configure_and_no_file(gated: Project) -> None:
    gated.up()
    assert gated.outputs() == {"replicas": 3, "seen": len(TOKEN)}
    gated.write(main=main(2))
    gated.up()
    assert gated.outputs() == {"replicas": 2, "seen": len(TOKEN)}
    assert leaks.find(TOKEN, gated.engine.root) == []


def test_a_provider_in_a_module_is_stored_by_name_so_new_code_is_no_change(gated: Project) -> None:
    gated.up()
    gated.write(gate=GATE.replace("len(self.token)", "0"))
    gated.preview("--expect-no-changes")
    gated.destroy()
    assert (gated.folder / "deleted").read_text() == "0", "delete must run today's code"


def test_the_stored_provider_holds_no_code_and_no_secret(gated: Project) -> None:
    gated.up()
    exported = json.loads(gated.run("stack", "export", "--show-secrets").stdout)["deployment"]["resources"]
    (gate,) = [r for r in exported if r["urn"].endswith("::gate")]
    assert gate["type"] == "pulumi-python:dynamic/slurm:Gate"
    pickled = base64.b64decode(json.loads(gate["inputs"]["__provider"]["plaintext"]))
    assert len(pickled) < 100
    assert TOKEN.encode() not in pickled


def test_a_failed_create_is_an_error_and_leaves_nothing(gated: Project) -> None:
    gated.write(main=main(13))
    failed = gated.up(ok=False)
    assert failed.returncode != 0
    assert "13 nodes are refused" in failed.stdout + failed.stderr
    assert "gate" not in gated.resources()
    assert gated.locks() == []


def test_a_venv_that_is_gone_fails_the_operation_and_loses_nothing(gated: Project) -> None:
    gated.up()
    file = gated.folder / "Pulumi.yaml"
    file.write_text("name: probe\nruntime: {name: python, options: {virtualenv: gone}}\n")
    failed = gated.destroy(ok=False)
    assert failed.returncode != 0
    said = failed.stdout + failed.stderr
    # The official host makes the venv, of requirements.txt, which is not there; the stand-in says how.
    assert "No module named 'pulumi'" in said or "python3 -m venv" in said
    assert "gate" in gated.resources(), "what could not be deleted must stay in the state"


def test_options_that_policies_do_not_see_are_in_the_state_and_verify_state_names_them(gated: Project) -> None:
    passed = "deleted_with=host, hide_diffs=['replicas'], retain_on_delete=True"
    gate = GATE.replace('{"replicas": replicas, "seen": None})', '{"replicas": replicas, "seen": None}, opts)').replace(
        "def __init__(self, name, replicas):", "def __init__(self, name, replicas, opts=None):"
    )
    program = f"""
        import pulumi
        from gate import Gate
        host = Gate("host", 1)
        Gate("gate", 3, pulumi.ResourceOptions({passed}))
    """
    gated.write(main=program, gate=gate)
    gated.up()
    state = json.loads(gated.run("stack", "export").stdout)["deployment"]["resources"]
    shown = gated.preview("--json", env={"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "1"}).stdout
    steps = [step for step in wire.read(shown).steps if step.urn.endswith("::gate")]
    assert [step.new.retain_on_delete for step in steps if step.new] == [True], "plan reads it there"
    said = [each for each in verify_state.foreign(state, frozenset()) if "which the program gives no gate" in each]
    assert len(said) == 1
    assert said[0].startswith("gate (pulumi-python:dynamic/slurm:Gate): it has retainOnDelete, deletedWith, hideDiff, which")
