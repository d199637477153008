"""`slinky adopt` is killed, with SIGKILL, at each request, before and after the API server has done what it asks for. Run
again, it goes on: the file is whole, each object is written once, and nothing that pods follow is touched."""

from __future__ import annotations

import copy
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.engine import REPO
from tests.unit.adopt.chart_objects import VALUES, Release, command, living, served

LISTS = 9
"""Requests of `slinky adopt --out`: Helm's records, the newest one, five kinds, two of autoscalers."""
WRITES = 5
"""Of `--let-go`: the claims on three objects, then two records of Helm's."""


class Deadly(Release):
    """It kills the command that asks, at one request."""

    def __init__(self) -> None:
        super().__init__()
        self.run: subprocess.Popen[bytes] | None = None
        self.at = -1
        """Which request, of those that count."""
        self.is_done = False
        """Whether it does what is asked for before."""
        self.counted = ("GET",)

    def _answer(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        if method not in self.counted or self.run is None:
            return super()._answer(method, url, body, headers)
        self.at -= 1
        if self.at != -1:
            return super()._answer(method, url, body, headers)
        answer = super()._answer(method, url, body, headers) if self.is_done else (503, b"{}")
        self.run.kill()
        self.run.wait()
        return answer

    def slinky(self, argv: list[str], *, dies_at: int | None = None) -> int:
        """The exit code of the command, which is killed at that request."""
        self.at = -1 if dies_at is None else dies_at
        with self._lock:  # no request is answered before it is known whose it is
            self.run = subprocess.Popen(
                [sys.executable, "-m", "slinky_iac", *argv], cwd=REPO, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        code = self.run.wait(120)
        self.run = None
        return code


def let_go(server: Deadly, folder: Path) -> list[str]:
    return ["adopt", "--kubeconfig", server.kubeconfig(folder), "--let-go", str(folder / "Pulumi.prod.yaml")]


@pytest.mark.parametrize("at", range(LISTS))
def test_the_file_is_written_whole_or_not_at_all(at: int, tmp_path: Path) -> None:
    with Deadly() as server:
        served(server, VALUES)
        assert server.slinky(command(server, tmp_path), dies_at=at) == -signal.SIGKILL
        assert [each.name for each in tmp_path.iterdir()] == ["kubeconfig"]
        server.asked.clear()
        assert server.slinky(command(server, tmp_path)) == 0
        assert (len(server.asked), server.written) == (LISTS, [])


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("at", range(WRITES))
def test_letting_go_goes_on_where_it_was_killed(at: int, is_done: bool, tmp_path: Path) -> None:
    with Deadly() as server:
        served(server, VALUES)
        assert server.slinky(command(server, tmp_path)) == 0
        before = what_pods_follow(server)
        server.counted, server.is_done = ("PATCH",), is_done
        assert server.slinky(let_go(server, tmp_path), dies_at=at) == -signal.SIGKILL
        assert len(server.patched) == at + is_done
        newest = server.objects["/api/v1/namespaces/slurm/secrets"]["items"][-1]["metadata"]["labels"]["owner"]
        assert newest == ("slinky-iac" if len(server.patched) == WRITES else "helm"), "an update is refused until the end"
        assert server.slinky(let_go(server, tmp_path)) == 0
        assert len(server.patched) == len(set(server.patched)) == WRITES, "each once"
        assert what_pods_follow(server) == before


def what_pods_follow(server: Deadly) -> dict[str, Any]:
    """Of each object its UID, labels, annotations and spec."""
    found = {}
    for each in living():
        listed = server.objects[f"/apis/slinky.slurm.net/v1beta1/namespaces/slurm/{each.kind.lower()}s"]["items"]
        (whole,) = [one for one in listed if one["metadata"]["name"] == each.name]
        meta = whole["metadata"]
        held = (meta["uid"], meta["labels"], meta.get("annotations", {}), whole["spec"])
        found[f"{each.kind} {each.name}"] = copy.deepcopy(held)
    return found
