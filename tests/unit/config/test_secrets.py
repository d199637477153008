"""What would open the cluster is refused or told in every preview: a switched-off authentication, secrets in clear, key
Secrets in pods of jobs, files of the node, slurmrestd for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.findings import NOTHING
from slinky_iac.config.reading.levels import field_of, model_in
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.secrets import is_likely_secret, is_secret, mounted_secrets
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.slurm.owned import OWNED, OWNED_BY_DATABASE, set_instead
from slinky_iac.config.stack import StackConfig
from tests.stacks import EXAMPLES, SECRETS, merged, minimal, sections
from tests.unit.config.rule_cases import nodeset

DATABASE = {"database": {"host": "db"}}


def found(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(f.level.value, f.path, f.message) for f in findings(load(data), SECRETS)]


def levels(data: dict[str, Any], path: str) -> list[str]:
    return [level for level, place, _ in found(data) if place == path]


@pytest.mark.parametrize(
    "key", ["AuthType", "AUTHTYPE", "StoragePass", "storageuser", "DbdHost", "SlurmUser", "PidFile", "Include"]
)
def test_authentication_and_storage_of_slurmdbd_stay_the_programs(key: str) -> None:
    data = minimal(accounting=DATABASE | {"extraConf": {key: "x"}})
    assert levels(data, f"accounting.extraConf.{key}") == ["error"]


def test_other_settings_of_slurmdbd_may_be_given() -> None:
    conf = {"PurgeJobAfter": "12months", "DebugLevel": "verbose", "StorageParameters": "SSL_CIPHER=HIGH"}
    assert not any("extraConf" in path for _, path, _ in found(minimal(accounting=DATABASE | {"extraConf": conf})))


@pytest.mark.parametrize("owned", [OWNED, OWNED_BY_DATABASE], ids=["slurm.conf", "slurmdbd.conf"])
def test_each_parameter_has_a_setting_instead_or_is_to_be_left_out(owned: Mapping[str, str]) -> None:
    """Seven led to settings that don't set them, such as SlurmUser to an image."""
    for key, instead in owned.items():
        said = set_instead(key, owned)
        if instead.startswith(NOTHING):
            assert said.endswith(". Leave it out")
            assert "instead" not in said
        else:
            assert said.endswith(f"; set {instead} instead")
            model: Any = StackConfig
            for part in instead.split("."):
                _, annotation = field_of(model, part)
                assert annotation is not None, instead
                model = model_in(annotation)


def test_a_parameter_that_nothing_writes_is_not_said_to_be_written() -> None:
    for key in ("PidFile", "DbdAddr", "StorageBackupHost", "Include"):
        assert "is written" not in set_instead(key, OWNED_BY_DATABASE)


def test_a_password_in_slurmdbd_conf_has_leaked() -> None:
    assert "pulumi config set --secret slinky-iac:databasePassword" in set_instead("StoragePass", OWNED_BY_DATABASE)


@pytest.mark.parametrize(
    "name", ["DB_PASSWORD", "DB_PASS", "dbPassword", "API_TOKEN", "APIKEY", "API_KEY", "SLURM_JWT", "CLIENT_SECRET", "token"]
)
def test_an_environment_named_like_a_secret_is_refused(name: str) -> None:
    assert levels(nodeset(env={name: "hunter2"}), f"nodesets.gpu.env.{name}") == ["error"]


@pytest.mark.parametrize("name", ["SSH_KEY", "MYSQL_PWD", "AWS_CREDS"])
def test_a_name_that_may_be_a_secrets_is_told(name: str) -> None:
    assert levels(nodeset(env={name: "hunter2"}), f"nodesets.gpu.env.{name}") == ["warning"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENIZERS_PARALLELISM", "false"),
        ("OMP_NUM_THREADS", "4"),
        ("KEYBOARD", "de"),
        ("DB_PASSWORD_FILE", "/run/secrets/db"),
        ("API_TOKEN", ""),
        ("COMPASS", "north"),
        ("PWD", "/"),
    ],
)
def test_a_plain_environment_is_left_alone(name: str, value: str) -> None:
    assert levels(nodeset(env={name: value}), f"nodesets.gpu.env.{name}") == []


@pytest.mark.parametrize(
    "source",
    [
        {"secret": {"secretName": "slurm-auth-jwths256"}},
        {"secret": {"secretName": "slurm-auth-slurm"}},
        {"secret": {"secretName": "slurm-token-key"}},
        {"projected": {"sources": [{"configMap": {"name": "a"}}, {"secret": {"name": "slurm-auth-jwths256"}}]}},
    ],
)
def test_no_pod_of_jobs_has_a_key_secret(source: dict[str, Any]) -> None:
    data = nodeset(volumes=[{"name": "v", "mountPath": "/v", "source": source}])
    assert levels(data, "nodesets.gpu.volumes") == ["error"]


