"""No key, token or password where people or pods can read it in plain text."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

from slurm_rules.charts import HELM_RELEASE
from slurm_rules.client_keys import may_copy
from slurm_rules.cluster import STACK
from slurm_rules.key_material import KEY_ENTRIES, Key, keys_of, secret_bytes
from slurm_rules.keys import all_generated, generators
from slurm_rules.model import (
    REDACTED,
    TOO_LARGE,
    UNKNOWN,
    Hidden,
    HiddenValueError,
    Resource,
    Stack,
    everything,
    hidden_paths,
    texts,
)
from slurm_rules.rule import Options, rule, words
from slurm_rules.secret_text import (
    LARGEST,
    Needle,
    arguments,
    forms,
    named_password,
    named_secret,
    set_in,
    texts_and_names,
    views,
)
from slurm_rules.tokens import JOB

_KEY_FILE = re.compile(
    r"(?i)(?:.{0,253}(?:slurm|jwt|hs256|munge)[\w.-]{0,253}\.key(?:\.\w{1,253})?|slurm\.jwks|token\.pem(?:\.\w{1,253})?)"
)
"""Kubernetes refuses an entry of a ConfigMap whose name has more than 253 letters."""
_SECRET_FIELDS = ("data", "stringData")
_DYNAMIC = "pulumi-python:dynamic/"
_PROVIDERS = "pulumi:providers:"
"""Providers, but that of dynamic resources: the engine hands it the stack's configuration, secrets encrypted."""
_PUBLIC_ENTRIES = re.compile(r"(?i).*(?:user(?:name)?|host|port|database|namespace|\.crt|\.pub|config|\.conf|url|endpoint)$")
"""Entries of Secrets that are no secret themselves."""
_LONG = 16


def _readable(resource: Resource) -> bool:
    """What is stored in plain text: all of Kubernetes, of Secrets what isn't their data, Helm values, and gates."""
    provider = resource.type.startswith(_PROVIDERS) and not resource.type.endswith(":pulumi-python")
    return provider or resource.is_kubernetes or resource.type == HELM_RELEASE or resource.type.startswith(_DYNAMIC)


def _plain(resource: Resource) -> Mapping[str, Any]:
    """The part of a resource that is stored in plain text."""
    hidden = _SECRET_FIELDS if resource.is_a("", "Secret") else ()
    plain = {key: part for key, part in resource.peek().items() if key not in hidden and not key.startswith("__")}
    if resource.is_a("bitnami.com", "SealedSecret") and isinstance(spec := plain.get("spec"), Mapping):
        plain["spec"] = {key: part for key, part in spec.items() if key != "encryptedData"}
    return plain


