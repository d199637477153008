"""Rules about names, addresses and settings that Kubernetes refuses or the operator leaves unread.

Kept apart from :mod:`.sections` because each stands for a fact of one release of the operator (named at the
rule) or of the Kubernetes API, not for a decision of Slurm's.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath
from typing import Final

from pydantic.alias_generators import to_camel

from slinky_iac import names
from slinky_iac.config.base import Section
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes.names import is_entry_name
from slinky_iac.config.pieces import parts
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.stack import StackConfig

LONGEST_RESOURCE_NAME = 40
"""``<name>-controller-<10 characters>`` is a label of slurmctld's pod, and labels end at 63 characters."""

_WRITTEN_ANNOTATIONS = frozenset(
    {names.ANNOTATION_DELETION_COST, names.ANNOTATION_POD_CORDON, names.ANNOTATION_POD_DEADLINE, names.ANNOTATION_GATE}
)
_WRITTEN_LABELS = frozenset({names.LABEL_CLUSTER, names.LABEL_INSTANCE, names.LABEL_COMPONENT, names.LABEL_POD_INDEX})
_LABELS = frozenset({names.LABEL_NAME, names.LABEL_INSTANCE, names.LABEL_COMPONENT})


def ignored_fields(path: str, section: Section, fields: tuple[str, ...], why: str) -> Iterator[Finding]:
    """A warning for each of ``fields`` that the user set and that has no effect."""
    for name in fields:
        if name in section.model_fields_set:
            yield at(f"{path}.{to_camel(name)}").ignored(why)


