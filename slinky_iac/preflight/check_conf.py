"""slurm.conf as slurmctld runs with it, against :data:`slinky_iac.specs.slurm_conf.REQUIRED`. Pure.

From Slurm 26.05 on slurmctld tells its configuration over REST. Before, each line is unknown, with the command that tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from slinky_iac import names
from slinky_iac.config.slurm.forms import completed
from slinky_iac.config.slurm.node_gres import outside_line
from slinky_iac.config.slurm.node_records import COUNT, Registered, node_records
from slinky_iac.config.slurm.plugins import bare
from slinky_iac.config.slurm.power import FOLLOWS, LINE, PowerSaving
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import OUTSIDE, Answer, Answers, At, Expect, Run, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts
from slinky_iac.specs.slurm_conf import Compared, line, parameter

TO_SLURM: Final = (
    "Slinky's NodeSets need auth/slurm: make slurm.key on every host, drain, stop all daemons, change the lines, start them"
)
_BOTH_FILES: Final = "in slurm.conf and slurmdbd.conf"


def unread(facts: Facts, wanted: str, keys: str) -> Answer:
    """Parameters that could not be read, with the command that shows them."""
    show = f"scontrol show config | grep -iE '^({keys}) '"
    return unknown(facts.slurm.unknown("conf"), f"{wanted}; this shows it", show, at=At.SLURMCTLD)


def _required(
    key: str, said: str = "is {got}, without {missing}", make: Callable[..., Answer] = problem
) -> Callable[[StackConfig, Facts], Answers]:
    """The judge of one required parameter that is compared as a whole or as a list."""

    def judge(config: StackConfig, facts: Facts) -> Answers:
        row, conf = parameter(key), facts.slurm.conf
        if not (value := row.value(config)):
            return
        got = None if conf is None else getattr(conf, key)
        is_list = row.compared is Compared.LIST
        if got is None:
            yield unread(facts, f"It {'must have' if is_list else 'should be'} {value}", key)
            return
        there = got.split(",") if isinstance(got, str) else got
        missing = row.lacking(value, got)
        if not missing:
            yield fine(f"{'has' if is_list else 'is'} {value}")
            return
        shown = repr(got) if isinstance(got, str) else ",".join(got) or "unset"
        told = said.format(got=shown, missing=",".join(missing))
        paste = ",".join(filter(None, [*there, *missing])) if is_list else value
        yield make(f"{told}: {row.without}", "Set", f"{key}={paste}", at=At.RESTARTED if row.restart else At.SLURM_CONF)

    return judge


def _cluster_name(config: StackConfig, facts: Facts) -> Answers:
    """ClusterName is the same on both sides: a running cluster keeps its name, so the stack follows."""
    ours, conf = config.cluster.name, facts.slurm.conf
    rows = facts.slurm.clusters
    if conf is not None and conf.ClusterName is not None:
        if conf.ClusterName == ours:
            yield fine(f"is {ours}, as the stack says")
        else:
            yield problem(
                f"is {conf.ClusterName!r}, and the stack says {ours!r}: {parameter('ClusterName').without}",
                "Find out which name is right. A running cluster keeps its name, so most likely the stack must change",
                f"name: {conf.ClusterName}",
                at="in Pulumi.<stack>.yaml, under slinky-iac:cluster",
            )
    elif rows is not None and ours not in {row.name for row in rows}:
        known = ", ".join(sorted(row.name for row in rows)) or "none"
        yield problem(
            f"slurmdbd has no cluster {ours!r}; it has {known}",
            "Set cluster.name to the outside slurm.conf's ClusterName",
            "scontrol show config | grep -i '^ClusterName '",
            at=At.SLURMCTLD,
            source="slurmdbd",
        )
    else:
        yield unread(facts, f"It must be {ours}", "ClusterName")


def _port(config: StackConfig, facts: Facts) -> Answers:
    """slurmctld listens on the port that the configuration names."""
    wanted, conf = config.slurmctld.port, facts.slurm.conf
    if conf is None or conf.SlurmctldPort is None:
        return  # trying the connection tells as much
    if conf.SlurmctldPort == wanted:
        yield fine(f"is {wanted}, as the stack says")
    else:
        said = f"is {conf.SlurmctldPort}, and controller.external.port is {wanted}"
        advice = "Set it, unless something between forwards one port to the other"
        at = "in Pulumi.<stack>.yaml, under slinky-iac:controller, external"
        yield problem(said, advice, f"port: {conf.SlurmctldPort}", at=at)


def _auth(config: StackConfig, facts: Facts) -> Answers:
    """Daemons speak auth/slurm; AuthType and CredType go together."""
    conf, keys = facts.slurm.conf, ("AuthType", "CredType")
    wanted = [parameter(key).value(config) for key in keys]
    got = [conf.AuthType, conf.CredType] if conf is not None else [None, None]
    if None in got:
        yield unread(facts, f"They must be {' and '.join(wanted)}", "|".join(keys))
    elif not any(parameter(key).lacking(value, is_) for key, value, is_ in zip(keys, wanted, got, strict=True)):
        yield fine(f"are {' and '.join(wanted)}")
    else:
        said = f"are {got[0]} and {got[1]}: {parameter('AuthType').without}"
        yield problem(said, TO_SLURM, *(line(key, config) for key in keys), at=At.RESTARTED)


def _jwt(config: StackConfig, facts: Facts) -> Answers:
    """slurmctld and slurmdbd have auth/jwt for slurmrestd's callers."""
    conf = facts.slurm.conf
    types, recorded = ("", "") if conf is None else (",".join(conf.AuthAltTypes or ()), conf.AuthAltParameters or "")
    lines = [
        f"{key}={completed(key, had, parameter(key).value(config))}"
        for key, had in (("AuthAltTypes", types), ("AuthAltParameters", recorded))
    ]
    if facts.slurm.hung_up:
        said = "slurmctld closes the connection on a fresh token (Slurm error 5005), as it does without auth/jwt"
        yield problem(said, "Add what is missing and restart both daemons", *lines, at=_BOTH_FILES)
    elif conf is None or conf.AuthAltTypes is None:
        yield unread(facts, f"It must have {' and '.join(lines)}", "AuthAlt.*")
    elif not parameter("AuthAltTypes").lacking(parameter("AuthAltTypes").value(config), conf.AuthAltTypes):
        yield fine("has auth/jwt")
    else:
        said = f"has {', '.join(conf.AuthAltTypes) or 'nothing'}: {parameter('AuthAltTypes').without}"
        yield problem(said, "Add, and restart both daemons", *lines, at=_BOTH_FILES)


