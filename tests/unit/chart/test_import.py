"""`slinky import-chart`: each key becomes a setting or is named as left out, as the chart itself would have read it.

The inputs are small and written for these tests; their shapes are those of public values files (HyperPod's with anchors,
DigitalOcean's with NFS, Oracle's with SR-IOV, a flow-style one for k3s, Slinky's hybrid guide, a Terraform module's …).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands import cli
from slinky_iac.commands.check import judge
from slinky_iac.commands.import_chart import layered, operator_settings
from slinky_iac.config.chart.release import fullname, read
from slinky_iac.config.findings import Level
from slinky_iac.errors import ProjectError
from tests.stacks import read_yaml
from tests.unit.chart.reading import taken

HYPERPOD = """
commonAffinity: &affinity
  nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: []}]}}
clusterName: hyper
controller:
  persistence: {storageClassName: gp3}
  podSpec: {affinity: *affinity}
  metrics: {enabled: true}
loginsets:
  slinky:
    rootSshAuthorizedKeys: ssh-ed25519 AAAA me
    login: {volumeMounts: [{name: fsx, mountPath: /fsx}]}
    podSpec: {affinity: *affinity, volumes: [{name: fsx, persistentVolumeClaim: {claimName: fsx}}]}
nodesets:
  slinky:
    replicas: 4
    slurmd:
      image: {repository: 1234.dkr.ecr.example.com/dlc-slurmd, tag: "25.11"}
      resources: {limits: {nvidia.com/gpu: 1}}
