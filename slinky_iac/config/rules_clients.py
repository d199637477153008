"""Rules about clients: who could read slurm.key in the wrong namespace, and what Slurm would refuse or hold later."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.clients import Client
from slinky_iac.config.findings import Finding, error, warning
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig


def clients(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Findings about `clients`."""
    made: dict[str, str] = {}
    for name, client in config.clients.items():
        path = f"clients.{name}"
        yield from _namespace(config, client, path, made)
        yield from _key(config, client, path)
        yield from _people(config, client, path)
        yield from _deployment(client, path)


def _namespace(config: StackConfig, client: Client, path: str, made: dict[str, str]) -> Iterator[Finding]:
    space = name_of(client.namespace)
    if client.namespace == config.cluster.namespace:
        yield error(
            f"{path}.namespace",
            f"{space} is the cluster's namespace too: anyone who may make a pod there may mount the JWT key and act as any"
            " user of Slurm. Give the clients a namespace of their own",
        )
    elif client.namespace == config.operator.namespace and config.keys.auth == "auth/slurm":
        yield error(
            f"{path}.namespace",
            f"{space} is the operator's namespace too: anyone who may make a pod there may use the operator's service"
            " account. Give the clients a namespace of their own",
        )
    if client.create_namespace and client.namespace in made:
        yield error(
            f"{path}.createNamespace",
            f"{made[client.namespace]} makes the namespace {space} already; set createNamespace: false here",
        )
    elif client.create_namespace:
        made[client.namespace] = path


def _key(config: StackConfig, client: Client, path: str) -> Iterator[Finding]:
    if config.keys.auth == "auth/munge" and client.image is None:
        yield error(f"{path}.image", "is needed with auth/munge: an image with munged, munge and sh")
    if config.keys.of_others and client.key_secret is None:
        yield error(
            f"{path}.keySecret",
            f"is needed with keys.source: {config.keys.source}: this stack has no key to copy, and a pod can't mount a"
            f" Secret of another namespace. Make a Secret with it in {name_of(client.namespace)} and name it here",
        )
    if not config.keys.of_others and (client.key_secret is not None or client.key_entry is not None):
        yield warning(
            f"{path}.keySecret",
            f"is ignored: keys.source is {config.keys.source}, and this stack makes the Secret itself",
            id="setting-ignored",
        )
    if config.keys.of_others and client.create_namespace:
        yield error(
            f"{path}.createNamespace",
            f"must be false with keys.source: {config.keys.source}: the Secret is made in the namespace by others, before"
            " this stack's pods, and `pulumi destroy` would delete it with the namespace",
        )


def _people(config: StackConfig, client: Client, path: str) -> Iterator[Finding]:
    numbers: dict[int, str] = {}
    for person, each in client.people.items():
        where = f"{path}.people.{name_of(person)}"
        if person in ("root", client.slurm_user) or each.uid == client.slurm_uid:
            yield error(
                where,
                f"is no person: {name_of(client.slurm_user)} and root rule Slurm, and whoever is in the pod would too."
                " Name people with numbers of their own",
            )
        if client.group in (each.uid, each.gid):
            yield error(
                where,
                f"has the number {client.group}, which is the sidecar's group: this person could read the key. Set"
                f" {path}.group to a number that nobody on the cluster has",
            )
        if each.uid in numbers:
            yield error(where, f"has the uid of {name_of(numbers[each.uid])} ({each.uid}); Slurm knows people by it")
        numbers.setdefault(each.uid, person)
    if not client.people and config.keys.auth == "auth/slurm":
        yield warning(
            f"{path}.people",
            "is empty: sackd must know each person's name, or slurmctld takes the job and holds it (`slurm_cred_create"
            " failure`). Name them, or use an image that asks your directory",
            id="client-without-people",
        )


def _deployment(client: Client, path: str) -> Iterator[Finding]:
    made = client.deployment
    if made is not None and made.person not in client.people:
        yield error(
            f"{path}.deployment.person",
            f"{name_of(made.person)} is not in {path}.people, so the pod would have no uid of the cluster. Add the person"
            " with uid and gid",
        )


RULES = (clients,)
