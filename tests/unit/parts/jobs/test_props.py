"""What a job's props say, which run an update brings about, and what a preview finds wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from slinky_iac.config.slurm.times import minutes
from slinky_iac.errors import ConfigError
from slinky_iac.parts.jobs.inputs import scripts_of
from slinky_iac.parts.jobs.preview import judged, of_slurm_user
from slinky_iac.parts.jobs.props import JobSettings
from slinky_iac.parts.jobs.run import result
from slinky_iac.parts.jobs.settings import Job, JobScript
from slinky_iac.slurmrest.objects import Number
from slinky_iac.slurmrest.submitted import PartitionLimits, _Maximums
from tests.clusters import recorded
from tests.contract.test_wire_formats import JOBS
from tests.unit.parts.jobs.model import job


def props(**over: Any) -> dict[str, Any]:
    inputs = recorded("dev", **JOBS).one("slurm:SlurmJob").inputs
    return {**{name: value for name, value in inputs.items() if name != "__provider"}, **over}


def state(**over: Any) -> dict[str, Any]:
    """A state after a first run that went well."""
    first = JobSettings.from_props(props(), {})
    return {**props(), "run": 1, "digest": first.digest, "last": "over", "result": {}, **over}


def test_the_first_run_is_due() -> None:
    first = JobSettings.from_props(props(), {})
    assert (first.due, first.next_run) == (True, 1)
    assert first.tag(1) == f"slinky-iac:{first.stack}/hello#6e6f6e636531.1.{first.digest}"


def test_a_run_that_went_well_is_not_repeated_without_a_change() -> None:
    assert not JobSettings.from_props(props(), state()).due
    changed = JobSettings.from_props(props(script="#!/bin/sh\nexec date\n"), state())
    assert (changed.due, changed.next_run) == (True, 2)


def test_how_a_run_is_followed_is_no_part_of_what_it_is() -> None:
    assert not JobSettings.from_props(props(timeoutS=5, onDestroy="wait"), state()).due


def test_each_update_is_a_run_where_the_settings_say_so() -> None:
    every = JobSettings.from_props(props(runs="on-every-update"), state())
    assert (every.due, every.next_run) == (True, 2)


def test_a_failed_run_is_followed_by_another_and_an_open_one_goes_on() -> None:
    failed, open_ = state(last="failed"), state(last="open")
    assert (JobSettings.from_props(props(), failed).due, JobSettings.from_props(props(), failed).next_run) == (True, 2)
    assert (JobSettings.from_props(props(), open_).due, JobSettings.from_props(props(), open_).next_run) == (True, 1)


def test_a_run_that_was_only_to_be_submitted_is_not_due_again() -> None:
    assert not JobSettings.from_props(props(waitFor="submitted"), state(last="open")).due


def test_a_state_with_floats_has_the_same_digest() -> None:
    assert JobSettings.from_props(props(nodes=1.0, timeLimitS=0.0), {}).digest == JobSettings.from_props(props(), {}).digest


def test_no_variable_of_this_shell_goes_to_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JWT", "a-token")
    body = JobSettings.from_props(props(environment={"A": "b"}), {}).body
    assert body["environment"] == ["A=b", "PATH=/usr/local/bin:/usr/bin:/bin"]


def test_a_command_is_no_shells_to_read() -> None:
    job = Job(user="alice", command=("echo", "$HOME; rm -rf /"), working_directory="/tmp")
    assert scripts_of({"a": job}) == {"a": "#!/bin/sh\nexec echo '$HOME; rm -rf /'\n"}


@pytest.mark.parametrize("path", ["/home/$(id)", "/home/`id`", "/home/a\u202eb"])
@pytest.mark.parametrize("field", ["workingDirectory", "output"])
def test_no_path_of_a_job_is_what_a_shell_runs_or_no_screen_shows(field: str, path: str) -> None:
    told = {"workingDirectory": "/home/a", "user": "a", "command": ["id"], field: path}
    with pytest.raises(ValidationError, match="a path is letters, digits and signs"):
        Job.model_validate(told)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "can't be read"), (b"\xff\xfe", "UTF-8"), (b"hostname\n", "#!"), (b"#!" * 600_000, "bytes")],
)
def test_a_script_that_cannot_be_used_is_named_with_its_path(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / "bench.sh").write_bytes(content)
    job = Job(user="alice", script=JobScript(file="bench.sh"), working_directory="/tmp")
    with pytest.raises(ConfigError) as caught:
        scripts_of({"bench": job}, tmp_path)
    assert caught.value.faults[0].startswith("jobs.bench.script.file: ")
    assert words in caught.value.faults[0]


def test_a_preview_names_a_partition_that_slurmctld_has_not() -> None:
    settings = JobSettings.from_props(props(partition="big"), {})
    ((where, text),) = judged(settings, {"metal": PartitionLimits("metal")})
    assert where == "jobs.hello.partition"
    assert "metal" in text
    assert not list(judged(JobSettings.from_props(props(partition="big", ownPartition=True), {}), {}))


def test_a_preview_names_a_limit_beyond_the_partitions() -> None:
    limits = PartitionLimits("metal", _Maximums(Number(set=True, number=60)))
    settings = JobSettings.from_props(props(partition="metal", timeLimitS=3601), {})
    ((where, text),) = judged(settings, {"metal": limits})
    assert where == "jobs.hello.timeLimit"
    assert "61 minutes" in text
    assert not list(judged(JobSettings.from_props(props(partition="metal", timeLimitS=3600), {}), {"metal": limits}))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("60", 60), ("1:30", 2), ("2:00:00", 120), ("1-0", 1440), ("1-2:30", 1590), ("UNLIMITED", None), ("INFINITE", None)],
)
def test_a_time_of_slurm_conf_is_read_as_slurm_reads_it(text: str, wanted: int | None) -> None:
    assert minutes(text) == wanted


def test_a_job_of_the_clusters_own_slurm_user_is_refused_whatever_its_name() -> None:
    settings = JobSettings.from_props(props(user="slurmadm"), {})
    ((where, text),) = judged(settings, {"metal": PartitionLimits("metal")}, "slurmadm")
    assert where == "jobs.hello.user"
    assert "slurmadm is SlurmUser of this cluster" in text
    assert not list(judged(settings, {"metal": PartitionLimits("metal")}, "slurm"))
    assert of_slurm_user(settings, "") == "", "slurmctld doesn't tell before 26.05"


def test_what_the_jobs_user_wrote_moves_no_cursor_in_the_stacks_output() -> None:
    ended = job(7, "FAILED", stdout_expanded="/tmp/\x1b[2J\u202eout", state_reason="\x07NonZeroExitCode", nodes="gpu-0\x1b")
    shown = result(ended)
    assert all(each.isprintable() for each in shown.values() if isinstance(each, str))
    assert shown["output"].startswith("/tmp/")