def test_a_key_secret_of_ones_own_name_is_known_too() -> None:
    volume = {"name": "v", "mountPath": "/v", "source": {"secret": {"secretName": "ours"}}}
    data = nodeset(volumes=[volume]) | {"keys": {"jwtKeyFrom": {"secret": "ours"}}}
    assert levels(data, "nodesets.gpu.volumes") == ["error"]
    assert levels(nodeset(volumes=[volume]), "nodesets.gpu.volumes") == []


HELD = {
    "the database's password": {"accounting": {"database": {"passwordFrom": {"secret": "ours"}}}},
    "slurmdbd's key at its database": {"accounting": {"database": {"tls": {"caSecret": "ca", "clientSecret": "ours"}}}},
    "slurmrestd's certificate with its key": {"restapi": {"tls": {"source": "existing", "secret": "ours"}}},
}


@pytest.mark.parametrize("what", HELD)
def test_no_pod_of_jobs_has_what_another_daemon_holds(what: str) -> None:
    secret = {"secret": {"secretName": "ours"}}
    database = {"accounting": {"enabled": True, "database": {"host": "db.example.org"}}}
    for more, wanted in ((HELD[what], ["error"]), ({}, [])):
        volume = {"name": "v", "mountPath": "/v", "source": secret}
        data = merged(nodeset(volumes=[volume]), merged(database, more))
        assert levels(data, "nodesets.gpu.volumes") == wanted
        for field, piece, where in (
            ("pod", {"volumes": [{"name": "v", **secret}]}, "pod.volumes"),
            (
                "container",
                {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "ours", "key": "k"}}}]},
                "container.env",
            ),
            ("container", {"envFrom": [{"secretRef": {"name": "ours"}}]}, "container.envFrom"),
        ):
            data = merged(nodeset(raw={field: piece}), merged(database, more))
            assert levels(data, f"nodesets.gpu.raw.{where}") == wanted, where
        named = {"volumes": [{"name": "ours", "emptyDir": {}}]}
        assert levels(merged(nodeset(raw={"pod": named}), merged(database, more)), "nodesets.gpu.raw.pod.volumes") == []


@pytest.mark.parametrize("path", ["/", "//", "/./", "/scratch/../../etc"])
def test_all_files_of_a_node_are_refused(path: str) -> None:
    data = nodeset(volumes=[{"name": "v", "mountPath": "/v", "source": {"hostPath": {"path": path}}}])
    assert levels(data, "nodesets.gpu.volumes") == ["error"]


@pytest.mark.parametrize("path", ["/etc", "/etc/kubernetes", "/var/log", "/usr/local/bin", "/run/x"])
def test_a_folder_that_opens_the_node_is_told(path: str) -> None:
    data = nodeset(volumes=[{"name": "v", "mountPath": "/v", "source": {"hostPath": {"path": path}}}])
    assert levels(data, "nodesets.gpu.volumes") == ["warning"]


@pytest.mark.parametrize("path", ["/scratch", "/home", "/etcetera", "/mnt/etc", "/opt/software"])
def test_a_folder_of_data_is_left_alone(path: str) -> None:
    data = nodeset(volumes=[{"name": "v", "mountPath": "/v", "source": {"hostPath": {"path": path}}}])
    assert levels(data, "nodesets.gpu.volumes") == []


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_slurmrestd_beyond_kubernetes_is_told_in_every_preview(kind: str) -> None:
    assert levels(minimal(restapi={"service": {"type": kind}}), "restapi.service.type") == ["warning"]
    assert levels(minimal(), "restapi.service.type") == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_no_example_is_told_anything_of_this(path: Any) -> None:
    assert [
        place for _, place, _ in found(sections(path)) if place.endswith(("volumes", "service.type")) or ".env." in place
    ] == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["secret", "name", "x"]), inner, max_size=3),
)


@given(_JSON, st.text(min_size=1, max_size=8))
def test_a_secret_is_found_however_deep_it_stands(around: Any, name: str) -> None:
    assert name in set(mounted_secrets({"a": [around, {"b": {"secret": {"secretName": name}}}]}))


@given(st.text(max_size=40))
def test_any_name_is_judged(name: str) -> None:
    assert isinstance(is_secret(name), bool)
    assert isinstance(is_likely_secret(name), bool)


