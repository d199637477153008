"""Clients of a cluster with auth/slurm: who sees the key, whom sackd knows, what the stack makes, and what is printed."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from slinky_iac.commands import cli
from slinky_iac.config.clients import Client
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings, require_sound
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.clients import client_files, client_pod, deployment_spec
from slinky_iac.specs.networks import network_policies
from tests.clusters import MUNGE, RAW_KEYS, recorded, stack_sections, traces
from tests.program import Secret
from tests.stacks import ROOT, SECRETS, merged, networks, sections

PEOPLE = {"alice": {"uid": 20001, "gid": 20000, "home": "/home/alice"}, "bob": {"uid": 2002, "gid": 2002}}
NOTEBOOKS: dict[str, Any] = {"namespace": "notebooks", "people": PEOPLE}


def config(**over: Any) -> StackConfig:
    data = merged(sections(ROOT / "Pulumi.dev.yaml"), {"clients": {"nb": merged(NOTEBOOKS, over.pop("client", {}))}} | over)
    found = load(data)
    require_sound(findings(found, SECRETS))
    return found


def pod(**over: Any) -> dict[str, Any]:
    found = config(**over)
    return client_pod(found, "nb", found.clients["nb"])


def script(found: dict[str, Any]) -> str:
    (sidecar,) = found["initContainers"]
    text: str = sidecar["command"][2]
    return text


def test_only_the_sidecar_sees_the_key_and_the_users_container_can_write_nothing_of_sackds() -> None:
    found = pod()
    (sidecar,) = found["initContainers"]
    assert sidecar["restartPolicy"] == "Always", "a sidecar lives as long as the pod"
    own = {mount["name"] for mount in sidecar["volumeMounts"]}
    users = {mount["name"] for mount in found["volumeMounts"]}
    assert own & users == {"slurm-run", "slurm-people"}
    assert all(mount["readOnly"] for mount in found["volumeMounts"])
    (secret,) = [volume["secret"] for volume in found["volumes"] if "secret" in volume]
    assert secret["items"] == [{"key": "slurm.key", "path": "slurm.key"}]
    assert secret["defaultMode"] == 0o400
    assert own | users == {volume["name"] for volume in found["volumes"]}


def test_the_sidecar_is_what_the_strictest_pod_security_admits_and_runs_as_slurm_user() -> None:
    (sidecar,) = pod(client={"slurmUid": 64030})["initContainers"]
    security = sidecar["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"], security["runAsNonRoot"]) == (64030, 64030, True)
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod(client={"group": 4711})["securityContext"] == {"fsGroup": 4711}, "or it couldn't read the Secret"


def test_sackd_fetches_its_configuration_where_slurmctld_is() -> None:
    assert "--conf-server ctl:6817 " in script(pod())
    inside = load(merged(stack_sections("all-in-kubernetes"), {"clients": {"nb": NOTEBOOKS}}))
    text = script(client_pod(inside, "nb", inside.clients["nb"]))
    namespace = inside.cluster.namespace
    assert f"--conf-server slurm-controller.{namespace}:6817 " in text, "a Service of another namespace needs its full name"


def test_no_text_of_the_pieces_has_braces() -> None:
    """KubeSpawner formats every text of a container (`str.format`), and a brace ends the spawn of every notebook."""
    assert not {"{", "}"} & set("".join(texts(pod())))


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


def test_with_slurm_jwks_the_pods_get_that_file_and_no_other() -> None:
    found = pod(keys={"jwks": True}, logins=None)
    assert "--jwks-file /sackd-own/slurm.jwks" in script(found)
    assert "slurm.key" not in script(found)
    (secret,) = [volume["secret"] for volume in found["volumes"] if "secret" in volume]
    assert secret["items"] == [{"key": "slurm.jwks", "path": "slurm.jwks"}]


def test_sackd_and_the_notebook_know_the_same_people() -> None:
    found = config()
    files = client_files(found, found.clients["nb"])
    assert files["users"].splitlines() == [
        "root:x:0:0:root:/root:/bin/sh",
        "slurm:x:401:401:SlurmUser:/:/usr/sbin/nologin",
        "alice:x:20001:20000::/home/alice:/bin/sh",
        "bob:x:2002:2002::/:/bin/sh",
    ]
    assert files["groups"].splitlines() == ["root:x:0:", "slurm:x:401:", "gid-20000:x:20000:", "bob:x:2002:"]
    pieces = client_pod(found, "nb", found.clients["nb"])
    (sidecar,) = pieces["initContainers"]
    people = [
        [m for m in mounts if m["name"] == "slurm-people"] for mounts in (sidecar["volumeMounts"], pieces["volumeMounts"])
    ]
    assert people[0] == people[1]
    assert {each["mountPath"] for each in people[0]} == {"/etc/passwd", "/etc/group"}


def test_an_image_that_asks_a_directory_keeps_its_own_passwd() -> None:
    found = load(merged(sections(ROOT / "Pulumi.dev.yaml"), {"clients": {"nb": {"namespace": "notebooks"}}}))
    assert client_files(found, found.clients["nb"]) == {}
    pieces = client_pod(found, "nb", found.clients["nb"])
    assert [volume["name"] for volume in pieces["volumes"]] == ["slurm-key", "sackd-own", "slurm-run"]


def test_a_pod_of_this_stack_runs_as_its_person_without_a_way_to_others() -> None:
    found = config(client={"deployment": {"person": "alice"}})
    spec = deployment_spec(found, "nb", found.clients["nb"])
    assert spec is not None
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    security = container["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"]) == (20001, 20000)
    assert security["runAsNonRoot"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert pod["automountServiceAccountToken"] is False
    assert container["env"] == [], "as on any login host"
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


def test_jobs_get_the_login_environment_only_where_nodes_know_the_people() -> None:
    """slurmd asks its host for it, and a job of a person whom the host doesn't know is requeued and held."""
    given = {each["name"]: each["value"] for each in pod(client={"loginEnvironment": True})["env"]}
    assert given == {"SBATCH_EXPORT": "SRUN_EXPORT_ENV", "SRUN_EXPORT_ENV": "ALL"}
    assert pod()["env"] == []


