"""Every key of Slinky's Helm chart ``slurm``, and the setting that it is here, or why there is none.

The one table: `slinky import-chart` writes a stack's file by it, and `slinky check` says by it what stands for a word of the
chart. So it also has words of the guide and of other tools that people type in a stack's file (``count``, ``gpus``).

Source: ``helm/slurm/values.yaml`` of slurm-operator 1.0 to 1.2 and of main in August 2026 (1.3), names of keys only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from slinky_iac.config.base import Section
from slinky_iac.config.chart import conf_texts as lines
from slinky_iac.config.chart import reasons
from slinky_iac.config.chart import values as to
from slinky_iac.config.chart.values import Take
from slinky_iac.config.stack import sections

ANY: Final = "**"
"""As the last part of a row's place: all that is below it."""


@dataclass(frozen=True)
class Row:
    """One key of the chart."""

    at: str
    """Its path; ``*`` is any name."""
    setting: str = ""
    """The setting's path, with ``{}`` for that name; ``**`` at its end: what is below the row's place. Empty where the
    conversion says it, or there is none."""
    take: Take = to.same
    """How its value is converted."""
    why: str = ""
    """Why it has no setting."""
    words: str = ""
    """What to say of it where the path of the setting alone doesn't help."""
    typed: bool = False
    """Whether people type it in a stack's file, while the chart doesn't read it."""


_IMAGE: Final = "ghcr.io/slinkyproject/"
_SIDECAR: Final = "docker.io/library/alpine"
_EXISTING: Final = "keys have a section of their own, `keys`, with `source: imported` or `source: existing`"
_ANNOTATED: Final = (
    "Secrets that the stack makes are protected without one. A Secret of the chart with helm.sh/resource-policy: keep is"
    " still there after `helm uninstall`: to go on with its key, set `keys.source: existing` and name it"
)
_UNPADDED: Final = f"numbers in node names have no leading zeros here: {to.NAME}-0. {to.ADOPTED}"
_NUMBER: Final = (
    "it is the number in the names of DCGM's scripts, of which a lower one runs first: say it in the names of yours,"
    f" `controller.prolog: {{prolog-{to.VALUE}-dcgm.sh: …}}` and `controller.epilog: {{epilog-{to.VALUE}-dcgm.sh: …}}`"
)
_TAINTS: Final = (
    "the stack taints no node, so other pods can be scheduled there. Give the Kubernetes nodes a taint yourself,"
    " `kubectl taint nodes NODE KEY=VALUE:NoSchedule`, and then the NodeSet `pod.tolerations` of it"
)
_SSSD: Final = (
    "it may hold a password, so the file names a Secret with it: make that (a note says how). Or set `identity.sssd: {}` in"
    " the place of sssdConfFrom, and pulumi config set --secret slinky-iac:sssdConf < sssd.conf. Then slurmctld has a"
    " sidecar with sssd, too"
)
_SWITCH: Final = "what is in this file is there: remove the section instead"
_DNS: Final = to.only(
    allowed=(
        "ClusterFirst",
        "ClusterFirstWithHostNet",
        "Default",
    ),
    why="is set for you together with `pod.hostNetwork: true`",
)
_NO_DNS: Final = "is set for you together with `pod.hostNetwork: true`; remove the line"
_VOLUME: Final = "a volume and its mount are one entry of `volumes`: name, mountPath, source"