_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----\n"
_OLD = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEAabcdefgh\n"
PLACES: dict[str, dict[str, Any]] = {
    "controller.configFiles.oci.conf": {"controller": {"configFiles": {"oci.conf": f"# {_KEY}"}}},
    "controller.prolog.10-key.sh": {"controller": {"prolog": {"10-key.sh": f"#!/bin/sh\ncat > k <<E\n{_OLD}E\n"}}},
    "logins.main.rootAuthorizedKeys": {"logins": {"main": {"rootAuthorizedKeys": _KEY, "sssdConfFrom": {"secret": "s"}}}},
    "jobs.a.script.text": {
        "jobs": {"a": {"user": "alice", "workingDirectory": "/", "script": {"text": f"#!/bin/sh\necho '{_KEY}'"}}}
    },
    "nodesets.gpu.raw.pod.containers.0.env.0.value": {
        "nodesets": {
            "gpu": {
                "replicas": 1,
                "raw": {"pod": {"containers": [{"name": "x", "image": "x:1", "env": [{"name": "A", "value": _KEY}]}]}},
            }
        }
    },
}


@pytest.mark.parametrize(("path", "given"), PLACES.items(), ids=PLACES)
def test_a_private_key_is_refused_wherever_it_is(path: str, given: dict[str, Any]) -> None:
    said = [
        (level, message) for level, place, message in found(minimal(**given)) if place == path and "private key" in message
    ]
    assert [level for level, _ in said] == ["error"]
    assert "b3BlbnNz" not in said[0][1]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("postgres://bob:hunter2pw@db.example.org/x", "a password in a URL"),
        ("see HTTPS://bob:hunter2pw@proxy:3128", "a password in a URL"),
        ("ghp_hunter2hunter2hunter2hunter2hunt12", "a token of GitHub"),
        ("postgres://bob:$PW@db.example.org/x", ""),
        ("postgres://bob:${PW}@db/x http://{{ user }}:{{ pw }}@x", ""),
        ("http://proxy.example.org:3128", ""),
        ("https://docs.example.org/a:b@c", ""),
        ("bob:hunter2pw@db", ""),
    ],
)
def test_a_text_that_shows_a_secret_by_its_form_is_refused(text: str, what: str) -> None:
    for path, data in {
        "nodesets.gpu.env.A": nodeset(env={"A": text}),
        "controller.prolog.a.sh": minimal(controller={"prolog": {"a.sh": f"#!/bin/sh\ncurl {text}\n"}}),
    }.items():
        said = [(level, message) for level, place, message in found(data) if place == path and "in plain text" in message]
        assert [(level, what in message) for level, message in said] == ([("error", True)] if what else [])
        assert "hunter2" not in str(said)


def test_a_script_may_look_for_private_keys() -> None:
    script = "#!/bin/sh\ngrep -q -- '-----BEGIN RSA PRIVATE KEY-----' /tmp/x && exit 1\nexit 0\n"
    assert not any("private key" in message for _, _, message in found(minimal(controller={"prolog": {"a.sh": script}})))


@pytest.mark.parametrize(
    ("piece", "place"),
    [
        ({"container": {"env": [{"name": "WANDB_API_KEY_SECRET", "value": "hunter2hunter2"}]}}, "container.env"),
        (
            {"pod": {"containers": [{"name": "x", "image": "x:1", "env": [{"name": "DB_PASSWORD", "value": "hunter2"}]}]}},
            "pod.containers",
        ),
        (
            {"pod": {"initContainers": [{"name": "x", "image": "x:1", "env": [{"name": "TOKEN", "value": "hunter2"}]}]}},
            "pod.initContainers",
        ),
    ],
)
@pytest.mark.parametrize("section", ["nodesets", "controller"])
def test_a_secret_in_the_variables_of_a_raw_piece_is_refused(section: str, piece: dict[str, Any], place: str) -> None:
    given = {"nodesets": {"gpu": {"replicas": 1, "raw": piece}}} if section == "nodesets" else {"controller": {"raw": piece}}
    path = f"{'nodesets.gpu' if section == 'nodesets' else 'controller'}.raw.{place}"
    said = [(level, message) for level, at, message in found(minimal(**given)) if at == path]
    assert [level for level, _ in said] == ["error"]
    assert "hunter2" not in said[0][1]
    of_keys = section == "controller" and place == "container.env"  # it takes none but those of a list
    assert ("Put it into the image" if of_keys else "secretKeyRef") in said[0][1]


_SIDECARS = "nodesets.gpu.raw.pod.containers"


@pytest.mark.parametrize(
    "variable",
    [
        {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
        {"name": "TOKEN_FILE", "value": "/run/token"},
        {"name": "USE_TOKEN", "value": "true"},
    ],
)
def test_variables_that_hold_no_secret_are_taken(variable: dict[str, Any]) -> None:
    containers = [{"name": "x", "image": "x:1", "env": [variable]}]
    assert levels(minimal(nodesets={"gpu": {"replicas": 1, "raw": {"pod": {"containers": containers}}}}), _SIDECARS) == []
