"""Rules about what would open the cluster: authentication switched off, secrets that stand where all may read them, key
Secrets in pods where jobs run, and services that are offered to everybody.

Sources: slurm-operator ``accounting_config.go`` (extraConf comes last), slurmdbd.conf(5) (of two lines of one name the last
holds), ``worker_app.go`` (slurmd runs privileged by default).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from slinky_iac import names
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes.pieces import listed
from slinky_iac.config.operator.pod_places import fault_of_variable
from slinky_iac.config.secret_forms import FORMS, is_likely_secret, is_secret
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm.owned import OWNED_BY_DATABASE, set_instead
from slinky_iac.config.stack import KEYS, StackConfig
from slinky_iac.keys.catalogue import SLURM
from slinky_iac.parts.registry import PARTS

_SWITCHES: Final = frozenset({"true", "false", "yes", "no"})
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----\s+(?:[A-Za-z-]+: [^\n]*\s+)*[A-Za-z0-9+/]{16}"
)
"""One with the begin of its text: a script may look for the first line alone."""
_FORMS: Final = {"a private key": _PRIVATE_KEY} | {what: re.compile(form) for what, form in FORMS.items()}
_NODES_OWN: Final = (
    *("/etc", "/root", "/proc", "/sys", "/boot", "/var/lib", "/var/log", "/var/spool", "/var/run", "/run"),
    *("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt/cni"),
)
"""Folders of a Kubernetes node by which root of a container is root of the node, or reads other pods' Secrets."""


def database(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurmdbd takes the last of two lines of one name, and extraConf comes last."""
    for key in config.slurmdbd.extra_conf:
        if key.lower() in OWNED_BY_DATABASE:
            yield at(f"accounting.extraConf.{key}").error(set_instead(key, OWNED_BY_DATABASE))


def environment(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Pod specs, the state and previews show the environment, and each job inherits it."""
    environments = {
        f"nodesets.{name}.env": {
            key: value for key, value in nodeset.env.items() if not fault_of_variable(key, "nodesets", value)
        }
        for name, nodeset in config.nodesets.items()
    }
    environments |= {path: dict(part_variables) for part in PARTS for path, part_variables in part.environments(config)}
    for place, variables in environments.items():
        for name, value in variables.items():
            path = f"{place}.{name}"
            if is_none(value):
                continue
            if is_secret(name):
                yield at(path).exposed(
                    "is named like a secret. Everyone who sees the pod, the preview or the state can read it, and each"
                    " job inherits it. Mount a Secret as a file instead, and give its path here"
                )
            elif is_likely_secret(name):
                yield at(path).warning(
                    "is named like a secret; pod specs, previews and the state show it, and each job inherits it. Mount a"
                    " Secret as a file, or acknowledge this where the value is none",
                    id="secret-like-variable",
                )


def is_none(value: str) -> bool:
    """Whether a value is none of a secret: empty, where a file is, or a switch."""
    return not value or value.startswith("/") or value.lower() in _SWITCHES


def plain_texts(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A secret in any text: previews and the state show all of them, and most are in a ConfigMap too."""
    for path, text in _texts(config.model_dump(by_alias=True, exclude_defaults=True), ""):
        for what, form in _FORMS.items():
            if form.search(text):
                yield at(path).exposed(
                    f"holds {what} in plain text, which everyone who reads this file, a preview or the state has: treat it"
                    " as leaked, and make another one. Put that into a Secret, and mount it as a file where it is needed"
                )


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    """All texts of the settings, each with its path."""
    if isinstance(value, str):
        yield path.removeprefix("."), value
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield from _texts(child, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for number, child in enumerate(value):
            yield from _texts(child, f"{path}.{number}")


def volumes(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Root of a slurmd pod reads all that is mounted there, and a user who runs jobs may become root on a node."""
    keys = key_secrets(config)
    for nodeset, settings in config.nodesets.items():
        for volume in settings.volumes:
            path = f"nodesets.{nodeset}.volumes"
            for secret in mounted_secrets(volume.source):
                if secret in keys:
                    yield at(path).error(
                        f"{name_of(volume.name)} mounts the Secret of {keys[secret]}: anyone who becomes root in such a"
                        " pod could read it, and with it act as Slurm's admin. Remove it; the operator mounts what is"
                        " needed"
                    )
            yield from _of_the_node(path, volume.name, volume.source)
        for raw in listed(settings.raw.pod, "volumes"):  # keys in them: config/rules/raw.py
            yield from _of_the_node(f"nodesets.{nodeset}.raw.pod.volumes", str(raw.get("name")), raw)


def _of_the_node(path: str, name: str, source: Mapping[str, Any]) -> Iterator[Finding]:
    host = source.get("hostPath")
    given = host.get("path") if isinstance(host, dict) else None
    if not isinstance(given, str):
        return
    folder = str(PurePosixPath("/" + given.lstrip("/")))
    if folder == "/" or ".." in PurePosixPath(given).parts:
        yield at(path).error(
            f"{name_of(name)} mounts all of the Kubernetes node's files: slurmd runs privileged, so root of the pod is root"
            " of the node and reads the Secrets of every pod there. Mount the folder that is needed"
        )
    elif any(folder == node_folder or folder.startswith(f"{node_folder}/") for node_folder in _NODES_OWN):
        yield at(path).warning(
            f"{name_of(name)} mounts {name_of(folder)} of the Kubernetes node: slurmd runs privileged, and with this folder"
            " root of the pod may become root of the node",
            id="node-folder-mounted",
        )


def key_secrets(config: StackConfig) -> dict[str, str]:
    """Names of the Secrets that no pod of jobs may have beside what the operator gives it, and what they hold."""
    base = config.cluster.resource_name
    held = {
        **{config.secret_of(key).name: key.the for key in KEYS},
        SLURM.bundle_at(base).name: SLURM.bundle,
        names.shorten(f"{base}-database"): "the database's password",
    }
    if (database := config.accounting.database) is not None:
        if database.password_from is not None:
            held[database.password_from.secret] = "the database's password"
        if database.tls is not None and database.tls.client_secret:
            held[database.tls.client_secret] = "slurmdbd's key at its database"
    return held | {secret: what for part in PARTS for secret, what in part.held_secrets(config).items()}


def mounted_secrets(source: Any) -> Iterator[str]:  # noqa: ANN401 - a piece of a PodSpec
    """Names of all Secrets in a volume's source, those of a projected volume among them, or in a variable."""
    if isinstance(source, dict):
        for key, value in source.items():
            if key in {"secret", "nodePublishSecretRef", "secretRef", "secretKeyRef"} and isinstance(value, dict):
                yield from (str(value[name]) for name in ("secretName", "name") if name in value)
            yield from mounted_secrets(value)
    elif isinstance(source, list):
        for part in source:
            yield from mounted_secrets(part)


def given_away(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Settings that name a Secret for another use, and name a key's."""
    held = key_secrets(config)
    first: dict[str, str] = {}
    for path, secret in (reference for part in PARTS for reference in part.written_secrets(config)):
        if secret is not None and (other := first.setdefault(secret, path)) != path:
            yield at(path).error(
                f"is the Secret of {other} too: the operator would write both tokens into one entry, and who reads it"
                " would act as one user or as the other. Give each a Secret of its own"
            )
        elif secret in held:
            yield at(path).error(
                f"is the Secret that holds {held[secret]}, and the operator writes the token into it. Give the token a"
                " Secret of its own"
            )


RULES = (database, environment, plain_texts, volumes, given_away)
