"""Random configurations that are sound: what a person may write, with all its optional parts present or absent."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.stack import StackConfig
from tests.stacks import SECRETS

VERSIONS = ("1.0.1", "1.0.2", "1.0.4", "1.1.0", "1.1.1", "1.2.1")
NAMES = st.sampled_from(["gpu", "cpu", "a-1", "burst", "long-name-of-a-nodeset-0"])
TEXTS = st.dictionaries(st.sampled_from(["MaxTime", "Default", "OverSubscribe"]), st.sampled_from(["UNLIMITED", "YES", "1"]))


def optional(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping that has each of ``parts`` or not."""
    return st.fixed_dictionaries({}, optional=parts)


POD = optional(
    nodeSelector=st.just({"disk": "ssd"}),
    tolerations=st.just([{"key": "gpu", "operator": "Exists"}]),
    affinity=st.just({"nodeAffinity": {}}),
    priorityClass=st.just("high"),
    annotations=st.just({"team": "hpc"}),
    labels=st.just({"team": "hpc"}),
    terminationGrace=st.sampled_from([0, 30, "5m"]),
)
HOST_POD = st.tuples(POD, st.booleans()).map(lambda pair: {**pair[0], "hostNetwork": pair[1]})
SERVICE = optional(type=st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]), annotations=st.just({"lb": "internal"}))
NODESET = st.fixed_dictionaries(
    {"replicas": st.integers(0, 20)},
    optional={
        "image": st.just("registry.example.org/slurmd:26.05"),
        "resources": optional(
            cpus=st.sampled_from([4, "500m", "64"]),
            memory=st.sampled_from(["512Mi", "16Gi", "1T"]),
            extended=st.just({"nvidia.com/gpu": 8}),
        ),
        "partition": optional(enabled=st.booleans(), config=TEXTS),
        "features": st.just(["a100", "nvlink"]),
        "gres": st.sampled_from([["gpu:8"], ["gpu:a100:4", "mps:100"]]),
        "extraConf": st.just({"Weight": 10}),
        "pod": HOST_POD,
        "privileged": st.booleans(),
        "env": st.just({"LANG": "C.UTF-8"}),
        "volumes": st.just([{"name": "home", "mountPath": "/home", "source": {"hostPath": {"path": "/home"}}}]),
        "updateStrategy": st.sampled_from([{"type": "OnDelete"}, {"maxUnavailable": 1}, {"maxUnavailable": "10%"}]),
        "ssh": st.just({"enabled": True, "sssdConfFrom": {"secret": "sssd"}, "extraSshdConfig": "X11Forwarding no"}),
    },
)
LOGIN = st.fixed_dictionaries(
    {"sssdConfFrom": st.just({"secret": "sssd"})},
    optional={
        "replicas": st.integers(0, 3),
        "rootAuthorizedKeys": st.just("ssh-ed25519 AAAA"),
        "extraSshdConfig": st.just("X11Forwarding no"),
        "service": SERVICE,
        "pod": HOST_POD,
    },
)
CONTROLLER_INSIDE = optional(
    extraConf=st.just({"SlurmctldDebug": "info"}),
    configFiles=st.just({"cgroup.conf": "CgroupPlugin=autodetect\n"}),
    prolog=st.just({"prolog.sh": "#!/bin/sh\n"}),
    epilog=st.just({"epilog.sh": "#!/bin/sh\n"}),
    persistence=st.sampled_from(
        [{"enabled": False}, {"existingClaim": "state"}, {"storageClass": "fast", "size": "10Gi"}, {"size": 10}]
    ),
    service=SERVICE,
    metrics=st.booleans(),
    pod=POD,
)
CONTROLLER = CONTROLLER_INSIDE | st.sampled_from(
    [
        {"external": {"host": "ctl.example.org"}},
        {"external": {"host": "192.0.2.1", "port": 7000}},
        {"external": {"host": "2001:db8::1"}},
    ]
)
ACCOUNTING = (
    st.just({"enabled": False})
    | optional(extraConf=st.just({"DebugLevel": "info"}), service=SERVICE, pod=POD).map(
        lambda more: {"database": {"host": "mariadb"}, **more}
    )
    | st.sampled_from([{"external": {"host": "dbd"}}, {"external": {"host": "192.0.2.2", "port": 16819}}])
)


@st.composite
def sound_configs(draw: st.DrawFn) -> StackConfig:
    """A configuration without an error."""
    data: dict[str, Any] = {
        "cluster": {"name": "lab", "images": draw(optional(pullSecrets=st.just(["pull"]), pullPolicy=st.just("Always")))},
        "operator": {"version": draw(st.sampled_from(VERSIONS))},
        "keys": {"source": "imported"},
        "controller": draw(CONTROLLER),
        "accounting": draw(ACCOUNTING),
        "restapi": draw(optional(replicas=st.integers(1, 3), service=SERVICE, pod=HOST_POD)),
        "nodesets": draw(st.dictionaries(NAMES, NODESET, max_size=2)),
        "logins": draw(st.dictionaries(NAMES, LOGIN, max_size=1)),
    }
    config = load(data)
    assume(not [f for f in findings(config, SECRETS) if f.level == "error"])
    return config
