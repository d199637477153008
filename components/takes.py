"""Which settings an Output can give, and why the others can't: one row for each leaf of the configuration.

A leaf is the path of a setting that isn't a section, as messages write it: ``*`` for a name or a number of a list, ``**``
for all that is below a mapping of free names. tests/unit/components/test_takes.py compares the rows with the model's leaves.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from slinky_iac.config.base import Section
from slinky_iac.config.outputs import (
    CONF_WORDS,
    COUNT,
    COUNTED,
    FOLDER,
    HOST,
    IMAGE,
    IN_NAMES,
    LABEL,
    NAME,
    NETWORK,
    OBJECT,
    PUBLIC_KEYS,
    READ_BEFORE,
    TEXT,
    URL,
    USERS,
    WORD,
    WORK,
)
from slinky_iac.config.reading.levels import field_of, model_in
from slinky_iac.config.stack import StackConfig
from slinky_iac.selection import REQUIRED

_SETS: Final = ("nodesets.*", "nodesetDefaults")
_LOGINS: Final = ("logins.*", "loginDefaults")
_PODS: Final = tuple(f"{section}.pod" for section in ("controller", "accounting", "restapi", *_SETS, *_LOGINS))
_SERVICES: Final = ("controller", "accounting", "restapi", *_LOGINS)
_PEERS: Final = (
    "networkPolicies.apiServer.*",
    *(f"networkPolicies.clients.{e}.*" for e in ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login", "operator")),
    *(f"networkPolicies.egress.{target}.*" for target in ("dns", "database", "slurmctld", "slurmdbd", "slurmrestd")),
)
_VALUES: Final = f"affinity.{'.'.join(REQUIRED)}.nodeSelectorTerms.*.matchExpressions.*.values.*"

_TAKES: Final[Mapping[str, str]] = {
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
    "cluster.images.slurmctld": IMAGE,
    "cluster.images.slurmdbd": IMAGE,
    "cluster.images.slurmrestd": IMAGE,
    "cluster.images.slurmd": IMAGE,
    "cluster.images.login": IMAGE,
    "cluster.images.sidecar": IMAGE,
    "cluster.images.pullSecrets.*": OBJECT,
    **{f"{section}.image": IMAGE for section in (*_SETS, *_LOGINS)},
    "identity.sssd.image": IMAGE,
    "clients.*.image": IMAGE,
    "clients.*.deployment.image": IMAGE,
    "keys.slurmKeyFrom.secret": OBJECT,
    "keys.jwtKeyFrom.secret": OBJECT,
    "clients.*.keyFrom.secret": OBJECT,
    "accounting.database.passwordFrom.secret": OBJECT,
    "accounting.database.tls.caSecret": OBJECT,
    "accounting.database.tls.clientSecret": OBJECT,
    "identity.sssd.confFrom.secret": OBJECT,
    **{f"{section}.ssh.sssdConfFrom.secret": OBJECT for section in _SETS},
    **{f"{section}.sssdConfFrom.secret": OBJECT for section in _LOGINS},
    "controller.persistence.existingClaim": OBJECT,
    "controller.persistence.storageClass": OBJECT,
    **{f"{section}.volumes.*.source.nfs.path": FOLDER for section in (*_SETS, *_LOGINS)},
    **{f"{section}.volumes.*.source.**": TEXT for section in (*_SETS, *_LOGINS)},
    **{f"{section}.service.annotations.**": TEXT for section in _SERVICES},
    **{f"{section}.annotations.**": TEXT for section in _PODS},
    **{f"{section}.labels.**": LABEL for section in _PODS},
    **{f"{section}.nodeSelector.**": LABEL for section in _PODS},
    **{f"{section}.{_VALUES}": LABEL for section in _PODS},
    **{f"{section}.tolerations.*.value": LABEL for section in _PODS},
    **{f"{section}.priorityClass": OBJECT for section in _PODS},
    **{f"{section}.env.**": TEXT for section in _SETS},
    **{f"{section}.rootAuthorizedKeys": PUBLIC_KEYS for section in _LOGINS},
    **{f"{peer}.cidr": NETWORK for peer in _PEERS},
    **{f"{peer}.namespace": OBJECT for peer in _PEERS},
    **{f"{peer}.pods.**": LABEL for peer in _PEERS},
    "networkPolicies.nodes.*": NETWORK,
    "networkPolicies.egress.blocked.*": NETWORK,
    "networkPolicies.addresses.**": NETWORK,
}
"""Settings that an Output can give, and what it is taken for, but for what sections say of their own (``Section.takes``)."""

_REASONS: Final[Mapping[str, tuple[str, ...]]] = {
    IN_NAMES: (
        "cluster.name", "cluster.namespace", "cluster.resourceName", "operator.namespace", "controller.trial.namespace",
        "clients.*.namespace",
        *(f"{reference}.key" for reference in ("keys.slurmKeyFrom", "keys.jwtKeyFrom", "clients.*.keyFrom")),
        *(f"{reference}.key" for reference in ("accounting.database.passwordFrom", "identity.sssd.confFrom")),
        *(f"{section}.ssh.sssdConfFrom.key" for section in _SETS), *(f"{section}.sssdConfFrom.key" for section in _LOGINS),
        *(f"{section}.volumes.*.{leaf}" for section in (*_SETS, *_LOGINS) for leaf in ("name", "mountPath", "subPath")),
    ),
    "a release or a chart decides what is made, and is read before": (
        "cluster.slurmVersion", "operator.version", "operator.chart.oci", "operator.chart.path", "operator.chart.digest",
        "operator.chart.crdsDigest", "clients.*.jupyterhub.chart.repo", "clients.*.jupyterhub.chart.oci",
        "clients.*.jupyterhub.chart.path", "clients.*.jupyterhub.chart.version", "clients.*.jupyterhub.chart.digest",
    ),
    CONF_WORDS: (
        "controller.extraConf.**", "controller.configFiles.**", "controller.prolog.**", "controller.epilog.**",
        "accounting.extraConf.**", "external.slurmdHosts.*.name",
        "external.loginHosts.*.name", "external.slurmdHosts.*.config.**", "partitions.*.nodesets.*",
        "partitions.*.config.**",
        *(f"{nodes}.{leaf}" for nodes in _SETS for leaf in ("partition.config.**", "features.*", "gres.*", "extraConf.**")),
        *(f"{section}.ssh.extraSshdConfig" for section in _SETS), *(f"{section}.extraSshdConfig" for section in _LOGINS),
        "identity.oidc.userClaim",
    ),
    USERS: (
        "identity.passwd.users.*.groups.*", "identity.passwd.users.*.home", "identity.passwd.users.*.shell",
        "clients.*.slurmUser", "clients.*.people.*.home", "clients.*.deployment.person",
        "clients.*.deployment.command.*", "slurmrest.user",
    ),
    READ_BEFORE: (
        "identity.sssd.caFile", "slurmrest.caFile", "slurmrest.clientCertFile",
        "slurmrest.clientKeyFile", "external.slurmrestd.caFile", "external.slurmrestd.clientCertFile",
        "external.slurmrestd.clientKeyFile",
    ),
    "Kubernetes is asked before anything is made, and a destroy asks without the program; a file and a context are named"
    " (`slinky docs own-repository 'One connection'`)": (
        "kubernetes.kubeconfig", "kubernetes.context", "kubernetes.cluster",
    ),
    "what it is judged by is its own name and value together": (
        "operator.values.**", "clients.*.jupyterhub.values.**", "clients.*.jupyterhub.options",
        *(f"{section}.raw.{part}.**" for section in ("controller", "accounting", "restapi", *_SETS, *_LOGINS)
          for part in ("pod", "container", "service", "spec")),
        *(f"{section}.affinity.**" for section in _PODS), *(f"{section}.tolerations.*.**" for section in _PODS),
    ),
    "the chart wants its name and its tag apart": ("clients.*.jupyterhub.image",),
    WORK: (
        "clients.*.jupyterhub.partition",
    ),
    COUNTED: (),
    "it is a word of yours to this program": (
        "keys.madeBy", "keys.acceptedChange", "acknowledged.**", "adopted.release", "adopted.record", "adopted.namespace",
        "adopted.objects.*.uid", "adopted.objects.*.keep.*",
    ),
}  # fmt: skip
"""The same of settings that take none, by reason. Switches and numbers have theirs by their type: :data:`SWITCH`,
:data:`NUMBER`."""
SWITCH: Final = "it decides what is made"
NUMBER: Final = "numbers are counted and compared with others before anything is made"
_QUANTITIES: Final = frozenset({"cpus", "memory", "size", "quota", "maxUnavailable", "since"})
"""Settings with numbers as texts."""


def kind_of(path: str) -> str | None:
    """What an Output at this path is taken for; None where it takes none."""
    return next((kind for pattern, kind in takes().items() if fits(pattern, path)), None)


@functools.cache
def takes() -> Mapping[str, str]:
    """All settings that an Output can give, and what it is taken for."""
    return {**_TAKES, **{f"{path}.{row}": kind for path, section in _sections() for row, kind in section.takes.items()}}


@functools.cache
def reasons() -> Mapping[str, tuple[str, ...]]:
    """Settings that take none, by the reason why."""
    own = [(why, f"{path}.{row}") for path, section in _sections() for row, why in section.takes_none.items()]
    return {why: (*rows, *(row for other, row in own if other == why)) for why, rows in _REASONS.items()}


def why_not(path: str) -> str:
    """Why a setting takes no Output."""
    for reason, patterns in reasons().items():
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
        yield from (kind for part in get_args(annotation) if part not in (type(None), ...) for kind in _plain(part))
    else:
        yield annotation


def fits(pattern: str, path: str) -> bool:
    """Whether a path, or another pattern, is one that the pattern means."""
    want, got = pattern.split("."), path.split(".")
    if want[-1] == "**" and len(got) >= len(want):
        want, got = want[:-1], got[: len(want) - 1]
    return len(want) == len(got) and all(step in ("*", name) for step, name in zip(want, got, strict=True))


def leaves() -> Iterator[tuple[str, Any]]:
    """Every leaf of a stack's configuration, with its type."""
    for path, model in _sections():
        for name in model.model_fields:
            alias, annotation = field_of(model, name)
            if model_in(annotation) is None:
                yield ".".join((*([path] if path else []), alias, *_steps(annotation, None))), annotation


def holding(name: str) -> list[str]:
    """The sections that have a setting of this name, as Python or a stack's file spells it; the outermost first."""
    paths = [
        path
        for path, model in _sections()
        if path and any(name in (field, field_of(model, field)[0]) for field in model.model_fields)
    ]
    return sorted(paths, key=lambda path: path.count("."))


def _sections(model: type[Section] = StackConfig, path: str = "") -> Iterator[tuple[str, type[Section]]]:
    """Every section of a stack's configuration, with its path."""
    yield path, model
    for name in model.model_fields:
        alias, annotation = field_of(model, name)
        section = model_in(annotation)
        if section is not None:
            assert issubclass(section, Section), f"{path}.{alias} isn't a section"
            yield from _sections(section, ".".join((*([path] if path else []), alias, *_steps(annotation, section))))


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