def _pods(at: str, setting: str, *, volumes: bool = False) -> Iterator[Row]:
    """Rows of one kind of pods: ``at`` in the chart, ``setting`` here."""
    pod = f"{setting}.pod"
    for word in ("annotations", "labels"):
        yield Row(f"{at}.metadata.{word}", f"{pod}.{word}", to.texts)
        yield Row(f"{at}.{word}", f"{pod}.{word}", to.texts, typed=True)
    yield Row(f"{at}.metadata.{ANY}", why="of metadata only labels and annotations are settings")
    for place in (f"{at}.podSpec", f"{at}.pod", at):
        typed = place != f"{at}.podSpec"
        direct = {} if place == f"{at}.pod" else {"nodeSelector": to.texts, "affinity": to.same, "tolerations": to.same}
        for word, take in {**direct, **({"hostNetwork": to.same} if direct else {})}.items():
            yield Row(f"{place}.{word}", f"{pod}.{word}", take, typed=typed)
        yield Row(f"{place}.priorityClassName", f"{pod}.priorityClass", typed=typed)
        yield Row(f"{place}.terminationGracePeriodSeconds", f"{pod}.terminationGrace", typed=typed)
        yield Row(f"{place}.dnsPolicy", take=_DNS, words=_NO_DNS, typed=typed)
        yield Row(f"{place}.imagePullSecrets", "cluster.images.pullSecrets", to.secret_names, typed=typed)
        yield Row(f"{place}.initContainers", f"{setting}.raw.pod.initContainers", typed=typed)
    if volumes:
        yield Row(f"{at}.volumes", f"{setting}.volumes", typed=True)
        yield Row(f"{at}.podSpec.volumes", f"{setting}.raw.pod.volumes", words=_VOLUME)  # of containers beside the daemon
    yield Row(f"{at}.podSpec.{ANY}", f"{setting}.raw.pod.{ANY}")


def _take(section: type[Section], field: str) -> Take:
    """How a value of the chart becomes that of a part's field: a mapping's values are texts, all else is as it is."""
    (annotation,) = (
        model_field.annotation for name, model_field in section.model_fields.items() if field in (name, model_field.alias)
    )
    return to.texts if annotation == dict[str, str] else to.same


def _service(at: str, setting: str, port: str = "the port is Slurm's own") -> Iterator[Row]:
    yield Row(f"{at}.service.spec.type", f"{setting}.service.type")
    yield Row(f"{at}.service.nodePort", f"{setting}.service.nodePort", to.number)
    yield Row(f"{at}.service.metadata.annotations", f"{setting}.service.annotations", to.texts)
    yield Row(f"{at}.service.metadata.labels", f"{setting}.raw.spec.service.metadata.labels", to.texts)
    yield Row(f"{at}.service.metadata.{ANY}", why="of metadata only labels and annotations are carried over")
    yield Row(f"{at}.service.port", why=port)
    yield Row(f"{at}.service.spec.{ANY}", f"{setting}.raw.service.{ANY}")
    for word in ("spec.type", "metadata.annotations", "metadata.labels"):
        yield Row(f"{at}.service.{word.partition('.')[2]}", why=f"{reasons.UNREAD}: it is service.{word}")
    yield Row(f"{at}.service.{ANY}", why="the chart reads metadata, spec, port and nodePort of a Service")


def _daemon(at: str, container: str, image: str, *, setting: str = "") -> Iterator[Row]:
    """Rows of a daemon's container."""
    where, part = f"{at}.{container}", setting.removesuffix(".image") or at
    words = f"its image is `{setting or f'cluster.images.{image}'}`"
    yield Row(f"{where}.image", setting or f"cluster.images.{image}", to.image(_IMAGE + image), words=words)
    yield Row(f"{where}.resources", f"{part}.resources", to.container_resources(part))
    yield Row(f"{where}.imagePullPolicy", "cluster.images.pullPolicy")


def _sidecar(at: str, word: str = "logfile", *, setting: str = "") -> Iterator[Row]:
    """Rows of a container beside a daemon; ``setting``: its part's, where that has another path than ``at``."""
    yield Row(f"{at}.{word}.image", "cluster.images.sidecar", to.image(_SIDECAR))
    yield Row(f"{at}.{word}.resources", "cluster.sidecarResources", to.container_resources())
    yield Row(f"{at}.{word}.imagePullPolicy", "cluster.images.pullPolicy")
    yield Row(f"{at}.{word}.{ANY}", f"{setting or at}.raw.spec.{word}.{ANY}")


