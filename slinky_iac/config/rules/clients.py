"""Rules about clients: who could read slurm.key in the wrong namespace, and what Slurm would refuse or hold later."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.clients import Client, JupyterHub
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.paths import value_at
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig


def clients(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Findings about `clients`."""
    made: dict[str, str] = {}
    for name, client in config.clients.items():
        path = f"clients.{name}"
        yield from _namespace(config, client, path, made)
        yield from _key(config, client, path)
        yield from _people(client, path)
        yield from _deployment(client, path)
        if client.jupyterhub is not None:
            yield from _hub(config, client, client.jupyterhub, f"{path}.jupyterhub")


def _namespace(config: StackConfig, client: Client, path: str, made: dict[str, str]) -> Iterator[Finding]:
    space = name_of(client.namespace)
    if client.namespace == config.cluster.namespace:
        yield at(f"{path}.namespace").error(
            f"{space} is the cluster's namespace too: anyone who may make a pod there may mount the JWT key and act as any"
            " user of Slurm. Give the clients a namespace of their own"
        )
    elif client.namespace == config.operator.namespace and config.auth.makes_daemons:
        yield at(f"{path}.namespace").error(
            f"{space} is the operator's namespace too: anyone who may make a pod there may use the operator's service"
            " account. Give the clients a namespace of their own"
        )
    if client.create_namespace and client.namespace in made:
        yield at(f"{path}.createNamespace").error(
            f"{made[client.namespace]} makes the namespace {space} already; set createNamespace: false here"
        )
    elif client.create_namespace:
        made[client.namespace] = path


def _key(config: StackConfig, client: Client, path: str) -> Iterator[Finding]:
    source = config.key_source
    if not source.makes_secrets and client.key_from is None:
        yield at(f"{path}.keyFrom").error(
            f"is needed with keys.source: {source.setting}: this stack has no key to copy, and a pod can't mount a"
            f" Secret of another namespace. Copy the key into a Secret of namespace {name_of(client.namespace)}, and name"
            " that Secret here"
        )
    if source.makes_secrets and client.key_from is not None:
        yield at(f"{path}.keyFrom").ignored(f"keys.source is {source.setting}, and this stack makes the Secret itself")
    if not source.makes_secrets and client.create_namespace:
        yield at(f"{path}.createNamespace").error(
            f"must be false with keys.source: {source.setting}: the Secret is made in the namespace by others, before"
            " this stack's pods, and `pulumi destroy` would delete it with the namespace"
        )


def _people(client: Client, path: str) -> Iterator[Finding]:
    numbers: dict[int, str] = {}
    for person, account in client.people.items():
        where = f"{path}.people.{name_of(person)}"
        if person in ("root", client.slurm_user) or account.uid == client.slurm_uid:
            yield at(where).error(
                f"isn't a person: {name_of(client.slurm_user)} and root control Slurm, and so would anyone in the pod."
                " Name people with uids of their own"
            )
        if client.group in (account.uid, account.gid):
            yield at(where).error(
                f"has the number {client.group}, which is the sidecar's group: this person could read the key. Set"
                f" {path}.group to a number that no user and no group of the cluster has"
            )
        if account.uid in numbers:
            yield at(where).error(
                f"has the uid of {name_of(numbers[account.uid])} ({account.uid}); Slurm knows people by it. Give one another"
            )
        numbers.setdefault(account.uid, person)


def people(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """sackd in a client's pod names the people of its jobs."""
    for name in (name for name, client in config.clients.items() if not client.people):
        yield at(f"clients.{name}.people").warning(
            "is empty: sackd must know each person's name, or slurmctld takes the job and holds it (`slurm_cred_create"
            " failure`). Name them, or use an image that asks your directory",
            id="client-without-people",
        )


def _deployment(client: Client, path: str) -> Iterator[Finding]:
    made = client.deployment
    if made is not None and made.person not in client.people:
        yield at(f"{path}.deployment.person").error(
            f"{name_of(made.person)} is not in {path}.people, so the pod would have no uid of the cluster. Add the person"
            " with uid and gid"
        )


def _hub(config: StackConfig, client: Client, hub: JupyterHub, path: str) -> Iterator[Finding]:
    if not client.people:
        yield at(path).error(
            "has no people: the hub starts each notebook with the uid and gid of its person, so it could start none. Name"
            f" them in {path.removesuffix('.jupyterhub')}.people"
        )
    if hub.image is None:
        yield at(f"{path}.image").error(
            "is needed: give an image with Jupyter and Slurm's commands of the cluster's release"
        )
    if hub.chart.path is None and hub.chart.version is None:
        yield at(f"{path}.chart.version").error(
            "is needed, as without it each update could deploy another release of the chart: give one, for example 4.1.0"
        )
    if hub.chart.digest is not None and hub.chart.oci is None:
        yield at(f"{path}.chart.digest").error(
            "needs chart.oci: Helm compares digests of what a registry serves, and nothing with a repository or a folder."
            " Copy the chart to a registry (`helm push`), or remove the digest"
        )
    if hub.chart.digest is not None and "@" in (hub.chart.oci or ""):
        yield at(f"{path}.chart.digest").error("is set, and chart.oci has a digest too. Give it once")
    if hub.spawn == "pod" and (hub.partition is not None or hub.options):
        yield at(f"{path}.partition").ignored("with spawn: pod no notebook is a job")
    if value_at(hub.values, ("hub", "config", "JupyterHub", "authenticator_class")) in (None, "dummy") and not value_at(
        hub.values, ("hub", "config", "DummyAuthenticator", "password")
    ):
        yield at(f"{path}.values").error(
            "has no hub.config.JupyterHub.authenticator_class: the chart's default lets anyone in under any name, who would"
            " then be that person to Slurm. Set the class of your site, and its settings"
        )
    hubs = [other for other in config.clients.values() if other.jupyterhub and other.namespace == client.namespace]
    if hubs[0] is not client:
        yield at(path).error(f"is the second hub of namespace {name_of(client.namespace)}; give it a namespace of its own")


RULES = (clients,)
OF_DAEMONS = (people,)
"""Rules of stacks that make daemons; others make clients only."""
