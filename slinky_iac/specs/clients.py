"""What a pod needs to be a client of the cluster: a sidecar with the key, its volumes, and mounts for the user's container.

auth/slurm: sackd runs beside the user's container, as SlurmUser. Only sackd's container sees slurm.key: who can read it
can be any user of the cluster, root too. The user's container sees sackd's folder read-only: the socket, and slurm.conf,
which sackd fetches from slurmctld. sackd knows its callers by uid (SO_PEERCRED) and writes name and groups into the
credential, so it must know the person: slurmctld holds jobs of a uid without a name.

The sidecar follows its Secret: at a change it copies the key and sends SIGHUP, at which sackd starts again in its own
process and keeps its socket; for that it is started by its absolute path. So a rotation needs no restart of a pod.

Sources: sackd(8); watched with Slurm 26.05 (tests/e2e/test_clients.py). A part can have another way (``Part.client_pod``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from slinky_iac import names
from slinky_iac.addresses import listed
from slinky_iac.config.clients import Client
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.keys.catalogue import SecretEntry
from slinky_iac.parts import registry
from slinky_iac.specs.shared import Spec, image_of, locked, memory, mount, requests, secret_files, shell_sidecar, sized

SIDECAR: Final = "sackd"
RUN_FOLDER: Final = "/run/slurm"
"""Where Slurm's commands look for sackd's socket, and for a configuration that it has fetched."""
KEY_FOLDER: Final = "/slurm-key"
OWN_FOLDER: Final = "/sackd-own"
ENVIRONMENT: Final = {"SBATCH_EXPORT": "SRUN_EXPORT_ENV", "SRUN_EXPORT_ENV": "ALL"}
"""Jobs get their owner's login environment, neither HOME nor tokens of the pod; a job's steps get the job's. slurmd asks its
host for that environment, and where the host doesn't know the person, the job is requeued and held (26.05)."""
NOTHING: Final = {"SBATCH_EXPORT": "NIL"}
"""Jobs get nothing of the pod's environment, and their host is asked for none. PATH isn't exported then, so a script that
calls srun begins with `#!/bin/bash -l`."""
_SCRIPT: Final = """\
umask 022
seen() (
  sha256sum < @FROM@
)
take() (
  umask 077
  cp -f @FROM@ @OWN@.new
  chmod 0400 @OWN@.new
  mv -f @OWN@.new @OWN@
)
has=$(seen)
take
rm -f @RUN@/sack.socket
sackd=$(command -v sackd || echo /usr/sbin/sackd)
"$sackd" -D --conf-server @SERVER@ @OPTION@ @OWN@ &
child=$!
trap 'kill -TERM "$child"; wait "$child"; exit 0' TERM INT
while kill -0 "$child" 2>/dev/null; do
  sleep 2 &
  wait "$!"
  now=$(seen) || continue
  if [ "$now" != "$has" ]; then
    take
    has=$now
    kill -HUP "$child"
  fi
done
wait "$child"
"""
"""Without braces: KubeSpawner takes those in a container's texts for names of its own (``str.format``)."""
_READY: Final = f"""\
[ -S {RUN_FOLDER}/sack.socket ] && exit 0
echo 'sackd has no configuration from slurmctld. See its log: "Protocol authentication error" means that its slurm.key' \\
  "isn't the cluster's, anything else that slurmctld can't be reached from this pod"
exit 1
"""


def client_secret(config: ClusterConfig, name: str, client: Client) -> SecretEntry:
    """Where a client's pods have the key: a Secret of their own namespace."""
    file = config.auth.client_file
    if client.key_from is not None and config.auth.client_key not in config.made_keys:
        return client.key_from.entry(config.auth.client_key.file)
    return SecretEntry(names.client(config.cluster.resource_name, name), file)


def own_copy(config: ClusterConfig) -> str:
    """The file in the sidecar that sackd reads: by its hash a rotation knows that the new key is there."""
    return f"{OWN_FOLDER}/{config.auth.client_file}"


def client_files(config: ClusterConfig, client: Client) -> dict[str, str]:
    """Entries of a client's ConfigMap: whom its pods know, and slurm.conf where they fetch none. No secrets."""
    files = registry.client_files(config)
    if not client.people:
        return files
    number = client.slurm_uid
    passwd = ["root:x:0:0:root:/root:/bin/sh", f"{client.slurm_user}:x:{number}:{number}:SlurmUser:/:/usr/sbin/nologin"]
    passwd += [
        f"{name}:x:{person.uid}:{person.gid}::{person.home}:/bin/sh" for name, person in sorted(client.people.items())
    ]
    groups = {0: "root", number: client.slurm_user}
    for name, person in sorted(client.people.items()):
        groups.setdefault(person.gid, name if person.gid == person.uid else f"gid-{person.gid}")
    group = [f"{name}:x:{gid}:" for gid, name in groups.items()]
    return files | {"users": "\n".join((*passwd, "")), "groups": "\n".join((*group, ""))}