def _controller() -> Iterator[Row]:
    at = "controller"
    host = "the outside slurmctld is `controller.external`"
    yield Row(f"{at}.externalConfig", f"{at}.external", to.outside, words=host)
    yield from _daemon(at, "slurmctld", "slurmctld")
    own = "the sidecar has slurmctld's image, `cluster.images.slurmctld`"
    yield Row(f"{at}.reconfigure.image", take=to.only(why=own), words=own)
    yield from _sidecar(at, "reconfigure")
    yield from _sidecar(at)
    yield Row(f"{at}.inplaceReconfigure", take=to.only(allowed=(False,), why=reasons.IN_PLACE))
    yield Row(f"{at}.ha.enabled", take=to.only(allowed=(False,), why=reasons.BACKUP))
    yield Row(f"{at}.ha.{ANY}", why=reasons.BACKUP)
    yield Row(f"{at}.persistence.enabled", f"{at}.persistence.enabled")
    yield Row(f"{at}.persistence.existingClaim", f"{at}.persistence.existingClaim")
    yield Row(f"{at}.persistence.storageClassName", f"{at}.persistence.storageClass", to.storage_class)
    yield Row(f"{at}.persistence.accessModes", f"{at}.persistence.accessModes")
    yield Row(f"{at}.persistence.resources", f"{at}.persistence.size", to.storage)
    yield Row(f"{at}.persistence.{ANY}", f"{at}.raw.spec.persistence.{ANY}")
    yield Row(f"{at}.metrics.enabled", f"{at}.metrics")
    of_parts = {
        key: Row(key, f"{name}.{field}", _take(section, field))
        for name, section in sections().items()
        for key, field in section.chart_keys.items()
    }
    yield from of_parts.values()
    for word in ("annotations", "enabled", "endpoints", "interval", "labels", "scrapeTimeout"):
        if (key := f"{at}.metrics.serviceMonitor.{word}") not in of_parts:
            yield Row(key, f"{at}.raw.spec.metrics.serviceMonitor.{word}", to.endpoints if word == "endpoints" else to.same)
    yield Row(f"{at}.slurmctld.{ANY}", f"{at}.raw.container.{ANY}")


def _accounting() -> Iterator[Row]:
    at = "accounting"
    yield Row(f"{at}.enabled", f"{at}.enabled")
    yield Row(f"{at}.externalConfig", f"{at}.external", to.outside, words="the outside slurmdbd is `accounting.external`")
    yield from _daemon(at, "slurmdbd", "slurmdbd")
    yield Row(f"{at}.storageConfig.host", f"{at}.database.host")
    yield Row(f"{at}.storageConfig.port", f"{at}.database.port", to.number)
    yield Row(f"{at}.storageConfig.database", f"{at}.database.name")
    yield Row(f"{at}.storageConfig.username", f"{at}.database.username")
    yield Row(f"{at}.storageConfig.password", why=reasons.PASSWORD, typed=True)
    yield Row(f"{at}.storageConfig.passwordKeyRef", f"{at}.database.passwordFrom", to.reference)
    yield Row(f"{at}.slurmdbd.{ANY}", f"{at}.raw.container.{ANY}")
    yield from _sidecar(at, "initconf")


def _restapi() -> Iterator[Row]:
    at = "restapi"
    yield Row(f"{at}.replicas", f"{at}.replicas", to.some_pods)
    yield Row(f"{at}.pdb.enabled", take=to.only(allowed=(False,), why=reasons.BUDGET))
    yield Row(f"{at}.pdb.{ANY}", why=reasons.BUDGET)
    yield from _daemon(at, "slurmrestd", "slurmrestd")
    yield Row(f"{at}.slurmrestd.{ANY}", f"{at}.raw.container.{ANY}")


