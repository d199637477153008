"""Follows one Slurm job for a Kubernetes Job: submits it once, prints its output, passes its exit code on.

It needs a token and the address of slurmrestd, no Slurm client. The tag in the job's comment is the Kubernetes Job's uid:
a second pod of the same Job, after a drain of its Kubernetes node, finds the job by it and goes on. A job is submitted held
and is released only after a look at all jobs with the tag: the lowest id stays, the others are cancelled before they start.

SIGTERM comes with a deletion of the Job and with a drain of the node. Only the API server can tell which it is: the Slurm
job is cancelled where the Job is gone or being deleted, and left alone else.
"""

import json
import os
import signal
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

VERSION = "v0.0.44"
ENDED = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"}
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TERMINATED = 143
NO_SUCH_JOB = 2017
Row = dict[str, Any]
STOPPING = threading.Event()


def main() -> int:
    """Returns the job's exit code, or 143 where this pod ends before the job."""
    signal.signal(signal.SIGTERM, stop)
    tag = f"kubernetes-job:{os.environ['JOB_UID']}"
    job = started_once(tag)
    say(f"job {job}")
    while True:
        row = look(job)
        if over(row):
            return finish(row)
        if STOPPING.is_set():
            return leave(job)
        time.sleep(2)


def started_once(tag: str) -> int:
    """Id of the one job with the tag, which may start, or has."""
    while True:
        found = [row for row in patient("GET", f"slurm/{VERSION}/jobs/")["jobs"] if row["comment"] == tag]
        found = found or [row for row in accounted(tag) if row["comment"] == tag]
        if not found:
            submit(tag)
            continue
        row = min(found, key=lambda each: (waits(each), each["job_id"]))
        for other in found:
            if other is not row and waits(other):
                cancel(other["job_id"])
        if row.get("hold") and waits(row):
            patient("POST", f"slurm/{VERSION}/job/{row['job_id']}", {"hold": False})
        return int(row["job_id"])


def submit(tag: str) -> None:
    """Submit the job, held. An answer that is lost does no harm: the next look tells whether it is there."""
    job: Row = {
        "name": os.environ.get("JOB_NAME", "companion"),
        "comment": tag,
        "hold": True,
        "current_working_directory": os.environ.get("WORKDIR", "/tmp"),
        "environment": ["PATH=/usr/local/bin:/usr/bin:/bin"],
    }
    for field, name in (("partition", "PARTITION"), ("account", "ACCOUNT"), ("standard_output", "OUTPUT")):
        if os.environ.get(name):
            job[field] = os.environ[name]
    script = Path(os.environ.get("SCRIPT", "/job/script")).read_text()
    try:
        ask("POST", f"slurm/{VERSION}/job/submit", {"script": script, "job": job})
    except OSError as error:
        say(f"no answer to the submission ({error}); looking")
        time.sleep(2)


def accounted(tag: str) -> list[Row]:
    """Jobs of the tag that slurmctld has forgotten, as slurmdbd has them."""
    name = os.environ.get("JOB_NAME", "companion")
    rows = patient("GET", f"slurmdb/{VERSION}/jobs/?job_name={name}&start_time=1&skip_steps=true")["jobs"]
    return [plain(row) for row in rows if row["comment"]["job"] == tag]


def plain(row: Row) -> Row:
    """A row of slurmdbd as slurmctld would write it."""
    state, output = row["state"]["current"], row.get("stdout_expanded", "")
    return {**row, "comment": row["comment"]["job"], "job_state": state, "stdout_expanded": output}


def look(job: int) -> Row:
    """The job as slurmctld has it, or as slurmdbd remembers it."""
    answer = patient("GET", f"slurm/{VERSION}/job/{job}", expected=NO_SUCH_JOB)
    rows: list[Row] = answer.get("jobs") or []
    if rows:
        return rows[0]
    return plain(patient("GET", f"slurmdb/{VERSION}/job/{job}")["jobs"][-1])


def waits(row: Row) -> bool:
    """It has never started."""
    return bool(row["job_state"] == ["PENDING"])


def over(row: Row) -> bool:
    """It has ended, its epilog too."""
    return set(row["job_state"]) <= ENDED


def finish(row: Row) -> int:
    """Print the output, where this pod sees the file, and return the exit code."""
    file = Path(row.get("stdout_expanded") or "/nonexistent")
    if file.is_file():
        sys.stdout.write(file.read_text(errors="replace"))
    code = row["exit_code"]
    number = int(code["return_code"]["number"])
    killed = int(code["signal"]["id"]["number"])
    say(f"job {row['job_id']} ended {'+'.join(row['job_state'])} on {row.get('nodes') or 'no node'}, exit code {number}")
    return number or (128 + killed if killed else 0 if row["job_state"] == ["COMPLETED"] else 1)


def leave(job: int) -> int:
    """This pod ends: cancel the job where the Kubernetes Job goes, too."""
    if kubernetes_job_goes():
        cancel(job)
        say(f"job {job} was cancelled with the Kubernetes Job")
    else:
        say(f"job {job} goes on; another pod follows it")
    return TERMINATED


def kubernetes_job_goes() -> bool:
    """Whether the Kubernetes Job is gone or being deleted. Where the API server can't tell, it is not."""
    name, namespace = os.environ["KUBERNETES_JOB"], (ACCOUNT / "namespace").read_text()
    address = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
    request = urllib.request.Request(f"{address}/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
    request.add_header("Authorization", f"Bearer {(ACCOUNT / 'token').read_text()}")
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    try:
        with urllib.request.urlopen(request, context=context, timeout=10) as answer:
            meta = json.load(answer)["metadata"]
    except urllib.error.HTTPError as error:
        return error.code == 404
    except OSError:
        return False
    return "deletionTimestamp" in meta or meta["uid"] != os.environ["JOB_UID"]


def cancel(job: int) -> None:
    """Cancel a job; one that has ended stays as it is."""
    patient("DELETE", f"slurm/{VERSION}/jobs/", {"jobs": [str(job)], "flags": ["VERBOSE"]})


def patient(method: str, path: str, body: Row | None = None, expected: int = 0) -> Row:
    """An answer without errors, however long slurmrestd is away; for calls that may be repeated."""
    while True:
        try:
            return ask(method, path, body, expected)
        except OSError as error:
            say(f"{path}: {error}; again in 5 s")
            time.sleep(5)


def ask(method: str, path: str, body: Row | None = None, expected: int = 0) -> Row:
    """One question to slurmrestd. Raises OSError where it gives no answer that can be used now."""
    request = urllib.request.Request(f"{os.environ['SLURMRESTD']}/{path}", method=method)
    # Read each time: the operator renews the Secret of a Token.
    request.add_header("X-SLURM-USER-TOKEN", Path(os.environ["TOKEN_FILE"]).read_text().strip())
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, json.dumps(body).encode() if body else None, timeout=60) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        found: Row = json.loads(text)
    except ValueError:
        raise OSError(f"HTTP {status} without JSON") from None
    numbers = {each.get("error_number", 0) for each in found.get("errors", [])} - {0}
    if numbers and expected not in numbers:
        said = "; ".join(each.get("error", "") for each in found["errors"])
        if status == 422 and method == "POST":
            sys.exit(f"slurmrestd refuses it: {said}")
        raise OSError(f"HTTP {status}: {said}")
    return found


def stop(*_: object) -> None:
    """SIGTERM: end at the next look."""
    STOPPING.set()


def say(text: str) -> None:
    """Progress, beside the job's own output."""
    print(f"companion: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