@rule(
    "no-secrets-in-clear",
    _readable,
    scope="resource",
    options={
        "allowedEnv": words(("SLURM_JWT=daemon",), "NAME=value pairs that look like a secret and are none."),
        "allowedPlaces": words((), "Places, as Kind/name:path (with *), that look like a secret and hold none."),
    },
)
def no_secrets_in_clear(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """No token, private key, key file or password in an environment, command, ConfigMap, annotation, gate, job, Helm value.

    Why: anyone who may read pods or ConfigMaps, a pull request's preview or a CI log, has it then, and a Slurm token or key
    runs commands as any user. Forms are searched as they are, in base64, in hex, twice wrapped and across line breaks;
    names by their words (password, token, secret, api key and the like), of variables, of fields, and of `name: value` and
    `name=value` lines in texts.

    Source: slurm.schedmd.com/authentication.html; slurmdbd.conf(5) StoragePass; sssd-ldap(5); Kubernetes "Good practices
    for Secrets"; RFC 7517 (private parts of a JSON Web Key).

    Do: put it in a Secret and refer to it (valueFrom.secretKeyRef, passwordKeyRef, a volume); a secret that was
    shown has leaked: replace it. What only looks like a secret goes into the site file (allowedEnv, allowedPlaces).

    Level: mandatory, since it leaks keys.
    """

    def allowed(path: str) -> bool:
        return any(fnmatch(f"{resource.kind}/{resource.name}:{path}", pattern) for pattern in options["allowedPlaces"])

    plain = _plain(resource)
    for path, what in _shown(plain):
        if not allowed(path):
            yield f"{resource.label}: {path} holds {what} in plain text; refer to a Secret instead"
    for path, name, value in _named(resource, plain):
        if f"{name}={value}" not in options["allowedEnv"] and not allowed(path):
            yield f"{resource.label}: {path} sets {name} to a literal value; use a Secret and refer to it"
    if resource.is_a("", "ConfigMap"):
        for name in (*resource.names("data"), *resource.names("binaryData")):
            if _KEY_FILE.fullmatch(name) and not allowed(f"data.{name}"):
                yield f"{resource.label} holds {name}; a ConfigMap is readable for all of its namespace, use a Secret"
    _all_seen(resource, plain)


@rule("no-secrets-in-outputs", lambda resource: resource.type == STACK)
def no_secrets_in_outputs(resource: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """No stack output holds a token, a private key, a password or what a Secret of the stack holds.

    Why: outputs are made to be read: by `pulumi stack output`, by other stacks and by the CI job that prints them. One that
    is marked secret is decrypted for each of them.

    Source: Pulumi, "Stack outputs" and StackReference; slurm.schedmd.com/authentication.html.

    Do: export the name of the Secret, or a fingerprint; a secret that was shown has leaked: replace it.

    Level: mandatory, since it leaks keys.
    """
    for path, what in _shown(resource.peek()):
        yield f"the stack output {path} holds {what}; export the name of its Secret instead"
    for path, time in texts(resource.peek(_TIMES), _TIMES):
        if not _TIME.fullmatch(time):
            yield f"the stack output {path} holds what is no time; leave this name to the times of keys"
    for path, name, value in _leaves(resource.peek(), ""):
        if named_password(name, value):
            yield f"the stack output {path} is named like a password; export the name of its Secret instead"
    for secret in stack.resources:
        if secret.is_a("", "Secret"):
            for entry, value in _values(secret):
                for path, text in texts_and_names(resource.peek()):
                    if text == value or (len(value) >= _LONG and value in text):
                        yield f"the stack output {path} holds {entry} of {secret.label}; export the Secret's name instead"
    _all_seen(resource, resource.peek())


def _values(secret: Resource) -> Iterator[tuple[str, str]]:
    """Entries of a Secret, as they are and as base64 has them; keys have a rule of their own."""
    own = {key.entry for key in keys_of(secret, Stack((secret,)))}
    for field in _SECRET_FIELDS:
        part = secret.peek(field)
        for name, value in part.items() if isinstance(part, Mapping) else ():
            if value is REDACTED and name not in own:
                raise HiddenValueError(f"{secret.label}: {field}.{name}", REDACTED)
            if isinstance(value, str) and name not in own and not _PUBLIC_ENTRIES.fullmatch(name):
                yield from ((name, text) for text in _both(field, value) if len(text) > 3)


def _both(field: str, value: str) -> Iterator[str]:
    yield value
    if field == "data":
        with contextlib.suppress(binascii.Error, ValueError):
            yield base64.b64decode(value, validate=True).decode("utf-8", "replace")


_TIMES = "keysSince"
_TIME = re.compile(r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))?")
"""The program's output of times at which Secrets of keys were made. One that this update will make has none before."""


def _hidden(resource: Resource, part: Mapping[str, Any]) -> Iterator[tuple[str, Hidden]]:
    """Path and kind of each hidden value that may hold a secret."""
    for path, why in hidden_paths(part):
        if why is not UNKNOWN or resource.type != STACK or path.partition(".")[0] != _TIMES:
            yield path, why


def _all_seen(resource: Resource, part: Mapping[str, Any]) -> None:
    """Raises HiddenValueError where a value couldn't be searched."""
    for path, why in _hidden(resource, part):
        raise HiddenValueError(f"{resource.label}: {path}", why)
    for path, text in texts_and_names(part):
        if len(text) > LARGEST:
            raise HiddenValueError(f"{resource.label}: {path}", TOO_LARGE)


def _shown(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Path and description of every text that gives a secret away by its form."""
    for path, text in texts_and_names(part):
        if len(text) <= LARGEST:
            yield from ((path, what) for what in forms(views(text)))


def _named(resource: Resource, part: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Path, name and value of what is a secret by its name: variables, entries of ConfigMaps, Helm values."""
    yield from ((path, name, value) for path, name, value, judge in programs(part) if judge(name, value))
    if resource.type.endswith(JOB):
        yield from _of_job(part)
    own = resource.is_slinky or resource.type.startswith(_DYNAMIC)  # their fields are known (cluster-as-made)
    for field in () if own else part:
        for path, name, value in _leaves(part[field], field, field):
            if named_password(name, value):
                yield path, name, value


def programs(value: object) -> Iterator[tuple[str, str, str, Callable[[str, str], bool]]]:
    """Path, name and value of what pods' programs are given: literal variables (``env: [{name, value}]``) and arguments;
    and by which words such a name is a secret's."""
    for path, key, part in everything(value):
        items = part if isinstance(part, list | tuple) else ()
        if key in ("command", "args"):
            said = arguments(word for word in items if isinstance(word, str))
            yield from ((path, name, text, named_password) for name, text in said)
        for item in items:
            if isinstance(item, Mapping) and isinstance(item.get("name"), str) and isinstance(item.get("value"), str):
                yield path, item["name"], item["value"], named_secret


def _of_job(part: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What a job's environment and script set."""
    given = part.get("environment")
    for name, value in given.items() if isinstance(given, Mapping) else ():
        if isinstance(value, str) and named_secret(str(name), value):
            yield "environment", str(name), value
    script = part.get("script")
    for name, value in arguments(script.splitlines() if isinstance(script, str) else ()):
        if named_password(name, value) or (name.isupper() and named_secret(name, value)):
            yield "script", name, value


def _leaves(value: Any, path: str, name: str = "") -> Iterator[tuple[str, str, str]]:  # noqa: ANN401 - a JSON value
    """Path, name and value of every text, of the lines in it, and of pairs of a name and a value."""
    if isinstance(value, str):
        yield path, name, value
        if len(value) <= LARGEST and ("\n" in value or "=" in value):
            yield from ((path, *setting) for setting in set_in(value))
        if value.lstrip()[:1] in ("{", "[") and len(value) <= LARGEST:
            with contextlib.suppress(ValueError, RecursionError):
                yield from _leaves(json.loads(value), path, name)
    elif isinstance(value, Mapping):
        pair = value.get("name"), value.get("value")
        if isinstance(pair[0], str) and isinstance(pair[1], str):
            yield path, pair[0], pair[1]
        for key, part in value.items():
            yield from _leaves(part, f"{path}.{key}".lstrip("."), str(key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _leaves(part, f"{path}[{index}]", name)


@rule("keys-not-in-clear", lambda resource: resource.is_a("", "Secret"))
def keys_not_in_clear(secret: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """The stack's own keys occur nowhere outside their Secrets, in no form and in no part of 24 bytes.

    Why: a key that is copied into a chart value, an annotation, a ConfigMap or a stack output is stored and shown in plain
    text there, also where Pulumi marks it secret, since Kubernetes doesn't. Judged are slurm.key, the JWT key, munge.key,
    the token key's private numbers and those that come or go in a rotation: raw, in base64 at any offset, with its padding
    or line breaks or without, twice in base64, in hex of either case, inside a document in base64.

    Source: Slinky hybrid guide, "Slurm Configuration"; slurm.schedmd.com/authentication.html; RFC 8017 A.1.2 (which numbers
    of an RSA key are private).

    Do: refer to the Secret by name and key; export fingerprints, never keys. Then change the key: it has leaked.

    Level: mandatory, since it leaks keys.
    """
    places = [resource for resource in stack.resources if _readable(resource) or resource.type == STACK]
    others = [other for other in stack.resources if other.is_a("", "Secret") and other is not secret]
    unseen: list[HiddenValueError] = []
    keys = list(keys_of(secret, stack))
    for key in keys:  # all that is found comes before what can't be searched
        if isinstance(key.value, bytes):
            yield from _found(key.what, [Needle(part) for part in secret_bytes(key.value)], places)
        yield from _copied(key, others, stack, unseen)
    if unseen:
        raise unseen[0]
    for key in keys:
        if isinstance(key.value, bytes):
            for place in places:
                _no_flow(place, None, stack)
        elif key.value is UNKNOWN and generators(secret, stack):
            # What a generator is yet to make can only be inside another unknown value.
            for place in places:
                _no_flow(place, stack.sources(secret, *_SECRET_FIELDS), stack)
        else:
            raise HiddenValueError(f"{key.secret.label}: {key.what}, to search for it,", key.value)


def _copied(key: Key, others: list[Resource], stack: Stack, unseen: list[HiddenValueError]) -> Iterator[str]:
    """Other Secrets that hold a key, but for key files beside it (slurm.jwks has slurm.key in it)."""
    sources = stack.sources(key.secret, *_SECRET_FIELDS)
    needles = [Needle(part) for part in secret_bytes(key.value)] if isinstance(key.value, bytes) else []
    for other in others:
        beside = other.namespace == key.secret.namespace
        for field in _SECRET_FIELDS:
            part = other.peek(field)
            hidden = part if isinstance(part, Hidden) else None
            for name, value in part.items() if isinstance(part, Mapping) else ():
                if (beside and KEY_ENTRIES.fullmatch(name)) or may_copy(key.secret, key.entry, other):
                    continue
                copied = isinstance(value, str) and any(needle.within(views(value)) for needle in needles)
                if copied or (value is UNKNOWN and generators(key.secret, stack) and sources & stack.origins(other, field)):
                    yield f"{key.what} is copied into {other.label} of {other.namespace}: {name}; refer to the one Secret"
                elif isinstance(value, Hidden):
                    hidden = value
            copies = bool(sources & stack.origins(other, field))
            if hidden is not None and (copies or (needles and not all_generated(other, stack))):
                unseen.append(HiddenValueError(f"{other.label}: {field}", hidden))


def _found(what: str, needles: list[Needle], places: list[Resource]) -> Iterator[str]:
    for place in places:
        for path, text in texts_and_names(_plain(place)):
            if any(needle.within(views(text)) for needle in needles):
                yield f"{what} is in plain text in {place.label}: {path}"


def _no_flow(place: Resource, sources: frozenset[str] | None, stack: Stack) -> None:
    """Raises HiddenValueError where a hidden value may hold what comes from ``sources``, or from anywhere.

    An unknown value into which nothing flows is one that the provider will compute, such as a status.
    """
    for path, value in _hidden(place, _plain(place)):
        flows = stack.origins(place, path.split(".", 1)[0].split("[", 1)[0])
        if (flows if sources is None else flows & sources) or place.type == STACK or value is REDACTED:
            raise HiddenValueError(f"{place.label}: {path}", value)