def _nodesets() -> Iterator[Row]:
    at, here = "nodesets.*", "nodesets.{}"
    yield Row("nodesets", "nodesets", to.named, words="for example `burst: {replicas: 2}`")
    yield Row(
        f"{at}.enabled",
        words="what is in this file is there: remove the NodeSet, or set `replicas: 0`",
        take=to.only(allowed=(True,), why=_SWITCH),
    )
    for word in ("replicas", "count", "size"):
        yield Row(f"{at}.{word}", f"{here}.replicas", to.number, typed=word != "replicas")
    yield Row(f"{at}.scalingMode", f"{here}.scalingMode", to.scaling_mode)
    yield Row(
        f"{at}.slurmd.resources",
        f"{here}.resources",
        to.resources,
        words="requests equal limits here: `cpus`, `memory` and `extended`",
    )
    yield from _daemon(at, "slurmd", "slurmd", setting=f"{here}.image")
    one = "an image is one text, repository:tag"
    yield Row(f"{at}.image", f"{here}.image", to.image(f"{_IMAGE}slurmd"), words=one, typed=True)
    yield Row(f"{at}.slurmd.env", f"{here}.env", to.variables)
    yield Row(f"{at}.env", f"{here}.env", to.variables, typed=True)
    for word in ("limits", "requests"):
        yield Row(
            f"{at}.resources.{word}",
            f"{here}.resources",
            _of(word),
            words="requests equal limits here: `cpus`, `memory` and `extended`",
            typed=True,
        )
    for word in ("cpu", "cpus", "resources.cpu"):
        yield Row(f"{at}.{word}", f"{here}.resources.cpus", to.text, typed=True)
    for word in ("memory", "mem", "resources.mem"):
        yield Row(f"{at}.{word}", f"{here}.resources.memory", to.text, typed=True)
    for word in ("gpu", "gpus", "resources.gpu", "resources.gpus"):
        yield Row(f"{at}.{word}", take=to.gpus, words="GPUs are `resources.extended` and `gres`", typed=True)
    gpus = "GPUs are `resources.extended: {nvidia.com/gpu: NUMBER}` and `gres: [gpu:NUMBER]`"
    yield Row(f"{at}.resources.*/gpu", why=gpus, typed=True)
    yield Row(f"{at}.slurmd.securityContext.privileged", f"{here}.privileged")
    yield Row(f"{at}.slurmd.volumeMounts", f"{here}.raw.container.volumeMounts", words=_VOLUME)
    yield Row(f"{at}.volumeMounts", why=_VOLUME, typed=True)
    yield Row(f"{at}.slurmd.{ANY}", f"{here}.raw.container.{ANY}")
    yield from _sidecar(at, setting=here)
    yield Row(
        f"{at}.extraConf", take=lines.of_node, words="GRES and features are settings of the NodeSet: `gres` and `features`"
    )
    yield Row(f"{at}.extraConfMap", take=lines.of_node, words="it is `extraConf`, a mapping")
    for word, setting in (("Gres", "gres"), ("Features", "features"), ("Feature", "features")):
        said = f"it is `{setting}:` of the NodeSet, a list"
        yield Row(f"{at}.extraConf.{word}", f"{here}.{setting}", to.listed, words=said, typed=True)
    yield Row(f"{at}.partition.enabled", f"{here}.partition.enabled")
    yield Row(f"{at}.partition.config", f"{here}.partition.config", lines.words)
    yield Row(
        f"{at}.partition.configMap", f"{here}.partition.config", lines.conf, words="it is `partition.config`, a mapping"
    )
    yield Row(f"{at}.ssh.enabled", f"{here}.ssh.enabled")
    yield Row(f"{at}.ssh.extraSshdConfig", f"{here}.ssh.extraSshdConfig")
    yield Row(f"{at}.ssh.sssdConfRef", f"{here}.ssh.sssdConfFrom", to.reference, typed=True)
    rolling = "RollingUpdate replaces pods under running jobs; left at Gated, which drains them first"
    yield Row(f"{at}.updateStrategy.type", f"{here}.updateStrategy.type", _strategy(rolling))
    unavailable = "it is `updateStrategy.maxUnavailable`"
    yield Row(
        f"{at}.updateStrategy.rollingUpdate.maxUnavailable", f"{here}.updateStrategy.maxUnavailable", words=unavailable
    )
    yield Row(f"{at}.updateStrategy.{ANY}", why=reasons.SCHEDULED)
    yield Row(f"{at}.ordinalPadding", take=to.padding, words=_UNPADDED)
    for word, default, why in (
        ("pinToNode", False, "pods can't be pinned to Kubernetes nodes by the NodeSet"),
        ("workloadDisruptionProtection", True, "busy pods keep their PodDisruptionBudget in any case"),
        ("pruneSlurmNodeRecords", "Never", "the gate removes the records of nodes that it has drained"),
        ("oversubscribeNode", False, "one pod of a NodeSet runs on a Kubernetes node"),
        ("taintKubeNodes", False, _TAINTS),
        ("useResourceLimits", True, "is always so here, since requests equal limits; remove the line"),
    ):
        yield Row(f"{at}.{word}", take=to.only(allowed=(default,), why=why), words=why)


