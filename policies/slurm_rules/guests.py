"""What sites put into a cluster's own namespace: Secrets that a store fills, and programs without a key of the cluster.

Of which kinds, and what each field may be, is in ``harmless.json`` (``guests``, ``checks``); here is what they say together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from slurm_rules.fields import named_as_made
from slurm_rules.images import from_registry, pin_fault
from slurm_rules.made import HARMLESS, Fault
from slurm_rules.model import Resource, Stack, everything, texts
from slurm_rules.others import listed, names
from slurm_rules.rights import BINDINGS, RBAC
from slurm_rules.values import is_key
from slurm_rules.world import World, filled

GUESTS: Final[Mapping[str, Any]] = HARMLESS["guests"]
KINDS: Final = tuple(GUESTS["kinds"])
"""Kinds that the program doesn't make and that can do no harm with the fields that a check knows."""
_POD: Final = "spec.template.spec"
_MORE: Final = "a program beside the cluster is no root, and has nothing of its node or of Kubernetes"
_OF_SECRET: Final = re.compile(r"(?i)(?<!imagePull)secret")
_READERS: Final = ("Deployment", "Ingress")
_OPERATORS: Final = {
    "Accounting": re.compile("-accounting"),
    "Controller": re.compile("-config"),
    "LoginSet": re.compile("-ssh-(?:config|host-keys)"),
    "NodeSet": re.compile("-ssh-config"),
    "Token": re.compile(r"-jwt-[\w.-]{1,253}"),
}
"""Ends of names of the Secrets and ConfigMaps that slurm-operator makes of each kind (api/v1beta1/*_keys.go)."""
_OTHERS: Final = re.compile(r".*\.crt|istio-.*|kube-.*|openshift-.*|sh\.helm\..*")
"""What Kubernetes and others write into each namespace, and pods there mount."""
_OF_KEY: Final = re.compile(r"(?i)(?:slurm|jwt|munge|hs256|sack).{0,60}key|jwks")
_PLAIN: Final = re.compile(r"(?!https)\w{1,20}://")


