"""Keys, tokens and clocks: does slurmctld take what we sign, and do all have the same keys? Pure; fingerprints only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import DAEMON_KEYS, JWT, SLURM, Key
from slinky_iac.preflight.check import (
    OUTSIDE,
    Answer,
    Answers,
    At,
    Expect,
    Run,
    fine,
    of,
    problem,
    same_key,
    unknown,
    warning,
)
from slinky_iac.preflight.check_reach import LOST
from slinky_iac.preflight.facts import IN_CONFIG, IN_SECRET, Clock, Facts

if TYPE_CHECKING:
    from slinky_iac.kube.objects import Pod
    from slinky_iac.slurmrest.controller import Ping

_NTP: Final = "timedatectl show -p NTPSynchronized"
CLOCKS_AGREE_S: Final = 5
REGISTERS_S: Final = 60
"""A slurmd registers within seconds of its start."""
CLOCKS_APART_S: Final = 60
"""auth/slurm credentials live a minute by default: daemons whose clocks are this far apart refuse each other."""


def _slurmrestd(config: StackConfig, facts: Facts) -> Answers:
    """Some slurmrestd could be asked."""
    slurm = facts.slurm
    if facts.kube.restapi and facts.kube.restapi_pods == 0:
        yield problem(
            "its Deployment exists, but no pod of it is ready: nothing drains, and the operator treats nodes as drained",
            "Find out why: the image, the route to slurmctld, its log",
            f"kubectl -n {config.cluster.namespace} describe pods -l app.kubernetes.io/name=slurmrestd",
            about="slurmrestd in Kubernetes",
            source="Kubernetes",
        )
    for what, trouble in slurm.unanswered.items():
        inside = f"kubectl -n {config.cluster.namespace} logs -l app.kubernetes.io/name=slurmrestd --tail=50"
        log = inside if facts.kube.restapi else "journalctl -u slurmrestd -n 50"
        yield problem(trouble, "Drains and the operator need one: look at its log", log, about=what)
    if slurm.way:
        place = "in Kubernetes" if slurm.inside else "outside"
        yield fine(f"{slurm.release} answers at {slurm.way}", about=f"slurmrestd {place}")
    elif slurm.trouble and not slurm.unanswered:
        yield unknown(
            slurm.trouble,
            "Until one answers, what only slurmctld knows is unknown. Name one that runs, or run preflight again after"
            " `pulumi up`, which creates one",
            "slinky-iac:external:\n  slurmrestd:\n    url: https://HOST:6820",
            at=f"in Pulumi.<stack>.yaml of {config.cluster.name}",
        )


def _slurmctld(_: StackConfig, facts: Facts) -> Answers:
    """slurmctld answers slurmrestd: a token refused is an answer, too."""
    said, advice = facts.slurm.silent.get("slurmctld", ""), "Start slurmctld, or open the route from slurmrestd to it"
    if said:
        yield problem(said, advice, "scontrol ping; systemctl status slurmctld", at=At.SLURMCTLD)
    elif {"accepted", "refused"} & set(facts.slurm.tokens.values()):
        yield fine("answers it")


def _backups(config: StackConfig, facts: Facts) -> Answers:
    """Each backup of an outside slurmctld answers slurmrestd, so that it can be asked once it is in charge."""
    hosts, pings = config.slurmctld.hosts, facts.slurm.controllers
    if len(hosts) < 2 or not pings:
        return
    if len(pings) != len(hosts):
        yield warning(
            f"slurmrestd knows {len(pings)} host{'s' * (len(pings) != 1)} of slurmctld, and the stack names {len(hosts)}:"
            " once a host that one of them lacks is in charge, gates and slurm-operator learn nothing",
            "Run `pulumi up`, which gives slurmrestd all of them; slurm.conf must have as many SlurmctldHost lines",
            *(f"SlurmctldHost={host.host}" for host in hosts),
            at=At.RESTARTED,
        )
    yield from _in_charge(pings)
    for ping in pings[1:]:
        if ping.responding:
            yield fine("answers it", about=f"backup {ping.hostname}")
        else:
            said = "doesn't answer it: once it is in charge, gates and slurm-operator learn nothing"
            advice = "Start slurmctld there, or open the route from slurmrestd to it"
            yield warning(said, advice, "scontrol ping", at=At.SLURMCTLD, about=f"backup {ping.hostname}")


def _in_charge(pings: Sequence[Ping]) -> Answers:
    """Records of jobs wait in a backup that takes over: since 26.05 the thread that sends them waits for a call that
    slurmctld makes only where it starts in charge (``ctld_recovered`` in slurmdbd_agent.c and controller.c). Watched on
    26.05.5: a reconfigure sent them, and without one they were lost when the primary came back."""
    primary, *backups = pings
    if not primary.responding and any(backup.responding for backup in backups):
        said = (
            "doesn't answer slurmrestd, so a backup is in charge, which with Slurm 26.05 sends slurmdbd no records of jobs"
        )
        advice = (
            "Run `scontrol reconfigure` now that it is in charge, before the primary starts: jobs run on, and slurmdbd gets"
            " the records, which `sdiag` counts as DBD Agent queue size"
        )
        yield warning(said, advice, "scontrol reconfigure", at=At.SLURMCTLD, about=f"primary {primary.hostname}")


def _token(_: StackConfig, facts: Facts) -> Answers:
    """A token made with our JWT key is taken in a call that checks it."""
    slurm = facts.slurm
    file = f"/etc/slurm/{names.JWT_KEY_FILE}"
    by_hand = f"openssl dgst -sha256 -binary {file} | base64"
    if facts.keys_trouble:
        yield unknown(facts.keys_trouble, "Set the stack's passphrase, then run it again", source="here")
    for source, verdict in slurm.tokens.items():
        if source not in (IN_CONFIG, IN_SECRET):
            continue  # an RSA key: check_tokens
        what = f"JWT key of the {source} ({_print(facts, source)})"
        if verdict == "accepted":
            yield fine("accepted a token made with it", about=what)
        elif verdict == "refused":
            yield problem(
                f"refused a fresh token: {_cause(facts)}",
                "Compare fingerprints (without SHA256: and the = at the end). Where they differ, import slurmctld's file",
                by_hand,
                f"base64 -w0 {file} | pulumi config set --secret slinky-iac:jwtKey",
                at=f"{At.SLURMCTLD}; the second where you run pulumi",
                about=what,
            )
        else:
            yield unknown(f"not known: {slurm.token_trouble or 'slurmctld was not asked'}", about=what)
    if not {IN_CONFIG, IN_SECRET} & slurm.tokens.keys() and not facts.keys_trouble:
        expected = facts.keys.get(JWT.label) or facts.kube.keys.get(JWT.label) or ""
        if (compared := _compared(facts, JWT, expected)) is not None:
            yield compared
            return
        yield unknown(
            f"not known: {slurm.token_trouble or 'there is no slurmrestd to ask, or no key yet'}",
            f"The fingerprint there must be {expected}; this shows it" if expected else "Compare after `pulumi up`",
            by_hand,
            at=At.SLURMCTLD,
        )


def _compared(facts: Facts, key: Key, mine: str) -> Answer | None:
    """Our key and the file on slurmctld's host; None where one of the two isn't known."""
    theirs = facts.host.keys.get(key.label) if facts.host is not None else None
    if facts.host is None or theirs is None or not mine:
        return None
    about, source = f"{key.label} ({mine})", f"host {facts.host.host}"
    if theirs == mine:
        return fine("slurmctld's host has the same file", about=about, source=source)
    said, advice = f"slurmctld's host has another one, {theirs}", "Import the file of slurmctld's host, byte for byte"
    run = f"ssh root@{facts.host.host} base64 -w0 /etc/slurm/{key.file} | pulumi config set --secret slinky-iac:{key.config}"
    return problem(said, advice, run, at="where you run pulumi", about=about, source=source)


def _slurmctld_host(_: StackConfig, facts: Facts) -> Answers:
    """`--via` reached slurmctld's host."""
    if facts.host is None:
        return
    about = f"slurmctld's host {facts.host.host}"
    if facts.host.trouble:
        change = "Run the command of --via by hand, such as `echo 'scontrol show config' | ssh root@HOST sh -s`"
        yield unknown(f"the command of --via {facts.host.trouble}", change, about=about)
    else:
        yield fine("answered the command of --via", about=about)