def _logins() -> Iterator[Row]:
    at, here = "loginsets.*", "logins.{}"
    yield Row(f"{at}.enabled", take=to.only(allowed=(True,), why=_SWITCH), words=_SWITCH)
    yield Row(f"{at}.replicas", f"{here}.replicas", to.number)
    yield from _daemon(at, "login", "login", setting=f"{here}.image")
    yield Row(f"{at}.login.securityContext.privileged", take=to.only(allowed=(False,), why="login pods can't be privileged"))
    yield Row(f"{at}.login.volumeMounts", f"{here}.raw.container.volumeMounts", words=_VOLUME)
    yield Row(f"{at}.login.{ANY}", f"{here}.raw.container.{ANY}")
    yield from _sidecar(at, "initconf", setting=here)
    yield Row(f"{at}.rootSshAuthorizedKeys", f"{here}.rootAuthorizedKeys", words="it is `rootAuthorizedKeys`")
    yield Row(f"{at}.extraSshdConfig", f"{here}.extraSshdConfig")
    sssd = "a Secret with sssd.conf is named by `sssdConfFrom: {secret, key}`"
    yield Row(f"{at}.sssdConfRef", f"{here}.sssdConfFrom", to.reference, words=sssd, typed=True)
    yield Row(
        f"{at}.sssdConf",
        why=_SSSD,
    )
    yield Row(f"{at}.strategy", f"{here}.raw.spec.strategy")