def _max_node_count(config: StackConfig, facts: Facts) -> Answers:
    """There is room for every pod and for every other node that slurmctld has, which the number counts too: a problem where
    not for those of today, else a warning."""
    got = None if facts.slurm.conf is None else facts.slurm.conf.MaxNodeCount
    live: Sequence[Registered] | None = facts.slurm.nodes
    if live is None and facts.host is not None:
        live = facts.host.nodes
    row, records = parameter("MaxNodeCount"), node_records(config, live or ())
    wanted = int(row.value(config))
    paste = f"MaxNodeCount={max(wanted, records.total)}"
    counts = f"{records.pods} pods of the stack and {records.others} other nodes"
    if got is None:
        yield unread(facts, f"It must be {records.total} at least, for {counts}", "MaxNodeCount")
    elif got < records.total:
        advice = "Set" if records.total <= wanted else f"Set cluster.maxNodeCount to {records.total} or more, and"
        yield problem(f"is {got or 'unset'}, and must hold {counts}: {row.without}", advice, paste, at=At.RESTARTED)
    elif got < wanted:
        said = f"is {got}: enough for {counts}, and less than cluster.maxNodeCount says"
        yield warning(said, "Set it before the NodeSets grow", paste, at=At.RESTARTED)
    elif live is None:
        yield unknown(
            f"is {got}, and counts every node; how many slurmctld has is {facts.slurm.unknown('nodes')}",
            f"It must hold these nodes and {records.pods} pods; this counts them",
            COUNT,
            at=At.SLURMCTLD,
        )
    else:
        yield fine(f"is {got}: enough for {counts}")


