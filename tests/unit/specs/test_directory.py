"""Users of a directory: what each pod gets of sssd, and that sssd.conf is read by sssd alone."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.config.files import read_ca, sssd_conf_faults
from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import values_of
from slinky_iac.config.resources import SecretReference
from slinky_iac.config.workers import LoginSet
from slinky_iac.errors import ConfigError
from slinky_iac.specs.daemons import controller_spec
from slinky_iac.specs.workers import loginset_spec, nodeset_spec
from tests.clusters import build, recorded
from tests.program import Recording, Secret, run_stack
from tests.stacks import minimal

SOURCES = [
    {"secret": {"name": "slurm-sssd", "items": [{"key": "sssd.conf", "path": "sssd.conf"}]}},
    {"secret": {"name": "slurm-sssd", "items": [{"key": "ca.crt", "path": "ca.crt"}], "optional": True}},
]
GIVEN = {"name": "sssd-given", "projected": {"defaultMode": 0o600, "sources": SOURCES}}
FOLDER = {"name": "sssd-given", "mountPath": "/etc/slinky-sssd", "readOnly": True}
CONF = {"name": "sssd-given", "mountPath": "/etc/sssd/sssd.conf", "subPath": "sssd.conf", "readOnly": True}
NOTED = {"annotations": {"slinky-iac/sssd": "1"}}


def stack(**sssd: Any) -> dict[str, Any]:
    return minimal(nodesets={"gpu": {"replicas": 1}}, identity={"sssd": sssd})


def test_slurmctld_gets_a_socket_a_library_and_where_to_look_and_never_the_configuration() -> None:
    plain, config = load(minimal()), load(stack())
    spec = controller_spec(config)
    (sidecar,) = spec["template"]["spec"]["initContainers"]
    assert sidecar["image"] == "ghcr.io/slinkyproject/login:26.05-ubuntu26.04"
    assert [each["name"] for each in spec["template"]["spec"]["volumes"]] == ["sssd-given", "sssd-state", "sssd-own"]
    assert spec["template"]["spec"]["volumes"][0] == GIVEN
    assert spec["template"]["metadata"] == NOTED
    assert spec["slurmctld"].pop("env") == [{"name": "LD_LIBRARY_PATH", "value": "/usr/local/lib/slinky-nss"}]
    shared = {mount["mountPath"]: mount["subPath"] for mount in spec["slurmctld"]["volumeMounts"]}
    assert shared == {
        "/var/lib/sss/pipes": "pipes",
        "/etc/nsswitch.conf": "slurmctld/nsswitch.conf",
        "/usr/local/lib/slinky-nss": "slurmctld/lib",
    }
    assert {(each["name"], each["readOnly"]) for each in spec["slurmctld"].pop("volumeMounts")} == {("sssd-state", True)}
    del spec["template"]
    assert spec == controller_spec(plain), "nothing else changes"


def test_slurmd_and_logins_start_their_own_sssd() -> None:
    config = load(stack())
    node = nodeset_spec(config, "gpu", config.nodesets["gpu"])
    assert node["template"] == {"metadata": NOTED, "spec": {"hostname": "gpu-", "volumes": [GIVEN]}}
    assert node["slurmd"]["volumeMounts"] == [FOLDER, CONF]
    login = loginset_spec(config, "main", LoginSet())
    assert login["sssdConfRef"] == {"name": "slurm-sssd", "key": "sssd.conf"}
    assert login["login"]["volumeMounts"] == [FOLDER], "slurm-operator mounts sssd.conf itself"
    assert (
        loginset_spec(config, "main", LoginSet(sssd_conf_from=SecretReference(secret="mine")))["sssdConfRef"]["name"]
        == "mine"
    )


def test_with_ssh_in_worker_pods_sssd_conf_is_mounted_once() -> None:
    more = {"operator": {"version": "1.2.1"}, "nodesets": {"gpu": {"replicas": 1, "ssh": {"enabled": True}}}}
    config = load(stack() | more)
    node = nodeset_spec(config, "gpu", config.nodesets["gpu"])
    assert node["ssh"]["sssdConfRef"] == {"name": "slurm-sssd", "key": "sssd.conf"}
    assert node["slurmd"]["volumeMounts"] == [FOLDER]


def test_another_revision_replaces_pods() -> None:
    def template(revision: int) -> Any:
        config = load(stack(revision=revision))
        return nodeset_spec(config, "gpu", config.nodesets["gpu"])["template"]

    assert template(1) != template(2)


def test_a_secret_of_others_is_read_where_it_is() -> None:
    config = load(stack(confFrom={"secret": "mine", "key": "conf"}))
    volume = nodeset_spec(config, "gpu", config.nodesets["gpu"])["template"]["spec"]["volumes"][0]
    assert volume["projected"]["sources"][0]["secret"] == {"name": "mine", "items": [{"key": "conf", "path": "sssd.conf"}]}


def test_a_stack_makes_no_secret_of_others(tmp_path: Path) -> None:
    secrets = {
        each.inputs["metadata"]["name"]
        for each in recorded("dev", identity={"sssd": {"confFrom": {"secret": "mine"}}}).of("Secret")
    }
    assert "slurm-sssd" not in secrets


def test_the_sidecars_script_is_one_that_sh_reads() -> None:
    (sidecar,) = controller_spec(load(stack()))["template"]["spec"]["initContainers"]
    subprocess.run(["sh", "-n"], input=sidecar["command"][-1], text=True, check=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no domain"),
        ("[sssd]\n", "names no domain"),
        ("[sssd]\ndomains = a, b\n[domain/a]\nid_provider = ldap\n", "no section"),
        ("domains = a\n", "can't be read"),
        ("[sssd]\ndomains = a\n[domain/a]\nldap_default_authtok = s3cret\n", ""),
    ],
)
def test_an_sssd_conf_with_which_sssd_ends_is_refused(text: str, words: str) -> None:
    said = sssd_conf_faults(text)
    assert bool(said) == bool(words)
    assert words in said
    own = {"cluster": '{"name": "lab"}', "accounting": '{"enabled": false}', "identity": '{"sssd": {}}', "sssdConf": text}
    own["keys"] = '{"source": "generated"}'
    if words:
        with pytest.raises(ConfigError, match="sssdConf"):
            values_of(own, frozenset({"sssdConf"}))
    else:
        assert "s3cret" not in repr(values_of(own, frozenset({"sssdConf"})))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"-----BEGIN PRIVATE KEY-----\n", "private key"),
        (b"hello", "isn't a PEM"),
        (b"\xff\xfe", "isn't a PEM"),
    ],
)
def test_a_certificate_file_that_is_none_is_refused(tmp_path: Path, text: bytes, words: str) -> None:
    (tmp_path / "ca.crt").write_bytes(text)
    with pytest.raises(ConfigError, match=words):
        read_ca(str(tmp_path / "ca.crt"))
    with pytest.raises(ConfigError, match="can't be read"):
        read_ca(str(tmp_path / "none.crt"))


BIND = "bind-s3cret-0451"
OF_SSSD = f"[sssd]\ndomains = a\n[domain/a]\nldap_default_authtok = {BIND}\n"
OWN: dict[str, Any] = {"cluster": {"fence": False, "name": "lab"}, "keys": {"source": "generated"}}


def made(ca: Path) -> Recording:
    data = stack(caFile=str(ca)) | OWN
    return run_stack(data, build, {"sssdConf": OF_SSSD})


def test_the_stacks_own_secret_has_sssd_conf_as_a_secret_and_nothing_else_has_the_bind_password(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\n")
    resources = made(tmp_path / "ca.crt").resources
    (secret,) = [each for each in resources if BIND in repr(each.inputs)]
    assert (secret.type, secret.inputs["metadata"]["name"]) == ("kubernetes:core/v1:Secret", "slurm-sssd")
    assert isinstance(secret.inputs["stringData"], Secret) or isinstance(secret.inputs["stringData"]["sssd.conf"], Secret)
    assert secret.secret_outputs == {"data", "stringData"}


def test_a_certificate_that_cant_be_read_ends_the_update_before_the_first_resource(tmp_path: Path) -> None:
    with pytest.raises(StackRefused, match=r"identity\.sssd\.caFile: can't be read"):
        made(tmp_path / "none.crt")
