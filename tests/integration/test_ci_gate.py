"""The CI script on the real engine: review, strict apply, refusal, and what previews really look like in both forms.

The program is a small one with gates of the real type names, whose plan comes from a file as it comes from Slurm.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from slinky_iac.commands.plan.build import change_order
from tests.integration.engine import REPO, Engine, Project, Tools, create_project, eventually, processes_of
from tests.integration.test_policy_pack import PACK_VENV
from tests.unit.plan.made import HOUR, MINUTE, NOW, job, plan

SCRIPT = REPO / "examples" / "ci" / "plan-and-apply.sh"
GATES = """
    import json, pathlib
    from pulumi.dynamic import CheckResult, CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

    def own(props):
        return {key: value for key, value in props.items() if not key.startswith("__")}

    class Provider(ResourceProvider):
        def check(self, olds, news):
            planned = json.loads(pathlib.Path("planned.json").read_text())
            same = olds.get("replicas") == news["replicas"]
            return CheckResult({**news, "plan": olds.get("plan", {}) if same else planned}, [])

        def diff(self, _id, olds, news):
            return DiffResult(changes=olds["replicas"] != news["replicas"])

        def create(self, props):
            return CreateResult("gate", own(props))

        def update(self, _id, _olds, news):
            pathlib.Path("done.txt").write_text(str(int(news["replicas"])))
            return UpdateResult(own(news))

    class NodeSetScale(Resource, module="slurm", name="NodeSetScale"):
        def __init__(self, replicas):
            props = {"nodeset": "gpu", "stack": "test", "owner": "stack", "replicas": replicas, "maxReplicas": replicas,
                     "policy": {"deadline_s": 3600, "on_deadline": "keep"}, "plan": None}
            super().__init__(Provider(), "gpu-scale", props)
"""
SLOW_END = """
    import asyncio, pathlib, pulumi, pulumi_random

    async def go():
        while not pathlib.Path("go").exists():
            await asyncio.sleep(0.05)

    pulumi_random.RandomPassword("word", length=8)
    pulumi.export("gone", pulumi.Output.from_input(go()))
"""
STREAMED = {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "1"}
PACK = """
    from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

    def few(args, report):
        if args.resource_type.endswith(":NodeSetScale"):
            report("this many are not allowed here")

    PolicyPack("site", policies=[ResourceValidationPolicy("few-nodes", "Not many.", few, EnforcementLevel.%s)])
"""
PLAN = plan({"gpu-2": [job("7", "alice", -HOUR, 30 * MINUTE)], "gpu-1": []}, before=3, after=1)


@pytest.fixture(scope="module")
def first(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Three nodes that are up, and a program that asks for one."""
    root = tmp_path_factory.mktemp("first")
    project = create_project(Engine(tools, root / "engine"), root / "project")
    project.write(gates=GATES, main="from gates import NodeSetScale\nNodeSetScale(3)\n")
    (project.folder / "planned.json").write_text("{}")
    project.up()
    write(project, PLAN)
    project.write(main="from gates import NodeSetScale\nNodeSetScale(1)\n")
    return project


@pytest.fixture
def scaled(first: Project, engine: Engine, tmp_path: Path) -> Project:
    """The same, for one test."""
    return first.twin(engine, tmp_path / "project")


def write(project: Project, planned: dict[str, Any]) -> None:
    (project.folder / "planned.json").write_text(json.dumps(planned))