def client_pod(config: ClusterConfig, name: str, client: Client) -> Spec:
    """Pieces of a PodSpec: ``initContainers`` (the sidecar), ``volumes``, ``securityContext``; ``volumeMounts`` and ``env``
    for the container that calls sbatch. Holds names only, no key."""
    place, files = client_secret(config, name, client), names.client(config.cluster.resource_name, name)
    pod = registry.client_pod(config, client, place, files) or _slurm_pod(config, client, place)
    if client.people:
        pod["volumes"].append({"name": "slurm-people", "configMap": {"name": files}})
        pod["volumeMounts"] += _people()
    given = environment(config, client)
    return pod | {"env": [{"name": variable, "value": value} for variable, value in given.items()]}


def environment(config: ClusterConfig, client: Client, *, hub: bool = False) -> dict[str, str]:
    """What decides which environment jobs get. In a hub's notebooks there are tokens, so never theirs."""
    if client.login_environment or config.auth.hosts_know_people:
        return dict(ENVIRONMENT)
    return dict(NOTHING) if hub else {}


def person_pod(
    config: ClusterConfig, name: str, client: Client, person: str, *, image: str | None, command: tuple[str, ...]
) -> Spec:
    """A whole PodSpec of one person, with the sidecar."""
    pod = client_pod(config, name, client)
    own = client.people[person]
    container: Spec = {
        "name": "client",
        "image": image or client.image or _login_image(config),
        "imagePullPolicy": config.cluster.images.pull_policy,
        "command": list(command),
        "env": pod.pop("env"),
        "securityContext": locked(own.uid, own.gid, read_only=False),
        "volumeMounts": pod.pop("volumeMounts"),
        **sized(config, "client", None),
    }
    return pod | {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [container],
        "terminationGracePeriodSeconds": 5,
    }


def deployment_spec(config: ClusterConfig, name: str, client: Client) -> Spec | None:
    """Spec of a client's Deployment; None where none is asked for."""
    made = client.deployment
    if made is None:
        return None
    labels = client_labels(config, name)
    spec = person_pod(config, name, client, made.person, image=made.image, command=made.command)
    return {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }


def ends_pods(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a Deployment that goes from ``old`` to ``new``, both whole inputs, ends its pod."""
    before, after = (deployment.get("spec") or {} for deployment in (old, new))
    return before.get("template") != after.get("template") or before.get("replicas") != after.get("replicas")


def client_labels(config: ClusterConfig, name: str) -> dict[str, str]:
    """Labels of the pods of a client's Deployment."""
    return {names.LABEL_NAME: "slurm-client", names.LABEL_INSTANCE: names.client(config.cluster.resource_name, name)}


def _login_image(config: ClusterConfig) -> str:
    return image_of(config, "login")


def _people() -> list[Spec]:
    return [mount("slurm-people", "/etc/passwd", "users"), mount("slurm-people", "/etc/group", "groups")]


def _slurm_pod(config: ClusterConfig, client: Client, place: SecretEntry) -> Spec:
    return {
        "securityContext": {"fsGroup": client.group},
        "initContainers": [_sackd(config, client)],
        "volumes": [
            secret_files("slurm-key", place.name, {place.entry: config.auth.client_file}, mode=0o400),
            memory("sackd-own", "1Mi"),
            memory("slurm-run", "16Mi"),
        ],
        "volumeMounts": [mount("slurm-run", RUN_FOLDER)],
    }


def _sackd(config: ClusterConfig, client: Client) -> Spec:
    option = config.auth.client_option
    given = {
        "@FROM@": f"{KEY_FOLDER}/{config.auth.client_file}",
        "@OWN@": own_copy(config),
        "@RUN@": RUN_FOLDER,
        "@SERVER@": listed(config.slurmctld.joins),
        "@OPTION@": option,
    }
    script = _SCRIPT
    for mark, text in given.items():
        script = script.replace(mark, text)
    return shell_sidecar(
        config,
        name=SIDECAR,
        image=client.image or _login_image(config),
        script=script,
        ready=("/bin/sh", "-c", _READY),
        tries=120,
        resources=requests("10m", "32Mi", "256Mi"),
        security=locked(client.slurm_uid),
        mounts=(
            mount("slurm-key", KEY_FOLDER),
            mount("sackd-own", OWN_FOLDER, read_only=False),
            mount("slurm-run", RUN_FOLDER, read_only=False),
            *(_people() if client.people else []),
        ),
    )
