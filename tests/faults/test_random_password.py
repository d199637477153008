"""RandomPassword, as a stack uses it for keys: stable, replaced only when asked, never readable outside the stack.

tests/e2e/test_two_stacks.py has a stack whose keys are made this way; tests/unit/standins the lab's provider alone. Where
an official provider is in PULUMI_HOME or on PATH, these run with it.
"""

import json
import re
from pathlib import Path

import bcrypt

from tests.integration import leaks
from tests.integration.conftest import engine, project, tools
from tests.integration.engine import Project

__all__ = ["engine", "project", "tools"]


def program(arguments: str) -> str:
    return f"""
        import pulumi, pulumi_random
        key = pulumi_random.RandomPassword("key", {arguments})
        pulumi.export("key", key.result)
        pulumi.export("hash", key.bcrypt_hash)
        pulumi.export("id", key.id)
    """


def secrets_of(project: Project) -> tuple[str, str]:
    outputs = project.outputs(show_secrets=True)
    return outputs["key"], outputs["hash"]


def test_a_password_has_the_asked_form_a_fitting_hash_and_no_telling_id(project: Project) -> None:
    project.write(main=program("length=40, special=False, min_upper=5, min_numeric=5, keepers={'rotation': '1'}"))
    done = project.up()
    assert "warning" not in done.stdout + done.stderr
    key, hashed = secrets_of(project)
    assert re.fullmatch("[A-Za-z0-9]{40}", key)
    assert len(re.findall("[A-Z]", key)) >= 5
    assert len(re.findall("[0-9]", key)) >= 5
    assert bcrypt.checkpw(key.encode(), hashed.encode())
    assert project.outputs()["id"] == "none"


def test_a_second_up_and_a_refresh_keep_the_password(project: Project) -> None:
    project.write(main=program("length=32"))
    project.up()
    before = secrets_of(project)
    project.preview("--expect-no-changes")
    project.up("--expect-no-changes")
    project.refresh("--expect-no-changes")
    assert secrets_of(project) == before


def test_any_changed_argument_replaces_the_password_and_a_preview_does_not(project: Project) -> None:
    project.write(main=program("length=32, keepers={'rotation': '1'}"))
    project.up()
    seen = [secrets_of(project)[0]]
    for changed in ("length=33, keepers={'rotation': '1'}", "length=33, keepers={'rotation': '2'}", "length=33"):
        project.write(main=program(changed))
        previewed = json.loads(project.preview("--json").stdout)
        assert previewed["changeSummary"] == {"replace": 1, "same": 1}
        assert secrets_of(project)[0] == seen[-1], "a preview must change nothing"
        project.up()
        seen.append(secrets_of(project)[0])
    assert len(set(seen)) == 4


def test_a_preview_shows_neither_value_nor_a_made_up_one(project: Project) -> None:
    project.write(main=program("length=32"))
    shown = project.preview("--diff").stdout
    assert re.search(r"key *: \[secret\]", shown)
    steps = json.loads(project.preview("--json", "--show-secrets").stdout)["steps"]
    (password,) = [s["newState"] for s in steps if s["urn"].endswith("::key")]
    assert password["inputs"]["length"] == 32
    assert "result" not in password.get("outputs", {}), "an unknown is not in the JSON; a value would be"


def test_no_file_of_the_backend_holds_the_password_in_any_form(project: Project) -> None:
    project.write(main=program("length=64"))
    logs = [project.up(), project.preview("--diff"), project.refresh(), project.run("stack", "export")]
    plan = project.folder / "plan.json"
    logs.append(project.preview("--save-plan", str(plan)))
    (project.engine.root / "shown.txt").write_text("".join(done.stdout + done.stderr for done in logs))
    for secret in secrets_of(project):
        assert leaks.find(secret, project.engine.root, project.folder) == []
    stack = project.resources()["probe-test"]["outputs"]
    assert "ciphertext" in stack["key"]
    assert "ciphertext" in stack["hash"]


def test_the_search_finds_a_value_in_every_form_it_knows(tmp_path: Path) -> None:
    """The other test is worth what this search finds."""
    secret = 'S3cret"%&<>/value-that-is-long'
    for number, form in enumerate(leaks.encodings(secret).values()):
        (tmp_path / f"{number}").write_bytes(b"before " + form + b" after")
    assert {line.split(":")[0] for line in leaks.find(secret, tmp_path)} == {str(f) for f in tmp_path.iterdir()}


def test_arguments_that_contradict_each_other_are_refused_in_preview(project: Project) -> None:
    """Every such fault has a unit test; this is how one reaches the user."""
    project.write(main=program("length=3, min_upper=2, min_lower=2"))
    failed = project.preview(ok=False)
    assert failed.returncode != 0
    said = failed.stdout + failed.stderr
    assert "length" in said
    assert "must be at least" in said, "the lab's provider and the official one name the argument and the rule"