vendor: {nvidia: {dcgm: {enabled: true}}}
"""


def test_anchors_are_read_and_stay_no_anchors() -> None:
    settings, left = taken(HYPERPOD)
    assert settings["controller"]["pod"]["affinity"] == settings["logins"]["slinky"]["pod"]["affinity"]
    assert settings["controller"]["persistence"] == {"storageClass": "gp3"}
    assert settings["controller"]["metrics"] is True
    assert settings["logins"]["slinky"]["volumes"] == [
        {"name": "fsx", "mountPath": "/fsx", "source": {"persistentVolumeClaim": {"claimName": "fsx"}}}
    ]
    assert settings["logins"]["slinky"]["service"] == {"type": "LoadBalancer"}  # the chart's default, and not ours
    assert settings["nodesets"]["slinky"]["image"] == "1234.dkr.ecr.example.com/dlc-slurmd:25.11"
    assert settings["nodesets"]["slinky"]["resources"] == {"extended": {"nvidia.com/gpu": 1}}
    assert set(left) == {"commonAffinity", "vendor.nvidia.dcgm.enabled"}


def test_resources_and_a_shared_volume() -> None:
    settings, left = taken(
        """
        nodesets:
          gpu:
            replicas: 4
            useResourceLimits: true
            slurmd:
              resources:
                requests: {cpu: 3, memory: 5Gi, nvidia.com/gpu: 1}
                limits: {cpu: 3, memory: 5Gi, nvidia.com/gpu: 1}
              volumeMounts: [{name: nfs, mountPath: /shared}, {name: nfs, mountPath: /home, subPath: home}]
            partition: {enabled: true, configMap: {State: UP, MaxTime: UNLIMITED}}
            podSpec:
              nodeSelector: {pool: gpu}
              tolerations: [{key: nvidia.com/gpu, operator: Exists}]
              volumes: [{name: nfs, persistentVolumeClaim: {claimName: nfs}}, {name: unused, emptyDir: {}}]
        """
    )
    gpu = settings["nodesets"]["gpu"]
    assert gpu["resources"] == {"cpus": "3", "memory": "5Gi", "extended": {"nvidia.com/gpu": 1}}
    assert [(each["name"], each["mountPath"], each.get("subPath")) for each in gpu["volumes"]] == [
        ("nfs", "/shared", None),
        ("nfs-2", "/home", "home"),
    ]
    assert gpu["partition"] == {"enabled": True, "config": {"State": "UP", "MaxTime": "UNLIMITED"}}
    assert left["nodesets.gpu.podSpec.volumes (unused)"] == "no container mounts it"


def test_an_outside_slurmctld_and_its_keys() -> None:
    settings, left = taken(
        """
        slurmKeyRef: {name: external-auth-slurm, key: slurm.key}
        jwtHs256KeyRef: {name: external-auth-jwths256, key: jwt_hs256.key}
        clusterName: atlas
        controller: {external: true, externalConfig: {host: ctl.example.org, port: 6817}, extraConfMap: {MinJobAge: 2}}
        accounting: {enabled: true, external: true, externalConfig: {host: dbd.example.org, port: null}}
        """,
        (1, 0),
    )
    assert settings["keys"] == {
        "source": "existing", "slurmKeyFrom": {"secret": "external-auth-slurm", "key": "slurm.key"},
        "jwtKeyFrom": {"secret": "external-auth-jwths256", "key": "jwt_hs256.key"},
    }  # fmt: skip
    assert settings["cluster"]["createNamespace"] is False
    assert settings["controller"] == {"external": {"host": "ctl.example.org", "port": 6817}}
    assert settings["accounting"] == {"external": {"host": "dbd.example.org"}, "enabled": True}
    assert left == {"controller.extraConfMap": "slurmctld is outside: its admin sets this there"}


def test_with_an_outside_daemon_the_chart_makes_no_key() -> None:
    settings, _ = taken("controller: {external: true, externalConfig: {host: ctl}}\nclusterName: a\nfullnameOverride: atlas")
    assert settings["keys"]["slurmKeyFrom"] == {"secret": "atlas-auth-slurm", "key": "slurm.key"}
    assert settings["keys"]["jwtKeyFrom"] == {"secret": "atlas-auth-jwt", "key": "jwt.key"}
    assert settings["cluster"]["resourceName"] == "atlas"


@pytest.mark.parametrize(("line", "made"), [((1, 0), {"slinky", "gpu"}), ((1, 1), {"slinky", "gpu"}), ((1, 2), {"gpu"})])
def test_what_an_older_chart_makes_beside_the_file_is_made(line: tuple[int, int], made: set[str]) -> None:
    settings, _ = taken("nodesets: {gpu: {replicas: 2}}", line)
    assert set(settings["nodesets"]) == made
    assert ("all" in settings.get("partitions", {})) == (line < (1, 2))


def test_a_set_that_is_switched_off_is_not_carried_over_and_null_takes_a_key_away() -> None:
    settings, _ = taken(
        "nodesets: {slinky: {enabled: false}, gpu: {replicas: 2}}\npartitions: {all: null}\nloginsets: {slinky: {}}", (1, 1)
    )
    assert set(settings["nodesets"]) == {"gpu"}
    assert "partitions" not in settings
    assert "logins" not in settings  # 1.1 has it switched off


def test_defaults_of_all_sets_are_laid_below_each() -> None:
    settings, _ = taken(
        """
        nodesetDefaults:
          replicas: 2
          slurmd: {image: {repository: r.example.org/slurmd, tag: "1"}}
        nodesets: {small: {}, big: {replicas: 8, slurmd: {image: {tag: "2"}}}}
        """
    )
    assert {name: (each["replicas"], each["image"]) for name, each in settings["nodesets"].items()} == {
        "small": (2, "r.example.org/slurmd:1"),
        "big": (8, "r.example.org/slurmd:2"),
    }


def test_gres_and_features_are_settings_of_the_nodeset() -> None:
    settings, left = taken(
        "nodesets: {a: {replicas: 1, extraConfMap: {Gres: ['gpu:8', 'nic:1'], Features: ib, Weight: 10}}, "
        "b: {replicas: 1, extraConf: 'Gres=gpu:1 Weight=5', updateStrategy: {type: RollingUpdate}}}"
    )
    assert {key: settings["nodesets"]["a"][key] for key in ("gres", "features", "extraConf")} == {
        "gres": ["gpu:8", "nic:1"], "features": ["ib"], "extraConf": {"Weight": "10"},
    }  # fmt: skip
    assert settings["nodesets"]["b"]["gres"] == ["gpu:1"]
    assert "Gated" in left["nodesets.b.updateStrategy.type"]


def test_what_can_not_be_said_is_named_with_its_reason() -> None:
    _, left = taken(
        """
        extraObjects: [{kind: Secret}]
        compute: {nodesets: [{name: a}]}
        nodesets:
          a:
            scalingMode: DaemonSet
            pinToNode: true
            site: mine
        restapi: {pdb: {enabled: true, minAvailable: 1}}
        """
    )
    assert set(left) == {
        "extraObjects", "compute", "nodesets.a.pinToNode", "nodesets.a.site",
        "restapi.pdb.enabled", "restapi.pdb.minAvailable",
    }  # fmt: skip
    assert "chart 0.x" in left["compute"]
    assert left["nodesets.a.site"] == "isn't a key of Slinky's chart 1.0 to 1.3, so it has no effect with Helm"


RAW = """
clusterName: oke
controller:
  slurmctld: {args: [-v], resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 4Gi}}}
  logfile: {resources: {limits: {memory: 64Mi}}}
  persistence: {accessModes: [ReadWriteMany]}
  metrics: {enabled: true, serviceMonitor: {enabled: true, scrapeTimeout: 5s}}
  service: {metadata: {labels: {team: hpc}}, spec: {type: LoadBalancer, externalTrafficPolicy: Local}}
