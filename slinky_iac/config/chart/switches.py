"""What of the chart's values is read only where another key says so: daemons that are outside or not there, parts that are
switched off, and the resolver of pods in the node's network. Pure.

Source: ``helm/slurm/values.yaml`` and ``templates/`` of slurm-operator v1.0.5, v1.1.2, v1.2.1; the resolvers are in
Kubernetes' "DNS for Services and Pods".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slinky_iac.config.chart.reasons import OF_0
from slinky_iac.config.chart.translation import is_empty, merged
from slinky_iac.config.paths import mapping, value_at
from slinky_iac.config.shown import name_of

_OUTSIDE: Final = {"external", "externalConfig", "enabled"}
_DATABASE: Final = {
    "host": "mariadb",
    "port": 3306,
    "database": "slurm_acct_db",
    "username": "slurm",
    "passwordKeyRef": {"name": "mariadb-password", "key": "password"},
}
_DBD_PORT: Final = 6819


def switched(whole: dict[str, Any], own: Mapping[str, Any], notes: list[str], left: list[tuple[str, str]]) -> None:
    """Daemons that are outside, or not there: what else the chart says of them isn't used. ``own``: what the values say,
    without the chart's defaults."""
    for part, daemon in (("controller", "slurmctld"), ("accounting", "slurmdbd")):
        section = whole.get(part)
        if not isinstance(section, Mapping):
            continue
        section = dict(section)
        external = section.pop("external", False)
        if isinstance(external, Mapping):  # of chart 0.x; no such mapping says that the daemon is outside
            left.append((f"{part}.external", OF_0))
            external = False
        config = section.pop("externalConfig", None)
        if part == "accounting" and not section.get("enabled"):
            _no_accounting(section, own, external and mapping(config), notes, left)
            whole[part] = {"enabled": False}
        elif external:
            unused = (key for key, value in section.items() if key not in _OUTSIDE and value not in (None, {}, [], ""))
            left.extend((f"{part}.{key}", f"{daemon} is outside: its admin sets this there") for key in unused)
            if not (config := dict(mapping(config))).get("host"):
                config["host"] = f"{daemon}.example.com"
                notes.append(
                    f"{part}.externalConfig.host by the chart's default: {config['host']}, an example, which these values"
                    f" leave so. DECIDE: the host of your {daemon}"
                )
            whole[part] = {"externalConfig": config, **({"enabled": True} if part == "accounting" else {})}
        else:
            if not is_empty(config):
                notes.append(f"{part}.externalConfig: the chart reads it only with {part}.external: true")
            if part == "accounting":
                section["storageConfig"] = merged(_DATABASE, section.get("storageConfig") or {})
            whole[part] = section
    for key in ("configFiles", "prologScripts", "epilogScripts"):
        outside = isinstance(whole.get("controller"), Mapping) and "externalConfig" in whole["controller"]
        if outside and whole.get(key):
            left.append((key, "slurmctld is outside: its admin sets this there"))
            whole.pop(key)


def _no_accounting(
    section: Mapping[str, Any],
    own: Mapping[str, Any],
    outside: Mapping[str, Any],
    notes: list[str],
    left: list[tuple[str, str]],
) -> None:
    """What to say of slurmdbd's values where the chart makes none. ``outside``: its host, where they have one."""
    default = "" if value_at(own, ("accounting", "enabled")) is False else " by the chart's default"
    if outside:
        host = name_of(str(outside.get("host") or "HOST"))
        left.append(
            (
                "accounting",
                f"enabled is false{default}, and so Helm gives external and externalConfig no effect. If slurmdbd is"
                f" outside, write `accounting: {{external: {{host: {host}, port: {_port(outside)}}}}}`, or add"
                " `accounting.enabled: true` to the values and import them again",
            )
        )
    elif any(not is_empty(setting) for key, setting in section.items() if key != "enabled") or not is_empty(
        {key: setting for key, setting in mapping(own.get("accounting")).items() if key not in ("enabled", "external")}
    ):
        notes.append(f"accounting: enabled is false{default}, so nothing of it is carried over")


def _port(outside: Mapping[str, Any]) -> str:
    port = outside.get("port")
    return str(port) if isinstance(port, int) and not isinstance(port, bool) else str(_DBD_PORT)


_SWITCHES: Final = (
    ("priorityClass",), ("controller", "metrics", "serviceMonitor"), ("controller", "ha"), ("restapi", "pdb"), ("jwksKeys",),
    ("vendor", "nvidia", "dcgm"),
)  # fmt: skip
"""Parts that the chart reads only where their `enabled` is true; by default none is."""


