"""Which settings an Output can give, and why the others can't: one row for each leaf of the configuration.

A leaf is the path of a setting that is no section, as messages write it: ``*`` for a name or a number of a list, ``**`` for
all that is below a mapping of free names. tests/unit/components/test_takes.py compares the rows with the model's leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from slinky_iac.config.load import field_of, model_in
from slinky_iac.config.stack import StackConfig
from slinky_iac.selection import REQUIRED

HOST: Final = "host"
"""A DNS name or an address."""
NAME: Final = "host name"
"""The same where what is made differs: an address is wrapped by ``address()``."""
ADDRESS: Final = "address"
NETWORK: Final = "network"
IMAGE: Final = "image"
OBJECT: Final = "name"
"""A name of an object of Kubernetes."""
LABEL: Final = "value of a label"
TEXT: Final = "text"
FOLDER: Final = "path from / on"
WORD: Final = "word"
"""A text of letters and digits alone."""
URL: Final = "address of http or https"
COUNT: Final = "number of nodes"

_SETS: Final = ("nodesets.*", "nodesetDefaults")
_LOGINS: Final = ("logins.*", "loginDefaults")
_PODS: Final = tuple(f"{each}.pod" for each in ("controller", "accounting", "restapi", *_SETS, *_LOGINS))
_SERVICES: Final = ("controller", "accounting", "restapi", "restapi.tls", *_LOGINS)
_PEERS: Final = (
    "networkPolicies.apiServer.*",
    *(f"networkPolicies.clients.{e}.*" for e in ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login", "operator")),
    *(f"networkPolicies.egress.{each}.*" for each in ("dns", "database", "slurmctld", "slurmdbd", "slurmrestd")),
)
_VALUES: Final = f"affinity.{'.'.join(REQUIRED)}.nodeSelectorTerms.*.matchExpressions.*.values.*"

TAKES: Final[Mapping[str, str]] = {
    "nodesets.*.replicas": COUNT,
    "controller.external.host": HOST,
    "controller.external.backups.*": HOST,
    "accounting.external.host": NAME,
    "accounting.database.host": HOST,
    "accounting.database.name": WORD,
    "accounting.database.username": WORD,
    "external.slurmdHosts.*.address": HOST,
    "external.loginHosts.*.address": HOST,
    "external.slurmrestd.url": URL,
    "slurmrest.url": URL,
    "monitoring.slurmctldAddress": ADDRESS,
    "cluster.images.slurmctld": IMAGE,
    "cluster.images.slurmdbd": IMAGE,
    "cluster.images.slurmrestd": IMAGE,
    "cluster.images.slurmd": IMAGE,
    "cluster.images.login": IMAGE,
    "cluster.images.sidecar": IMAGE,
    "cluster.images.pullSecrets.*": OBJECT,
    **{f"{each}.image": IMAGE for each in (*_SETS, *_LOGINS)},
    "restapi.tls.image": IMAGE,
    "identity.sssd.image": IMAGE,
    "munge.image": IMAGE,
    "monitoring.status.image": IMAGE,
    "clients.*.image": IMAGE,
    "clients.*.deployment.image": IMAGE,
    "keys.slurmKeyFrom.secret": OBJECT,
    "keys.jwtKeyFrom.secret": OBJECT,
    "munge.keyFrom.secret": OBJECT,
    "clients.*.keyFrom.secret": OBJECT,
    "accounting.database.passwordFrom.secret": OBJECT,
    "accounting.database.tls.caSecret": OBJECT,
    "accounting.database.tls.clientSecret": OBJECT,
    "identity.sssd.confFrom.secret": OBJECT,
    **{f"{each}.ssh.sssdConfFrom.secret": OBJECT for each in _SETS},
    **{f"{each}.sssdConfFrom.secret": OBJECT for each in _LOGINS},
    "restapi.tls.secret": OBJECT,
    "restapi.tls.clientCaSecret": OBJECT,
    "restapi.tls.issuer.name": OBJECT,
    "monitoring.status.serviceAccount": OBJECT,
    "controller.persistence.existingClaim": OBJECT,
    "controller.persistence.storageClass": OBJECT,
    **{f"{each}.volumes.*.source.nfs.path": FOLDER for each in (*_SETS, *_LOGINS)},
    **{f"{each}.volumes.*.source.**": TEXT for each in (*_SETS, *_LOGINS)},
    **{f"{each}.service.annotations.**": TEXT for each in _SERVICES},
    **{f"{each}.annotations.**": TEXT for each in _PODS},
    **{f"{each}.labels.**": LABEL for each in _PODS},
    **{f"{each}.nodeSelector.**": LABEL for each in _PODS},
    **{f"{each}.{_VALUES}": LABEL for each in _PODS},
    **{f"{each}.tolerations.*.value": LABEL for each in _PODS},
    **{f"{each}.priorityClass": OBJECT for each in _PODS},
    "monitoring.status.nodeSelector.**": LABEL,
    "monitoring.labels.**": LABEL,
    "monitoring.dashboardLabels.**": LABEL,
    **{f"{each}.env.**": TEXT for each in _SETS},
    **{f"{each}.rootAuthorizedKeys": TEXT for each in _LOGINS},
    **{f"{each}.cidr": NETWORK for each in _PEERS},
    **{f"{each}.namespace": OBJECT for each in _PEERS},
    **{f"{each}.pods.**": LABEL for each in _PEERS},
    "networkPolicies.nodes.*": NETWORK,
    "networkPolicies.egress.blocked.*": NETWORK,
    "networkPolicies.addresses.**": NETWORK,
}
"""Settings that an Output can give, and what it is taken for."""

REASONS: Final[Mapping[str, tuple[str, ...]]] = {
    "it is in names of what the cluster makes, or says whose something is": (
        "cluster.name", "cluster.namespace", "cluster.resourceName", "operator.namespace", "controller.trial.namespace",
        "clients.*.namespace", "tokens.*.secret", "nodes.prefix", "restapi.tls.issuer.group",
        *(f"{each}.key" for each in ("keys.slurmKeyFrom", "keys.jwtKeyFrom", "munge.keyFrom", "clients.*.keyFrom")),
        *(f"{each}.key" for each in ("accounting.database.passwordFrom", "identity.sssd.confFrom")),
        *(f"{each}.ssh.sssdConfFrom.key" for each in _SETS), *(f"{each}.sssdConfFrom.key" for each in _LOGINS),
        *(f"{each}.volumes.*.{leaf}" for each in (*_SETS, *_LOGINS) for leaf in ("name", "mountPath", "subPath")),
    ),
    "a release or a chart decides what is made, and is read before": (
        "cluster.slurmVersion", "operator.version", "operator.chart.oci", "operator.chart.path", "operator.chart.digest",
        "operator.chart.crdsDigest", "clients.*.jupyterhub.chart.repo", "clients.*.jupyterhub.chart.oci",
        "clients.*.jupyterhub.chart.path", "clients.*.jupyterhub.chart.version", "clients.*.jupyterhub.chart.digest",
    ),
    "it is a part of slurm.conf, another file or a certificate, which are judged word by word before they are written": (
        "controller.extraConf.**", "controller.configFiles.**", "controller.prolog.**", "controller.epilog.**",
        "accounting.extraConf.**", "munge.slurmConf", "munge.slurmUser", "external.slurmdHosts.*.name",
        "external.loginHosts.*.name", "external.slurmdHosts.*.config.**", "partitions.*.nodesets.*",
        "partitions.*.config.**",
        *(f"{each}.{leaf}" for each in _SETS for leaf in ("partition.config.**", "features.*", "gres.*", "extraConf.**")),
        *(f"{each}.ssh.extraSshdConfig" for each in _SETS), *(f"{each}.extraSshdConfig" for each in _LOGINS),
        "identity.oidc.jwks.**", "identity.oidc.userClaim", "restapi.tls.hosts.*",
    ),
    "users and their rights are judged by name before anything is made": (
        "identity.passwd.users.*.groups.*", "identity.passwd.users.*.home", "identity.passwd.users.*.shell",
        "clients.*.slurmUser", "clients.*.people.*.home", "clients.*.deployment.person",
        "clients.*.deployment.command.*", "slurmrest.user", "tokens.*.user", "smoke.user",
    ),
    "it is a file of the machine where `pulumi` runs, and is read before": (
        "identity.sssd.caFile", "identity.oidc.jwksFile", "slurmrest.caFile", "slurmrest.clientCertFile",
        "slurmrest.clientKeyFile", "external.slurmrestd.caFile", "external.slurmrestd.clientCertFile",
        "external.slurmrestd.clientKeyFile", "monitoring.status.folder",
    ),
    "Kubernetes is asked before anything is made, and a destroy asks without the program": (
        "kubernetes.kubeconfig", "kubernetes.context", "kubernetes.cluster",
    ),
    "what it is judged by is its own name and value together": (
        "operator.values.**", "clients.*.jupyterhub.values.**", "clients.*.jupyterhub.options",
        *(f"{each}.raw.{part}.**" for each in ("controller", "accounting", "restapi", *_SETS, *_LOGINS)
          for part in ("pod", "container", "service", "spec")),
        *(f"{each}.affinity.**" for each in _PODS), *(f"{each}.tolerations.*.**" for each in _PODS),
    ),
    "the chart wants its name and its tag apart": ("clients.*.jupyterhub.image",),
    "it says which work Slurm is given, and a job that changes runs again": (
        "jobs.*.user", "jobs.*.script.text", "jobs.*.script.file", "jobs.*.command.*", "jobs.*.partition", "jobs.*.account",
        "jobs.*.qos", "jobs.*.environment.**", "jobs.*.workingDirectory", "jobs.*.output", "smoke.partitions.*",
        "clients.*.jupyterhub.partition",
    ),
    "nodes and demand are counted by it in the preview": (
        *(f"nodes.table.*.{leaf}" for leaf in ("names.*", "selector.**", "nodesets.*", "hosts.*", "labels.**")),
        "nodes.table.*.features.*",
        "nodes.table.*.gres.*", "nodes.table.*.topology", "nodes.topologies.*.tree.**",
        "nodes.topologies.*.block.blocks.*",
        *(f"{each}.autoscale.{leaf}" for each in _SETS for leaf in ("source", "metric", "labels.**")),
        "monitoring.status.schedule",
    ),
    "it is a word of yours to this program": (
        "keys.madeBy", "keys.acceptedChange", "acknowledged.**", "adopted.release", "adopted.record", "adopted.namespace",
        "adopted.objects.*.uid", "adopted.objects.*.keep.*",
    ),
}  # fmt: skip
"""Why a setting takes no Output, by reason. Switches and numbers have theirs by their type: :data:`SWITCH`,
:data:`NUMBER`."""
SWITCH: Final = "it decides what is made"
NUMBER: Final = "numbers are counted and compared with others before anything is made"
_QUANTITIES: Final = frozenset({"cpus", "memory", "size", "quota", "maxUnavailable", "since"})
"""Settings with numbers as texts."""


def kind_of(path: str) -> str | None:
    """What an Output at this path is taken for; None where it takes none."""
    return next((kind for pattern, kind in TAKES.items() if fits(pattern, path)), None)


def why_not(path: str) -> str:
    """Why a setting takes no Output."""
    for reason, patterns in REASONS.items():
        if any(fits(pattern, path) for pattern in patterns):
            return reason
    for leaf, annotation in leaves():
        if fits(leaf, path):
            return by_type(leaf, annotation)
    return SWITCH  # a whole section, or a name that is none


def by_type(leaf: str, annotation: Any) -> str:  # noqa: ANN401 - annotations are any object
    """The reason that a setting has by what it is; empty for a text."""
    kinds = {*_plain(annotation)}
    if kinds & {bool, Literal}:
        return SWITCH
    parts = leaf.split(".")
    return NUMBER if kinds <= {int, float} or _QUANTITIES & {parts[-1], parts[-2]} else ""


def _plain(annotation: Any) -> Iterator[Any]:  # noqa: ANN401
    """The types of a leaf's own values."""
    origin = get_origin(annotation)
    if origin is Literal:
        yield Literal
    elif origin is Annotated:
        yield from _plain(get_args(annotation)[0])
    elif origin is dict:
        yield from _plain(get_args(annotation)[1])
    elif origin in (Union, UnionType, tuple, list):
        yield from (found for part in get_args(annotation) if part not in (type(None), ...) for found in _plain(part))
    else:
        yield annotation