nodesets:
  a:
    slurmd:
      args: [--parameters, l3cache_as_socket]
      env: [{name: B, value: x}, {name: A, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}]
      lifecycle: {postStart: {sleep: {seconds: 5}}}
      securityContext: {privileged: true, capabilities: {add: [IPC_LOCK]}}
    podSpec: {initContainers: [{name: a, image: "a:1"}], resourceClaims: [{name: imex, resourceClaimTemplateName: imex}]}
loginsets:
  b:
    login: {env: [{name: C, value: x}], resources: {limits: {cpu: 2, memory: 8Gi}}}
    strategy: {type: Recreate}
sssd: {secretRef: {name: sssd, key: sssd.conf}}
restapi: {slurmrestd: {resources: {limits: {cpu: 1}}}, service: {spec: {type: NodePort, externalTrafficPolicy: Local}}}
accounting: {enabled: true, storageConfig: {host: db.example.org, passwordKeyRef: {name: maria, key: word}}}
"""


def test_what_has_no_setting_goes_through_raw() -> None:
    settings, left = taken(RAW)
    assert left == {}
    controller = settings["controller"]
    assert controller["resources"] == {"memory": "4Gi", "requests": {"cpus": "1", "memory": "1Gi"}}
    assert controller["persistence"] == {"accessModes": ["ReadWriteMany"]}
    assert controller["raw"]["spec"].pop("metrics")["serviceMonitor"]["scrapeTimeout"] == "5s"
    assert controller["raw"] == {
        "container": {"args": ["-v"]},
        "service": {"externalTrafficPolicy": "Local"},
        "spec": {"service": {"metadata": {"labels": {"team": "hpc"}}}},
    }
    assert settings["cluster"]["sidecarResources"] == {"memory": "64Mi"}
    nodeset = settings["nodesets"]["a"]
    assert nodeset["env"] == {"B": "x"}
    assert nodeset["privileged"] is True
    assert nodeset["raw"] == {
        "container": {
            "args": ["--parameters", "l3cache_as_socket"],
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}],
            "lifecycle": {"postStart": {"sleep": {"seconds": 5}}},
            "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        },
        "pod": {
            "initContainers": [{"name": "a", "image": "a:1"}],
            "resourceClaims": [{"name": "imex", "resourceClaimTemplateName": "imex"}],
        },
    }
    login = settings["logins"]["b"]
    assert login["resources"] == {"cpus": "2", "memory": "8Gi"}
    assert login["raw"] == {"container": {"env": [{"name": "C", "value": "x"}]}, "spec": {"strategy": {"type": "Recreate"}}}
    assert settings["restapi"]["resources"] == {"cpus": "1"}
    assert settings["accounting"]["database"]["passwordFrom"] == {"secret": "maria", "key": "word"}


def test_what_goes_through_raw_is_sound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(RAW)
    out = tmp_path / "Pulumi.oke.yaml"
    assert cli.main(["import-chart", str(values), "--out", str(out)]) == 0, capsys.readouterr().out


def test_two_sizes_of_sidecars_are_not_one() -> None:
    settings, left = taken(
        """
        controller: {logfile: {resources: {limits: {memory: 64Mi}}}, reconfigure: {resources: {limits: {memory: 1Gi}}}}
        """
    )
    (why,) = left.values()
    assert "one for all" in why
    assert len(settings["cluster"]["sidecarResources"]) == 1


def test_the_one_priority_class_is_each_kind_s() -> None:
    settings, _ = taken(
        "priorityClass: {enabled: true, name: high}\nnodesets: {a: {podSpec: {priorityClassName: own}}, b: {}}"
    )
    assert {name: each["pod"]["priorityClass"] for name, each in settings["nodesets"].items()} == {"a": "own", "b": "high"}
    assert settings["restapi"]["pod"]["priorityClass"] == "high"
    off, _ = taken("priorityClass: {enabled: false, name: high}\nnodesets: {a: {}}")
    assert "pod" not in off["nodesets"]["a"]


@pytest.mark.parametrize(
    ("values", "release", "name"),
    [
        ({}, "slurm", "slurm"),
        ({}, "prod", "prod-slurm"),
        ({"nameOverride": "hpc"}, "a-hpc", "a-hpc"),
        ({"fullnameOverride": "x"}, "y", "x"),
    ],
)
def test_names_are_the_chart_s(values: dict[str, str], release: str, name: str) -> None:
    assert fullname(values, release) == name


def test_the_operator_s_values_are_its_settings_or_stay_values() -> None:
    values = {"certManager": {"enabled": False, "duration": "1h"}, "webhook": {"enabled": True}, "logLevel": "debug"}
    assert operator_settings(values, "1.2.1") == {
        "version": "1.2.1",
        "webhook": {"certManager": False, "enabled": True},
        "values": {"certManager": {"duration": "1h"}, "logLevel": "debug"},
    }


def run(*arguments: str) -> int:
    return cli.main(["import-chart", *arguments])


def test_a_file_is_written_judged_and_told_by_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, over, out = tmp_path / "values.yaml", tmp_path / "prod.yaml", tmp_path / "Pulumi.prod.yaml"
    base.write_text("clusterName: atlas\nnodesets: {gpu: {replicas: 2}}\n")
    over.write_text("nodesets: {gpu: {replicas: 3}, cpu: {replicas: 1}}\n")
    assert run(str(base), "-f", str(over), "--out", str(out)) == 0
    config, places = judge(out.read_text())
    assert config is not None
    assert {name: each.replicas for name, each in config.nodesets.items()} == {"gpu": 3, "cpu": 1}
    assert not [place for place in places if place.finding.level is Level.ERROR]
    assert run(str(base), "--out", str(out)) == 1
    assert "exists, and may be somebody's work" in capsys.readouterr().err
    over.write_text("extraObjects: [{}]\nnodesets: {gpu: {pinToNode: true}}\n")
    assert run(str(base), "-f", str(over), "--out", str(tmp_path / "left.yaml"), "--json") == 3
    assert [each["key"] for each in json.loads(capsys.readouterr().out)["left"]] == [
        "nodesets.gpu.pinToNode",
        "extraObjects",
    ]
    over.write_text("nodesets: {gpu: {slurmd: {image: 'r.example/a b:1'}}}\n")
    assert run(str(base), "-f", str(over), "--out", str(tmp_path / "bad.yaml")) == 6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a: [",
            "values.yaml:1: not read: the bracket that opens in line 1 isn't closed: add `]` where its value ends. Nothing",
        ),
        ("a: *b\n", "not read: column 4: this isn't valid YAML: "),
        ("- a\n", "mapping of keys"),
        ("config: {'slinky-iac:cluster': {}}", "stack's file already"),
        ("a: 1\n---\nb: 2\n", "line 2 begins a second document"),
        ("apiVersion: v1\nkind: ConfigMap\ndata: {}\n", "helm get values"),
        ("apiVersion: v2\nkind: HelmRelease\nspec: {values: {clusterName: a}, valuesFrom: [{name: b}]}", "spec.valuesFrom"),
        ("apiVersion: v1\nkind: Application\nspec: {source: {helm: {valueFiles: [a.yaml]}}}", "helm.valueFiles"),
        ("apiVersion: v1\nkind: Application\nspec: {source: {helm: {values: 'a: ['}}}", "helm.values isn't YAML"),
        ("apiVersion: v1\nkind: Application\nspec: {source: {path: charts/slurm}}", "0 sources"),
    ],
)
def test_what_is_no_values_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    with pytest.raises(ProjectError, match="Nothing was written") as refused:
        layered([str(file)])
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "spec",
    [
        "kind: HelmRelease\nspec: {chart: {spec: {chart: slurm}}, values: {clusterName: hpc}}",
        "kind: Application\nspec: {source: {chart: slurm, helm: {valuesObject: {clusterName: hpc}, values: 'a: b'}}}",
        "kind: Application\nspec: {sources: [{ref: values}, {chart: slurm, helm: {values: 'clusterName: hpc'}}]}",
        "kind: ApplicationSet\nspec: {template: {spec: {source: {helm: {values: 'clusterName: hpc'}}}}}",
    ],
)
def test_values_are_read_out_of_the_objects_of_flux_and_argo_cd(tmp_path: Path, spec: str) -> None:
    file = tmp_path / "object.yaml"
    file.write_text(f"apiVersion: example.org/v1\n{spec}\n")
    assert layered([str(file)]) == {"clusterName": "hpc"}


@pytest.mark.parametrize("text", ["1:00:00", "12:30", "2026-11-22", "1:30.5"])
def test_times_and_dates_of_values_stay_texts_as_helm_has_them(tmp_path: Path, text: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(f"partitions: {{a: {{configMap: {{MaxTime: {text}}}}}}}\n")
    assert layered([str(file)]) == {"partitions": {"a": {"configMap": {"MaxTime": text}}}}


def test_no_key_in_a_values_file_reaches_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "cmVhbCBrZXkgb2YgNDIgYnl0ZXMgaXMgaGVyZSBhbmQgbm93aGVyZQ"
    file = tmp_path / "values.yaml"
    file.write_text(
        f"clusterName: a\nslurmKey: {{create: false, secretRef: {{name: {key}}}}}\nsssd: {{conf: '{key}'}}\nmine: {key}\n"
    )
    run(str(file), "--out", str(tmp_path / "Pulumi.x.yaml"))
    assert key not in "".join(capsys.readouterr())


def test_the_chart_s_values_are_recognised_by_check() -> None:
    (place,) = judge("clusterName: a\nnodesets: {}\ncontroller: {}\n")[1]
    assert "run `slinky import-chart`" in place.finding.message
    (other,) = judge("a: 1\nb: 2\nnodesets: {}\n")[1]
    assert "import-chart" not in other.finding.message


@pytest.mark.parametrize("line", [(1, 0), (1, 1), (1, 2)])
def test_a_nodeset_has_a_partition_of_its_own_only_where_the_values_say_so(line: tuple[int, int]) -> None:
    """Without the block 1.0 and 1.1 render none, and the operator reads false; 1.2's nodesetDefaults say false."""
    settings, _ = taken(
        "nodesets: {a: {}, b: {partition: {configMap: {MaxTime: 1}}}, c: {partition: {enabled: true}}, slinky: {}}",
        line,
    )
    own = {name: each["partition"]["enabled"] for name, each in settings["nodesets"].items()}
    assert own == {"a": False, "b": False, "c": True, "slinky": line == (1, 0)}