def off(whole: dict[str, Any], notes: list[str]) -> None:
    """Take away what is switched off, and what says the same as another key."""
    metrics = value_at(whole, ("controller", "metrics"))
    if isinstance(metrics, dict) and not metrics.get("enabled") and not is_empty(metrics.get("serviceMonitor")):
        notes.append(
            "controller.metrics.serviceMonitor: the operator makes it only with controller.metrics.enabled: true, so it"
            " isn't carried over"
        )
        metrics["serviceMonitor"] = {}
    for *above, last in _SWITCHES:
        inner = value_at(whole, above)
        if isinstance(inner, dict) and isinstance(inner.get(last), Mapping) and not inner[last].get("enabled"):
            if not is_empty({key: setting for key, setting in inner[last].items() if key != "enabled"}):
                at = ".".join([*above, last])
                notes.append(f"{at}: the chart reads it only with {at}.enabled: true, so it isn't carried over")
            inner[last] = {}
    controller = whole.get("controller")
    if isinstance(controller, dict):
        images = [mapping(controller.get(part)).get("image") for part in ("reconfigure", "slurmctld")]
        if images[0] == images[1] and not is_empty(images[0]):
            controller["reconfigure"] = {**mapping(controller.get("reconfigure")), "image": None}
            notes.append("controller.reconfigure.image: it is slurmctld's, which that sidecar has here in any case")
    users = [
        *(whole.get("loginsets") or {}).values(),
        *(s for s in (whole.get("nodesets") or {}).values() if (s.get("ssh") or {}).get("enabled")),
    ]
    if not users and not is_empty(whole.get("sssd")):
        notes.append("sssd: no login pod and no NodeSet with ssh of these values reads it, so it isn't carried over")
        whole["sssd"] = {}


_OWN_SIDECAR: Final = "`identity.sssd` makes it beside slurmctld, with its configuration, its socket and its log"
_CA: Final = (
    ". If its sssd.conf names a file of a CA: put the certificate into the Secret with sssd.conf as the entry ca.crt, and"
    " name /etc/slinky-sssd/ca.crt in sssd.conf"
)
_OF_SIDECAR: Final = "is of the container sssd, which `identity.sssd` makes"


def sssd_beside(whole: dict[str, Any], left: list[tuple[str, str]]) -> None:
    """Take away a container with sssd that values spell out beside slurmctld, where ``identity.sssd`` makes one: its volumes
    and mounts are the operator's names and places then."""
    spec, daemon = (value_at(whole, ("controller", part)) for part in ("podSpec", "slurmctld"))
    containers = spec.get("containers") if isinstance(spec, dict) else None
    if is_empty(whole.get("sssd")) or not isinstance(containers, list) or not isinstance(spec, dict):
        return
    own = [container for container in containers if isinstance(container, Mapping) and container.get("name") == "sssd"]
    if not own:
        return
    mounts = [mount for one in own for mount in _mappings(one.get("volumeMounts"))]
    mounted = {str(mount.get("name")) for mount in mounts}
    has_ca = any("ca" in str(mount.get("mountPath")).split("/") or "cert" in str(mount.get("mountPath")) for mount in mounts)
    left.append(("controller.podSpec.containers (sssd)", _OWN_SIDECAR + (_CA if has_ca else "")))
    spec["containers"] = [container for container in containers if container not in own]
    beside = _mappings(daemon.get("volumeMounts")) if isinstance(daemon, dict) else []
    shared = [mount for mount in beside if "sss" in str(mount.get("mountPath")) or str(mount.get("name")) in mounted]
    if isinstance(daemon, dict) and shared:
        daemon["volumeMounts"] = [mount for mount in beside if mount not in shared]
        left += [(f"controller.slurmctld.volumeMounts ({mount.get('mountPath')})", _OF_SIDECAR) for mount in shared]
    gone = mounted | {str(mount.get("name")) for mount in shared}
    others = {
        str(m.get("name")) for c in spec["containers"] if isinstance(c, Mapping) for m in _mappings(c.get("volumeMounts"))
    }
    others |= {str(mount.get("name")) for mount in beside if mount not in shared}
    volumes = _mappings(spec.get("volumes"))
    unused = [volume for volume in volumes if str(volume.get("name")) in gone - others]
    spec["volumes"] = [volume for volume in volumes if volume not in unused]
    left += [(f"controller.podSpec.volumes ({volume.get('name')})", _OF_SIDECAR) for volume in unused]


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []


_RESOLVERS: Final = frozenset({"ClusterFirst", "ClusterFirstWithHostNet", "Default"})


def resolvers(whole: Mapping[str, Any], notes: list[str]) -> None:
    """Take away a resolver of pods that is another one here: it goes by their network."""
    for at, part in _parts(whole):
        spec = part.get("podSpec")
        if not isinstance(spec, dict) or spec.get("dnsPolicy") not in _RESOLVERS:
            continue
        given, network = spec["dnsPolicy"], spec.get("hostNetwork") is True
        here = "ClusterFirstWithHostNet" if network else "ClusterFirst"
        if given == here:
            continue
        spec.pop("dnsPolicy")
        one = given == "ClusterFirstWithHostNet"  # without the node's network Kubernetes reads it so
        why = "Kubernetes takes both for one there" if one else "the node's own resolver knows no Service of the cluster"
        notes.append(
            f"{at}.podSpec.dnsPolicy: {given} in the values, and {here} here, as goes with hostNetwork"
            f" {str(network).lower()}: {why}"
        )


def _parts(whole: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Parts with pods, by their places."""
    yield from ((name, mapping(whole.get(name))) for name in ("controller", "accounting", "restapi"))
    for kind in ("nodesets", "loginsets"):
        yield from ((f"{kind}.{name}", mapping(pod_set)) for name, pod_set in mapping(whole.get(kind)).items())
