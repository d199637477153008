"""The CI script with a pulumi that only writes down how it was called: what isn't reviewed to its end is never applied."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stacks import ROOT
from tests.unit.plan.made import HOUR, digest, events, job, plan, scale_in

SCRIPT = ROOT / "examples" / "ci" / "plan-and-apply.sh"
QUIET = plan({"gpu-1": []}, before=3, after=2)
BUSY = plan({"gpu-2": [job("7", "alice", -HOUR, HOUR // 2)], "gpu-1": []}, before=3, after=1)
GOOD = digest(scale_in(QUIET, before=3, after=2))
FULL = Path("/dev/full")
PULUMI = """#!/usr/bin/env bash
echo "$*" >> "$CALLS"
case "$1 $2" in
  "stack export") cat "$STATE" ;;
  "preview --json")
    cat "$PREVIEW"
    previous=""
    for word in "$@"; do [ "$previous" != --save-plan ] || echo '{}' > "$word"; previous=$word; done
    exit "${PREVIEW_ENDS:-0}"
    ;;
  "refresh --preview-only") exit "${REFRESH_ENDS:-0}" ;;
esac
"""


class Place:
    """A project's folder, with a stub on PATH and settings for the script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        stub = folder / "bin" / "pulumi"
        stub.parent.mkdir()
        stub.write_text(PULUMI)
        stub.chmod(0o755)
        self.out = self.folder / "change-order"
        self.plan = self.out / "update-plan.json"
        self.calls = folder / "calls"
        self.preview = folder / "preview.json"
        self.preview.write_text(GOOD)
        self.state = folder / "state.json"
        self.state.write_text(json.dumps({"version": 3, "deployment": {"resources": []}}))
        self.env = {**os.environ, "PATH": f"{stub.parent}:{os.environ['PATH']}", "CALLS": str(self.calls)}
        self.env |= {"PREVIEW": str(self.preview), "STATE": str(self.state), "PYTHON": sys.executable, "POLICY_PACK": ""}

    def run(self, act: str, **env: str) -> subprocess.CompletedProcess[str]:
        self.calls.write_text("")
        words = ["bash", str(env.pop("SCRIPT", SCRIPT)), act]
        return subprocess.run(
            words, cwd=self.folder, env=self.env | env, capture_output=True, text=True, timeout=60, check=False
        )

    def left_of_an_earlier_review(self) -> None:
        self.out.mkdir()
        self.plan.write_text("{}")

    def called(self, what: str) -> bool:
        return any(line.startswith(what) for line in self.calls.read_text().splitlines())

    def applies_nothing(self) -> None:
        applied = self.run("apply")
        assert applied.returncode == 1, applied.stdout + applied.stderr
        assert "run review first" in applied.stderr
        assert self.calls.read_text() == "", "pulumi was called"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_was_reviewed_is_what_is_applied(place: Place) -> None:
    done = place.run("review")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in sorted(place.out.glob("update-plan*"))] == ["update-plan.json"]
    assert place.run("apply").returncode == 0
    assert place.called(f"up --yes --non-interactive --plan {place.plan.relative_to(place.folder)}")


