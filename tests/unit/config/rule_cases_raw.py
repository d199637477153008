"""Pieces of pods by every door: what `raw` refuses the typed setting of the same field refuses, too; and by release."""

from __future__ import annotations

from typing import Any

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case, nodeset

OLD = {"operator": {"version": "1.0.1"}}
LOGIN = {"sssdConfFrom": {"secret": "sssd"}}
TOKEN = {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
HOOK = {"exec": {"command": ["/opt/site/mount"]}}
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "controller": ("controller", {}),
    "accounting": ("accounting", {"database": {"host": "db"}}),
    "restapi": ("restapi", {}),
    "nodesets": ("nodesets.a", {"replicas": 1}),
    "logins": ("logins.a", LOGIN),
}
"""Each section that has raw pieces: the path of a part of it, and what that part needs."""


def part(section: str, more: dict[str, Any], **sections: Any) -> dict[str, Any]:
    """A stack with a part of a section that has these settings."""
    of = PARTS[section][1] | more
    named = section in {"nodesets", "logins"}
    given: dict[str, Any] = {section: {"a": of} if named else of}
    return minimal(
        **({"cluster": {"name": "lab", "createNamespace": False}} if section == "logins" else {}), **given, **sections
    )


def _refused(name: str, section: str, raw: dict[str, Any], below: str, words: tuple[str, ...], **sections: Any) -> Case:
    path, _ = PARTS[section]
    cure = {"raw": dict.fromkeys(raw)}
    return Case(
        name,
        part(section, {"raw": raw}, **sections),
        "error",
        f"{path}.raw.{below}",
        words,
        {section: {"a": cure} if section in {"nodesets", "logins"} else cure},
    )


