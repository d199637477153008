"""What is to say about a configuration: a level, a place, a sentence; and an id, by which a stack can acknowledge it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from slinky_iac.config.shown import place

GENERAL: Final[Mapping[str, str]] = {
    "adopted-fields": "Objects of a Helm release that the stack took over keep fields as they were, so that no pod restarts"
    " ([chart.md](chart.md)). Settings of these fields have no effect. The finding goes with the last line of `keep`.",
    "beyond-the-pod": "slurmd's line gives its node more CPUs or memory than the pod has, so jobs get what isn't there."
    " Leave it out, or raise `resources`. Acknowledge it if CPUs are meant to be shared.",
    "capital-letters": "`cluster.name` has capital letters. slurmdbd names its tables after it, and whether MariaDB tells"
    " capital letters apart depends on its host. Acknowledge it for a cluster that exists and can't be renamed.",
    "claim-shared": "All pods of a NodeSet or a login set share one ResourceClaim, which Kubernetes gives devices once. Use"
    " `resourceClaimTemplateName`. Acknowledge it where the devices can be reached from each node.",
    "client-without-people": "Client pods of a cluster with auth/slurm have no list of people. slurmctld holds jobs of a uid"
    " that sackd in the pod can't name. List them in `clients.NAME.people`. Acknowledge it if the sidecar's image asks your"
    " directory (LDAP).",
    "cluster-ip-outside-hosts": "Hosts outside Kubernetes use slurmctld by a ClusterIP. They reach it only where the pod"
    " network is routed to them. Acknowledge it if it is; otherwise set `controller.service.type` to"
    " LoadBalancer or NodePort.",
    "cluster-ip-outside-slurmdbd": "slurmdbd runs outside Kubernetes and sends changes of accounts to slurmctld by a"
    " ClusterIP. Acknowledge it if the pod network is routed to slurmdbd's host; otherwise set `controller.service.type` to"
    " LoadBalancer or NodePort, or slurmctld learns of changed accounts only when it asks again.",
    "archives-not-kept": "slurmdbd's archives are in a volume that goes with its pod. Use a claim. Acknowledge it if"
    " something takes the archives elsewhere.",
    "cloud-without-programs": "A host has `State=CLOUD`, and slurm.conf no ResumeProgram or SuspendProgram: slurmctld gives"
    " it jobs that wait for a node which nothing starts. Set both, or leave State out. Acknowledge it if you start these"
    " nodes yourself.",
    "config-file-unread": "A file of `controller.configFiles` has a name that no Slurm daemon opens. Acknowledge it where"
    " another file includes it.",
    "daemon-unreachable": "An outside daemon doesn't answer this machine. Acknowledge it if only pods and hosts have a"
    " way to it.",
    "daemonset-operator-1-1-0": "A NodeSet in DaemonSet mode has slurm-operator 1.1.0. What that operator drains itself,"
    " because somebody took a label from a Kubernetes node, it returns in the same moment, and never deletes. Upgrade to"
    " 1.1.1 or newer; acknowledge it if labels and taints of these nodes don't change while jobs run.",
    "database-by-hand": "slurmdbd makes its database when it starts, but none whose name has a '-'. Make it before, with the"
    " rights of the user.",
    "default-partition-twice": "Several partitions have `Default=YES`, and slurmctld keeps the one whose line is the last in"
    " slurm.conf. Remove it from the others.",
    "devices-without-gres": "Pods of a NodeSet ask Kubernetes for GPUs, and `gres` names none, or fewer: no job gets them."
    " Acknowledge it if jobs use the GPUs without asking for them; else set `gres`.",
    "drain-limits-replaced": "A NodeSet's own `drain` section replaces the stack's, so the stack's `drain.limits` don't hold"
    " for this NodeSet. Acknowledge it if this is meant; otherwise repeat the limits in the NodeSet.",
    "feature-gate": "The API server drops a field of a pod without a word unless a feature gate is on. Acknowledge it if"
    " your cluster has the gate; else remove the field.",
    "gpus-without-gres-conf": "Nodes have GPUs, and slurmctld in Kubernetes has no gres.conf: slurmd finds none. This"
    " program writes `AutoDetect` where `resources.extended` tells one vendor. Acknowledge it if gres.conf comes otherwise.",
    "gres-conf-differs": "gres.conf names other nodes, types or fewer devices than the settings: slurmctld drains a node"
    " that reports fewer. Acknowledge it where nodes come from elsewhere.",
    "gres-without-devices": "A NodeSet names GRES, but its pods ask Kubernetes for no device, or for fewer. Acknowledge it"
    " if a device gets into the pod in another way; else set `resources.extended`.",
    "host-network": "Pods on the host network share all ports of their Kubernetes node, one pod of a kind fits on a node,"
    " and node names must be short. Acknowledge it after you have checked the node names and the node's firewall.",
    "host-network-unguarded": "NetworkPolicies don't hold for pods on the host network. Acknowledge it if the nodes'"
    " firewall does their work.",
    "imported-key-unused": "A key is set, but `keys.source` says that keys come from elsewhere: daemons get another key. Set"
    " `keys.source: imported`, or remove it by `pulumi config rm slinky-iac:slurmKey` (or `jwtKey`).",
    "file-not-here": "A setting names a file or folder that isn't on this machine, or a folder of charts that lacks one."
    " Put it there, or correct the path. Acknowledge it where `check` runs on another machine than `pulumi up`.",
    "key-looks-like-words": "A key looks like words that a person chose. Its fingerprint is public, and words can be tried"
    " against it. Replace the key by random bytes.",
    "key-rotation": "A key is being replaced while jobs run. The finding goes with the rotation's last step.",
    "kubernetes-unreachable": "Kubernetes doesn't answer, so this run can't look at the cluster.",
    "kubernetes-unverified": "The kubeconfig doesn't verify the API server, so another server can take its place and its"
    " credentials.",
    "mixed-cgroups": "slurmd runs in pods and on hosts, and Slurm has one cgroup.conf for all nodes. Acknowledge it after"
    " you have checked that `IgnoreSystemd=yes` suits the hosts.",
    "many-pods-at-once": "A NodeSet has more pods than slurm-operator creates at a time, and `drain.registerDeadline` is the"
    " default for all of them together. Set `drain.startAtOnce` to the number of pods that may start at the same time, or"
    " `drain.registerDeadline` to the time that all of them need.",
    "new-slurmctld": "slurmctld runs in Kubernetes, and slurmdbd outside. It is a new slurmctld with an empty queue. If a"
    " slurmctld of this `cluster.name` runs outside already, set `controller.external`. Acknowledge it if none does.",
    "no-nodesets": "The stack has no NodeSet, so no pod runs slurmd. Acknowledge it for a stack of slurmctld, slurmdbd or"
    " logins only.",
    "nodeset-without-partition": "A NodeSet has no partition of its own, and no other one of the stack names it: no job can"
    " run on its nodes. Acknowledge it where a PartitionName= line of an outside slurm.conf has them, or until your own"
    " partition does.",
    "node-folder-mounted": "A pod mounts a folder of its Kubernetes node by which root of the pod may become root of the"
    " node. Acknowledge it if everybody who can be root in the pod may be root on the node.",
    "namespace-of-others": "The stack's settings name a Secret, claim or ConfigMap that others make in a namespace which"
    " `pulumi up` makes and `pulumi destroy` removes. Set `cluster.createNamespace: false`, or"
    " `cluster.keepNamespace: true`; of `operator.values`, `operator.createNamespace: false`. Acknowledge it if your own"
    " program makes the object.",
    "network-policies-off": "The network plugin of this Kubernetes cluster can enforce NetworkPolicies, and the stack makes"
    " none: every pod reaches Slurm's daemons. Acknowledge it if others make them; otherwise set `networkPolicies.enabled`."
    " First name the hosts that connect to pods: those that no setting names are cut off ([networks.md](networks.md)).",
    "network-policies-unenforced": "The stack makes NetworkPolicies, and this Kubernetes has no network plugin that is known"
    " to enforce them. Acknowledge it once `slinky preflight` says that they hold.",
    "nothing-to-acknowledge": "The stack's file acknowledges a finding that is no longer there. Remove the line.",
    "operator-1-0-pods": "slurm-operator 1.0 made pods that a newer operator replaces ([releases.md](releases.md)).",
    "operator-unwatched": "This release of slurm-operator is newer than what this program was run with"
    " ([releases.md](releases.md)). Acknowledge it once a scale-in and a rollout have shown what you expect.",
    "outside-gres-conf": "slurmctld runs outside Kubernetes, and a NodeSet has GPUs: slurmd in its pods finds them by the"
    " gres.conf beside slurm.conf there. Acknowledge it once that file has the line.",
    "outside-slurm-conf": "slurmctld runs outside Kubernetes, so its slurm.conf must hold the lines of the stack output"
    " `outsideSlurmConf`. Acknowledge it once `slinky preflight` finds them there.",
    "large-files": "Files or outside hosts fill most of a ConfigMap, which holds 1 MiB. Acknowledge it if they don't grow.",
    "lua-untried": "slurmctld ends over a job_submit.lua that Lua can't load, and no trial reads it before a change. Run"
    " `slinky preflight --try`, or set `controller.trial.enabled`. Acknowledge it where CI runs the trial.",
    "metrics-crash": "slurmctld before 25.11.5 can end when its metrics are read after a partition was removed. Update it.",
    "plain-http": "Requests to slurmrestd go over the network in plain HTTP, with tokens of this program or of users."
    " Acknowledge it if that network is yours alone; else give slurmrestd TLS ([tls.md](tls.md)).",
    "output-not-known": "A program gives settings or secrets by Outputs whose values this preview doesn't know. The update"
    " judges them when it knows them, and stops at a wrong one.",
    "output-not-secret": "A program gives a secret by an Output that isn't secret, so the state has it in plain text at the"
    " resource that gives it. Make that output a secret, and replace the secret.",
    "output-taken-for-name": "A program gives a host by an Output whose value isn't known yet, at a place where an IP"
    " address needs another object than a DNS name. Wrap it by `slinky_iac.address(…)` if it will be an address;"
    " acknowledge it if it will be a name.",
    "planned-stop": "A key is being replaced in a planned stop. The finding goes with the stop's last step.",
    "plugin-unknown": "A plugin is named that Slurm's sources don't have. slurmctld or slurmd ends over a plugin that its"
    " image lacks. Acknowledge it if your own images have it.",
    "pod-security-ignored": "The namespace isn't the stack's, so the stack sets no labels on it. Remove"
    " `cluster.podSecurity`, and label the namespace where it is made.",
    "program-not-in-image": "slurm.conf, or a script's first line, names a program that the image would have to have, and"
    " the image is Slinky's, which has no program of a site's. Give the script in the setting that the message names, begin"
    " it with a program that the message lists, or use an image of your own. Acknowledge it if the image has the program.",
    "queue-not-kept": "slurmctld has no volume. When its pod restarts, the queue and all running jobs are lost. Acknowledge"
    " it for a trial cluster only.",
    "requeue-unsupported": "`drain.onDeadline` is requeue, and this release of slurmrestd can't requeue jobs. At the"
    " deadline the update would stop, with nodes drained and jobs running. Use keep or cancel, or Slurm 26.05.",
    "restapi-host-network": "slurmrestd's plain HTTP port is open on its Kubernetes node. Acknowledge it if the node's"
    " firewall guards it.",
    "scheduling-gate": "Pods have a scheduling gate, and stay unscheduled until a controller removes it. Acknowledge it if"
    " a controller of yours removes the gate.",
    "short-deadline": "A drain ends less than a minute after its nodes are drained, or new pods have less than a minute to"
    " start. Write the deadline with its unit, as 30m or 12h. Acknowledge it if this is enough, as on a trial cluster.",
    "slurmd-not-root": "slurmd runs as another user than root. Acknowledge it if slurm.conf has SlurmdUser, and every job is"
    " that user's.",
    "rolling-update": "slurm-operator replaces pods of an earlier template without a plan, a limit or a deadline. Use"
    " `updateStrategy.type: Gated`. Acknowledge it if lost jobs are acceptable.",
    "slurm-bounds": "A value of a Slurm parameter ends or loses jobs, lets them take what they did not ask for, or loses"
    " their records: a time or a table that is too small, PreemptMode=CANCEL, a ProctrackType without cgroups, a purge"
    " within a month. A parameter whose values this program does not know is refused too. The stack is refused until you"
    " change the value, or acknowledge it with the reason.",
    "slurm-ignores": "A parameter, an option or a line is there that Slurm's daemons pass over, without a word or with a"
    " line in their log, or a value in whose place they take another. Correct or remove it. Acknowledge it if a plugin of"
    " your own reads it.",
    "slurm-newer": "Slurm is newer than all releases that this program knows: it judges by the newest of them. Take a newer"
    " release of this program, where there is one.",
    "slurm-runs": "A parameter or file of Slurm's runs a program or loads a library that isn't of the daemon's image, or a"
    " script or a hook of a container (`raw.container.lifecycle`) does harm to jobs. The stack is refused until you change"
    " it, or put the program into the image, or acknowledge it with the reason.",
    "slurm-sends": "A parameter or file of Slurm's sends data to another host, believes one, or writes credentials to a log."
    " The stack is refused until you remove it, or acknowledge it with the reason.",
    "slurm-writes": "A parameter of Slurm's has a daemon write outside the folders of logs, spools and scratch. The stack is"
    " refused until you change the place, or acknowledge it with the reason.",
    "unsafe-sysctl": "A pod has a sysctl that kubelets refuse unless their configuration names it. Acknowledge it if the"
    " Kubernetes nodes that take these pods have it in `allowedUnsafeSysctls`.",
    "same-address": "Two outside slurmd hosts have one address and one port, so slurmctld reaches one slurmd for both."
    " Correct one of them. Acknowledge it if a proxy on that address tells them apart.",
    "same-cluster-name": "Two clusters of this Kubernetes have one `cluster.resourceName`, and this operator takes both for"
    " one. Rename one of them.",
    "same-cluster-name-unknown": "Whether another cluster has this `cluster.resourceName` is unknown.",
    "secret-like-variable": "An environment variable is named like a secret. Pod specs, previews and the state show its"
    " value, and jobs inherit it. Acknowledge it if the value isn't a secret.",
    "service-unchanged": "A Service isn't what its setting says: slurm-operator up to 1.2 leaves it as it was made. The"
    " finding has the command that changes it.",
    "setting-ignored": "A setting has no effect because of another one. Remove it.",
    "project-renamed": "Pulumi.yaml gives the project another name than `slinky-iac`, by `pulumi new --name` for one."
    " Sections and secrets keep the prefix `slinky-iac:`. Acknowledge it once every command has the prefix in full.",
    "settings-in-program": "The project's program describes the cluster itself, and the stack's file has its secrets alone"
    " ([own-repository.md](own-repository.md#a-cluster-beside-its-machines)). `pulumi preview` checks the settings.",
    "pods-powered-down": "slurmctld saves power, and takes idle pods for nodes that it can power down: jobs then wait for"
    " nodes that don't come back. Exclude pods by `SuspendExcStates`. Acknowledge it if `ResumeProgram` restarts them.",
    "sshd-ignores": "A line of `extraSshdConfig` has no effect, since slurm-operator's own line before it says something"
    " else, and sshd takes the first. Acknowledge it if the image's own files of sshd say it first.",
    "tls-plugin-missing": "A TLS plugin of Slurm is set that Slinky's images don't have. Acknowledge it if your own"
    " image has it.",
    "qos-before-slurmctld": "A partition names a QOS, which slurmdbd must have before slurmctld starts. Acknowledge it once"
    " it's there.",
    "short-host-name": "An outside daemon has a host name without a domain, and the cluster's DNS completes it to names of"
    " Services only. Give the full name. Acknowledge it if it is the name of a Service.",
}
"""Ids of warnings and notes about settings, and what docs/findings.md says of each. A part's own are its section's
(:attr:`slinky_iac.config.base.Section.finding_ids`); :data:`slinky_iac.config.stack.KINDS` has all."""

NOT_OF_RULES: Final = frozenset(
    {"certificate-expires", "daemon-unreachable", "fence-not-served", "key-looks-like-words", "kubernetes-unreachable"}
    | {
        "kubernetes-unverified",
        "no-nodesets",
        "output-taken-for-name",
        "nothing-to-acknowledge",
        "operator-1-0-pods",
    }
    | {"output-not-known", "output-not-secret", "network-policies-off", "network-policies-unenforced", "service-unchanged"}
    | {"same-cluster-name", "same-cluster-name-unknown", "settings-in-program", "project-renamed", "file-not-here"}
)
"""Those that the rules alone can't find: they need the keys' own bytes, or a look at the cluster."""


class Level(StrEnum):
    """How much a finding weighs."""

    ERROR = "error"
    """Stops before the first resource."""
    WARNING = "warning"
    """Shown in every preview until it is acknowledged: works, but something will surprise."""
    INFO = "info"
    """Something that the outside half must do, or that this program did without being asked."""


OF_ONE_PLACE: Final = frozenset({"preflight.registered-host", "slurm-bounds", "slurm-runs", "slurm-sends", "slurm-writes"})
"""Ids that are acknowledged for one setting alone, as ``slurm-runs@controller.extraConf.Prolog``, or for one host."""


@dataclass(frozen=True)
class Finding:
    """One sentence about one setting: what was found, what follows, what to do next."""

    level: Level
    path: str
    message: str
    paste: str = ""
    """YAML that puts it right, to paste below ``config:``; empty where a sentence says it all."""
    id: str = ""
    """One of :data:`slinky_iac.config.stack.KINDS`, or ``preflight.<check>``; empty where it can't be acknowledged."""
    reason: str = ""
    """Why the stack's file acknowledges it; empty where it doesn't."""
    instead: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    """Settings that take the place of what is at the path, values included, for a file that is mended; never for a message.
    None: only a person can say what is meant."""
    covers: bool = field(default=False, compare=False, repr=False)
    """The setting isn't taken at all, so nothing is said of what is in it."""
    exposes: bool = field(default=False, compare=False, repr=False)
    """A secret stands there in plain text: what makes a file of settings leaves it out."""

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return where + self.message + (f" [{self.id}]" if self.id not in ("", self.path) else "")