def _cluster() -> Iterator[Row]:
    name = "the name is `cluster.name`"
    yield Row("clusterName", "cluster.name", words=name)
    yield Row("cluster.clusterName", "cluster.name", words=name, typed=True)
    yield Row("cluster.version", "cluster.slurmVersion", to.text, words="it is `slurmVersion`", typed=True)
    yield Row("fullnameOverride", "cluster.resourceName")
    yield Row("nameOverride", why="names are made of `cluster.resourceName`")
    yield Row("namespaceOverride", "cluster.namespace")
    yield Row("asciiArt", take=to.only(allowed=(True, False), why="it is Helm's"))
    images = "images and how they are pulled are `cluster.images`"
    yield Row("imagePullSecrets", "cluster.images.pullSecrets", to.secret_names, words=images)
    yield Row("imagePullPolicy", "cluster.images.pullPolicy", words=images)
    for word in ("priorityClassName", "priorityClass.name"):
        yield Row(word, take=to.priority_class, words="it is `pod.priorityClass` of each kind of pods")
    yield Row("priorityClass.enabled", take=to.only(allowed=(True, False), why="it is a switch"))
    yield Row(
        "priorityClass.create",
        take=to.only(allowed=(False,), why="make the PriorityClass yourself: it belongs to all of Kubernetes"),
    )
    yield Row(f"priorityClass.{ANY}", why="make the PriorityClass yourself: it belongs to all of Kubernetes")
    for place in ("", "controller.", "accounting.", "restapi."):
        said = "it is `keys.{}KeyFrom: {{secret: …, key: …}}`, with `keys.source: existing`"
        yield Row(f"{place}slurmKeyRef", take=to.key_ref("slurm"), words=said.format("slurm"), typed=bool(place))
        for word in ("jwtHs256KeyRef", "jwtKeyRef"):
            typed = bool(place) or word == "jwtKeyRef"
            yield Row(f"{place}{word}", take=to.key_ref("jwt"), words=said.format("jwt"), typed=typed)
    for word, key in (("slurmKeyRef", "slurmKeyFrom"), ("jwtHs256KeyRef", "jwtKeyFrom"), ("jwtKeyRef", "jwtKeyFrom")):
        said = f"it is `{key}: {{secret: …, key: …}}`"
        yield Row(f"keys.{word}", f"keys.{key}", to.reference, words=said, typed=True)
    for word, key in (("slurmKey", "slurm"), ("jwtKey", "jwt")):
        yield Row(f"{word}.create", take=to.only(allowed=(True, False), why=_EXISTING), words=_EXISTING)
        yield Row(f"{word}.secretRef", take=to.key_ref(key), words=_EXISTING)
        yield Row(f"{word}.annotations", why=_ANNOTATED)
    public = "public keys of tokens are `keys.tokens: prepared`, then `rs256`; those of an identity provider `identity.oidc`"
    yield Row("jwksKeys.enabled", take=to.only(allowed=(False,), why=public), words=public)
    yield Row(f"jwksKeys.{ANY}", why=public)
    yield Row("configFiles", "controller.configFiles", words="they are `controller.configFiles`")
    yield Row("prologScripts", "controller.prolog", words="they are `controller.prolog`")
    yield Row("epilogScripts", "controller.epilog", words="they are `controller.epilog`")
    for word in ("prolog", "epilog"):
        for place in (f"{word}SlurmctldScripts", f"{word}SlurmctldScriptRefs"):
            yield Row(place, why=reasons.of_slurmctld(f"{word.capitalize()}Slurmctld"))
        others = "a ConfigMap of others could change without a gate or a finding that sees it; give the texts to"
        yield Row(f"{word}ScriptRefs", why=f"{others} `controller.{word}`")
    yield Row("sssd.secretRef", "identity.sssd.confFrom", to.reference)
    yield Row(
        "sssd.conf",
        why=_SSSD,
    )
    yield Row("partitions.*.enabled", take=to.only(allowed=(True,), why=_SWITCH), words=_SWITCH)
    yield Row("partitions.*.nodesets", "partitions.{}.nodesets", to.members)
    yield Row("partitions.*.config", "partitions.{}.config", lines.of_partition)
    yield Row("partitions.*.configMap", "partitions.{}.config", lines.of_partition, words="it is `config`, a mapping")
    yield Row(
        "vendor.nvidia.dcgm.enabled",
        take=to.only(allowed=(False,), why="DCGM's scripts can't be made: give them as `controller.prolog` and `epilog`"),
    )
    yield Row("vendor.nvidia.dcgm.scriptPriority", why=_NUMBER)
    for word in ("vendor.nvidia.dcgm", "vendor"):
        yield Row(
            f"{word}.{ANY}", why="what the chart makes for a vendor can't be made: say it in `nodesets`, as volumes and env"
        )
    yield from (Row(word, why=reasons.OF_0) for word in reasons.WORDS_OF_0)
    yield Row("extraObjects", why="other objects are a program's own: `slinky new` makes one with room for them")


def _of(word: str) -> Take:
    return lambda value: to.resources({word: value})


def _strategy(rolling: str) -> Take:
    whys = {"RollingUpdate": rolling, "ScheduledUpdate": reasons.SCHEDULED}

    def take(value: object) -> object:
        if isinstance(value, str) and value in whys:
            raise to.Left(whys[value])
        return value

    return take


def _rows() -> Iterator[Row]:
    yield from _cluster()
    for part, own in (("controller", _controller), ("accounting", _accounting), ("restapi", _restapi)):
        yield from own()
        if part != "restapi":
            take = lines.slurm_conf if part == "controller" else lines.slurmdbd_conf
            yield Row(f"{part}.extraConf", f"{part}.extraConf", take)
            yield Row(f"{part}.extraConfMap", f"{part}.extraConf", take, words="it is `extraConf`, a mapping")
        yield from _service(part, part)
        yield from _pods(part, part)
    yield from _nodesets()
    yield from _pods("nodesets.*", "nodesets.{}", volumes=True)
    yield from _logins()
    for at in ("loginsets.*", "logins.*"):
        rows = (*_service(at, "logins.{}", reasons.SSHD_PORT), *_pods(at, "logins.{}", volumes=True))
        yield from (replace(row, typed=row.typed or at == "logins.*") for row in rows)


ROWS: Final = tuple(_rows())
"""The table; of rows for one place the first counts."""
