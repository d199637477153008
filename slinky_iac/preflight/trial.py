"""The trial of a stack's files: the pods that read them, and what these say. Pure.

A pod runs the daemon's own image as its user, with an empty state and keys of its own. It has no rights, no token and no key
of the cluster; no name resolves in it, its daemon listens on loopback at ports of its own, and Kubernetes ends it soon.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from typing import Any, Final

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.facts import DaemonTrial
from slinky_iac.specs.shared import labels, locked, placement
from slinky_iac.specs.trial import Trial, script, trial_files, trials

LIFE_S: Final = 240
"""After so many seconds Kubernetes ends the pod whatever became of us: an image may have to be pulled first, and slurmctld
waits a minute for a file that it lacks."""
MOST: Final = 120_000
"""Characters of the packed files: Linux takes 128 KiB in one variable of the environment."""
_LONGEST: Final = 3800
"""Bytes of the report: Kubernetes keeps 4096 of a container's last words."""
_SCRIPT: Final = f"""\
{script()}
folder=/scratch/etc
mkdir -p $folder && base64 -d <<<"$FILES" | tar -xz -C $folder || exit 1
trial $folder $DAEMON | head -c {_LONGEST} > /dev/termination-log
"""
_VERDICTS: Final = ("taken", "refused", "silent")


def made_of(config: StackConfig) -> tuple[str, ...]:
    """All texts that decide what a trial is: the files, the images, and where the pods may run."""
    pods = (f"{trial.image} {json.dumps(placement(trial.pod))}" for trial in trials(config))
    return (*trial_files(config).values(), *pods)


def packed(files: Mapping[str, str]) -> str:
    """The files as one text. Raises ValueError where they are more than a pod's environment can hold."""
    into = io.BytesIO()
    with gzip.GzipFile(fileobj=into, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as archive:
        for name, text in sorted(files.items()):
            raw = text.encode()
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(raw), 0o600
            archive.addfile(member, io.BytesIO(raw))
    text = base64.b64encode(into.getvalue()).decode()
    if len(text) > MOST:
        raise ValueError(f"its files have {len(text)} characters when packed, and a pod's environment holds {MOST}")
    return text


def trial_pod(config: StackConfig, trial: Trial, name: str) -> dict[str, Any]:
    """The pod as the API server takes it. Raises ValueError as :func:`packed`."""
    hosts = [host.name for host in config.external.slurmd_hosts]
    volumes = [{"name": volume, "emptyDir": {"sizeLimit": "64Mi"}} for volume in ("scratch", "ctld", "dbd")]
    container = {
        "name": "try",
        "image": trial.image,
        "imagePullPolicy": config.cluster.images.pull_policy,
        "command": ["bash", "-c", _SCRIPT],
        "env": [{"name": "DAEMON", "value": trial.daemon}, {"name": "FILES", "value": packed(trial_files(config))}],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": locked(names.SLINKY_UID, read_only=False),
        "volumeMounts": [
            {"name": "scratch", "mountPath": "/scratch"},
            {"name": "ctld", "mountPath": "/run/slurmctld"},
            {"name": "dbd", "mountPath": "/run/slurmdbd"},
        ],
    }
    spec: dict[str, Any] = {
        "containers": [container],
        "volumes": volumes,
        "securityContext": {"fsGroup": names.SLINKY_UID},
        "restartPolicy": "Never",
        "activeDeadlineSeconds": LIFE_S,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **placement(trial.pod),
        # Nothing resolves but the outside nodes, which slurmctld would wait for otherwise: to the pod itself.
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["127.0.0.1"]},
        "hostAliases": [{"ip": "127.0.0.1", "hostnames": hosts}] if hosts else [],
    }
    if config.cluster.images.pull_secrets:
        spec["imagePullSecrets"] = [{"name": secret} for secret in config.cluster.images.pull_secrets]
    own = {"app.kubernetes.io/managed-by": labels(config)["app.kubernetes.io/managed-by"], names.LABEL_SHORT_POD: "look"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": own}, "spec": spec}


def trial_of(message: str, daemon: str) -> DaemonTrial:
    """What a pod wrote, read. One that wrote no verdict is silent."""
    verdict, release, said, left = "silent", "", list[str](), list[str]()
    for line in message.splitlines():
        word, _, rest = line.partition(" ")
        whose, _, text = rest.partition(" ")
        if word == "left":
            left += text.split()
        elif whose == daemon and word == "verdict" and text in _VERDICTS:
            verdict = text
        elif whose == daemon and word == "release":
            release = text[:60]
        elif whose == daemon and word == "said":
            said.append(text)
    return DaemonTrial(daemon, verdict, release, tuple(said), tuple(left))