@dataclass(frozen=True)
class Setting:
    """A setting by its path, and what can be said of it."""

    path: str

    def error(self, message: str, paste: str = "", instead: Mapping[str, Any] | None = None) -> Finding:
        """A finding that stops."""
        return Finding(Level.ERROR, self.path, message, paste, instead=instead)

    def not_taken(self, message: str) -> Finding:
        """A finding that stops, of a setting that can't be here: the only one of it and of all below it."""
        return Finding(Level.ERROR, self.path, message, covers=True)

    def exposed(self, message: str) -> Finding:
        """A finding that stops, of a secret in plain text."""
        return Finding(Level.ERROR, self.path, message, exposes=True)

    def refused(self, message: str, *, id: str, exposes: bool = False) -> Finding:
        """A finding that stops, until the stack's file acknowledges it with a reason."""
        return Finding(Level.ERROR, self.path, message, id=id, exposes=exposes)

    def warning(self, message: str, *, id: str) -> Finding:
        """A finding that warns."""
        return Finding(Level.WARNING, self.path, message, id=id)

    def info(self, message: str, *, id: str) -> Finding:
        """A finding that tells."""
        return Finding(Level.INFO, self.path, message, id=id)

    def ignored(self, why: str) -> Finding:
        """A warning of a setting that has no effect."""
        return self.warning(f"is ignored: {why}. Remove it here", id="setting-ignored")


