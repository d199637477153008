"""Containers beside daemons, claims, what Prometheus asks for, and lists that are one for all: what the chart passes on is a
setting or a raw piece, and what the stack has in any case isn't there twice."""

from __future__ import annotations

import pytest

from slinky_iac.commands.check import errors_of
from slinky_iac.config.paths import value_at
from tests.unit.chart.reading import found, taken


@pytest.mark.parametrize(
    ("key", "setting"),
    [
        ("controller.logfile", "controller.raw.spec.logfile"),
        ("controller.reconfigure", "controller.raw.spec.reconfigure"),
        ("nodesets.a.logfile", "nodesets.a.raw.spec.logfile"),
        ("loginsets.a.initconf", "logins.a.raw.spec.initconf"),
    ],
)
def test_a_field_of_a_sidecar_is_a_raw_piece(key: str, setting: str) -> None:
    values: object = {"securityContext": {"runAsUser": 5}, "imagePullPolicy": "Always", "imge": "x"}
    for part in reversed(key.split(".")):
        values = {part: values}
    read = found(str(values))
    settings, left = read.taken.settings, dict(read.taken.left)
    assert value_at(settings, setting.split(".")) == {"securityContext": {"runAsUser": 5}}
    assert settings["cluster"]["images"] == {"pullPolicy": "Always"}
    assert left == {f"{key}.imge": "isn't a field of a container, so it had no effect; did you mean image?"}


def test_a_claim_s_other_fields_are_raw_pieces() -> None:
    settings, left = taken(
        """
        controller:
          persistence:
            resources: {requests: {storage: 10Gi}, limits: {storage: 20Gi}}
            selector: {matchLabels: {a: b}}
            annotations: {a: b}
        """
    )
    assert settings["controller"]["persistence"] == {"size": "10Gi"}
    assert settings["controller"]["raw"]["spec"]["persistence"] == {
        "resources": {"limits": {"storage": "20Gi"}},
        "selector": {"matchLabels": {"a": "b"}},
    }
    assert left == {"controller.persistence.annotations": "isn't a field of a claim, so it had no effect"}


def test_prometheus_asks_for_no_path_twice() -> None:
    """A raw list is laid behind the stack's own, which has the chart's four paths."""
    read = found(
        """
        controller:
          metrics:
            enabled: true
            serviceMonitor:
              enabled: true
              endpoints: [{path: /metrics/jobs}, {path: /metrics/nodes, interval: 5s}, {path: /metrics/jobs-users-accts}]
        """
    )
    monitor = value_at(read.taken.settings, ("controller", "raw", "spec", "metrics", "serviceMonitor"))
    assert monitor["endpoints"] == [{"path": "/metrics/jobs-users-accts"}]
    at = "controller.metrics.serviceMonitor.endpoints"
    assert [key for key, _ in read.taken.left] == [f"{at} (/metrics/nodes)"]
    assert any(note.startswith(f"{at}: ") and "/metrics/partitions, /metrics/scheduler too" in note for note in read.notes)


def test_without_metrics_the_operator_makes_no_service_monitor() -> None:
    settings, left = taken("controller: {metrics: {enabled: false, serviceMonitor: {enabled: true, interval: 5s}}}")
    assert "monitoring" not in settings
    assert left == {}


def test_secrets_of_registries_are_those_of_all_keys_since_the_list_is_one_for_all() -> None:
    read = found(
        """
        imagePullSecrets: [{name: common}]
        nodesets: {a: {podSpec: {imagePullSecrets: [{name: own}]}}}
        controller: {podSpec: {imagePullSecrets: [{name: common}, {name: other}]}}
        """
    )
    assert read.taken.settings["cluster"]["images"]["pullSecrets"] == ["own", "common", "other"]
    assert read.taken.left == []
    keys = "nodesets.a.podSpec.imagePullSecrets, controller.podSpec.imagePullSecrets"
    assert any(note.startswith(f"{keys}: here it is `cluster.images.pullSecrets`") for note in read.notes)


@pytest.mark.parametrize("tag", ["26.10", "3", "true"])
def test_a_tag_that_is_no_text_is_left_out(tag: str) -> None:
    settings, left = taken(f"nodesets: {{a: {{slurmd: {{image: {{repository: r.example/slurmd, tag: {tag}}}}}}}}}")
    assert "image" not in settings["nodesets"]["a"]
    assert 'tag: "26.10"' in left["nodesets.a.slurmd.image"]


def test_a_digest_counts_before_a_tag_of_any_kind() -> None:
    image = f"{{repository: r.example/slurmd, tag: 3, digest: 'sha256:{'a' * 64}'}}"
    settings, left = taken(f"nodesets: {{a: {{slurmd: {{image: {image}}}}}}}")
    assert settings["nodesets"]["a"]["image"] == f"r.example/slurmd@sha256:{'a' * 64}"
    assert left == {}


