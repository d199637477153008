"""The engine's order around pods that an update replaces: the operator, the NodeSet, the gate; a look before a login set.

The resources are wired as components/hybrid_cluster.py, node_set.py and login_set.py wire them; their providers only write
down when they are called.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.engine import Project
from tests.integration.told import PROVIDERS, calls


def main(operator: str, template: str) -> str:
    return f"""
        import pulumi
        from pathlib import Path
        from told import Thing, told
        operator = Thing("operator", {operator!r})
        nodeset = Thing("nodeset", {template!r}, pulumi.ResourceOptions(depends_on=[operator]))
        after = pulumi.ResourceOptions(depends_on=[nodeset], replace_with=[nodeset], delete_before_replace=True)
        Thing("gate", {operator + template!r}, after)

        async def sessions(args):
            told(f"look {{args.old_inputs['text']}} {{args.new_inputs['text']}} {{pulumi.runtime.is_dry_run()}}")
            if Path("srun").exists() and not pulumi.runtime.is_dry_run():
                raise pulumi.RunError("srun runs in its pod")

        look = pulumi.ResourceHook("look", sessions, pulumi.ResourceHookOptions(on_dry_run=True))
        hooks = pulumi.ResourceHookBinding(before_update=[look])
        Thing("login", {template!r}, pulumi.ResourceOptions(depends_on=[operator], hooks=hooks))
    """


@pytest.fixture
def cluster(project: Project) -> Project:
    """An operator, a NodeSet with its gate, and a login set."""
    project.write(main=main("1.0", "a"), told=PROVIDERS)
    project.up()
    calls(project)
    return project


def test_a_new_operator_and_a_new_template_in_one_update_come_before_the_gate(cluster: Project) -> None:
    cluster.write(main=main("1.1", "b"), told=PROVIDERS)
    cluster.up()
    done = [call for call in calls(cluster) if call.startswith("update") and "login" not in call]
    assert done == ["update operator 1.1", "update nodeset b", "update gate 1.1b"]


def test_a_gate_that_failed_in_a_rollout_is_updated_again_though_nothing_else_differs(cluster: Project) -> None:
    jobs = Path(cluster.folder) / "jobs"
    jobs.touch()
    cluster.write(main=main("1.0", "b"), told=PROVIDERS)
    assert "a job is in the way" in cluster.up(ok=False).stdout
    assert "update nodeset b" in calls(cluster)
    jobs.unlink()
    cluster.up()
    assert "update gate 1.0b" in calls(cluster)


def test_the_look_before_a_login_set_warns_in_a_preview_and_stops_the_update(cluster: Project) -> None:
    srun = Path(cluster.folder) / "srun"
    srun.touch()
    cluster.write(main=main("1.0", "b"), told=PROVIDERS)
    cluster.preview()
    assert calls(cluster) == ["look a b True"]
    refused = cluster.up("--skip-preview", ok=False)
    assert "srun runs in its pod" in refused.stdout + refused.stderr
    assert "update login b" not in calls(cluster)
    srun.unlink()
    cluster.up("--skip-preview")
    assert "update login b" in calls(cluster)


def test_a_login_set_without_a_change_is_not_looked_at(cluster: Project) -> None:
    cluster.up()
    assert calls(cluster) == []


DESTROYED = """
    import pulumi
    from told import Thing

    def after(host):
        return pulumi.ResourceOptions(depends_on=[host], replace_with=[host], delete_before_replace=True)

    controller = Thing("controller", "x")
    nodeset = Thing("nodeset", "pods", pulumi.ResourceOptions(depends_on=[controller]))
    Thing("queue", "x", pulumi.ResourceOptions(depends_on=[controller, nodeset]))
    login = Thing("login", "pods", pulumi.ResourceOptions(depends_on=[controller]))
    Thing("sessions", "x", after(login))
"""


def test_a_destroy_that_continues_on_errors_ends_no_login_pod_before_its_own_gate(project: Project) -> None:
    """A gate refuses for a running srun, and the engine goes on with all that doesn't depend on it."""
    project.write(main=DESTROYED, told=PROVIDERS)
    project.up()
    calls(project)
    jobs = Path(project.folder) / "jobs"
    jobs.touch()
    done = project.engine.run("destroy", "--yes", "--skip-preview", "--continue-on-error", cwd=project.folder, ok=False)
    assert "a job is in the way" in done.stdout
    assert calls(project) == []
    jobs.unlink()
    project.engine.run("destroy", "--yes", "--skip-preview", cwd=project.folder)
    deleted = calls(project)
    assert deleted.index("delete sessions") < deleted.index("delete login")


def test_a_login_set_that_leaves_the_program_goes_after_its_gate(project: Project) -> None:
    project.write(main=DESTROYED, told=PROVIDERS)
    project.up()
    calls(project)
    jobs = Path(project.folder) / "jobs"
    jobs.touch()
    left = "\n".join(line for line in DESTROYED.splitlines() if "login" not in line)
    project.write(main=left, told=PROVIDERS)
    assert "a job is in the way" in project.up(ok=False).stdout
    assert calls(project) == []