def test_a_stack_makes_the_key_in_the_clients_namespace_changeable_and_hidden() -> None:
    made = recorded("dev", clients={"nb": NOTEBOOKS})
    (secret,) = [
        each for each in made.of("kubernetes:core/v1:Secret") if each.inputs["metadata"]["namespace"] == "notebooks"
    ]
    assert secret.inputs["metadata"]["name"] == "slurm-client-nb"
    assert "immutable" not in secret.inputs, "kubelet brings no change of an immutable Secret into a pod"
    data = secret.inputs["data"]
    assert isinstance(data, Secret) or isinstance(data["slurm.key"], Secret)
    (cluster,) = made.of("slinky:slurm:HybridCluster")
    pieces = made.outputs[cluster.urn]["client_pods"]["nb"]
    assert pieces["initContainers"][0]["name"] == "sackd"
    assert [trace for trace in traces(RAW_KEYS[0]) if trace in str(pieces)] == []


@pytest.mark.parametrize("stack", ["dev", "all-in-kubernetes", "slurmdbd-outside"])
def test_nothing_of_the_cluster_changes_with_its_clients(stack: str) -> None:
    """But the provider, which then changes Secrets in place."""
    with_, without = recorded(stack, clients={"nb": NOTEBOOKS}), recorded(stack)
    others = {each.urn: each.inputs for each in with_.resources if "Client$" not in each.urn and "Provider" not in each.type}
    before = {each.urn: each.inputs for each in without.resources}
    same = {urn: inputs for urn, inputs in others.items() if urn in before and "providers" not in urn}
    assert same == {urn: inputs for urn, inputs in before.items() if "providers" not in urn}


def test_generated_keys_reach_the_clients_too() -> None:
    made = recorded("all-in-kubernetes", clients={"nb": NOTEBOOKS})
    (secret,) = [
        each for each in made.of("kubernetes:core/v1:Secret") if each.inputs["metadata"]["namespace"] == "notebooks"
    ]
    data = secret.inputs["data"]
    assert isinstance(data, Secret) or isinstance(data["slurm.key"], Secret)


def test_a_munge_cluster_has_clients_by_the_same_settings() -> None:
    client = NOTEBOOKS | {"image": "munge:1"}
    over = {"clients": {"nb": client}, "munge": {"image": None}}
    made = recorded(MUNGE, **over)
    spaces = [each.inputs["metadata"]["name"] for each in made.of("kubernetes:core/v1:Namespace")]
    assert spaces == ["notebooks"], "the namespace of the munge section isn't needed"
    (secret,) = made.of("kubernetes:core/v1:Secret")
    assert secret.inputs["metadata"]["name"] == "slurm-client-nb"
    (files,) = made.of("kubernetes:core/v1:ConfigMap")
    assert set(files.inputs["data"]) == {"slurm.conf", "users", "groups"}
    (cluster,) = made.of("slinky:slurm:HybridCluster")
    pieces = made.outputs[cluster.urn]["client_pods"]["nb"]
    (sidecar,) = pieces["initContainers"]
    assert (sidecar["name"], sidecar["image"]) == ("munged", "munge:1")
    assert pieces["securityContext"] == {"fsGroup": 65030}
    assert made.outputs[cluster.urn]["munge_key_fingerprint"].startswith("SHA256:")