def _print(facts: Facts, source: str) -> str:
    prints = facts.keys if source == IN_CONFIG else facts.kube.keys
    return prints.get(JWT.label, "no fingerprint")


def _cause(facts: Facts) -> str:
    if "accepted" in (facts.slurm.tokens.get(IN_CONFIG), facts.slurm.tokens.get(IN_SECRET)):
        return "it has another key (the other one is accepted)"
    return "it has another key, its clock is over five minutes ahead, or it doesn't know the user slurm"


def _same_keys(config: StackConfig, facts: Facts) -> Answers:
    """What the configuration imports is what the Secrets in Kubernetes hold."""
    todo = "Pods have the Secret's key. Find out which one the outside hosts have, and set the configuration to it"
    for key in DAEMON_KEYS:
        show = f"openssl dgst -sha256 -binary /etc/slurm/{key.file} | base64"
        yield from of(same_key(config, facts, key, todo, show, at=At.SLURMCTLD), about=f"Secret of {key.label}")


def _slurm_key(config: StackConfig, facts: Facts) -> Answers:
    """slurm.key is slurmctld's: proved by a slurmd in a pod that is registered, else a fingerprint to compare."""
    ready = {pod.slurm_node for nodeset in facts.kube.workers.values() for pod in nodeset.ready}
    talking = [n.name for n in facts.slurm.nodes or () if n.name in ready and n.version and not n.state & LOST]
    mine = facts.kube.keys.get(SLURM.label) or facts.keys.get(SLURM.label) or ""
    about, compared = f"slurm.key ({mine or 'no fingerprint'})", _compared(facts, SLURM, mine)
    if talking:
        yield fine(f"slurmd of {', '.join(talking[:6])} is registered with it, so slurmctld has the same", about=about)
    elif compared is not None:
        yield compared
    else:
        yield from of(_unproved(config, facts, mine), about=about)