def script(project: Project, act: str, **env: str) -> subprocess.CompletedProcess[str]:
    settings = {"PYTHON": sys.executable, "POLICY_PACK": "", "STATE_ALLOW": "gates.Provider", **env}
    return subprocess.run(
        ["bash", str(SCRIPT), act],
        cwd=project.folder,
        env={**os.environ, **project.engine.env, **settings},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def written(project: Project) -> set[str]:
    return {path.name for path in (project.folder / "change-order").iterdir()}


def test_what_was_reviewed_is_applied(scaled: Project) -> None:
    reviewed = script(scaled, "review", LIMITS="--max-share 70% --max-jobs 1")
    assert reviewed.returncode == 0, reviewed.stdout + reviewed.stderr
    assert "2 nodes drain, 1 job is waited for" in reviewed.stdout
    assert written(scaled) == {
        *("preview.json", "preview.exit", "update-plan.json"),
        *("order.md", "order.html", "order.json", "order.txt"),
    }
    assert json.loads((scaled.folder / "change-order" / "order.json").read_text())["drains"][0]["jobs"][0]["user"] == "alice"
    assert not (scaled.folder / "done.txt").exists(), "a review changes nothing"
    applied = script(scaled, "apply")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    assert (scaled.folder / "done.txt").read_text() == "1"


def test_nothing_is_applied_when_the_jobs_are_others_than_those_reviewed(scaled: Project) -> None:
    assert script(scaled, "review").returncode == 0
    write(scaled, plan({"gpu-2": [job("8", "bob", 0, HOUR)], "gpu-1": []}, before=3, after=1))
    applied = script(scaled, "apply")
    assert applied.returncode != 0
    assert "violates plan" in applied.stdout + applied.stderr
    assert not (scaled.folder / "done.txt").exists()


def test_a_review_over_the_limits_leaves_nothing_to_apply(scaled: Project) -> None:
    assert script(scaled, "review").returncode == 0
    refused = script(scaled, "review", LIMITS="--max-share 50%")
    assert refused.returncode == 3, refused.stdout + refused.stderr
    assert "update-plan.json" not in written(scaled)
    assert {"order.md", "order.html"} <= written(scaled), "the reviewer still sees why"
    applied = script(scaled, "apply")
    assert applied.returncode == 1
    assert "run review first" in applied.stderr
    assert not (scaled.folder / "done.txt").exists()


@pytest.mark.parametrize(("level", "code"), [("MANDATORY", 1), ("ADVISORY", 0)])
def test_the_policies_that_spoke_stand_in_the_order(scaled: Project, tmp_path: Path, level: str, code: int) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "PulumiPolicy.yaml").write_text(f"runtime: {{name: python, options: {{virtualenv: {PACK_VENV}}}}}\n")
    (pack / "__main__.py").write_text(textwrap.dedent(PACK % level))
    reviewed = script(scaled, "review", POLICY_PACK=str(pack))
    assert reviewed.returncode == code, reviewed.stdout + reviewed.stderr
    order = json.loads((scaled.folder / "change-order" / "order.json").read_text())
    (spoken,) = order["policies"]["violations"]
    assert (spoken["level"], spoken["name"], spoken["resource"]) == (level.lower(), "few-nodes", "gpu-scale")
    assert "this many are not allowed here" in spoken["message"]
    assert ("update-plan.json" in written(scaled)) == (code == 0)


def test_a_plan_that_nobody_knows_is_not_applied(scaled: Project) -> None:
    write(scaled, {**PLAN, "known": False, "nodes": [], "jobs": []})
    refused = script(scaled, "review")
    assert refused.returncode == 4, refused.stdout + refused.stderr
    assert "update-plan.json" not in written(scaled)


def test_a_preview_that_fails_is_a_fault(scaled: Project) -> None:
    scaled.write(main='raise RuntimeError("no such cluster")\n')
    failed = script(scaled, "review")
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "update-plan.json" not in written(scaled)


def test_drift_that_can_not_be_asked_is_no_pass(scaled: Project) -> None:
    """This program's gates say nothing of a cluster: the Slurm half must end with a fault, not with "no drift"."""
    done = script(scaled, "drift")
    assert done.returncode == 1, done.stdout + done.stderr


def test_a_state_with_foreign_code_is_named_and_its_code_not_run(scaled: Project) -> None:
    """As somebody who can write to the backend would leave it: an engine's refresh would load it."""
    ran = scaled.folder / "ran.txt"
    raw = f"cbuiltins\nexec\n(Vopen({str(ran)!r}, 'w').close()\ntR.".encode()
    state = json.loads(scaled.run("stack", "export").stdout)
    (gate,) = (each for each in state["deployment"]["resources"] if each["type"].endswith(":NodeSetScale"))
    assert "ciphertext" in gate["outputs"]["__provider"]
    gate["outputs"]["__provider"] = gate["inputs"]["__provider"] = base64.b64encode(raw).decode()
    (scaled.folder / "state.json").write_text(json.dumps(state))
    scaled.run("stack", "import", "--file", "state.json")
    for act in ("review", "drift"):
        done = script(scaled, act)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "gpu-scale" in done.stderr
        assert not ran.exists()
    scaled.refresh(ok=False)
    assert ran.exists(), "the engine does load the state's; else this command guards nothing"


def test_both_forms_of_a_real_preview_say_the_same(scaled: Project) -> None:
    document = scaled.preview("--json").stdout
    stream = scaled.preview("--json", env=STREAMED).stdout
    one, two = change_order(document, now=NOW), change_order(stream, now=NOW)
    assert one.changes == two.changes
    assert [each.fields for each in one.changes] == [("maxReplicas: 3 → 1", "replicas: 3 → 1")]
    assert [node.name for drain in one.drains for node in drain.nodes] == ["gpu-2", "gpu-1"]
    assert one.drains[0].jobs == two.drains[0].jobs
    assert (one.policies, two.policies is None) == (None, False)


