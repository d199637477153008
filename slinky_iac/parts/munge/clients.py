"""What a pod needs to be a client of a munge cluster: the pieces of its spec, and slurm.conf.

munged runs beside the user's container, as a user of its own. Only munged sees the key: a reader of munge.key can be
any user of the cluster, root too. The user's container sees munged's socket, and munged tells its callers by their uid
(SO_PEERCRED), so the container must run as the uid that the user has on the cluster. Of its groups munged tells the first
only, and Slurm runs the job with it unasked: with group 0 (runAsGroup left out), a job is of group root.

Sources: munged(8); Kubernetes, "Sidecar Containers" (1.29 and newer); watched with munged 0.5.18 and Slurm 26.05
(tests/faults/test_munge_pod.py).
"""

from __future__ import annotations

from typing import Any, Final

from slinky_iac import names
from slinky_iac.config.clients import Client
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.keys.catalogue import SecretEntry
from slinky_iac.parts.munge.settings import MUNGE
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec, locked, memory, mount, requests, secret_files, shell_sidecar

SOCKET: Final = "/run/munge/munge.socket.2"
"""Where libmunge looks by default, on Debian and in Red Hat's packages alike."""
VOLUMES: Final = "munge"
"""What names of its volumes begin with."""
KEY_FOLDER: Final = "/munge-key"
OWN_FOLDER: Final = "/munge-own"
SCRIPT: Final = f"""\
umask 077
cp -f {KEY_FOLDER}/{MUNGE.file} {OWN_FOLDER}/{MUNGE.file}
chmod 0400 {OWN_FOLDER}/{MUNGE.file}
exec munged --foreground --force --key-file={OWN_FOLDER}/{MUNGE.file} --socket={SOCKET} \\
  --pid-file={OWN_FOLDER}/munged.pid --log-file={OWN_FOLDER}/munged.log --seed-file={OWN_FOLDER}/munged.seed
"""
"""munged wants a key of its own that no other user can read; a Secret's files are root's and the group's. ``--force``
turns its complaints about the volumes' folders, which all of the pod may write, into warnings: they hold the socket only."""


def client_slurm_conf(config: ClusterConfig) -> str:
    """slurm.conf of the clients: the configured one, or the lines that commands of users need.

    SlurmUser is one of them: `scontrol ping` makes credentials that only this user may read, and srun takes the node's
    address from no one else (26.05; its default is root). squeue and sbatch don't ask for it.
    """
    if config.munge.slurm_conf:
        return config.munge.slurm_conf
    first, *_ = hosts = config.slurmctld.hosts  # config/rules/keys.py refuses a munge cluster without
    lines = [
        f"ClusterName={config.cluster.name}",
        f"SlurmUser={config.munge.slurm_user}",
        *(f"SlurmctldHost={host.host}" for host in hosts),
        f"SlurmctldPort={first.port}",
        "AuthType=auth/munge",
        "CredType=cred/munge",
    ]
    for dbd in config.slurmdbd.hosts:
        lines += [
            "AccountingStorageType=accounting_storage/slurmdbd",
            f"AccountingStorageHost={dbd.host}",
            f"AccountingStoragePort={dbd.port}",
        ]
    return "\n".join(lines) + "\n"


def conf_map(config: ClusterConfig) -> Object:
    """The ConfigMap with it."""
    name, data = names.client_conf(config.cluster.resource_name), {"slurm.conf": client_slurm_conf(config)}
    return Object(logical="slurm-conf", api_version="v1", kind="ConfigMap", name=name, body={"data": data})


def client_pod(config: ClusterConfig) -> Spec:
    """Pieces of a PodSpec: ``initContainers`` (munged, a sidecar), ``volumes``, ``securityContext``; ``volumeMounts`` for
    the container that calls sbatch. Holds names only, no key."""
    conf = names.client_conf(config.cluster.resource_name)
    return _pod(config, config.munge.user, config.munge.image, config.secret_of(MUNGE), conf)


def client_pod_of(config: ClusterConfig, client: Client, key: SecretEntry, files: str) -> Spec:
    """The same of a client of ``clients``: the Secret ``key`` has munge.key, the ConfigMap ``files`` slurm.conf and more."""
    return _pod(config, client.group, client.image, key, files, items=[{"key": "slurm.conf", "path": "slurm.conf"}])


def _pod(config: ClusterConfig, user: int, image: str | None, place: SecretEntry, conf: str, **of_conf: Any) -> Spec:  # noqa: ANN401
    return {
        "securityContext": {"fsGroup": user},
        "initContainers": [_munged(config, user, image)],
        "volumes": [
            secret_files("munge-key", place.name, {place.entry: MUNGE.file}, mode=0o400),
            memory("munge-own", "1Mi"),
            memory("munge-socket", "1Mi"),
            {"name": "slurm-conf", "configMap": {"name": conf, **of_conf}},
        ],
        "volumeMounts": [mount("munge-socket", "/run/munge", read_only=False), mount("slurm-conf", "/etc/slurm")],
    }


def _munged(config: ClusterConfig, user: int, image: str | None) -> Spec:
    return shell_sidecar(
        config,
        name="munged",
        image=image,
        script=SCRIPT,
        ready=("munge", "--no-input", f"--socket={SOCKET}", "--output=/dev/null"),
        resources=requests("10m", "16Mi", "64Mi"),
        security=locked(user),
        mounts=(
            mount("munge-key", KEY_FOLDER),
            mount("munge-own", OWN_FOLDER, read_only=False),
            mount("munge-socket", "/run/munge", read_only=False),
        ),
    )