@pytest.mark.parametrize("stack", ["all-in-kubernetes"])
def test_network_policies_let_clients_to_what_they_use_and_to_nothing_else(stack: str) -> None:
    data = merged(stack_sections(stack), networks(stack) | {"clients": {"nb": NOTEBOOKS}})
    peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "notebooks"}}}
    let = {
        each.part: [port["port"] for port in rule["ports"]]
        for each in network_policies(load(data))
        for rule in each.spec["ingress"]
        if peer in rule.get("from", [])
    }
    assert let == {"slurmctld": [6817], "slurmdbd": [6819], "slurmd": [6818]}


def printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    file = tmp_path / "Pulumi.prod.yaml"
    settings = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    settings["config"]["slinky-iac:clients"] = {"nb": NOTEBOOKS}
    file.write_text(yaml.safe_dump(settings))
    code = cli.main(["client", "nb", "--config", str(file), *more])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_command_prints_the_pieces_of_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = printed(tmp_path, capsys)
    assert (code, yaml.safe_load(out)) == (0, pod())
    assert "&id" not in out


def test_the_command_prints_a_whole_pod_of_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = printed(tmp_path, capsys, "--person", "alice", "--image", "jupyter:1", "--run", "jupyter lab --ip=::")
    found = yaml.safe_load(out)
    assert (code, found["kind"], found["metadata"]) == (0, "Pod", {"name": "nb-alice", "namespace": "notebooks"})
    (container,) = found["spec"]["containers"]
    assert (container["image"], container["command"]) == ("jupyter:1", ["jupyter", "lab", "--ip=::"])
    assert container["securityContext"]["runAsUser"] == 20001


def test_the_command_makes_no_pod_of_an_unknown_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = printed(tmp_path, capsys, "--person", "eve")
    assert (code, out) == (1, "")
    assert "alice, bob" in err


@pytest.fixture
def sidecar(tmp_path: Path) -> Path:
    """The sidecar's script, with folders of the test and a sackd that writes down which key it starts with."""
    for name in ("slurm-key", "sackd-own", "run", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "slurm-key" / "slurm.key").write_bytes(b"first")
    sackd = tmp_path / "bin" / "sackd"
    told = tmp_path / "told"
    own = tmp_path / "sackd-own" / "slurm.key"
    sackd.write_text(
        f'#!/bin/bash\necho "$0 $*" >> {told}\nread_key() {{ echo "key $(cat {own})" >> {told}; }}\n'
        "trap read_key HUP\ntrap 'echo ended >> " + str(told) + "; exit 0' TERM\nread_key\n"
        "while :; do sleep 0.05; done\n"
    )
    sackd.chmod(0o755)
    text = script(pod())
    for old, new in (("/slurm-key/", "slurm-key/"), ("/sackd-own/", "sackd-own/"), ("/run/slurm", "run")):
        text = text.replace(old, f"{tmp_path}/{new}")
    file = tmp_path / "script"
    file.write_text(text.replace("sleep 2 &", "sleep 0.1 &"))
    return file


def test_the_sidecar_brings_a_new_key_to_a_running_sackd_and_ends_with_it(sidecar: Path) -> None:
    folder = sidecar.parent
    told = folder / "told"
    (folder / "run" / "sack.socket").touch()
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin"}
    defaults = ["/usr/bin/env", "--default-signal=HUP"]  # below nohup it is ignored, and a shell can't trap it then
    process = subprocess.Popen([*defaults, "/bin/sh", "-eu", str(sidecar)], env=environment, start_new_session=True)
    try:
        await_lines(
            told, [f"{folder}/bin/sackd -D --conf-server ctl:6817 --key-file {folder}/sackd-own/slurm.key", "key first"]
        )
        assert not (folder / "run" / "sack.socket").exists(), "of a container that ended: nothing listens there"
        own = folder / "sackd-own" / "slurm.key"
        assert own.stat().st_mode & 0o777 == 0o400
        new = folder / "slurm-key" / "new"
        new.write_bytes(b"second")
        new.rename(folder / "slurm-key" / "slurm.key")  # as kubelet does
        await_lines(told, ["key second"])
        process.terminate()
        assert process.wait(10) == 0
        await_lines(told, ["ended"])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its sackd too: other tests look for one
        process.wait()


def await_lines(file: Path, wanted: list[str]) -> None:
    """Wait until the file ends with these lines."""
    command = ["timeout", "10", "sh", "-c", 'until [ "$(tail -n "$1" "$0" 2>/dev/null)" = "$2" ]; do sleep 0.05; done']
    done = subprocess.run([*command, str(file), str(len(wanted)), "\n".join(wanted)], check=False)
    assert done.returncode == 0, file.read_text()


def test_settings_of_a_client_have_numbers_that_are_no_roots() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        Client.model_validate({"namespace": "a", "people": {"eve": {"uid": 0, "gid": 1}}})
