"""What a container is said to have used: read from cgroups of both versions, and compared with what its pod asks for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.bench.containers import EVERY_S, MI, Asked, Sample, aims, asked, look, quantity, rows, table, used

ID = "a" * 64


@pytest.mark.parametrize(("text", "number"), [("500m", 0.5), ("2", 2.0), ("512Mi", 512.0 * MI), ("4Gi", 4096.0 * MI)])
def test_quantities_are_numbers(text: str, number: float) -> None:
    assert quantity(text) == pytest.approx(number)


def test_another_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="'3E' isn't a quantity"):
        quantity("3E")


def test_memory_is_the_most_and_cpus_are_an_average_and_the_busiest_ten_seconds() -> None:
    idle = [Sample(float(at), 10 * MI, 0.1) for at in range(1, 31)]
    work = [Sample(31.0 + at, (20 + at) * MI, 0.1 + at) for at in range(11)]
    found = used([*idle, *work])
    assert found.memory == 30
    assert found.cpu_most == pytest.approx(1.0)
    assert found.cpu == pytest.approx(10.1 / (40 + EVERY_S))


def test_a_container_that_lived_for_a_moment_has_used_little_of_a_processor() -> None:
    assert used([Sample(5.0, MI, 0.4)]).cpu_most == pytest.approx(0.04)


def version_1(top: Path) -> None:
    memory, cpu = (top / kind / "lab" / "kubepods" / "pod1" / ID for kind in ("memory", "cpuacct"))
    memory.mkdir(parents=True)
    cpu.mkdir(parents=True)
    (memory / "memory.usage_in_bytes").write_text(f"{9 * MI}\n")
    (memory / "memory.stat").write_text(f"cache 1\ntotal_inactive_file {4 * MI}\n")
    (cpu / "cpuacct.usage").write_text("1500000000\n")


def version_2(top: Path) -> None:
    folder = top / "lab" / "kubepods" / "pod1" / ID
    folder.mkdir(parents=True)
    (top / "cgroup.controllers").write_text("cpu memory\n")
    (folder / "memory.current").write_text(f"{9 * MI}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {4 * MI}\n")
    (folder / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")


@pytest.mark.parametrize("made", [version_1, version_2])
def test_both_versions_of_cgroups_are_read_without_cache_that_can_be_dropped(tmp_path: Path, made: Any) -> None:
    made(tmp_path)
    ((name, sample),) = look(tmp_path, "lab")
    assert (name, sample.memory, sample.cpu) == (ID, 5 * MI, pytest.approx(1.5))


def test_pods_that_end_between_two_containers_end_no_look(tmp_path: Path) -> None:
    version_1(tmp_path)
    pods = tmp_path / "memory" / "lab" / "kubepods"
    for number in range(2, 6):
        shutil.copytree(pods / "pod1", pods / f"pod{number}")
        shutil.copytree(
            tmp_path / "cpuacct" / "lab" / "kubepods" / "pod1", tmp_path / "cpuacct" / "lab" / "kubepods" / f"pod{number}"
        )
    seen = look(tmp_path, "lab")
    assert next(seen)[0] == ID
    shutil.rmtree(pods)
    assert list(seen) == []


def test_a_container_that_ends_while_it_is_read_is_left_out(tmp_path: Path) -> None:
    version_1(tmp_path)
    (tmp_path / "memory" / "lab" / "kubepods" / "pod1" / ("b" * 64)).mkdir()
    assert [name for name, _ in look(tmp_path, "lab")] == [ID]


SIZED = {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "4Gi"}}


def pod(daemon: str, *containers: str, ids: str) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app.kubernetes.io/name": daemon}},
        "spec": {"containers": [{"name": each, "resources": SIZED} for each in containers]},
        "status": {"containerStatuses": [{"name": each, "containerID": f"containerd://{ids}{each}"} for each in containers]},
    }


def test_rows_are_of_the_worst_container_of_a_kind_and_none_is_slurmds() -> None:
    pods = [pod("slurmctld", "slurmctld", "logfile", ids="1"), pod("slurmd", "slurmd", "logfile", ids="2")]
    pods.append(pod("slurmd", "slurmd", "logfile", ids="3"))
    of = {"1slurmctld": 600, "1logfile": 3, "2logfile": 4, "3logfile": 6, "2slurmd": 90}
    found = rows(pods, {name: [Sample(1.0, mib * MI, 0.5)] for name, mib in of.items()})
    assert [(each.name, each.used.memory) for each in found] == [
        ("logfile of slurmctld", 3), ("logfile of slurmd", 6), ("slurmctld", 600),
    ]  # fmt: skip
    assert found[2].asked == Asked(0.5, 512, 4096)
    assert [aim.what for aim in aims(found) if not aim.reached] == ["slurmctld: memory"]
    cell = table(found)["slurmctld"]["memory, most"]
    assert (cell.value, cell.rival, cell.ratio) == (600, "what it asks for", pytest.approx(600 / 512))


def test_a_container_that_asks_for_nothing_has_no_ratio() -> None:
    assert asked({"name": "a"}) == Asked(0, 0, 0)
