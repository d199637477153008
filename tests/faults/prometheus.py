"""Debian's Prometheus with this project's rules, which scrapes the lab and a status beside it."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from slinky_iac.parts.monitoring.alerts import KEY_AGE_S, alerts, groups
from slinky_iac.parts.slurmctld.settings import METRICS_PATHS
from tests.e2e.slurm import await_true

EVERY = "1s"
PORT = 9099


class Prometheus:
    """Debian's Prometheus, with the rules of this project. Waits of alerts are seconds, else a run would take hours; what
    is asked stays as it is."""

    def __init__(self, folder: Path, *targets: str, exporter: str = "") -> None:
        """``targets``: slurmctld's. ``exporter``: that of a node_exporter with the status; else :meth:`write` has it."""
        self.folder = folder
        (folder / "www").mkdir()
        self.base = f"http://127.0.0.1:{PORT}"
        self.process: subprocess.Popen[bytes] | None = None
        self.rules(KEY_AGE_S)
        jobs = [
            {"job_name": path.rpartition("/")[2], "metrics_path": path, "static_configs": [{"targets": list(targets)}]}
            for path in METRICS_PATHS
        ]
        status = exporter or f"127.0.0.1:{PORT + 1}"
        own = {"job_name": "textfile", "static_configs": [{"targets": [status]}]}
        config = {
            "global": {"scrape_interval": EVERY, "scrape_timeout": EVERY, "evaluation_interval": EVERY},
            "rule_files": [str(folder / "rules.yaml")],
            "scrape_configs": [*jobs, own],
        }
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))

    def rules(self, key_age_s: int) -> None:
        """Go by rules with this `monitoring.keyAge`."""
        document = groups(alerts(key_age_s))
        for rule in document["groups"][0]["rules"]:
            rule["for"] = "1s"
        (self.folder / "rules.yaml").write_text(yaml.safe_dump(document))
        if self.process is not None:
            self.process.send_signal(signal.SIGHUP)

    def start(self) -> None:
        """Serve the textfile as node_exporter would, and start."""
        self.server = subprocess.Popen(
            ["python3", "-m", "http.server", "--bind", "127.0.0.1", str(PORT + 1), "--directory", str(self.folder / "www")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={self.folder}/prometheus.yaml",
                    f"--storage.tsdb.path={self.folder}/data",
                    f"--web.listen-address=127.0.0.1:{PORT}",
                ],
                stdout=log,
                stderr=log,
            )
        await_true("Prometheus serves", self.ready, 60)

    def ready(self) -> bool:
        try:
            return bool(urllib.request.urlopen(f"{self.base}/-/ready", timeout=2).status == 200)
        except OSError:
            return False

    def stop(self) -> None:
        for each in (self.process, self.server):
            if each is not None:
                each.terminate()
                each.wait(20)

    def write(self, text: str) -> None:
        new = self.folder / "www" / "metrics.new"
        new.write_text(text)
        new.replace(self.folder / "www" / "metrics")

    def ask(self, path: str, **query: str) -> Any:
        url = f"{self.base}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def firing(self) -> set[str]:
        return {each["labels"]["alertname"] for each in self.ask("alerts")["alerts"] if each["state"] == "firing"}