def guest_faults(resource: Resource, stack: Stack, world: World, options: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of such an object beside those of its fields."""
    called = resource.in_cluster_name
    if resource.base_kind in GUESTS["ofCluster"] and resource.namespace not in world.slurm:
        yield Fault("metadata.namespace", "is the operator's, which has no object of a site's own")
    if not resource.is_slinky and resource.base_kind != "Secret":
        yield from (Fault("", f"fills {name}, {why}") for name in filled(resource) if (why := _taken(name, stack, world)))
    if resource.base_kind in ("ConfigMap", "Secret") and not named_as_made(f"/{resource.base_kind}", called, world):
        yield from _named(resource, stack, world)
    if resource.base_kind == "Certificate":
        yield from _certificate(resource, world)
    if resource.base_kind == "NetworkAttachmentDefinition":
        yield from _network(resource, stack)
    elif resource.base_kind == "SecretStore":
        yield from _store(resource, stack, world)
    elif resource.base_kind == "Deployment":
        yield from _program(resource, world, options, {name for token in stack.slinky("Token") for name in filled(token)})


def _taken(secret: str, stack: Stack, world: World) -> str:
    """Why a store may not fill a Secret; empty where it may."""
    if is_key(secret, world):
        return "a Secret with a key of the cluster"
    if _of_operator(secret, stack):
        return "a Secret that slurm-operator makes"
    if world.secrets.count(secret) > 1:
        return "which another resource makes"
    read = (secret == text for other in stack.resources if other.kind in _READERS for _, text in texts(other.peek("spec")))
    return "" if secret in world.referred or any(read) else "which no part of the stack reads"


def _of_operator(name: str, stack: Stack) -> bool:
    made = stack.slinky(*_OPERATORS)
    return any(_OPERATORS[maker.kind].fullmatch(name.removeprefix(maker.in_cluster_name)) for maker in made)


def _named(resource: Resource, stack: Stack, world: World) -> Iterator[Fault]:
    """A ConfigMap or Secret of another name than the program's: what refers to it here says how it is judged."""
    name, pulls = resource.in_cluster_name, resource.peek("type") == "kubernetes.io/dockerconfigjson"
    secret = resource.base_kind == "Secret" and name not in world.keys
    if _of_operator(name, stack) or _OTHERS.fullmatch(name):
        yield Fault("metadata.name", f"is {name}, which slurm-operator or Kubernetes makes")
    if resource.namespace not in world.slurm and not pulls:
        yield Fault("metadata.name", f"is {name}, and the operator's namespace has none of a site's own")
    if secret and is_key(name, world):
        yield Fault("metadata.name", f"is {name}, a name of a key's Secret")
    for key in (*resource.names("data"), *resource.names("stringData")) if secret else ():
        if _OF_KEY.search(key):
            yield Fault("data", f"has {key}, a key's name, in a Secret that no daemon has as its key")


def _certificate(certificate: Resource, world: World) -> Iterator[Fault]:
    """Of Secrets of the program's own a Certificate fills that of slurmrestd's proxy alone, for the names of its Service."""
    secret, called = certificate.text("spec", "secretName"), certificate.in_cluster_name
    named = set(map(str, certificate.get("spec", "dnsNames") or ()))
    own = secret == called and secret.endswith("-restapi-tls") and f"{secret}.{certificate.namespace}" in named
    if not own and (named_as_made("/Secret", secret, world) or named_as_made("cert-manager.io/Certificate", called, world)):
        yield Fault("spec.secretName", f"is {secret}, which the program makes, or its own Certificate {secret} fills")


def _network(network: Resource, stack: Stack) -> Iterator[Fault]:
    """A second network for the pods of jobs: devices that a plugin gives out, with addresses and no route or gateway."""
    try:
        config = json.loads(network.text("spec", "config"))
    except (ValueError, RecursionError):
        config = None
    yield from (Fault(f"spec.{fault.path}", fault.text) for fault in listed({"config": config}, GUESTS["network"], _AROUND))
    notes = [daemon.get("spec", "template", "metadata") for daemon in stack.slinky("Controller", "Accounting", "RestApi")]
    if any(network.in_cluster_name in text for note in notes for _, text in texts(note)):
        yield Fault("metadata.name", "is a network of a daemon with keys, where none of its NetworkPolicies holds")


_AROUND: Final = "it may take devices from nodes, or the way to slurmctld from their pods"


def _store(store: Resource, stack: Stack, world: World) -> Iterator[Fault]:
    """A store is asked over https, by an account of its namespace that has no rights in Kubernetes."""
    provider = store.get("spec", "provider")
    bindings = [binding.get("subjects") or () for binding in stack.resources if binding.is_a(RBAC, *BINDINGS)]
    bound = {"default", *(str(subject.get("name")) for subjects in bindings for subject in subjects)}
    accounts = [(key, part) for _, key, part in everything(provider) if key and re.search("(?i)secretref|accountref", key)]
    own = [isinstance(part, Mapping) and part.keys() <= {"name", "audiences"} for _, part in accounts]
    if not accounts or not all(own) or any(key != "serviceAccountRef" or part["name"] in bound for key, part in accounts):
        yield Fault("spec.provider", "isn't asked by an account of its own, of this namespace and without rights")
    yield from (Fault(path, f"asks {text}") for path, text in texts(provider, "spec.provider") if _PLAIN.match(text))
    yield from names(provider, "spec.provider", world)


def _program(deployment: Resource, world: World, options: Mapping[str, Any], tokens: set[str]) -> Iterator[Fault]:
    """A program that is root nowhere, has no account's token, of Secrets its own alone, and asks slurmrestd with a token."""
    pod: Mapping[str, Any] = deployment.get("spec", "template", "spec") or {}
    bodies = {f"{field}[{index}]": body for field in GUESTS["bodies"] for index, body in enumerate(pod.get(field) or ())}
    forms = [("", {key: part for key, part in pod.items() if key not in GUESTS["bodies"]}, GUESTS["pod"])]
    for place, body in bodies.items():
        security = {**(pod.get("securityContext") or {}), **(body.get("securityContext") or {})}
        forms.append((f".{place}", {**body, "securityContext": security}, GUESTS["container"]))
    for place, value, form in forms:
        yield from (Fault(f"{_POD}{place}.{fault.path}", fault.text) for fault in listed(value, form, _MORE))
    for path, key, part in everything(pod, _POD):
        if key and isinstance(part, str) and (why := _reads(path, key, part, deployment.namespace, world, options)):
            yield Fault(path, f"is {part}, {why}")
    yield from names(pod, _POD, world, client=not tokens.isdisjoint(text for _, text in texts(pod)))


def _reads(path: str, key: str, part: str, space: str, world: World, options: Mapping[str, Any]) -> str:
    taken = part in world.referred or is_key(part, world)
    if key in ("name", "secretName") and _OF_SECRET.search(path) and (taken or part not in world.secrets):
        return "which isn't a Secret that the stack makes for it"
    if key == "claimName" and (taken or part.startswith("statesave")):
        return "the cluster's own"
    if key in ("serviceAccount", "serviceAccountName") and ("ServiceAccount", space, part) not in world.made:
        return "an account that this stack doesn't make"
    unknown = key == "image" and not from_registry(part, options["images"]) and pin_fault(part, "digest", ())
    return "of a registry that this site doesn't know (images), without a digest" if unknown else ""