def _unproved(config: StackConfig, facts: Facts, mine: str) -> Answers:
    """No slurmd in a pod and no look at slurmctld's host shows that the key is the same."""
    by_hand = f"The fingerprint there must be {mine}; this shows it" if mine else ""
    compare = by_hand or "Compare with `pulumi stack output slurmKeyFingerprint`"
    show = f"openssl dgst -sha256 -binary /etc/slurm/{names.SLURM_KEY_FILE} | base64"
    kept_out = _kept_out(facts)
    if kept_out is not None:
        ends = f" ({kept_out.trouble})" if kept_out.trouble else ""
        for_s = _unready_for(kept_out, facts)
        yield warning(
            f"no pod's slurmd is registered, {kept_out.slurm_node}'s not after {for_s} s{ends}; with another key on"
            " slurmctld's side it looks like this",
            f"See slurmd's log (`kubectl logs -n {config.cluster.namespace} {kept_out.name} -c slurmd`). {compare}",
            show,
            at=At.HOSTS,
        )
    else:
        why = "not known: only a registered slurmd proves it, and no pod's is registered yet"
        yield unknown(why, compare, show, at=At.HOSTS)
    if config.keys.allow_trailing_newline:
        yield warning(
            "keys.allowTrailingNewline is on",
            "This is right only if the outside file ends with a line break too: compare the number of bytes",
            f"wc -c /etc/slurm/{names.SLURM_KEY_FILE}",
            at=At.HOSTS,
            source="here",
        )


