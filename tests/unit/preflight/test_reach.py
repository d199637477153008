"""An outside daemon that doesn't answer is reported with what was tried, quickly, and stops nothing."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.blueprint.places import Place, outside_places
from slinky_iac.cluster.kube_connection import KubeConnection
from slinky_iac.config.reading.load import load
from slinky_iac.kube.kubeconfig import KubeSource
from slinky_iac.preflight import unreachable
from slinky_iac.preflight.connectivity import kubernetes
from tests.stacks import form, minimal, outside


@pytest.fixture
def silent() -> Iterator[int]:
    """A port whose queue is full: connections are neither taken nor refused."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        yield address[1]
        for one in waiting:
            one.close()


def slurmctld(port: int, host: str = "127.0.0.1", **more: Any) -> tuple[str, ...]:
    config = load(outside(controller={"external": {"host": host, "port": port}}, **more))
    return tuple(str(found) for found in unreachable(config, timeout_s=0.5))


def test_a_daemon_that_listens_is_not_worth_a_word(listening: int) -> None:
    assert slurmctld(listening) == ()


def test_a_refused_connection_is_told_with_what_was_tried(closed: int) -> None:
    (said,) = slurmctld(closed)
    assert said.startswith(f"controller.external: tried slurmctld at 127.0.0.1 port {closed} from here")
    assert "connection refused" in said
    assert "nothing listens on that port" in said


def test_an_unknown_name_is_told_as_such() -> None:
    (said,) = slurmctld(6817, host="no-such-host.invalid")
    assert "the name is not known here" in said or "no answer in 0.5 s" in said


def test_silence_is_bounded(silent: int) -> None:
    began = time.monotonic()
    (said,) = slurmctld(silent)
    assert "no answer in 0.5 s" in said
    assert time.monotonic() - began < 5


def test_all_daemons_are_tried_at_once(silent: int, closed: int) -> None:
    silence = f"http://127.0.0.1:{silent}"
    config = load(
        outside(
            controller={"external": {"host": "127.0.0.1", "port": silent}},
            accounting={"external": {"host": "127.0.0.1", "port": closed}},
            external={"slurmrestd": {"url": silence}},
            slurmrest={"url": silence},
        )
    )
    began = time.monotonic()
    found = unreachable(config, timeout_s=1.0)
    assert time.monotonic() - began < 3, "one after the other they take at least three seconds"
    assert [f.path for f in found] == [
        "controller.external",
        "accounting.external",
        "slurmrest.url",
        "external.slurmrestd.url",
    ]
    assert {f.level for f in found} == {"warning"}


def test_with_everything_inside_nothing_is_tried() -> None:
    assert list(outside_places(form("all-in-kubernetes"))) == []
    assert unreachable(load(minimal())) == ()


def test_the_daemons_that_all_others_need_are_tried() -> None:
    assert [*outside_places(form("all-outside"))] == [
        Place("controller.external", "slurmctld", "slurmctld.example.org", 6817),
        Place("accounting.external", "slurmdbd", "slurmdbd.example.org", 6819),
        Place("external.slurmrestd.url", "slurmrestd", "slurmrestd.example.org", 6820),
    ]


@pytest.mark.parametrize(
    ("url", "port"), [("https://rest.example.org", 443), ("http://rest.example.org/slurm", 80), ("http://rest:1/", 1)]
)
def test_a_url_without_a_port_has_its_schemes(url: str, port: int) -> None:
    (place,) = outside_places(load(minimal(slurmrest={"url": url})))
    assert (place.path, place.port) == ("slurmrest.url", port)


def said_of_kubernetes(folder: Path, **cluster: object) -> list[str]:
    """What a preview says of a kubeconfig with this cluster."""
    file = folder / "config"
    found = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
    }
    file.write_text(json.dumps(found))
    return [str(each) for each in kubernetes(KubeConnection(KubeSource(path=file)), {}, timeout_s=0.5)]


def test_a_preview_warns_of_a_kubeconfig_that_checks_no_certificate(listening: int, tmp_path: Path) -> None:
    server = f"https://127.0.0.1:{listening}"
    assert said_of_kubernetes(tmp_path, server=server) == []
    (said,) = said_of_kubernetes(tmp_path, **{"server": server, "insecure-skip-tls-verify": True})
    assert "has insecure-skip-tls-verify" in said
    assert "answers in the API server's place" in said


def test_a_preview_warns_of_a_kubeconfig_without_tls(listening: int, closed: int, tmp_path: Path) -> None:
    (said,) = said_of_kubernetes(tmp_path, server=f"http://127.0.0.1:{listening}")
    assert "has an http:// server" in said
    assert len(said_of_kubernetes(tmp_path, server=f"http://127.0.0.1:{closed}")) == 2
    assert len(said_of_kubernetes(tmp_path, **{"server": f"http://127.0.0.1:{closed}", "proxy-url": "http://p:1"})) == 1