def _select_type(_: StackConfig, facts: Facts) -> Answers:
    """Nodes that register by themselves need MaxNodeCount, and that select/cons_tres (read_config.c: refused beside"
    " others)."""
    got = None if facts.slurm.conf is None else facts.slurm.conf.SelectType
    if got is None:
        return  # that slurm.conf isn't known is MaxNodeCount's to say
    if got == "select/cons_tres":
        yield fine("is select/cons_tres")
    else:
        said = f"is {got!r}: no pod can register, and with MaxNodeCount beside it slurmctld refuses its file"
        yield problem(said, "A change loses all jobs: stop the cluster for it, then set", "SelectType=select/cons_tres")


def _power_saving(config: StackConfig, facts: Facts) -> Answers:
    """slurmctld doesn't power down idle pods, as it does other nodes."""
    conf = facts.slurm.conf
    if conf is None or conf.SuspendProgram is None or conf.SuspendTime is None:
        return  # that slurm.conf isn't known is MaxNodeCount's to say
    seconds, states = conf.SuspendTime, tuple(conf.SuspendExcStates or ())
    saving = PowerSaving(
        conf.SuspendProgram,
        conf.ResumeProgram or "",
        str(seconds.number) if seconds.set and not seconds.infinite else "",
        states,
        tuple(conf.SuspendExcParts or ()),
        tuple(conf.SuspendExcNodes or ()),
    )
    if taken := saving.takes(config):
        said = f"pods of {', '.join(taken)} that are idle for {saving.time} s are powered down as any node: {FOLLOWS}"
        key, _, value = LINE.partition("=")
        yield problem(said, "Exclude them", f"{key}={','.join((*states, value))}", at=At.SLURM_CONF)
    else:
        yield fine("leaves pods out" if saving.runs else "is off")


def _slurm_user(config: StackConfig, facts: Facts) -> Answers:
    """The user ``slurm`` has one id on all hosts and in all images: auth/slurm compares numbers."""
    theirs = None if facts.slurm.conf is None else facts.slurm.conf.SlurmUserId
    images = {report.image: report.slurm_uid for report in facts.pod.reports if report.slurm_uid is not None}
    seen = {f"the image {image}": uid for image, uid in images.items()}
    if not seen and config.cluster.images.slurmd is None and not any(n.image for n in config.nodesets.values()):
        seen = {"Slinky's images": names.SLINKY_UID}
    if theirs is None or not seen:
        said = f"slurmctld's is {theirs}" if theirs is not None else "slurmctld's isn't known"
        ids = ", ".join(str(uid) for uid in set(seen.values()))
        expected = f"it must be {ids}" if seen else "it must be the images' own"
        yield unknown(f"{said}; {expected}", "This shows it", "id -u slurm", at=At.HOSTS)
    elif differing := {where: uid for where, uid in seen.items() if uid != theirs}:
        others = ", ".join(f"{uid} in {where}" for where, uid in differing.items())
        yield problem(
            f"is {theirs} there, and {others}: daemons refuse each other",
            "Build images with the hosts' id. Or stop all daemons, give the user the images' id, and chown what was its own",
            f"usermod -u {next(iter(differing.values()))} slurm",
            at=At.HOSTS,
        )
    else:
        yield fine(f"is {theirs} there, and in {', '.join(seen)}")


