"""Rules about jobs of the stack: who may run them, where, how long, and what slurmrestd would not read.

Sources: sbatch(1) (#SBATCH lines are sbatch's), slurm.conf(5) (MaxTime), slurmrestd's openapi/slurmctld ``jobs.c``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm import shebang
from slinky_iac.config.slurm.node_groups import hosts_in
from slinky_iac.config.slurm.times import minutes
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.jobs.settings import Job

_AS_ROOT: Final = "a job of that user could do all that root can"


def jobs(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Users, partitions, limits and scripts of all jobs."""
    for name, job in config.jobs.items():
        path = f"jobs.{name}"
        yield from _user(config, f"{path}.user", job.user, _AS_ROOT)
        yield from _partition(config, path, job)
        yield from _script(path, job)
    yield from _smoke(config)
    if config.jobs and not config.accounting.enabled:
        yield at("accounting.enabled").warning(
            "is false, and slurmctld forgets a job some minutes after its end (MinJobAge): if an update was killed and"
            " you repeat it later than that, it runs its jobs again. Set accounting, or acknowledge this where that does no"
            " harm",
            id="jobs-forgotten",
        )


def _user(config: StackConfig, path: str, user: str, danger: str) -> Iterator[Finding]:
    if user in config.in_control:
        yield at(path).error(f"{user} controls the cluster, and {danger}; name an ordinary user")
    else:
        yield from _known(config, path, user)


def _known(config: StackConfig, path: str, user: str) -> Iterator[Finding]:
    """slurmctld looks up who a token names. Users of commands are known by their credential (AuthInfo=use_client_ids)."""
    given = config.identity.passwd
    known = config.identity.sssd is not None or (given is not None and user in given.users)
    if known or not config.slurmctld.pods:
        return
    has = "knows the users of its image only" if given is None else "knows those of identity.passwd and of its image only"
    yield at(path).warning(
        f"{name_of(user)} must be known where slurmctld runs, and slurmctld in Kubernetes {has}: slurmctld would refuse the"
        " user's jobs by slurmrestd (error 6010). List the user in identity.passwd, set"
        " identity.sssd, use an image that knows the user, or a slurmctld outside Kubernetes",
        id="job-user-unknown",
    )


def _partition(config: StackConfig, path: str, job: Job) -> Iterator[Finding]:
    if job.partition is None:
        return
    own = own_partitions(config)
    if job.partition not in own:
        if config.slurmctld.owns_conf:
            yield at(f"{path}.partition").error(
                f"{name_of(job.partition)} isn't a partition of this stack, which has"
                f" {', '.join(map(name_of, sorted(own))) or 'none'}. Name one of these"
            )
        return
    room = _room(config, job.partition)
    if room is not None and job.nodes > room:
        yield at(f"{path}.nodes").error(
            f"is {job.nodes}, and partition {name_of(job.partition)} has {room} at the most: the job would be refused, or"
            " wait for ever. Lower it, or raise replicas (maxReplicas with owner: autoscaler)"
        )
    most = minutes(own[job.partition].get("MaxTime", ""))
    if most is not None and job.time_limit is not None and job.time_limit > most * 60:
        yield at(f"{path}.timeLimit").error(
            f"{-(-job.time_limit // 60)} minutes are more than MaxTime of partition {name_of(job.partition)}, {most}"
            " minutes: the job would be refused, or wait for ever. Lower it, or raise MaxTime"
        )


def _room(config: StackConfig, partition: str) -> int | None:
    """The most nodes that a partition can have; None where that isn't known: of a slurmctld outside, of every node of the
    cluster, which other stacks may have some of, and of pods that come with Kubernetes nodes."""
    members = config.partitions[partition].nodesets if partition in config.partitions else (partition,)
    sets = [config.nodesets[member] for member in members if member in config.nodesets]
    if not config.slurmctld.owns_conf or "ALL" in members or any(nodeset.on_each_node for nodeset in sets):
        return None
    hosts = {host for member in members if member not in config.nodesets for host in hosts_in(member)}
    return sum(nodeset.most for nodeset in sets) + len(hosts)


def _script(path: str, job: Job) -> Iterator[Finding]:
    if job.script is not None and job.script.text is not None:
        yield from script(f"{path}.script.text", job.script.text)


def script(path: str, text: str) -> Iterator[Finding]:
    """What is wrong with a batch script, wherever it is read."""
    if not shebang.is_script(text):
        yield at(path).error("doesn't begin with #!, and Slurm refuses such a script; begin with #!/bin/sh")
    elif said := shebang.fault(text):
        yield at(path).error(f"{said}: no node can run it, and the job fails as it starts")
    if "\n#SBATCH" in text:
        yield at(path).error(
            "has #SBATCH lines, which sbatch reads and slurmrestd doesn't: they would have no effect. Use the settings of"
            " the job, such as nodes and timeLimit, and remove the lines"
        )


def tokens(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Users and lifetimes of tokens that the operator makes, and what its releases do about their renewal."""
    for name, token in config.tokens.items():
        path = f"tokens.{name}"
        yield from _user(config, f"{path}.user", token.user, "a leaked token can't be revoked")
        if token.lifetime > config.keys.max_token_lifespan:
            most = config.keys.max_token_lifespan
            yield at(f"{path}.lifetime").error(
                f"{token.lifetime} s are more than keys.maxTokenLifespan allows, {most} s. Lower it"
            )
        if token.refresh and config.operator_version.renewal_stops:
            yield at(f"{path}.refresh").warning(
                f"slurm-operator {config.operator.version} can stop to renew a token (its issue 240): the Secret then holds"
                " one that has expired. Delete the Secret, and the operator makes it again",
                id="token-renewal-stops",
            )


def _smoke(config: StackConfig) -> Iterator[Finding]:
    smoke = config.smoke
    if not smoke.enabled:
        return
    if smoke.user is None:
        yield at("smoke.user").error("is missing: name an ordinary user whom slurmctld's host knows")
    else:
        for name, job in smoke_jobs(config).items():
            yield from _user(config, "smoke.user", job.user, _AS_ROOT)
            yield from _partition(config, f"smoke.{name}", job)


def smoke_jobs(config: StackConfig) -> dict[str, Job]:
    """The short jobs, each by the name that its resource has."""
    smoke = config.smoke
    if not smoke.enabled or smoke.user is None:
        return {}
    running = {name for name, nodeset in config.nodesets.items() if nodeset.has_pods}
    running |= {host.name for host in config.external.slurmd_hosts if host.state == "active"}
    own = [name for name in config.nodesets if name in running and config.nodesets[name].partition.enabled]
    own += [
        name
        for name, partition in config.partitions.items()
        if running & {host for member in partition.nodesets for host in hosts_in(member)}
        or (running and "ALL" in partition.nodesets)
    ]
    return {
        f"smoke-{partition}": Job(
            user=smoke.user,
            command=("true",),
            partition=partition,
            time_limit=max(smoke.timeout, 60),
            working_directory="/tmp",
            output="/dev/null",
            runs="on-every-update",
            timeout=smoke.timeout,
        )
        for partition in smoke.partitions or own
    }


def own_partitions(config: StackConfig) -> dict[str, dict[str, str]]:
    """Partitions that the stack makes, or gives the lines of, with their parameters."""
    parameters = {
        name: dict(nodeset.partition.config) for name, nodeset in config.nodesets.items() if nodeset.partition.enabled
    }
    return parameters | {name: dict(partition.config) for name, partition in config.partitions.items()}


OF_DAEMONS = (jobs, tokens)
"""Rules of stacks that make daemons; others make clients only."""