RAW = [
    _refused(f"{section}: {what} with slurm-operator 1.0", section, raw, below, (words, "1.0.1", "1.1"), **OLD)
    for what, sections, raw, below, words in (
        ("a scheduler", PARTS, {"pod": {"schedulerName": "volcano"}}, "pod.schedulerName", "doesn't read"),
        (
            "variables of a ConfigMap",
            PARTS,
            {"container": {"envFrom": [{"configMapRef": {"name": "site"}}]}},
            "container.envFrom",
            "doesn't read",
        ),
        (
            "a group of pods",
            PARTS,
            {"pod": {"workloadRef": {"name": "a", "podGroup": "b"}}},
            "pod.workloadRef",
            "doesn't read",
        ),
        (
            "an option of the resolver",
            ("nodesets", "logins"),
            {"pod": {"dnsConfig": {"options": [{"name": "ndots", "value": "2"}]}}},
            "pod.dnsConfig",
            "search domain",
        ),
        ("a hook", ("nodesets",), {"container": {"lifecycle": {"postStart": HOOK}}}, "container.lifecycle", "preStop"),
        (
            "a signal",
            ("nodesets",),
            {"container": {"lifecycle": {"stopSignal": "SIGUSR1"}}},
            "container.lifecycle",
            "preStop",
        ),
    )
    for section in sections
]
RAW += [
    Case(
        f"a variable of slurmd that {what}",
        nodeset(env={name: value}),
        "error",
        f"nodesets.gpu.env.{name}",
        words,
        {"nodesets": {"gpu": {"env": {name: None, "SITE": "north"}}}},
    )
    for what, name, value, words in (
        ("loads a library", "LD_PRELOAD", "/usr/lib/x.so", ("other code", "into the image")),
        (
            "says where users' libraries are",
            "LD_LIBRARY_PATH",
            "/usr/lib64:/home/lib",
            ("below /usr, /lib, /lib64, /opt only",),
        ),
        ("says it by another spelling", "LD_LIBRARY_PATH", "/opt/../home/lib", ("below /usr",)),
        ("has the working folder in it", "LD_LIBRARY_PATH", "/opt/lib:", ("below /usr",)),
        ("names another slurm.conf", "SLURM_CONF", "/tmp/slurm.conf", ("other code",)),
        ("names other programs", "PATH", "/opt/bin", ("other code",)),
        ("is what `resources` give", "POD_CPUS", "99", ("set already",)),
        ("gives slurmd arguments", "SLURMD_OPTIONS", "-N a", ("set already",)),
        ("Kubernetes refuses", "A=B", "x", ("not a name",)),
    )
]
RAW += [
    _refused(f"{section}: {what}", section, {"container": {"env": env}}, "container.env", words)
    for what, section, env, words in (
        ("arguments of sackd", "logins", [{"name": "SACKD_OPTIONS", "value": "-v"}], ("SACKD_OPTIONS", "set already")),
        ("a variable twice", "controller", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], ("A", "set already")),
        ("no name of a variable", "restapi", [{"name": "A=B", "value": "1"}], ("not a name",)),
    )
]
RAW += [
    _refused(
        f"variables of a ConfigMap that begin with {prefix}",
        "nodesets",
        {"container": {"envFrom": [{"prefix": prefix, "configMapRef": {"name": "site"}}]}},
        "container.envFrom",
        (prefix, "other code"),
    )
    for prefix in ("LD_", "POD_", "SLURM_", "BASH_")
]
RAW += [
    _refused(f"{section}: an init container that {what}", section, {"pod": {"initContainers": [each]}}, below, words)
    for what, each, below, words in (
        (
            "is root of the node",
            {"name": "a", "image": "r/a:1", "securityContext": {"privileged": True}},
            "pod.initContainers.securityContext.privileged",
            ("in sight",),
        ),
        (
            "may become it",
            {"name": "a", "image": "r/a:1", "securityContext": {"capabilities": {"add": ["CAP_SYS_ADMIN"]}}},
            "pod.initContainers.securityContext.capabilities",
            ("SYS_ADMIN", "in sight"),
        ),
    )
    for section in PARTS
]
RAW += [
    _refused(
        f"{section}: an init container called {name}",
        section,
        {"pod": {"initContainers": [{"name": name, "image": "r/a:1"}]}},
        "pod.initContainers",
        (name, "another name"),
        **(OLD if name == "reconfigure" else {}),  # from 1.2 on slurmctld's pod has none
    )
    for section, name in (
        ("nodesets", "logfile"),
        ("nodesets", "slurmd"),
        ("controller", "reconfigure"),
        ("logins", "initconf"),
        ("accounting", "slurmdbd"),
        ("restapi", "slurmrestd"),
    )
]
RAW += [
    _refused(
        f"a capability of {section} by which it is root of the node",
        section,
        {"container": {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}},
        "container.securityContext.capabilities",
        ("SYS_ADMIN", "in sight"),
    )
    for section in PARTS
    if section != "nodesets"
]
RAW += [
    Case(
        f"{section}: a volume with a token of Kubernetes",
        part(section, {"volumes": [{"name": "t", "mountPath": "/t", "source": TOKEN}]}),
        "error",
        f"{path}.volumes",
        ("t", "serviceAccountToken"),
        {section: {"a": {"volumes": None}}},
    )
    for section, (path, _) in PARTS.items()
    if section in {"nodesets", "logins"}
]
RAW += [
    _refused(f"{section}: {what}", section, raw, below, words)
    for what, sections, raw, below, words in (
        ("another host name", PARTS, {"pod": {"hostnameOverride": "foo"}}, "pod.hostnameOverride", ("operator's own",)),
        ("a long host name", PARTS, {"pod": {"setHostnameAsFQDN": True}}, "pod.setHostnameAsFQDN", ("operator's own",)),
        ("a priority", PARTS, {"pod": {"priority": 5}}, "pod.priority", ("pod.priorityClass",)),
        ("limits of a whole pod", PARTS, {"pod": {"resources": {"limits": {"cpu": "4"}}}}, "pod.resources", ("resources",)),
        ("no resolver", PARTS, {"pod": {"dnsPolicy": "None"}}, "pod.dnsPolicy", ("ClusterFirst",)),
        ("a daemon that stays ended", PARTS, {"container": {"restartPolicy": "Never"}}, "container.restartPolicy", ("own",)),
        (
            "a daemon that ends for good",
            PARTS,
            {"container": {"restartPolicyRules": [{"action": "Restart"}]}},
            "container.restartPolicyRules",
            ("own",),
        ),
        (
            "another hook before the end",
            ("nodesets",),
            {"container": {"lifecycle": {"preStop": HOOK}}},
            "container.lifecycle.preStop",
            ("DOWN", "operator"),
        ),
    )
    for section in sections
]
RAW += [
    _refused(
        f"{section}: a port {what}", section, {"container": {"ports": [port]}}, "container.ports", (words, "operator's own")
    )
    for what, section, port, words in (
        ("of slurmd under another name", "nodesets", {"containerPort": 6818, "name": "foo"}, "6818"),
        ("of slurmd on its node", "nodesets", {"containerPort": 6818, "hostPort": 22}, "6818"),
        ("of slurmd's name", "nodesets", {"containerPort": 9000, "name": "slurmd"}, "slurmd"),
        ("of slurmctld under another name", "controller", {"containerPort": 6817, "name": "foo"}, "6817"),
        ("of slurmdbd under another name", "accounting", {"containerPort": 6819}, "6819"),
        ("of slurmrestd under another name", "restapi", {"containerPort": 6820}, "6820"),
        ("of sshd under another name", "logins", {"containerPort": 22}, "22"),
    )
]
RAW += [
    _refused(
        f"a volume called {name}",
        "controller",
        {"pod": {"volumes": [{"name": name, "emptyDir": {}}]}},
        "pod.volumes",
        (name, "Rename it"),
    )
    for name in ("run", "ssh-host-keys")
]
CAPABILITY = {"capabilities": {"add": ["IPC_LOCK"]}}
RAW_SOUND = {
    **{
        f"capabilities of {section} with slurm-operator {version}": part(
            section, {"raw": {"container": {"securityContext": CAPABILITY}}}, operator={"version": version}
        )
        for section in ("nodesets", "controller", "restapi")
        for version in ("1.0.1", "1.1.2", "1.2.1")
    },
    "a group of slurmctld's pod with slurm-operator 1.0": part(
        "controller", {"raw": {"pod": {"securityContext": {"supplementalGroups": [3000]}}}}, **OLD
    ),
    "an option of slurmrestd's resolver with slurm-operator 1.0": part(
        "restapi", {"raw": {"pod": {"dnsConfig": {"options": [{"name": "ndots", "value": "2"}]}}}}, **OLD
    ),
    "a hook of a login pod with slurm-operator 1.0": part(
        "logins", {"raw": {"container": {"lifecycle": {"preStop": HOOK}}}}, **OLD
    ),
    "a scheduler, a hook and variables": part(
        "nodesets",
        {
            "env": {"MY_VAR": "1", "NCCL_DEBUG": "INFO", "SLURMD_DEBUG": "debug"},
            "raw": {
                "pod": {"schedulerName": "volcano", "dnsPolicy": "ClusterFirst"},
                "container": {
                    "lifecycle": {"postStart": HOOK},
                    "envFrom": [{"prefix": "SITE_", "configMapRef": {"name": "a"}}, {"configMapRef": {"name": "b"}}],
                    "ports": [{"containerPort": 9400, "name": "dcgm"}],
                },
            },
        },
        cluster={"name": "lab", "createNamespace": False},
    ),
    "an init container without rights": part(
        "nodesets",
        {
            "raw": {
                "pod": {
                    "initContainers": [
                        {
                            "name": "wait",
                            "image": "r/a:1",
                            "env": [{"name": "LD_LIBRARY_PATH", "value": "/opt/lib"}],
                            "securityContext": {"privileged": False, "capabilities": {"add": ["CHOWN"], "drop": ["ALL"]}},
                        }
                    ]
                }
            }
        },
    ),
    "libraries of a driver": nodeset(env={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64:/usr/local/gib/lib64"}),
    "a projected volume of files": part(
        "nodesets",
        {
            "volumes": [
                {"name": "f", "mountPath": "/f", "source": {"projected": {"sources": [{"downwardAPI": {"items": []}}]}}}
            ]
        },
    ),
}
"""Settings near those that are refused, over which nothing is said."""