def _cgroups(config: StackConfig, facts: Facts) -> Answers:
    """Where slurmd runs on metal and in pods, one cgroup.conf must fit both: pods have no systemd to ask for a scope."""
    if not config.external.slurmd_hosts or not config.nodesets:
        return
    conf = facts.slurm.conf
    if conf is None or conf.ProctrackType is None or conf.TaskPlugin is None:
        wanted = "With proctrack/cgroup or task/cgroup, cgroup.conf must have IgnoreSystemd=yes"
        yield unread(facts, wanted, "ProctrackType|TaskPlugin|JobAcctGatherType")
        return
    tasks = (f"task/{bare('TaskPlugin', plugin)}" for plugin in conf.TaskPlugin)
    plugins = (conf.ProctrackType, *tasks, conf.JobAcctGatherType or "")
    users = ", ".join(plugin for plugin in plugins if plugin.endswith("/cgroup"))
    suits, source = (None, "") if facts.host is None else (facts.host.cgroup, f"host {facts.host.host}")
    if not users:
        yield fine(f"is not used: {conf.ProctrackType}, no task/cgroup")
    elif suits is None:
        yield unknown(
            f"not known: {users} use it, and no daemon reports its content",
            "With slurmd on metal and in pods it needs this line; slurmctld sends the file to both",
            "IgnoreSystemd=yes",
            at="in cgroup.conf on slurmctld's host (`grep -i IgnoreSystemd /etc/slurm/cgroup.conf` shows it)",
        )
    elif suits:
        yield fine("has IgnoreSystemd=yes, or CgroupPlugin=disabled", source=source)
    else:
        said = f"lacks IgnoreSystemd=yes, and {users} use it: slurmd in pods has no systemd to ask"
        advice = "Add, after you have checked that it suits slurmd on metal"
        at = "in cgroup.conf on slurmctld's host, then run `scontrol reconfigure` there"
        yield problem(said, advice, "IgnoreSystemd=yes", at=at, source=source)


def _gres_conf(config: StackConfig, facts: Facts) -> Answers:
    """slurmd in pods gets gres.conf from slurmctld, and finds GPUs by it."""
    line = outside_line(config)
    if not line:
        return
    names_gpus, source = (None, "") if facts.host is None else (facts.host.gres, f"host {facts.host.host}")
    at = "in gres.conf on slurmctld's host, then run `scontrol reconfigure` there"
    if names_gpus is None:
        said = "not known: slurmd in pods finds GPUs by it, and no daemon reports its content"
        yield unknown(said, "It needs a line for the devices; `--via` reads it", line, at=at)
    elif names_gpus:
        yield fine("names GPUs", source=source)
    else:
        said = "names no GPU: slurmd in pods would find none, and slurmctld drain the nodes"
        yield problem(said, "Add the line, or those of the devices", line, at=at, source=source)


EXPECTED: Final = (
    Expect("cluster-name", "ClusterName", "slurmctld", _cluster_name, Run.SHORT),
    Expect("slurmctld-port", "SlurmctldPort", "slurmctld", _port, Run.SHORT, OUTSIDE),
    Expect("auth-type", "AuthType and CredType", "slurmctld", _auth, Run.SHORT),
    Expect("auth-jwt", "AuthAltTypes", "slurmctld", _jwt, Run.SHORT),
    Expect("use-client-ids", "AuthInfo", "slurmctld", _required("AuthInfo", make=warning), Run.SHORT),
    Expect("configless", "SlurmctldParameters", "slurmctld", _required("SlurmctldParameters"), Run.SHORT),
    Expect("max-node-count", "MaxNodeCount", "slurmctld", _max_node_count, Run.SHORT),
    Expect("select-type", "SelectType", "slurmctld", _select_type, Run.SHORT),
    Expect(
        "return-to-service", "ReturnToService", "slurmctld", _required("ReturnToService", "is {got}", warning), Run.SHORT
    ),
    Expect("gres-types", "GresTypes", "slurmctld", _required("GresTypes", "has no {missing}"), Run.SHORT),
    Expect("power-saving", "power saving", "slurmctld", _power_saving, Run.SHORT),
    Expect("slurm-uid", "user id of slurm", "slurmctld", _slurm_user),
    Expect("cgroup", "cgroup.conf", "slurmctld", _cgroups),
    Expect("gres-conf", "gres.conf", "slurmctld", _gres_conf),
)
