"""Words of Slinky's Helm chart, of its guide and of other tools, and the setting that stands for each of them here.

People type what they know: the chart's `externalConfig`, a Deployment's `count`. A nearest match by letters would send them
to another setting, so these words have an answer of their own. Source: ``helm/slurm/values.yaml`` of slurm-operator 1.0 to
1.2. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from slinky_iac.config.shown import name_of

_HOST: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")
_CLUSTER: Final = re.compile(r"[a-z0-9_]{1,40}")


@dataclass(frozen=True)
class Advice:
    """What stands for a word here, and YAML to paste below ``config:``."""

    words: str
    paste: str = ""


def _nodeset(body: str) -> str:
    """YAML of settings in a NodeSet, whose name takes the place of ``{name}``."""
    return "slinky-iac:nodesets:\n  {name}:\n" + "".join(f"    {line}\n" for line in body.splitlines())


_EXISTING: Final = """\
slinky-iac:keys:
  source: existing
  slurmKeySecret: NAME
  jwtKeySecret: NAME
slinky-iac:cluster:
  createNamespace: false # the Secrets are in it already
"""
_CONTROLLER: Final = """\
slinky-iac:controller:
  external:
    host: slurmctld.example.org
    port: 6817
"""
_ACCOUNTING: Final = """\
slinky-iac:accounting:
  external:
    host: slurmdbd.example.org
    port: 6819
"""
_DATABASE: Final = """\
slinky-iac:accounting:
  database:
    host: mariadb.example.org
    port: 3306
    name: slurm_acct_db
    username: slurm # its password: pulumi config set --secret databasePassword
"""
_IMAGES: Final = """\
slinky-iac:cluster:
  images:
    slurmrestd: REPOSITORY:TAG
    slurmd: REPOSITORY:TAG
    pullPolicy: IfNotPresent
    pullSecrets: [NAME]