def at(path: str) -> Setting:
    """The setting at a path, of which only what may be shown is kept (:func:`slinky_iac.config.shown.place`)."""
    return Setting(place(path))


NOTHING: Final = "nothing: "
"""In a table of settings to use instead: before the reason why there is none."""


def use(instead: str, words: str) -> str:
    """``words`` with the setting ``instead`` at their ``{}``; where it is :data:`NOTHING`, its reason."""
    _, nothing, why = instead.partition(NOTHING)
    return f"{why}. Leave it out" if nothing else words.format(instead)


def without_covered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same, without what is said of a setting that isn't taken, or of what is below it."""
    every = tuple(findings)
    places = tuple(finding.path for finding in every if finding.covers)
    within = tuple(f"{place}{mark}" for place in places for mark in ".[")
    return tuple(
        finding
        for finding in every
        if finding.covers or (finding.path not in places and not finding.path.startswith(within))
    )


def acknowledged(findings: Iterable[Finding], reasons: Mapping[str, str]) -> tuple[Finding, ...]:
    """The same findings; those whose id, or ``ID@PATH``, is in ``reasons`` have their reason. An error without an id never
    has one; one with an id needs its path too, and warns then."""
    return tuple(_with(finding, _reason(finding, reasons)) if finding.id else finding for finding in findings)


def _reason(finding: Finding, reasons: Mapping[str, str]) -> str:
    anywhere = "" if finding.id in OF_ONE_PLACE else reasons.get(finding.id, "")
    return reasons.get(f"{finding.id}@{finding.path}", anywhere)


def _with(finding: Finding, reason: str) -> Finding:
    level = Level.WARNING if finding.level is Level.ERROR and reason else finding.level
    return replace(finding, level=level, reason=reason)