def test_a_plugin_that_ends_late_is_no_failed_preview(project: Project) -> None:
    """The engine gives a plugin 5 s to end and then says an "error", after its summary and with exit code 0."""
    project.write(main=SLOW_END)
    running = project.engine.spawn("preview", "--json", cwd=project.folder, env=STREAMED)
    eventually("the resource is previewed", lambda: re.search(r'"resOutputsEvent".*::word"', running.output))
    own = ("random_provider", "resource-random")
    plugins = [pid for pid, command in processes_of(project.engine).items() if any(name in command for name in own)]
    assert plugins, processes_of(project.engine)
    for pid in plugins:
        os.kill(pid, signal.SIGSTOP)
    (project.folder / "go").touch()
    assert running.wait() == 0
    found = change_order(running.output, now=NOW)
    assert "exited prematurely" in running.output
    assert (found.failed, [each.name for each in found.changes]) == (False, ["word"])


FLOW = yaml.safe_load((REPO / "examples" / "ci" / "github-actions.yaml").read_text())
JOBS = FLOW["jobs"]
CALL = re.compile(r"gate/examples/ci/plan-and-apply.sh (\w+)$")


def said(name: str) -> list[str]:
    """All commands of a job, in their order."""
    return [step.get("run", "") for step in JOBS[name]["steps"]]


def test_the_workflow_calls_the_script_and_approves_before_it_applies() -> None:
    acts = {name: [found[1] for run in said(name) if (found := CALL.search(run.strip()))] for name in JOBS}
    assert acts == {
        "preview": ["state", "preview"],
        "judge": ["judge"],
        "apply": ["state", "apply"],
        "drift": ["state", "drift"],
    }
    assert (JOBS["judge"]["needs"], JOBS["apply"]["needs"]) == ("preview", "judge")
    assert JOBS["apply"]["environment"] != JOBS["preview"]["environment"], "who reviews needs no right to write"
    assert FLOW["permissions"] == {"contents": "read"}
    assert Path(REPO / "examples/ci/plan-and-apply.sh").stat().st_mode & 0o111


def test_what_judges_is_made_before_anything_of_the_branch_is_there() -> None:
    """The branch's lock may name a source package, whose setup code runs when it is installed."""
    for name in ("preview", "apply", "drift"):
        steps = JOBS[name]["steps"]
        (made,) = (at for at, run in enumerate(said(name)) if "-r gate/requirements.lock" in run)
        (checked,) = (at for at, step in enumerate(steps) if step.get("with", {}).get("path") == "stack")
        (state,) = (at for at, run in enumerate(said(name)) if run.strip().endswith("plan-and-apply.sh state"))
        (installed,) = (at for at, run in enumerate(said(name)) if "-r requirements.lock" in run)
        assert made < checked < state < installed, name
        assert "--only-binary :all:" in said(name)[installed]
        inside = [
            step
            for step in steps
            if "plan-and-apply" in step.get("run", "") or "-r requirements.lock" in step.get("run", "")
        ]
        assert {step["working-directory"] for step in inside} == {"stack"}, "beside the gate, never around it"


def test_the_judge_is_a_clean_job_that_gets_data_and_nothing_else() -> None:
    judge = JOBS["judge"]
    assert "secrets." not in json.dumps(judge)
    assert "KUBECONFIG" not in json.dumps(judge)
    checkouts = [step["with"] for step in judge["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert [each["path"] for each in checkouts] == ["gate"]
    (data,) = (step["with"] for step in judge["steps"] if step.get("uses", "").startswith("actions/download-artifact@"))
    assert data["name"] == "preview"
    assert judge["environment"] not in {each["environment"] for name, each in JOBS.items() if name != "judge"}
    writers = {name for name, each in JOBS.items() if "write" in each.get("permissions", {}).values()}
    assert writers == {"judge"}, "the branch's code runs with no token that writes"


STEPS = [step for each in JOBS.values() for step in each["steps"]]


def test_actions_are_pinned_by_commit_and_the_cli_by_version() -> None:
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []
    pinned = re.search(r"^pulumi==(\S+)", (REPO / "requirements.txt").read_text(), re.MULTILINE)
    assert pinned
    versions = {step["with"]["pulumi-version"] for step in STEPS if step.get("uses", "").startswith("pulumi/actions@")}
    assert versions == {pinned[1]}, "the CLI and the SDK are released together"


def test_every_job_judges_by_a_checkout_of_its_own_on_a_runner_that_is_thrown_away() -> None:
    for name, each in JOBS.items():
        assert each["runs-on"] == "ubuntu-latest" if name == "judge" else "ephemeral" in each["runs-on"]
        gates = [step["with"] for step in each["steps"] if step.get("with", {}).get("path") == "gate"]
        (gate,) = gates
        assert (gate["repository"], gate["ref"]) == ("${{ vars.GATE_REPOSITORY }}", "${{ vars.GATE_COMMIT }}")
    assert FLOW["env"]["POLICY_CONFIG"].startswith("${{ github.workspace }}/gate/")
    assert "POLICY_PACK" not in FLOW["env"], "the script's own"
