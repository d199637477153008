"""slurm.conf as slurmctld runs with it, against what the NodeSets need. Pure; lines come from ``specs.slurm_conf``.

From Slurm 26.05 on slurmctld tells its configuration over REST. Before, each line is unknown, with the command that tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import (
    EVERYWHERE,
    ON_SLURMCTLD,
    RESTARTED,
    SLURM_CONF,
    Check,
    fine,
    problem,
    unknown,
    warning,
)
from slinky_iac.preflight.facts import Conf, Facts
from slinky_iac.specs.slurm_conf import auth_alt_parameters, gres_types

TO_SLURM: Final = (
    "Slinky's NodeSets need auth/slurm: make slurm.key on every host, drain, stop all daemons, change the lines, start them"
)


def _unknown(facts: Facts, name: str, subject: str, wanted: str, keys: str) -> Check:
    """One line that could not be read, with the command that shows it."""
    why = facts.slurm.failed.get("conf", "slurmctld was not asked")
    show = f"scontrol show config | grep -iE '^({keys}) '"
    return unknown(name, subject, "slurmctld", f"not known: {why}", f"{wanted}; this shows it", show, at=ON_SLURMCTLD)


def cluster_name(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """ClusterName is the same on both sides."""
    ours, conf = config.cluster.name, facts.slurm.conf
    rows = facts.slurm.clusters
    if conf is not None and conf.cluster is not None:
        if conf.cluster == ours:
            yield fine("cluster-name", "ClusterName", "slurmctld", f"is {ours}, as the stack says")
        else:
            yield problem(
                "cluster-name",
                "ClusterName",
                "slurmctld",
                f"is {conf.cluster!r}, and the stack says {ours!r}: this may be another cluster",
                "Find out which is meant. A running cluster keeps its name, so most likely the stack is to follow",
                f"name: {conf.cluster}",
                at="in Pulumi.<stack>.yaml, under slinky-iac:cluster",
            )
    elif rows is not None and ours not in {each.name for each in rows}:
        known = ", ".join(sorted(each.name for each in rows)) or "none"
        yield problem(
            "cluster-name",
            "ClusterName",
            "slurmdbd",
            f"slurmdbd has no cluster {ours!r}; it has {known}",
            "Set cluster.name to the outside slurm.conf's ClusterName",
            "scontrol show config | grep -i '^ClusterName '",
            at=ON_SLURMCTLD,
        )
    else:
        yield _unknown(facts, "cluster-name", "ClusterName", f"It must be {ours}", "ClusterName")


def auth(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """auth/slurm between daemons, auth/jwt for slurmrestd."""
    conf = facts.slurm.conf
    if conf is None or conf.auth_type is None or conf.cred_type is None:
        wanted = "They must be auth/slurm and cred/slurm"
        yield _unknown(facts, "auth-type", "AuthType and CredType", wanted, "AuthType|CredType")
    elif (conf.auth_type, conf.cred_type) == ("auth/slurm", "cred/slurm"):
        yield fine("auth-type", "AuthType and CredType", "slurmctld", "are auth/slurm and cred/slurm")
    else:
        yield problem(
            "auth-type",
            "AuthType and CredType",
            "slurmctld",
            f"are {conf.auth_type} and {conf.cred_type}: pods can't speak to it at all",
            TO_SLURM,
            "AuthType=auth/slurm",
            "CredType=cred/slurm",
            at=RESTARTED,
        )
    lines = ("AuthAltTypes=auth/jwt", f"AuthAltParameters={auth_alt_parameters(config)}")
    if facts.slurm.hung_up:
        said = (
            "slurmctld ends the connection at a fresh token without a word (Slurm error 5005), as one without auth/jwt does"
        )
        advice = "Add what is missing, and restart both daemons"
        yield problem("auth-jwt", "AuthAltTypes", "slurmctld", said, advice, *lines, at="in slurm.conf and slurmdbd.conf")
    elif conf is None or conf.auth_alt_types is None:
        yield _unknown(facts, "auth-jwt", "AuthAltTypes", f"It must have {' and '.join(lines)}", "AuthAlt.*")
    elif "auth/jwt" in conf.auth_alt_types:
        yield fine("auth-jwt", "AuthAltTypes", "slurmctld", "has auth/jwt")
    else:
        yield problem(
            "auth-jwt",
            "AuthAltTypes",
            "slurmctld",
            f"has {', '.join(conf.auth_alt_types) or 'nothing'}: no token is taken, so nobody can drain",
            "Add, and restart both daemons",
            *lines,
            at="in slurm.conf and slurmdbd.conf",
        )


def client_ids(_: StackConfig, facts: Facts) -> Iterator[Check]:
    """Users that exist only on login hosts and pods are known by what their clients say."""
    conf = facts.slurm.conf
    if conf is None or conf.auth_info is None:
        yield _unknown(facts, "use-client-ids", "AuthInfo", "It must have use_client_ids", "AuthInfo")
    elif "use_client_ids" in conf.auth_info.split(","):
        yield fine("use-client-ids", "AuthInfo", "slurmctld", "has use_client_ids")
    else:
        both = ",".join(filter(None, [conf.auth_info, "use_client_ids"]))
        yield warning(
            "use-client-ids",
            "AuthInfo",
            "slurmctld",
            f"is {conf.auth_info!r}, without use_client_ids: users that its host doesn't know can't run jobs",
            "Set",
            f"AuthInfo={both}",
            at=RESTARTED,
        )


def configless(_: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmd in pods gets its configuration from slurmctld."""
    conf = facts.slurm.conf
    if conf is None or conf.slurmctld_parameters is None:
        yield _unknown(facts, "configless", "SlurmctldParameters", "It must have enable_configless", "SlurmctldParameters")
    elif "enable_configless" in conf.slurmctld_parameters:
        yield fine("configless", "SlurmctldParameters", "slurmctld", "has enable_configless")
    else:
        both = ",".join([*conf.slurmctld_parameters, "enable_configless"])
        yield problem(
            "configless",
            "SlurmctldParameters",
            "slurmctld",
            f"is {','.join(conf.slurmctld_parameters) or 'unset'}, without enable_configless: slurmd in pods gets no"
            " configuration",
            "Set",
            f"SlurmctldParameters={both}",
            at=SLURM_CONF,
        )