"""
_KEY_WORDS: Final = "keys have a section of their own, `keys`, with `source: imported` or `source: existing`"
_CPUS: Final = "resources:\n  cpus: 8\n  memory: 32Gi"
_GPU: Final = Advice(
    'GPUs are resources.extended: {nvidia.com/gpu: 8} and gres: ["gpu:8"]',
    _nodeset('resources:\n  extended:\n    nvidia.com/gpu: 8\ngres: ["gpu:8"]'),
)
_VOLUME: Final = "volumes:\n- name: home\n  mountPath: /home\n  source:\n    persistentVolumeClaim:\n      claimName: home"
_MAX_TIME: Final = "config:\n      MaxTime: UNLIMITED\n"
_SWITCH: Final = "what is in this file is there: remove the section instead"
_PUBLIC: Final = "public keys of tokens are made here: `keys.tokens: prepared`, then `rs256`"
_SECTIONS: Final[tuple[tuple[str, str, str], ...]] = (
    ("controller.externalConfig", "the outside slurmctld is `controller.external`", _CONTROLLER),
    ("accounting.externalConfig", "the outside slurmdbd is `accounting.external`", _ACCOUNTING),
    ("accounting.storageConfig", "the database is `accounting.database`", _DATABASE),
    ("accounting.slurmdbd", "its image is `cluster.images.slurmdbd`, its placement `accounting.pod`", ""),
    ("controller.slurmctld", "its image is `cluster.images.slurmctld`, its placement `controller.pod`", ""),
    ("controller.reconfigure", "the sidecar has slurmctld's image, `cluster.images.slurmctld`", ""),
    ("restapi.slurmrestd", "its image is `cluster.images.slurmrestd`, its placement `restapi.pod`", ""),
    ("*slurmKeyRef", _KEY_WORDS, _EXISTING),
    ("*jwt*KeyRef", _KEY_WORDS, _EXISTING),
    ("*jwksKey*", _PUBLIC, ""),
    ("clusterName", "the name is `cluster.name`", "slinky-iac:cluster:\n  name: NAME\n"),
    ("cluster.clusterName", "the name is `cluster.name`", "slinky-iac:cluster:\n  name: NAME\n"),
    ("cluster.version", "it is `slurmVersion`", 'slinky-iac:cluster:\n  slurmVersion: "26.05"\n'),
    ("configFiles", "they are `controller.configFiles`", "slinky-iac:controller:\n  configFiles:\n    NAME: TEXT\n"),
    ("prolog*Scripts", "they are `controller.prolog`", "slinky-iac:controller:\n  prolog:\n    NAME: TEXT\n"),
    ("epilog*Scripts", "they are `controller.epilog`", "slinky-iac:controller:\n  epilog:\n    NAME: TEXT\n"),
    ("*imagePull*", "images and how they are pulled are `cluster.images`", _IMAGES),
    ("loginsets", "login pods are `logins`", "slinky-iac:logins:\n  NAME:\n    sssdConfSecret: NAME\n"),
    ("logins.*.rootSshAuthorizedKeys", "it is `rootAuthorizedKeys`", ""),
    ("logins.*.sssdConf*", "the Secret with sssd.conf is named by `sssdConfSecret` and `sssdConfEntry`", ""),
    ("logins.*.enabled", _SWITCH, ""),
    ("controller.persistence.storageClassName", "it is `storageClass`", ""),
    ("controller.persistence.resources", "it is `size`", ""),
    ("partitions.*.enabled", _SWITCH, ""),
    ("partitions.*.configMap", "it is `config`, a mapping", "slinky-iac:partitions:\n  {name}:\n    " + _MAX_TIME),
)
_NODESET: Final[tuple[tuple[str, str, str], ...]] = (
    ("partition.configMap", "it is `partition.config`, a mapping", "partition:\n  config:\n    MaxTime: UNLIMITED"),
    ("slurmd", "there is no level `slurmd`: image, resources and env are settings of the NodeSet", f"image: IMAGE\n{_CPUS}"),
    ("resources.limits", "requests equal limits here: `cpus`, `memory` and `extended`", _CPUS),
    ("resources.requests", "requests equal limits here: `cpus`, `memory` and `extended`", _CPUS),
    ("resources.cpu", "it is `cpus`", _CPUS),
    ("cpu", "it is `resources.cpus`", _CPUS),
    ("cpus", "it is `resources.cpus`", _CPUS),
    ("memory", "it is `resources.memory`", _CPUS),
    ("count", "it is `replicas`", "replicas: 2"),
    ("size", "it is `replicas`", "replicas: 2"),
    ("enabled", "what is in this file is there: remove the NodeSet, or set `replicas: 0`", "replicas: 0"),
    ("extraConfMap", "it is `extraConf`, a mapping", "extraConf:\n  Weight: 10"),
    ("useResourceLimits", "is always so here, since requests equal limits; remove the line", ""),
    ("volumeMounts", "a volume and its mount are one entry of `volumes`", _VOLUME),
)
_ANYWHERE: Final[tuple[tuple[str, str, str], ...]] = (
    ("*.extraConfMap", "it is `extraConf`, a mapping", ""),
    ("*.pod.dnsPolicy", "is set for you together with `hostNetwork: true`; remove the line", ""),
    ("*.dnsPolicy", "is set for you together with `pod.hostNetwork: true`; remove the line", ""),
    ("*.pod.priorityClassName", "it is `priorityClass`", ""),
    ("*.pod.terminationGracePeriodSeconds", "it is `terminationGrace`, for example 30s", ""),
)
_WORDS: Final[tuple[tuple[str, Advice], ...]] = (
    *((pattern, Advice(words, paste)) for pattern, words, paste in _SECTIONS),
    *((f"nodesets.*.{word}", Advice(words, _nodeset(paste) if paste else "")) for word, words, paste in _NODESET),
    ("nodesets.*.gpu*", _GPU),
    *((pattern, Advice(words, paste)) for pattern, words, paste in _ANYWHERE),
)
"""What is unknown, by a pattern over its path; the first that fits counts."""
_OF_PODS: Final = ("hostNetwork", "nodeSelector", "tolerations", "affinity", "annotations", "labels", "podSpec", "metadata")
_OF_PODS_EXAMPLES: Final = {
    "hostNetwork": "hostNetwork: true",
    "nodeSelector": "nodeSelector:\n    node-role: compute",
    "tolerations": "tolerations:\n    - operator: Exists",
}
_WITH_PODS: Final = frozenset({"nodesets", "logins", "controller", "accounting", "restapi"})


def advice(path: str, typed: object = None) -> Advice | None:
    """What stands here for the unknown setting at ``path``; None for a word that no chart has. ``typed``: what it was given,
    which is in the YAML to paste where it is a number, a host or a port."""
    parts = path.split(".")
    name = parts[1] if len(parts) > 2 else "NAME"
    for pattern, found in _WORDS:
        if fnmatchcase(path, pattern):
            return Advice(found.words, _typed(found.paste, parts[-1], typed).replace("{name}", name))
    return _of_pods(parts)


def _typed(paste: str, word: str, typed: object) -> str:
    if isinstance(typed, int) and not isinstance(typed, bool) and 0 <= typed < 100_000:
        counts = {"count": "replicas: ", "size": "replicas: ", "gpus": "nvidia.com/gpu: ", "gpu": "nvidia.com/gpu: "}
        if word in counts:
            paste = re.sub(rf"({counts[word]})[0-9]+", rf"\g<1>{typed}", paste).replace('"gpu:8"', f'"gpu:{typed}"')
    if word == "externalConfig" and isinstance(typed, dict):
        host, port = typed.get("host"), typed.get("port")
        if isinstance(host, str) and _HOST.fullmatch(host):
            paste = re.sub(r"host: \S+", f"host: {host}", paste)
        if isinstance(port, int) and 0 < port < 65536:
            paste = re.sub(r"port: \d+", f"port: {port}", paste)
    if word == "clusterName" and isinstance(typed, str) and _CLUSTER.fullmatch(typed) and name_of(typed) == typed:
        paste = paste.replace("name: NAME", f"name: {typed}")
    return paste


def _of_pods(parts: list[str]) -> Advice | None:
    section, word = parts[0], parts[-1]
    depth = 3 if section in {"nodesets", "logins"} else 2
    if section not in _WITH_PODS or len(parts) != depth or word not in _OF_PODS:
        return None
    place = ".".join([*parts[:-1], "pod"])
    if word in {"podSpec", "metadata"}:
        return Advice(f"placement, labels and annotations are settings of `{place}`")
    names = [f"slinky-iac:{section}:", *(f"{'  ' * at}{name}:" for at, name in enumerate(parts[1:-1], 1))]
    inner = "  " * (depth - 1)
    body = [f"{inner}{line}" for line in f"pod:\n  {_OF_PODS_EXAMPLES.get(word, f'{word}: …')}".splitlines()]
    return Advice(f"it is `{place}.{word}`", "\n".join([*names, *body]) + "\n")


def switched(path: str, *, on: bool) -> Advice | None:
    """What a switch of the chart means where this program has a mapping; None where no chart has one."""
    paste = {"controller.external": _CONTROLLER, "accounting.external": _ACCOUNTING}.get(path)
    if paste is None:
        return None
    if on:
        return Advice(f"`external` holds the outside host itself: {path}.host and .port", paste)
    return Advice("a daemon in Kubernetes has no `external`; remove the line")
