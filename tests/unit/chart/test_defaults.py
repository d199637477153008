"""What the chart says itself, and what null and other values mean to Helm's templates: each answer is what ``helm template``
of the charts 1.0.5, 1.1.2 and 1.2.1 makes of these values."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.commands.check import errors_of
from slinky_iac.commands.import_chart import layered
from slinky_iac.config.chart.release import read
from slinky_iac.config.paths import value_at
from tests.unit.chart.reading import found, taken

OLD = {"secret": "slurm-login-slinky-sssd-conf", "key": "sssd.conf"}
TAG = {(1, 0): "25.11-ubuntu24.04", (1, 1): "25.11-ubuntu24.04", (1, 2): "26.05-ubuntu26.04"}


@pytest.mark.parametrize("line", TAG)
def test_an_image_that_is_named_by_its_repository_has_the_chart_s_tag(line: tuple[int, int]) -> None:
    settings, left = taken(
        """
        controller: {slurmctld: {image: {repository: r.example/slurmctld}}, logfile: {image: {repository: r.example/alpine}}}
        restapi: {slurmrestd: {image: {repository: r.example/slurmrestd}}}
        nodesets: {slinky: {enabled: true, slurmd: {image: {repository: r.example/slurmd}}}}
        """,
        line,
    )
    assert settings["cluster"]["images"] == {
        "slurmctld": f"r.example/slurmctld:{TAG[line]}",
        "slurmrestd": f"r.example/slurmrestd:{TAG[line]}",
        "sidecar": "r.example/alpine:latest",
    }
    assert settings["nodesets"]["slinky"]["image"] == f"r.example/slurmd:{TAG[line]}"
    assert left == {}


def test_of_other_nodesets_a_chart_before_1_2_has_no_tag() -> None:
    settings, left = taken("nodesets: {gpu: {enabled: true, slurmd: {image: {repository: r.example/slurmd}}}}", (1, 1))
    assert "image" not in settings["nodesets"]["gpu"]
    assert left.keys() == {"nodesets.gpu.slurmd.image"}


@pytest.mark.parametrize(
    ("enabled", "makes"),
    [("true", True), ("false", False), ("null", False), ("0", False), ("''", False), ("'false'", True)],
)
def test_a_switch_is_what_the_template_takes_it_for(enabled: str, makes: bool) -> None:
    settings, _ = taken(
        f"""
        nodesets: {{a: {{enabled: {enabled}}}, other: {{}}}}
        loginsets: {{a: {{enabled: {enabled}}}}}
        partitions: {{p: {{enabled: {enabled}, nodesets: [other]}}}}
        sssd: {{secretRef: {{name: s}}}}
        """
    )
    made = [
        kind for kind, name in (("nodesets", "a"), ("logins", "a"), ("partitions", "p")) if name in settings.get(kind, {})
    ]
    assert made == (["nodesets", "logins", "partitions"] if makes else [])


def test_the_default_of_all_sets_switches_off_those_that_say_nothing() -> None:
    settings, _ = taken("{nodesetDefaults: {enabled: false}, nodesets: {a: {enabled: true}, b: {}, c: {enabled: null}}}")
    assert settings["nodesets"].keys() == {"a"}


def test_null_of_one_set_takes_the_default_of_all_away_and_the_operator_s_counts() -> None:
    settings, left = taken(
        """
        nodesetDefaults: {replicas: 3, partition: {enabled: true}, podSpec: {nodeSelector: {pool: gpu}}}
        nodesets: {a: {replicas: null, partition: null, podSpec: {nodeSelector: null}}, b: {}}
        """
    )
    assert settings["nodesets"]["a"] == {"replicas": 1, "partition": {"enabled": False}}
    assert settings["nodesets"]["b"]["replicas"] == 3
    assert settings["nodesets"]["b"]["partition"] == {"enabled": True}
    assert left == {}


@pytest.mark.parametrize(
    ("part", "values", "host"),
    [
        ("controller", "{external: true}", "slurmctld.example.com"),
        ("controller", "{external: true, externalConfig: {port: 6817}}", "slurmctld.example.com"),
        ("controller", "{external: true, externalConfig: {host: ctl}}", "ctl"),
        ("accounting", "{enabled: true, external: true}", "slurmdbd.example.com"),
        ("accounting", "{enabled: true, external: true, externalConfig: {host: dbd}}", "dbd"),
    ],
)
def test_a_daemon_that_is_outside_stays_outside_without_a_host(part: str, values: str, host: str) -> None:
    read = found(f"{{clusterName: a, {part}: {values}}}")
    assert read.taken.settings[part]["external"]["host"] == host
    said = [note for note in read.notes if note.startswith(f"{part}.externalConfig.host by the chart's default")]
    assert bool(said) is host.endswith(".example.com")
    assert all("DECIDE" in note for note in said)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ("{enabled: true}", "slurm-system-critical"),
        ("{enabled: true, name: null}", "slurm-priority-critical"),
        ("{enabled: true, name: high}", "high"),
        ("{enabled: false, name: high}", None),
        ("{enabled: null, name: high}", None),
    ],
)
def test_pods_have_the_class_that_the_chart_gives_them(values: str, name: str | None) -> None:
    read = found(f"{{priorityClass: {values}, nodesets: {{a: {{}}, b: {{podSpec: {{priorityClassName: own}}}}}}}}")
    settings = read.taken.settings
    at = ("pod", "priorityClass")
    assert {value_at(settings, (part, *at)) for part in ("controller", "restapi")} == {name}
    assert value_at(settings["nodesets"]["a"], at) == name
    assert value_at(settings["nodesets"]["b"], at) == "own"


def test_of_an_outside_slurmctld_no_sidecar_with_sssd_is_announced() -> None:
    outside = found("{sssd: {secretRef: {name: s}}, loginsets: {l: {}}, clusterName: a, controller: {external: true}}")
    inside = found("{sssd: {secretRef: {name: s}}, loginsets: {l: {}}, clusterName: a}")
    assert [any("sidecar with sssd" in note for note in read.notes) for read in (outside, inside)] == [False, True]


@pytest.mark.parametrize(
    ("line", "values", "secret"),
    [
        ((1, 0), "loginsets: {slinky: {enabled: true}}", OLD),
        ((1, 0), "loginsets: {slinky: {enabled: true, sssdConf: x}}", OLD),
        ((1, 1), "loginsets: {slinky: {enabled: true}}", {"secret": "slurm-sssd-conf", "key": "sssd.conf"}),
        ((1, 2), "{loginsets: {slinky: {}}, sssd: {secretRef: {key: conf}}}", {"secret": "slurm-sssd-conf", "key": "conf"}),
        ((1, 2), "{loginsets: {slinky: {}}, sssd: {conf: x}}", {"secret": "slurm-sssd-conf", "key": "sssd.conf"}),
    ],
)
def test_login_pods_name_the_secret_with_sssd_conf_that_the_chart_makes(
    line: tuple[int, int], values: str, secret: dict[str, str]
) -> None:
    """The most usual values have login sets and nothing of sssd, and what is written of them is sound."""
    read = found(values, line)
    settings = read.taken.settings
    assert settings["logins"]["slinky"]["sssdConfFrom"] == secret
    assert "identity" not in settings
    assert settings["cluster"]["createNamespace"] is False
    (said,) = (note for note in read.notes if note.startswith("logins.slinky.sssdConfFrom: "))
    assert f"`kubectl create secret generic {secret['secret']} -n slurm --from-file={secret['key']}=sssd.conf`" in said
    assert errors_of(settings) == []


def test_nodesets_with_ssh_name_it_too_and_a_secret_of_the_site_s_counts_before_it() -> None:
    settings, _ = taken("{nodesets: {a: {ssh: {enabled: true}}, b: {ssh: {enabled: false}}, c: {}}}")
    assert settings["nodesets"]["a"]["ssh"]["sssdConfFrom"] == {"secret": "slurm-sssd-conf", "key": "sssd.conf"}
    assert ["ssh" in settings["nodesets"][name] for name in "bc"] == [True, False]
    own, _ = taken("{nodesets: {a: {ssh: {enabled: true}}}, sssd: {secretRef: {name: mine}}}")
    assert own["nodesets"]["a"]["ssh"] == {"enabled": True}
    assert own["identity"]["sssd"] == {"confFrom": {"secret": "mine"}}


@pytest.mark.parametrize(
    ("files", "made"),
    [
        (("nodesets: null\npartitions: null",), (None, None)),
        (("nodesets: {slinky: null}\npartitions: {all: null}",), (None, None)),
        (("nodesets: {slinky: {replicas: 2}}", "nodesets: {slinky: null}\npartitions: null"), (None, None)),
        (("nodesets: null", "nodesets: {gpu: {enabled: true}}"), (["slinky", "gpu"], ["all"])),
        (("{}",), (["slinky"], ["all"])),
    ],
)
def test_null_takes_the_chart_s_own_away_in_the_last_file_that_says_something(
    tmp_path: Path, files: tuple[str, ...], made: tuple[list[str] | None, list[str] | None]
) -> None:
    paths = []
    for number, text in enumerate(files):
        path = tmp_path / f"{number}.yaml"
        path.write_text(text)
        paths.append(str(path))
    settings = read(layered(paths), release="slurm", namespace="slurm", line=(1, 1)).taken.settings
    got = [list(settings[kind]) if kind in settings else None for kind in ("nodesets", "partitions")]
    assert got == [*made]


def test_slurmrestd_has_a_pod_since_gates_ask_it() -> None:
    settings, left = taken("restapi: {replicas: 0}")
    assert "restapi" not in settings
    assert "gates and commands ask slurmrestd" in left["restapi.replicas"]