def port(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmctld listens on the port that the configuration names."""
    outside, conf = config.controller.external, facts.slurm.conf
    if outside is None or conf is None or conf.slurmctld_port is None:
        return  # trying the connection tells as much
    if conf.slurmctld_port == outside.port:
        yield fine("slurmctld-port", "SlurmctldPort", "slurmctld", f"is {outside.port}, as the stack says")
    else:
        yield problem(
            "slurmctld-port",
            "SlurmctldPort",
            "slurmctld",
            f"is {conf.slurmctld_port}, and controller.external.port is {outside.port}",
            "Set it, unless something between leads from one to the other",
            f"port: {conf.slurmctld_port}",
            at="in Pulumi.<stack>.yaml, under slinky-iac:controller, external",
        )


def max_node_count(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """There is room for every pod and every metal host."""
    conf = facts.slurm.conf
    pods = sum(max(n.replicas, n.max_replicas or 0) for n in config.nodesets.values())
    need = pods + len(config.external.slurmd_hosts)
    line = f"MaxNodeCount={max(config.cluster.max_node_count, need)}"
    if conf is None or conf.max_node_count is None:
        yield _unknown(facts, "max-node-count", "MaxNodeCount", f"It must be {need} at least", "MaxNodeCount")
    elif conf.max_node_count < need:
        yield problem(
            "max-node-count",
            "MaxNodeCount",
            "slurmctld",
            f"is {conf.max_node_count or 'unset'}, and the stack asks for {need} nodes: pods beyond it can't register",
            "Set",
            line,
            at=RESTARTED,
        )
    elif conf.max_node_count < config.cluster.max_node_count:
        yield warning(
            "max-node-count",
            "MaxNodeCount",
            "slurmctld",
            f"is {conf.max_node_count}: enough for {need} nodes, and less than cluster.maxNodeCount says",
            "Set it before the NodeSets grow",
            line,
            at=RESTARTED,
        )
    else:
        yield fine(
            "max-node-count", "MaxNodeCount", "slurmctld", f"is {conf.max_node_count}; the stack asks for {need} nodes"
        )


def return_to_service(_: StackConfig, facts: Facts) -> Iterator[Check]:
    """A pod that comes back takes jobs again."""
    conf = facts.slurm.conf
    if conf is None or conf.return_to_service is None:
        yield _unknown(facts, "return-to-service", "ReturnToService", "It should be 2", "ReturnToService")
    elif conf.return_to_service in ("all", "2"):
        yield fine("return-to-service", "ReturnToService", "slurmctld", "is 2")
    else:
        yield warning(
            "return-to-service",
            "ReturnToService",
            "slurmctld",
            f"is {conf.return_to_service!r}: a pod that comes back stays DOWN until somebody resumes it",
            "Set",
            "ReturnToService=2",
            at=SLURM_CONF,
        )


def gres(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmctld knows the kinds of generic resources that nodes have."""
    wanted, conf = gres_types(config), facts.slurm.conf
    if not wanted:
        return
    if conf is None or conf.gres_types is None:
        yield _unknown(facts, "gres-types", "GresTypes", f"It must have {','.join(wanted)}", "GresTypes")
    elif set(wanted) <= set(conf.gres_types):
        yield fine("gres-types", "GresTypes", "slurmctld", f"has {','.join(wanted)}")
    else:
        missing = ",".join(each for each in wanted if each not in conf.gres_types)
        yield problem(
            "gres-types",
            "GresTypes",
            "slurmctld",
            f"has no {missing}: nodes with it can't register",
            "Set",
            f"GresTypes={','.join(sorted({*conf.gres_types, *wanted}))}",
            at=RESTARTED,
        )


def slurm_user(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """The user ``slurm`` has one id on all hosts and in all images: auth/slurm compares numbers."""
    theirs = _uid(facts.slurm.conf)
    images = {report.image: report.slurm_uid for report in facts.pod.reports if report.slurm_uid is not None}
    seen = {f"the image {image}": uid for image, uid in images.items()}
    if not seen and config.cluster.images.slurmd is None and not any(n.image for n in config.nodesets.values()):
        seen = {"Slinky's images": names.SLINKY_UID}
    subject = "user id of slurm"
    if theirs is None or not seen:
        said = f"slurmctld's is {theirs}" if theirs is not None else "slurmctld's isn't known"
        expected = (
            f"it must be {', '.join(str(each) for each in set(seen.values()))}" if seen else "it must be the images' own"
        )
        yield unknown(
            "slurm-uid", subject, "slurmctld", f"{said}; {expected}", "This shows it", "id -u slurm", at=EVERYWHERE
        )
        return
    differing = {where: uid for where, uid in seen.items() if uid != theirs}
    if differing:
        others = ", ".join(f"{uid} in {where}" for where, uid in differing.items())
        yield problem(
            "slurm-uid",
            subject,
            "slurmctld",
            f"is {theirs} there, and {others}: daemons refuse each other",
            "Give the user the images' id on all outside hosts (all daemons stopped), or build images with the hosts'",
            f"usermod -u {next(iter(differing.values()))} slurm",
            at="on every outside host, and chown what was slurm's",
        )
    else:
        yield fine("slurm-uid", subject, "slurmctld", f"is {theirs} there, and in {', '.join(seen)}")


def _uid(conf: Conf | None) -> int | None:
    return conf.slurm_uid if conf is not None else None


def cgroups(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """Where slurmd runs on metal and in pods, one cgroup.conf must fit both: pods have no systemd to ask for a scope."""
    if not config.external.slurmd_hosts or not config.nodesets:
        return
    conf, subject = facts.slurm.conf, "cgroup.conf"
    if conf is None or conf.proctrack is None or conf.task_plugins is None:
        wanted = "With proctrack/cgroup or task/cgroup, cgroup.conf must have IgnoreSystemd=yes"
        yield _unknown(facts, "cgroup", subject, wanted, "ProctrackType|TaskPlugin|JobAcctGatherType")
        return
    users = [each for each in (conf.proctrack, *conf.task_plugins, conf.job_gather or "") if each.endswith("/cgroup")]
    if not users:
        yield fine("cgroup", subject, "slurmctld", f"is of no account: {conf.proctrack}, no task/cgroup")
        return
    yield unknown(
        "cgroup",
        subject,
        "slurmctld",
        f"not known: {', '.join(users)} use it, and no daemon tells what it says",
        "With slurmd on metal and in pods it must have the line; slurmctld hands the file to both",
        "IgnoreSystemd=yes",
        at="in cgroup.conf on slurmctld's host (`grep -i IgnoreSystemd /etc/slurm/cgroup.conf` shows it)",
    )


CHECKS = (
    cluster_name,
    port,
    auth,
    client_ids,
    configless,
    max_node_count,
    return_to_service,
    gres,
    slurm_user,
    cgroups,
)