def _kept_out(facts: Facts) -> Pod | None:
    """The pod that has had the most time to register and hasn't; None where there is none, or where slurmctld wasn't asked.
    Pods whose image or volume Kubernetes still waits for don't count."""
    if facts.slurm.nodes is None:
        return None
    pods = (pod for nodeset in facts.kube.workers.values() for pod in nodeset.staying if pod.scheduled and not pod.ready)
    late = (pod for pod in pods if _unready_for(pod, facts) >= REGISTERS_S)
    slurmds = (pod for pod in late if not pod.trouble or ("slurmd:" in pod.trouble and "Image" not in pod.trouble))
    return max(slurmds, key=lambda pod: _unready_for(pod, facts), default=None)


def _unready_for(pod: Pod, facts: Facts) -> int:
    """Seconds since it was made, or was last ready."""
    return max(facts.kube.asked_at - (pod.ready_changed or pod.created), 0)


def _clocks(_: StackConfig, facts: Facts) -> Answers:
    """slurmctld's clock and ours agree: tokens and credentials have times in them."""
    controller = facts.slurm.clock
    if controller is None:
        compare, show = "Compare: tokens live five minutes, auth/slurm credentials one", f"date -u; {_NTP}"
        yield unknown(facts.slurm.unknown("clock"), compare, show, at=f"{At.SLURMCTLD} and here")
    else:
        yield from of([_clock(controller)], source="here")


def _node_clocks(_: StackConfig, facts: Facts) -> Answers:
    """The Kubernetes nodes' clocks, as the short-lived pods read them, and ours agree."""
    for report in facts.pod.reports:
        if report.clock is not None:
            yield from of([_clock(report.clock)], source=report.clock.whose)


def _clock(clock: Clock) -> Answer:
    skew = clock.skew_s
    within = int(clock.after - clock.before) + 1
    if abs(skew) <= CLOCKS_AGREE_S and within > CLOCKS_APART_S:
        return unknown(f"not known: it took {within} s to read it", "Run preflight again")
    if abs(skew) <= CLOCKS_AGREE_S:
        return fine(f"agrees with ours within {within} s")
    where = f"is {abs(skew)} s {'ahead of' if skew > 0 else 'behind'} ours"
    advice = "Run NTP on all hosts: credentials of auth/slurm live a minute, tokens and munge's credentials five"
    make = problem if abs(skew) >= CLOCKS_APART_S else warning
    return make(where, advice, _NTP, at="on both hosts")


def _key_age(config: StackConfig, facts: Facts) -> Answers:
    """No key is older than keys.maxAge allows."""
    most = config.keys.max_age
    if most is None:
        return
    for key in DAEMON_KEYS:
        age, about = facts.kube.keys_age_s.get(key.label), f"age of {key.label}"
        if age is None:
            why = facts.kube.keys_trouble.get(key.label) or facts.kube.trouble or "there is no Secret yet"
            yield unknown(f"not known: {why}", about=about)
        elif age > most:
            how = f"slinky keys rotate {key.name} --plan"
            got = f"{int(age // 86400)} days, and keys.maxAge is {most // 86400} days"
            yield warning(got, "Replace it (`slinky docs keys`). This shows how", how, about=about)
        else:
            yield fine(f"{int(age // 86400)} days", about=about)


EXPECTED: Final = (
    Expect("slurmctld-host", "slurmctld's host", "here", _slurmctld_host),
    Expect("slurmrestd", "slurmrestd", "here", _slurmrestd),
    Expect("slurmctld", "slurmctld", "slurmrestd", _slurmctld, Run.SHORT),
    Expect("slurmctld-backups", "slurmctld", "slurmrestd", _backups, Run.SHORT, OUTSIDE),
    Expect("jwt-key", "JWT key", "slurmctld", _token, Run.SHORT),
    Expect("key-secret", "Secrets of keys", "Kubernetes", _same_keys),
    Expect("slurm-key", "slurm.key", "slurmctld", _slurm_key),
    Expect("clock", "slurmctld's clock", "slurmctld", _clocks, Run.SHORT),
    Expect("clock", "clock of a Kubernetes node", "pod", _node_clocks, Run.SHORT | Run.CLIENTS),
    Expect("key-age", "age of keys", "Kubernetes", _key_age),
)