def resource_name(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Services and StatefulSets are called after ``cluster.resourceName``, and theirs are the tighter limits."""
    name = config.cluster.resource_name
    if not name[0].isalpha():
        yield at("cluster.resourceName").error(
            f"got {shown(name)}; Services are named after it, and theirs begin with a letter"
        )
    if len(name) > LONGEST_RESOURCE_NAME:
        yield at("cluster.resourceName").error(
            f"has {len(name)} characters; at most {LONGEST_RESOURCE_NAME} are allowed, since pods and their labels are named"
            " after it with an ending"
        )


def entry_names(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Entries of ConfigMaps are file names in the pods, and the API server takes only plain ones."""
    controller = config.controller
    named = [(f"controller.configFiles.{name}", name) for name in controller.config_files]
    named += [(f"controller.prolog.{name}", name) for name in controller.prolog]
    named += [(f"controller.epilog.{name}", name) for name in controller.epilog]
    for path, name in named:
        if not is_entry_name(name):
            yield at(path).error(
                f"got {shown(name)}; a file's name here is letters, digits, '-', '_' and '.', without a folder"
            )


def node_ports(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Up to 1.1.0 only login sets' Services take ``nodePort`` (login_service.go)."""
    if config.operator_version.has_node_ports:
        return
    for path, service in (
        ("controller", config.controller.service),
        ("accounting", config.accounting.service),
        ("restapi", config.restapi.service),
    ):
        if service.node_port is not None:
            yield at(f"{path}.service.nodePort").error(
                f"slurm-operator {config.operator.version} doesn't read it and Kubernetes would pick another port; use 1.1.1"
                " or newer, or leave it out and read the port from the Service"
            )


def configless(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Up to 1.1 the last SlurmctldParameters line wins over the operator's; from 1.2 on the operator merges them."""
    if config.operator_version.prunes_slurm_conf:
        return
    for key, value in config.slurmctld.extra_conf.items():
        if key.lower() == "slurmctldparameters" and "enable_configless" not in value.lower().split(","):
            yield at(f"controller.extraConf.{key}").error(
                f"has no enable_configless. With slurm-operator {config.operator_version.line} this line replaces the"
                f" operator's; without it no NodeSet gets its configuration. Write enable_configless,{name_of(value)}"
            )


def reserved_nodeset(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Drain reasons name a NodeSet or the bare-metal hosts, and each must know its own drains."""
    if names.HOSTS_OWNER in config.nodesets:
        yield at(f"nodesets.{names.HOSTS_OWNER}").error(
            "this name is reserved: drains of bare-metal hosts have it in their reason. Rename the NodeSet, or one would"
            " return nodes that the other has drained"
        )


def unguarded_rollout(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """IsNodeDrained counts no suspended job, and without a Slurm client none (``slurmcontrol.go``, 1.0.1 to 1.2.1)."""
    for name, nodeset in config.nodesets.items():
        if nodeset.update_strategy.type == "RollingUpdate":
            stale = (
                " slurmctld keeps the features, GRES and sizes of the earlier pods, whose records this operator leaves."
                if config.operator_version.leaves_records
                else ""
            )
            yield at(f"nodesets.{name}.updateStrategy.type").warning(
                "is RollingUpdate: slurm-operator replaces pods of an earlier template, without preview, limit or deadline."
                f" It ends suspended jobs, and running ones while it has no way to slurmrestd.{stale} Use Gated, or leave it"
                " out",
                id="rolling-update",
            )


def pod_marks(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """By these the operator and the gates find pods, and say which go: set for all of a NodeSet, they say nothing or lie."""
    for name, nodeset in config.nodesets.items():
        for field, given, written in (
            ("annotations", nodeset.pod.annotations, _WRITTEN_ANNOTATIONS),
            ("labels", nodeset.pod.labels, _WRITTEN_LABELS),
        ):
            for key in given:
                if key in written:
                    yield at(f"nodesets.{name}.pod.{field}").error(
                        f"sets {key}, which only the operator or a gate may write: pods could be deleted"
                        " without a drain, or not be found. Remove it"
                    )
    for part in parts(config):
        for key in sorted(_LABELS & part.labels.keys()):
            yield at(f"{part.path}.pod.labels").error(
                f"sets {key}, which the operator writes over it: it has no effect. Remove it"
            )


_OF_SSSD: Final = (
    ". A CA of sssd.conf needs no volume: it is the entry ca.crt of the Secret with sssd.conf, and ldap_tls_cacert there is"
    " /etc/slinky-sssd/ca.crt"
)


def reserved_volumes(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """The operator merges a pod's volumes by name and its mounts by path (worker_app.go): one of these would take the place
    of slurm.key or of slurmd's log, and another mount of one path is refused."""
    for part in parts(config):
        path, seen = f"{part.path}.volumes", set[str]()
        for volume in part.volumes or ():
            place = normpath(volume.mount_path)
            if part.has_volume(volume.name):
                yield at(path).error(
                    f"has {name_of(volume.name)}, which each {part.own.container} pod has already, of the operator's or this"
                    " program's, with keys, settings or logs; rename it"
                )
            if part.hides(place):
                yield at(path).error(
                    f"{name_of(volume.name)} is mounted at {name_of(place)}, where the operator's own volumes or the"
                    " daemon's programs are: it would find no key, no log, or another program; mount it elsewhere"
                    + (_OF_SSSD if f"{place}/".startswith("/etc/sssd/") else "")
                )
            if place in seen:
                yield at(path).error(
                    f"has two volumes at {name_of(place)}; Kubernetes refuses such a pod. Remove one, or move it"
                )
            seen.add(place)


def charts_by_digest(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A digest holds for what a registry serves, and one without the other leaves half of the operator to a tag."""
    source = config.operator.chart
    if not config.operator.install:
        return
    given = {"digest": source.digest, "crdsDigest": source.crds_digest}
    if source.path is not None:
        for name in (chart for chart, digest in given.items() if digest is not None):
            yield at(f"operator.chart.{name}").error(
                "is set together with path: Helm compares digests of what a registry serves, and nothing with a folder."
                " Remove it, or set oci"
            )
        return
    if source.digest is None and source.crds_digest is not None:
        yield at("operator.chart.digest").error(
            "is needed beside crdsDigest: else a tag decides which operator is deployed. `slinky docs ci` says how to get it"
        )
    if source.digest is not None and source.crds_digest is None and config.operator.install_crds:
        yield at("operator.chart.crdsDigest").error(
            "is needed beside digest: else a tag decides which CRDs are deployed. `slinky docs ci` says how to get it"
        )


def unread_settings(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """What is set and has no effect is reported, never passed over."""
    accounting, pods = config.accounting, ("extra_conf", "service", "resources", "pod", "raw")
    if not accounting.enabled:
        why = "accounting.enabled is false"
        yield from ignored_fields("accounting", accounting, ("external", "database", *pods), why)
    elif config.slurmdbd.hosts:
        why = "slurmdbd is outside, and the operator writes nothing there. Its admin must set it"
        yield from ignored_fields("accounting", accounting, pods, why)
    elif not config.operator_version.labels_slurmdbd:
        why = f"slurm-operator {config.operator.version} lays no labels or annotations on slurmdbd's pod"
        yield from ignored_fields("accounting.pod", accounting.pod, ("labels", "annotations"), why)
    if not config.operator.install:
        fields = ("create_namespace", "chart", "install_crds", "protect_crds", "service_monitor_stub", "webhook", "values")
        why = "operator.install is false, so another stack deploys it"
        yield from ignored_fields("operator", config.operator, fields, why)
    if not config.key_source.configured:
        for name in sorted(secrets & {"slurmKey", "jwtKey"}):
            yield at("keys.source").warning(
                f"is {config.key_source.setting}, so the secret {name} is not used; set keys.source: imported, or remove it"
                f" by `pulumi config rm slinky-iac:{name}`",
                id="imported-key-unused",
            )


RULES = (
    resource_name,
    entry_names,
    node_ports,
    configless,
    reserved_nodeset,
    unguarded_rollout,
    charts_by_digest,
    pod_marks,
    reserved_volumes,
    unread_settings,
)