def fits(pattern: str, path: str) -> bool:
    """Whether a path, or another pattern, is one that the pattern means."""
    want, got = pattern.split("."), path.split(".")
    if want[-1] == "**" and len(got) >= len(want):
        want, got = want[:-1], got[: len(want) - 1]
    return len(want) == len(got) and all(each in ("*", name) for each, name in zip(want, got, strict=True))


def leaves() -> Iterator[tuple[str, Any]]:
    """Every leaf of a stack's configuration, with its type."""
    yield from _below(StackConfig, ())


def _below(model: type[BaseModel], above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name in model.model_fields:
        alias, annotation = field_of(model, name)
        section = model_in(annotation)
        path = (*above, alias, *_steps(annotation, section))
        if section is None:
            yield ".".join(path), annotation
        else:
            yield from _below(section, path)


def _steps(annotation: Any, section: type[BaseModel] | None) -> tuple[str, ...]:  # noqa: ANN401
    """What is between a field's name and its section, or its value."""
    origin = get_origin(annotation)
    if origin is dict:
        return ("*",) if section is not None else ("**",)
    if origin in (tuple, list):
        (inner, *_) = get_args(annotation)
        return ("*", *_steps(inner, section))
    if origin in (Annotated, Union, UnionType):
        return next((steps for part in get_args(annotation) if (steps := _steps(part, section))), ())
    return ()