LATE = events(scale_in(plan({"gpu-2": [job("7", "alice", -HOUR, 9 * HOUR)]}, before=3, after=2), before=3, after=2))
CUT = GOOD[: len(GOOD) // 2]
EVENTS_CUT = '{"sequence": 0, "timestamp": 1, "preludeEvent": {}}\n{"sequence": 1, "time'
REFUSED = {
    "limits with a slip": ({"LIMITS": "--max-share 150%"}, GOOD, 2),
    "a limit with a typo": ({"LIMITS": "--max-jbs 3"}, GOOD, 2),
    "limits that are exceeded": ({"LIMITS": "--max-jobs 0"}, digest(scale_in(BUSY, before=3, after=1)), 3),
    "limits on a second line": ({"LIMITS": "--max-share 100%\n--max-jobs 0"}, digest(scale_in(BUSY, before=3, after=1)), 3),
    "an unreadable preview": ({}, "nonsense", 1),
    "no preview": ({}, "", 1),
    "a preview that was cut off": ({}, CUT, 1),
    "events that were cut off": ({}, EVENTS_CUT, 1),
    "deep JSON": ({}, "[" * 200_000, 1),
    "no python to judge": ({"PYTHON": "/nowhere/python"}, GOOD, 1),
    "a drain past its deadline": ({}, LATE, 7),
    "a preview that failed": ({"PREVIEW_ENDS": "255"}, GOOD, 1),
    "a policy pack that isn't there": ({"POLICY_PACK": "policies-gone"}, GOOD, 1),
    "a policy configuration that isn't there": ({"POLICY_CONFIG": "site-gone.json"}, GOOD, 1),
    "a state that can't be read": ({"STATE": "/nowhere/state"}, GOOD, 1),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_review_that_did_not_end_well_leaves_nothing_to_apply(place: Place, why: str) -> None:
    """Also not the plan of a review that ended well before."""
    env, preview, code = REFUSED[why]
    place.left_of_an_earlier_review()
    place.preview.write_text(preview)
    done = place.run("review", **env)
    assert done.returncode == code, done.stdout + done.stderr
    assert list(place.out.glob("update-plan*")) == []
    place.applies_nothing()


@pytest.mark.parametrize("page", ["order.json", "order.md", "order.html", "order.txt"])
def test_a_disk_that_fills_up_leaves_nothing_to_apply(place: Place, page: str) -> None:
    """A page that can't be written wasn't read by the person who approves."""
    place.left_of_an_earlier_review()
    wrapper = place.folder / "python"
    full = f'[ "$word" != --folder ] || ln -s {FULL} "$OUT/{page}"'
    wrapper.write_text(f'#!/usr/bin/env bash\nfor word in "$@"; do {full}; done\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    done = place.run("review", PYTHON=str(wrapper), OUT=str(place.out))
    assert done.returncode == 1, done.stdout + done.stderr
    assert list(place.out.glob("update-plan*")) == []
    place.applies_nothing()


def test_bad_limits_are_found_before_the_preview_is_taken(place: Place) -> None:
    assert place.run("review", LIMITS="--max-share 150%").returncode == 2
    assert not place.called("preview")


def test_a_line_break_of_unicode_in_a_message_is_a_message(place: Place) -> None:
    rows = [
        {"sequence": 0, "timestamp": 1, "preludeEvent": {}},
        {"sequence": 1, "diagnosticEvent": {"severity": "warning", "message": "a\x85b\u2028c"}},
        {"sequence": 2, "summaryEvent": {"result": "succeeded"}},
    ]
    place.preview.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    assert place.run("review").returncode == 0


def test_the_policies_belong_to_the_script_and_not_to_the_branch(place: Place) -> None:
    """A branch that removes the folder, or brings another one, is judged by the pack beside the script."""
    (place.folder / "policies").mkdir()
    del place.env["POLICY_PACK"]
    assert place.run("review").returncode == 0
    assert f"--policy-pack {ROOT}/policies" in place.calls.read_text()


def test_a_checkout_without_its_policies_reviews_nothing(place: Place, tmp_path: Path) -> None:
    copy = tmp_path / "gate" / "examples" / "ci" / "plan-and-apply.sh"
    copy.parent.mkdir(parents=True)
    copy.write_text(SCRIPT.read_text())
    (copy.parents[2] / "slinky_iac").symlink_to(ROOT / "slinky_iac")
    del place.env["POLICY_PACK"]
    done = place.run("review", SCRIPT=str(copy))
    assert done.returncode == 1
    assert "POLICY_PACK=" in done.stderr
    assert not place.called("preview")
    assert place.run("review", SCRIPT=str(copy), POLICY_PACK="").returncode == 0


def test_the_branch_does_not_bring_the_code_that_judges_it(place: Place) -> None:
    evil = place.folder / "slinky_iac"
    evil.mkdir()
    (evil / "__init__.py").write_text("")
    (evil / "__main__.py").write_text("import sys\nsys.exit(0)\n")
    place.preview.write_text(digest(scale_in(BUSY, before=3, after=1)))
    assert place.run("review", LIMITS="--max-jobs 0").returncode == 3


@pytest.mark.parametrize("act", ["review", "apply", "drift"])
def test_no_engine_runs_on_a_state_that_would_run_foreign_code(place: Place, act: str) -> None:
    place.left_of_an_earlier_review()
    urn = "urn:pulumi:prod::p::command:local:Command::evil"
    bad = {"urn": urn, "type": "command:local:Command", "inputs": {"delete": "id"}, "outputs": {}}
    place.state.write_text(json.dumps({"version": 3, "deployment": {"resources": [bad]}}))
    done = place.run(act)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "evil" in done.stderr
    assert {line.split()[0] for line in place.calls.read_text().splitlines()} == {"stack"}


@pytest.mark.parametrize(("resources", "code"), [("0", 0), ("1", 6)])
def test_drift_asks_the_state_first_and_then_both(place: Place, resources: str, code: int) -> None:
    done = place.run("drift", REFRESH_ENDS=resources)
    assert place.called("refresh --preview-only")
    assert done.returncode in (code, 1), "this stack has no gate, so Slurm can't be asked"


def evil_python(place: Place) -> Path:
    """What a branch brings to be judged by: it approves of all, and leaves a trace."""
    python = place.folder / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ntouch {place.folder}/branch-ran\nexit 0\n")
    python.chmod(0o755)
    return place.folder / "branch-ran"


@pytest.mark.parametrize("act", ["review", "state", "preview", "judge", "apply", "drift"])
def test_the_project_s_python_never_judges(place: Place, tmp_path: Path, act: str) -> None:
    ran = evil_python(place)
    place.left_of_an_earlier_review()
    gate = tmp_path / "gate"
    (gate / "examples" / "ci").mkdir(parents=True)
    (gate / "examples" / "ci" / "plan-and-apply.sh").write_text(SCRIPT.read_text())
    (gate / "slinky_iac").symlink_to(ROOT / "slinky_iac")
    del place.env["PYTHON"]
    done = place.run(act, SCRIPT=str(gate / "examples" / "ci" / "plan-and-apply.sh"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"there is no {gate}/venv/bin/python" in done.stderr
    assert "before anything of the branch" in done.stderr
    assert not ran.exists()
    assert place.calls.read_text() == "", "pulumi was called"


def test_modules_that_the_project_or_its_environment_names_do_not_judge(place: Place) -> None:
    evil = place.folder / "evil"
    (evil / "slinky_iac").mkdir(parents=True)
    (evil / "slinky_iac" / "__init__.py").write_text(f"open({str(place.folder / 'branch-ran')!r}, 'w')\n")
    assert place.run("review", PYTHONPATH=str(evil)).returncode == 0
    assert not (place.folder / "branch-ran").exists()


def test_a_judge_needs_the_preview_s_files_and_nothing_else(place: Place, tmp_path: Path) -> None:
    """On another machine, without pulumi, project, backend or secret."""
    assert place.run("preview").returncode == 0
    assert not list(place.out.glob("order.*")), "who runs the branch's code judges nothing"
    assert not place.plan.exists()
    clean = tmp_path / "clean"
    clean.mkdir()
    place.out.rename(clean / "change-order")
    env = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, "POLICY_PACK": "", "LIMITS": "--max-share 50%"}
    words = ["bash", str(SCRIPT), "judge"]
    done = subprocess.run(words, cwd=clean, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {f"order.{kind}" for kind in ("md", "html", "json", "txt")}
    left = {path.name for path in (clean / "change-order").iterdir()}
    assert left == pages | {"preview.json", "preview.exit", "update-plan.json"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda out: (out / "preview.json").unlink(), "run preview first"),
        (lambda out: (out / "preview.exit").unlink(), "run preview first"),
        (lambda out: (out / "preview.exit").write_text("1\n"), ""),
        (lambda out: (out / "preview.exit").write_text(""), ""),
        (lambda out: (out / "preview.json").write_text(CUT), ""),
        (lambda out: (out / "update-plan.json.new").unlink(), "no update plan"),
        (
            lambda out: (out / "preview.json").rename(out / "other") and (out / "preview.json").symlink_to(out / "other"),
            "first",
        ),
    ],
)
def test_a_judge_passes_nothing_of_which_a_part_is_missing(
    place: Place, change: Callable[[Path], object], said: str
) -> None:
    assert place.run("preview").returncode == 0
    place.plan.write_text("{}")
    change(place.out)
    done = place.run("judge")
    assert done.returncode == 1, done.stdout + done.stderr
    assert said in done.stderr
    assert list(place.out.glob("update-plan*")) == []
    place.applies_nothing()


@pytest.mark.parametrize("state", ["no state", "foreign"])
def test_the_state_is_looked_at_before_anything_of_the_branch_is_installed(place: Place, state: str) -> None:
    bad = {"urn": "urn:pulumi:prod::p::command:local:Command::evil", "type": "command:local:Command", "inputs": {}}
    place.state.write_text(json.dumps({"deployment": {"resources": [bad]}}) if state == "foreign" else "{}")
    assert place.run("state").returncode == 1
    place.state.write_text(json.dumps({"version": 3, "deployment": {"resources": []}}))
    assert place.run("state").returncode == 0
    assert {line.split()[0] for line in place.calls.read_text().splitlines()} == {"stack"}


def test_an_unknown_act_calls_nothing(place: Place) -> None:
    assert place.run("reveiw").returncode == 2
    assert place.calls.read_text() == ""