def test_values_of_a_chart_that_has_slinkys_as_a_dependency(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "values.yaml", tmp_path / "Pulumi.a.yaml"
    file.write_text("slurm: {clusterName: atlas, nodesets: {gpu: {replicas: 2}}}\nmariadb: {storage: {size: 2Gi}}\n")
    assert run(str(file), "--out", str(out)) == 0
    assert "values are below slurm:" in capsys.readouterr().out
    config, _ = judge(out.read_text())
    assert config is not None
    assert (config.cluster.name, list(config.nodesets)) == ("atlas", ["gpu"])


def test_lists_of_earlier_charts_are_read_by_name_or_told() -> None:
    settings, left = taken("nodesets: [{name: gpu, replicas: 2}]\nloginsets: none\ncontroller: later\n", line=(1, 0))
    assert settings["nodesets"]["gpu"]["replicas"] == 2
    assert left == {key: "is a mapping in the chart, and isn't one here" for key in ("loginsets", "controller")}


def test_a_quoted_value_loses_its_quotes_and_a_comment_goes() -> None:
    text = (
        'controller:\n  extraConf: |\n    InteractiveStepOptions="--interactive --pty $SHELL"\n    DefMemPerCPU=2  # MiB\n'
    )
    settings, _ = taken(text)
    assert settings["controller"]["extraConf"] == {
        "InteractiveStepOptions": "--interactive --pty $SHELL",
        "DefMemPerCPU": "2",
    }


def _with_others(value: Any, path: tuple[Any, ...] = ()) -> Iterator[Any]:
    """``value`` with each of its parts, one at a time, as another kind of value."""
    for other in (["x"], 1, {"x": "y"}):
        yield other
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        for other in _with_others(each, (*path, key)):
            changed = dict(value) if isinstance(value, dict) else list(value)
            changed[key] = other
            yield changed


def test_no_kind_of_value_stops_the_command() -> None:
    for value in _with_others(read_yaml(HYPERPOD)):
        if isinstance(value, dict):
            read(value, release="slurm", namespace="slurm", line=(1, 2))
