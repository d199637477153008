"""slurmctld's metrics as a pod found them, and the shell that asks: real bash, a real socket."""

from __future__ import annotations

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from slinky_iac.commands.preflight.pod import SCRIPT, placements, pod_body, report_of
from slinky_iac.config.reading.load import load
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.check_reach import METRICS as EXPECTED
from slinky_iac.preflight.facts import Facts, PodFacts, PodReport
from tests.stacks import outside

AUTOSCALED = {"gpu": {"replicas": 0, "owner": "autoscaler", "maxReplicas": 4, "autoscale": {}}}
CONFIG = load(outside(nodesets=AUTOSCALED))
PAGE = 'slurm_partition_nodes_alloc{partition="gpu"} 0\nslurm_partition_nodes_alloc{partition="cpu"} 3\n'


def verdict(metrics: tuple[int, int] | None) -> list[tuple[Verdict, str]]:
    report = PodReport("p", "node-1", "image", metrics=metrics)
    facts = Facts(pod=PodFacts(reports=(report,)))
    return [(check.verdict, check.got) for row in EXPECTED for check in row.checks(CONFIG, facts)]


@pytest.mark.parametrize(
    ("metrics", "wanted", "said"),
    [
        ((200, 3), Verdict.FINE, "3 partitions"),
        ((200, 0), Verdict.PROBLEM, "MetricsType"),
        ((401, 0), Verdict.PROBLEM, "PrivateData"),
        ((0, 0), Verdict.PROBLEM, "nothing"),
        (None, Verdict.UNKNOWN, "no pod looked"),
    ],
)
def test_each_answer_is_judged(metrics: tuple[int, int] | None, wanted: Verdict, said: str) -> None:
    ((found, got),) = verdict(metrics)
    assert found is wanted
    assert said in got


def test_a_stack_without_an_autoscaler_asks_for_no_metrics() -> None:
    config = load(outside(nodesets={"gpu": {"replicas": 1}}))
    (place,) = placements(config)
    body = pod_body(config, place, "p", [])
    assert [each["name"] for each in body["spec"]["containers"][0]["env"]] == ["LIMIT"]
    assert [check for row in EXPECTED for check in row.checks(config, Facts())] == []


def test_the_pod_is_told_where_they_are() -> None:
    (place,) = placements(CONFIG)
    env = pod_body(CONFIG, place, "p", [])["spec"]["containers"][0]["env"]
    assert {"name": "METRICS", "value": "ctl.example.org 6817 /metrics/partitions"} in env


@pytest.mark.parametrize(("code", "page", "wanted"), [(200, PAGE, (200, 2)), (200, "", (200, 0)), (401, "no", (401, 0))])
def test_the_pods_shell_reads_what_a_server_answers(code: int, page: str, wanted: tuple[int, int], tmp_path: Path) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(page.encode() if self.path == "/metrics/partitions" else b"")

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    message = run(tmp_path, f"127.0.0.1 {server.server_port} /metrics/partitions")
    server.shutdown()
    server.server_close()
    assert read(message).metrics == wanted


def test_the_pods_shell_says_that_there_was_no_answer(tmp_path: Path) -> None:
    assert read(run(tmp_path, "127.0.0.1 1 /metrics/partitions")).metrics == (0, 0)


def run(folder: Path, metrics: str) -> str:
    """What the script writes; its file is one of ours."""
    out = folder / "message"
    script = SCRIPT.replace("/dev/termination-log", str(out))
    env = {"LIMIT": "5", "METRICS": metrics, "PATH": os.environ["PATH"]}
    subprocess.run(["bash", "-c", script, "look"], env=env, check=True, timeout=60)
    return out.read_text()


def read(message: str) -> PodReport:
    return report_of(message, placements(CONFIG)[0], [], pod="p", node="n", before=0, after=1)
