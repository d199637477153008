"""No key, token or password where people or pods can read it in plain text."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterator, Mapping

from slurm_rules.cluster import HELM_RELEASE, STACK, entry, jwt_field, key_secret
from slurm_rules.keys import generators
from slurm_rules.model import REDACTED, UNKNOWN, HiddenValueError, Resource, Stack, hidden_paths, texts
from slurm_rules.rule import Options, rule, slinky, words

_TOKEN = re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFWS|BSU0EgUFJJVkFURSBLRVkt|BFQyBQUklWQVRFIEtFWS|BFTkNSWVBURUQgUFJJVkFURSBLRVkt)"
)
"""The second form is the first in base64, as Secrets and this program's own configuration have it."""
_STORAGE_PASSWORD = re.compile(r"(?im)^\s*StoragePass\s*=\s*\S")
_SECRET_NAME = re.compile(r"(?i)(^|_)(key|token|secret|password|passwd|jwt)$")
SHORTEST_FORM = 8
"""Shorter texts occur by chance."""
_KEY_FILES = ("slurm.key", "jwt.key", "jwt_hs256.key", "munge.key", "slurm.jwks")


def _readable(resource: Resource) -> bool:
    """What is stored in plain text: all of Kubernetes but Secrets, and Helm values."""
    return (resource.is_kubernetes and not resource.type.endswith(":core/v1:Secret")) or resource.type == HELM_RELEASE


@rule(
    "no-secrets-in-clear",
    _readable,
    scope="resource",
    options={"allowedEnv": words(("SLURM_JWT=daemon",), "NAME=value pairs that look like a secret and are none.")},
)
def no_secrets_in_clear(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """No token, private key, key file or password in an environment, ConfigMap, annotation or Helm value.

    Why: whoever may read pods or ConfigMaps, a pull request's preview or a CI log has it then, and a Slurm token or key
    runs commands as any user.

    Source: slurm.schedmd.com/authentication.html; slurmdbd.conf(5) StoragePass; Kubernetes "Good practices for Secrets".

    Do: put it in a Secret and refer to it (valueFrom.secretKeyRef, passwordKeyRef, a volume); take what has been shown as
    leaked and change it.

    Level: mandatory, since it leaks keys.
    """
    for path, what in _shown(resource):
        yield f"{resource.label}: {path} holds {what} in plain text; refer to a Secret instead"
    if resource.kind == "ConfigMap":
        for name in (*resource.names("data"), *resource.names("binaryData")):
            if name in _KEY_FILES:
                yield f"{resource.label} holds {name}; a ConfigMap is readable for all of its namespace, use a Secret"
    for name, value, path in _literals(resource.props):
        if _SECRET_NAME.search(name) and value and f"{name}={value}" not in options["allowedEnv"]:
            yield f"{resource.label}: {path} sets {name} to a literal value; use valueFrom.secretKeyRef"
    _all_seen(resource)


@rule("no-secrets-in-outputs", lambda resource: resource.type == STACK)
def no_secrets_in_outputs(resource: Resource, _: Stack, __: Options) -> Iterator[str]:
    """No stack output holds a token, a private key or a database password.

    Why: outputs are made to be read: by `pulumi stack output`, by other stacks and by the CI job that prints them. One that
    is marked secret is decrypted for each of them.

    Source: Pulumi, "Stack outputs" and StackReference; slurm.schedmd.com/authentication.html.

    Do: export the name of the Secret, or a fingerprint; take what has been shown as leaked and change it.

    Level: mandatory, since it leaks keys.
    """
    for path, what in _shown(resource):
        yield f"the stack output {path} holds {what}; export the name of its Secret instead"
    _all_seen(resource)


def _all_seen(resource: Resource) -> None:
    """Raises HiddenValueError where a value couldn't be searched."""
    for path, why in hidden_paths(resource.props):
        raise HiddenValueError(f"{resource.label}: {path}", why)


def _shown(resource: Resource) -> Iterator[tuple[str, str]]:
    """Path and description of every text that gives a secret away by its form."""
    forms = ((_TOKEN, "a JSON web token"), (_PRIVATE_KEY, "a private key"), (_STORAGE_PASSWORD, "StoragePass"))
    for path, text in texts(resource.props):
        yield from ((path, what) for pattern, what in forms if pattern.search(text))


def _literals(value: object, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Name, value and path of every literal environment variable (``env: [{name, value}]``)."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key == "env" and isinstance(part, list | tuple):
                for item in part:
                    if isinstance(item, Mapping) and isinstance(item.get("value"), str):
                        yield str(item.get("name", "")), item["value"], here
            yield from _literals(part, here)
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _literals(part, f"{path}[{index}]")


@rule("keys-not-in-clear", slinky("Controller"))
def keys_not_in_clear(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """The cluster's own keys occur nowhere outside their Secrets: raw, in base64, twice in base64 or in hex.

    Why: a key that is copied into a chart value, an annotation, a ConfigMap or a stack output is stored and shown in plain
    text there, also where Pulumi marks it secret, since Kubernetes doesn't.

    Source: Slinky hybrid guide, "Slurm Configuration"; slurm.schedmd.com/authentication.html.

    Do: refer to the Secret by name and key; export fingerprints, never keys. Then change the key: it has leaked.

    Level: mandatory, since it leaks keys.
    """
    places = [resource for resource in stack.resources if _readable(resource) or resource.type == STACK]
    for what, field in (("slurm.key", "slurmKeyRef"), ("the JWT key", jwt_field(controller))):
        secret = key_secret(controller, stack, field)
        value = None if secret is None else entry(secret, controller.text("spec", field, "key"))
        if secret is None or value is None:
            continue
        if isinstance(value, bytes):
            yield from _found(what, _forms(value), places)
            for place in places:
                _no_flow(place, None, stack)
        elif value is UNKNOWN and generators(secret, stack):
            # What a generator is yet to make can only be inside another unknown value.
            for place in places:
                _no_flow(place, stack.sources(secret, "data", "stringData"), stack)
        else:
            raise HiddenValueError(f"{controller.label}: {what}, to search for it,", value)


def _forms(raw: bytes) -> tuple[str, ...]:
    once = base64.b64encode(raw)
    forms = [once.decode(), base64.b64encode(once).decode(), base64.urlsafe_b64encode(raw).decode(), raw.hex()]
    with contextlib.suppress(UnicodeDecodeError):
        forms.append(raw.decode())
    return tuple(form for form in forms if len(form) >= SHORTEST_FORM)


def _found(what: str, forms: tuple[str, ...], places: list[Resource]) -> Iterator[str]:
    for place in places:
        for path, text in texts(place.props):
            if any(form in text for form in forms):
                yield f"{what} stands in plain text in {place.label}: {path}"


def _no_flow(place: Resource, sources: frozenset[str] | None, stack: Stack) -> None:
    """Raises HiddenValueError where a hidden value may hold what comes from ``sources``, or from anywhere.

    An unknown value into which nothing flows is one that the provider will compute, such as a status.
    """
    for path, value in hidden_paths(place.props):
        flows = stack.sources(place, path.split(".", 1)[0].split("[", 1)[0])
        if (flows if sources is None else flows & sources) or place.type == STACK or value is REDACTED:
            raise HiddenValueError(f"{place.label}: {path}", value)
