"""Pieces of pods by every door: what `raw` refuses the typed setting of the same field refuses, too; and by release."""

from __future__ import annotations

from typing import Any

from slinky_iac.config.kubernetes.sysctls import SAFE
from slinky_iac.config.operator.raw_merge import DAEMONS
from tests.stacks import minimal
from tests.unit.config.rule_cases import Case, nodeset

TEMPLATE: dict[str, Any] = {
    "metadata": {"name": "disk"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Ti"}}},
}
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
        ("a variable twice", "logins", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], ("A", "set already")),
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
            {"name": "a", "image": "r/a:1", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}},
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
    for name in ("run", "statesave")
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
    "sysctls that every kubelet sets": part(
        "nodesets",
        {"raw": {"pod": {"securityContext": {"sysctls": [{"name": name, "value": "1"} for name in sorted(SAFE)]}}}},
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


def _beside(field: str, **more: Any) -> dict[str, Any]:
    always = {"restartPolicy": "Always"} if field == "initContainers" else {}
    return {"pod": {field: [{"name": "side", "image": "a:1", **always, **more}]}}


RAW += [
    _refused(
        f"{section}: {field} with the daemon's {what}", section, _beside(field, ports=[port]), f"pod.{field}.ports", words
    )
    for section, number in (
        ("controller", 6817),
        ("accounting", 6819),
        ("restapi", 6820),
        ("nodesets", 6818),
        ("logins", 22),
    )
    for field in ("initContainers", "containers")
    for what, port, words in (
        ("port", {"containerPort": number}, (str(number), "the operator's own")),
        ("name of a port", {"name": DAEMONS[section], "containerPort": 9000}, (DAEMONS[section], "its Service")),
    )
]
RAW += [
    _refused(f"{section}: {what}", section, raw, below, words)
    for what, section, raw, below, words in (
        (
            "a sidecar of the daemon's name",
            "nodesets",
            {"pod": {"containers": [{"name": "slurmd", "image": "a:1"}]}},
            "pod.containers",
            ("has already",),
        ),
        (
            "a privileged sidecar",
            "restapi",
            _beside("containers", securityContext={"privileged": True}),
            "pod.containers.securityContext.privileged",
            ("in sight",),
        ),
        (
            "a sidecar with the keys",
            "controller",
            _beside("containers", volumeMounts=[{"name": "slurm-etc", "mountPath": "/k"}]),
            "pod.containers",
            ("slurm-etc",),
        ),
        (
            "logs of the daemon elsewhere",
            "controller",
            {"container": {"volumeMounts": [{"name": "x", "mountPath": "/var/log/slurm"}]}},
            "container.volumeMounts",
            ("/var/log/slurm",),
        ),
        (
            "devices of a NodeSet",
            "nodesets",
            {"container": {"resources": {"limits": {"nvidia.com/gpu": 1}}}},
            "container.resources.limits.nvidia.com/gpu",
            ("use resources",),
        ),
        (
            "two claims of one name",
            "nodesets",
            {"spec": {"volumeClaimTemplates": [TEMPLATE, TEMPLATE]}},
            "spec.volumeClaimTemplates",
            ("twice",),
        ),
        (
            "a Service's label of two words",
            "controller",
            {"spec": {"service": {"metadata": {"labels": {"a": "x y"}}}}},
            "spec.service.metadata.labels.a",
            ("x y",),
        ),
        (
            "endpoints without a path",
            "controller",
            {"spec": {"metrics": {"serviceMonitor": {"endpoints": [{"interval": "30s"}]}}}},
            "spec.metrics.serviceMonitor.endpoints.0",
            ("no path",),
        ),
        (
            "an interval in words",
            "controller",
            {"spec": {"metrics": {"serviceMonitor": {"endpoints": [{"path": "/m", "interval": "30 sec"}]}}}},
            "spec.metrics.serviceMonitor.endpoints.0.interval",
            ("30s",),
        ),
        (
            "a strategy that replaces nothing",
            "logins",
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}},
            "spec.strategy.rollingUpdate",
            ("ever be replaced",),
        ),
    )
]
RAW += [
    _refused(
        "logins: a liveness probe with slurm-operator 1.1",
        "logins",
        {"container": {"livenessProbe": {"tcpSocket": {"port": 22}}}},
        "container.livenessProbe",
        ("nil pointer", "1.2"),
        operator={"version": "1.1.0"},
    ),
    _refused(
        "nodesets: a group of pods with slurm-operator 1.2",
        "nodesets",
        {"pod": {"workloadRef": {"name": "a", "podGroup": "b"}}},
        "pod.workloadRef",
        ("doesn't read",),
        operator={"version": "1.2.1"},
    ),
]
BLOCK = {"metadata": {"name": "disk"}, "spec": {**TEMPLATE["spec"], "volumeMode": "Block"}}
MOUNTED = [{"name": "disk", "mountPath": "/disk", "source": {"emptyDir": {}}}]
RAW += [
    Case(
        "a claim of a device as a folder",
        nodeset(volumes=MOUNTED, raw={"spec": {"volumeClaimTemplates": [BLOCK]}}),
        "error",
        "nodesets.gpu.raw.spec.volumeClaimTemplates",
        ("Block", "volumeDevices"),
        {"nodesets": {"gpu": {"volumes": []}}},
    ),
    Case(
        "two Services on one port of the nodes",
        minimal(
            operator={"version": "1.2.1"},
            **{name: {"service": {"type": "NodePort", "nodePort": 30817}} for name in ("controller", "restapi")},
        ),
        "error",
        "restapi.service.nodePort",
        ("controller.service.nodePort", "one Service only"),
        {"restapi": {"service": {"nodePort": 30818}}},
    ),
    Case(
        "two Services with one address",
        minimal(**{name: {"raw": {"service": {"clusterIP": "10.96.0.77"}}} for name in ("controller", "restapi")}),
        "error",
        "restapi.raw.service.clusterIP",
        ("controller.raw.service.clusterIP",),
        {"restapi": {"raw": None}},
    ),
    Case(
        "a state volume of 0",
        minimal(controller={"persistence": {"size": 0}}),
        "error",
        "controller.persistence.size",
        ("above 0",),
        {"controller": {"persistence": {"size": "4Gi"}}},
    ),
    Case(
        "modes of the state volume that don't go together",
        minimal(controller={"persistence": {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]}}),
        "error",
        "controller.persistence.accessModes",
        ("alone",),
        {"controller": {"persistence": {"accessModes": ["ReadWriteOncePod"]}}},
    ),
]
RAW += [
    Case(
        f"requests above the limit of {path}",
        part(section, {"resources": {"memory": "4Gi", "requests": {"memory": "8Gi"}}}),
        "error",
        f"{path}.resources.requests.memory",
        ("above the limit",),
        {section: {"a": {"resources": None}} if section == "logins" else {"resources": None}},
    )
    for section, (path, _) in PARTS.items()
    if section != "nodesets"
]
RAW += [
    Case(
        f"{section}: a label that the operator writes",
        part(section, {"pod": {"labels": {"app.kubernetes.io/name": "x"}}}),
        "error",
        f"{path}.pod.labels",
        ("the operator writes over it",),
        {section: {"a": {"pod": None}} if section in {"nodesets", "logins"} else {"pod": None}},
    )
    for section, (path, _) in PARTS.items()
]
RAW_TOLD = [
    Case(
        f"nodesets: {what}",
        part("nodesets", {"raw": raw}, operator={"version": "1.1.0"}),
        "warning",
        f"nodesets.a.raw.{below}",
        words,
        {"nodesets": {"a": {"raw": None}}},
    )
    for what, raw, below, words in (
        (
            "a signal behind a gate",
            {"container": {"lifecycle": {"stopSignal": "SIGUSR1"}}},
            "container.lifecycle.stopSignal",
            ("ContainerStopSignals",),
        ),
        (
            "a group of pods behind a gate",
            {"pod": {"workloadRef": {"name": "a", "podGroup": "b"}}},
            "pod.workloadRef",
            ("GenericWorkload",),
        ),
        (
            "a sysctl that no kubelet sets unasked",
            {"pod": {"securityContext": {"sysctls": [{"name": "net/core/somaxconn", "value": "4096"}]}}},
            "pod.securityContext.sysctls",
            ("net/core/somaxconn", "SysctlForbidden", "allowedUnsafeSysctls"),
        ),
        (
            "a gate of the scheduler",
            {"pod": {"schedulingGates": [{"name": "example.org/a"}]}},
            "pod.schedulingGates",
            ("unscheduled",),
        ),
        (
            "slurmd as another user",
            {"container": {"securityContext": {"runAsUser": 1000}}},
            "container.securityContext.runAsUser",
            ("SlurmdUser",),
        ),
    )
]
RAW_TOLD += [
    Case(
        "labels that nothing lays on slurmdbd's pod",
        part("accounting", {"pod": {"labels": {"team": "hpc"}}}),
        "warning",
        "accounting.pod.labels",
        ("lays no labels",),
        {"accounting": {"pod": None}},
    ),
    Case(
        "one claim of devices for pods on several nodes",
        part("nodesets", {"replicas": 2, "raw": {"pod": {"resourceClaims": [{"name": "g", "resourceClaimName": "gpus"}]}}}),
        "warning",
        "nodesets.a.raw.pod.resourceClaims[0].resourceClaimName",
        ("gpus", "stay Pending", "resourceClaimTemplateName"),
        {"nodesets": {"a": {"replicas": 1}}},
    ),
    Case(
        "a database that slurmdbd can't make",
        minimal(accounting={"enabled": True, "database": {"host": "db", "name": "slurm-acct"}}),
        "info",
        "accounting.database.name",
        ("slurm-acct", "Make it before"),
        {"accounting": {"database": {"name": "slurm_acct"}}},
    ),
]