def test_a_partition_has_each_nodeset_once() -> None:
    settings, _ = taken("{partitions: {p: {enabled: true, nodesets: [b, a, b]}}, nodesets: {a: {}, b: {}}}")
    assert settings["partitions"]["p"]["nodesets"] == ["b", "a"]


@pytest.mark.parametrize(
    ("values", "line", "key", "words"),
    [
        ("priorityClassName: high", (1, 2), "priorityClassName", "priorityClass: {enabled: true, name: …}"),
        ("loginsets: {l: {sssdConf: x}}", (1, 2), "loginsets.l.sssdConf", "sssd.conf"),
        ("slurmKeyRef: {name: k}", (1, 1), "slurmKeyRef", "slurmKey: {create: false, secretRef: …}"),
        ("sssd: {conf: x}", (1, 0), "sssd", "loginsets.NAME.sssdConf"),
        ("nodesetDefaults: {replicas: 2}", (1, 1), "nodesetDefaults", "a line in each NodeSet"),
    ],
)
def test_a_key_of_another_release_is_named_with_what_this_one_calls_it(
    values: str, line: tuple[int, int], key: str, words: str
) -> None:
    assert taken(values, line)[1][key].endswith(f". There it is `{words}`")


def test_keys_are_named_whole_and_an_outside_daemon_s_line_is_not_called_needless() -> None:
    read = found(
        """
        clusterName: a
        controller: {external: true, externalConfig: {host: ctl}}
        nodesets: {cpu: {workloadDisruptionProtection: true, scalingMode: StatefulSet}}
        """
    )
    (said,) = (note for note in read.notes if "need no line" in note)
    assert said.startswith("nodesets.cpu.workloadDisruptionProtection, nodesets.cpu.scalingMode: ")


def test_a_volume_of_an_init_container_alone_is_a_raw_piece() -> None:
    settings, left = taken(
        """
        nodesets:
          a:
            slurmd: {volumeMounts: [{name: home, mountPath: /home}]}
            podSpec:
              volumes: [{name: home, hostPath: {path: /home}}, {name: cm, configMap: {name: c}}, {name: none, emptyDir: {}}]
              initContainers:
                - {name: i, image: "r.example/i:1", volumeMounts: [{name: cm, mountPath: /cm}, {name: home, mountPath: /h}]}
        """
    )
    assert [each["name"] for each in settings["nodesets"]["a"]["volumes"]] == ["home"]
    assert settings["nodesets"]["a"]["raw"]["pod"]["volumes"] == [{"name": "cm", "configMap": {"name": "c"}}]
    assert left == {"nodesets.a.podSpec.volumes (none)": "no container mounts it"}
    assert errors_of(settings) == []


def test_a_mount_with_a_field_that_volumes_lack_is_a_raw_piece_and_its_volume_is_there_once() -> None:
    settings, left = taken(
        """
        nodesets:
          a:
            slurmd:
              volumeMounts:
                - {name: h, mountPath: /h}
                - {name: h, mountPath: /each, subPathExpr: $(POD_NAME)}
                - {name: own, mountPath: /own, subPathExpr: $(POD_NAME)}
            podSpec: {volumes: [{name: h, hostPath: {path: /h}}, {name: own, hostPath: {path: /own}}]}
        """
    )
    own = settings["nodesets"]["a"]
    assert [each["name"] for each in own["volumes"]] == ["h"]
    assert [each["name"] for each in own["raw"]["pod"]["volumes"]] == ["own"]
    assert [each["mountPath"] for each in own["raw"]["container"]["volumeMounts"]] == ["/each", "/own"]
    assert left == {}
    assert errors_of(settings) == []


@pytest.mark.parametrize("kind", ["RollingUpdate", "ScheduledUpdate"])
def test_an_update_that_ends_jobs_is_left_out(kind: str) -> None:
    settings, left = taken(f"nodesets: {{a: {{updateStrategy: {{type: {kind}}}}}}}")
    assert "updateStrategy" not in settings["nodesets"]["a"]
    assert left.keys() == {"nodesets.a.updateStrategy.type"}


def test_true_is_a_word_of_kubernetes_in_labels_and_variables() -> None:
    settings, _ = taken(
        """
        nodesets:
          a: {slurmd: {env: [{name: A, value: true}]}, metadata: {labels: {l: true}}, podSpec: {nodeSelector: {s: false}}}
        """
    )
    assert settings["nodesets"]["a"]["env"] == {"A": "true"}
    assert settings["nodesets"]["a"]["pod"] == {"labels": {"l": "true"}, "nodeSelector": {"s": "false"}}
