"""How a value of Slinky's chart becomes the value of a setting. Pure; each raises :class:`Left` where it can't be one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac.config.shown import name_of
from slinky_iac.parts.slurmctld.settings import METRICS_PATHS
from slinky_iac.selection import DAEMON

_RELEASE: Final = re.compile(r"\d\d\.\d\d(?=-|$)")
"""What tags of Slinky's images begin with: 25.11-ubuntu24.04."""
Take = Callable[[Any], object]
_WHOLE: Final = re.compile(r"[0-9]+")
NAME: Final = "{name}"
"""In what is said of a key of a set: the set's name."""
VALUE: Final = "{value}"
"""In why a key has no setting: its value."""
ADOPTED: Final = "A release that runs keeps its names with `slinky adopt`"
_MOST_DIGITS: Final = 10
SAME: Final = ""
"""The place of a setting that is the row's own."""


@dataclass(frozen=True)
class Several:
    """What a value becomes where that isn't one setting, or not all of it is one."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """Values by the paths of their settings."""
    left: Sequence[tuple[str, str]] = ()
    """What of it has no setting, by its place below the value, and why."""
    notes: Sequence[str] = ()
    """What is another value here than in the chart."""


class Left(ValueError):
    """A value that isn't carried over, and why."""


def same(value: object) -> object:
    """As it is: the settings' own types judge it."""
    return value


def number(value: object) -> object:
    """A whole number, also where it is a text of one, as Helm's --set-string makes it."""
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value


def some_pods(value: object) -> object:
    """A number of slurmrestd's pods."""
    if number(value) == 0:
        raise Left("gates and commands ask slurmrestd, so one pod of it runs: 1, the default")
    return number(value)


def text(value: object) -> object:
    """A text, also where YAML reads a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def texts(value: object) -> object:
    """A mapping whose values are texts."""
    return {str(k): _plain(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def secret_names(value: object) -> object:
    """Names of Secrets, which Kubernetes has as ``{name: …}``."""
    if not isinstance(value, list):
        return value
    return [secret.get("name") if isinstance(secret, Mapping) else secret for secret in value]


_NO_TEXT: Final = (
    "tag is no text, so 26.10 is 26.1, and the chart writes `%!s(float64=26.1)` for it, which no registry has: put it in"
    ' quotes, tag: "26.10", then run this again'
)


def image(name: str) -> Take:
    """``repository``, ``tag`` and ``digest`` as one text; ``name``: of Slinky's image, for a part that is left out."""

    def take(value: Any) -> object:  # noqa: ANN401
        if not isinstance(value, Mapping):
            return value
        repository, tag, digest = (value.get(key) or "" for key in ("repository", "tag", "digest"))
        if not (tag or digest):
            raise Left("the image has no tag: without one two pods may run two versions")
        if not (digest or isinstance(tag, str)):
            raise Left(_NO_TEXT)
        base = repository or name
        text = f"{base}@{digest}" if digest else f"{base}:{tag}"
        release = _RELEASE.match(str(tag)) if name.endswith("/slurmctld") else None  # slurmd may be older
        left = _others(value, "repository", "tag", "digest")
        return Several({SAME: text, **({"cluster.slurmVersion": release[0]} if release else {})}, left)

    return take


def resources(value: Any) -> object:  # noqa: ANN401
    """Resources of slurmd as ``cpus``, ``memory`` and ``extended``: requests equal limits here. Claims of devices are a raw
    piece."""
    if not isinstance(value, Mapping):
        return value
    claims = value.get("claims")
    if isinstance(claims, list):
        value = {key: part for key, part in value.items() if key != "claims"}
    limits, requests, left = _amounts(value, devices=True)
    disks = _disks("nodesets.{}", limits, requests)
    both = {**requests, **limits}
    amounts: dict[str, object] = {word: text(both[key]) for key, word in _SIZES if key in both}
    extended = {key: number(amount) for key, amount in both.items() if "/" in key}
    pages = {key: amount for key, amount in both.items() if key.startswith(_PAGES)}
    amounts |= {"extended": extended} if extended else {}
    said = [
        f"{key} is {_amount(limits[key])} (requests say {_amount(asked)})"
        for key, asked in requests.items()
        if limits.get(key, asked) != asked
    ]
    said += [f"{key} {_amount(asked)} is a limit too" for key, asked in requests.items() if key not in limits]
    notes = (
        [f"requests equal limits here: {', '.join(said)}. A Kubernetes node needs that much for each pod"] if said else []
    )
    others = {"nodesets.{}.raw.container.resources.claims": claims} if isinstance(claims, list) and claims else {}
    paged = {"nodesets.{}.raw.container.resources.limits": pages} if pages else {}
    return Several({**({SAME: amounts} if amounts else {}), **others, **disks, **paged}, left, notes)


def container_resources(part: str = "") -> Take:
    """Resources of a container that runs no jobs: ``cpus`` and ``memory`` of the limits, and ``requests``. ``part``: the
    setting whose raw piece has what else there is; empty where it has none."""

    def take(value: Any) -> object:  # noqa: ANN401
        if not isinstance(value, Mapping):
            return value
        limits, requests, left = _amounts(value, devices=False, disks=bool(part))
        disks = _disks(part, limits, requests)
        amounts: dict[str, object] = {word: text(limits[key]) for key, word in _SIZES if key in limits}
        asked = {word: text(requests[key]) for key, word in _SIZES if key in requests}
        amounts |= {"requests": asked} if asked else {}
        return Several({**({SAME: amounts} if amounts else {}), **disks}, left)

    return take


def _disks(part: str, limits: dict[str, Any], requests: dict[str, Any]) -> dict[str, object]:
    """Amounts of the node's disk, which are a raw piece, and are taken out of both."""
    given = {word: amounts.pop(_DISK) for word, amounts in (("limits", limits), ("requests", requests)) if _DISK in amounts}
    return {f"{part}.raw.container.resources.{word}": {_DISK: amount} for word, amount in given.items()}


_DISK: Final = "ephemeral-storage"
_PAGES: Final = "hugepages-"
_SIZES: Final = (("cpu", "cpus"), ("memory", "memory"))


def _amounts(
    value: Mapping[Any, Any], *, devices: bool, disks: bool = True
) -> tuple[dict[str, Any], dict[str, Any], list[tuple[str, str]]]:
    """Limits and requests that have a setting, and what of both has none."""
    left = [(f".{key}", "can't be said here: limits and requests can") for key in value if key not in {"limits", "requests"}]
    amounts: dict[str, dict[str, Any]] = {}
    for word in ("limits", "requests"):
        given = amounts[word] = {}
        inner = value.get(word) or {}
        if not isinstance(inner, Mapping):
            left.append((f".{word}", "is a mapping in the chart, and isn't one here"))
            continue
        for key, amount in inner.items():
            if (
                key in dict(_SIZES)
                or (disks and key == _DISK)
                or (devices and ("/" in str(key) or str(key).startswith(_PAGES)))
            ):
                given |= {str(key): amount} if amount is not None else {}
            else:
                can = (
                    "cpu, memory, ephemeral-storage, huge pages and resources of device plugins"
                    if devices
                    else "cpu and memory"
                )
                left.append((f".{word}.{key}", f"can't be said here: {can} can"))
    return amounts["limits"], amounts["requests"], left


def _amount(value: object) -> str:
    return name_of(str(value))


def reference(value: Any) -> object:  # noqa: ANN401
    """An entry of a Secret."""
    if not isinstance(value, Mapping) or not value.get("name"):
        raise Left("it names a Secret: {secret: NAME, key: password}")
    secret = {"secret": value["name"], **({"key": value["key"]} if value.get("key") else {})}
    return Several({SAME: secret}, left) if (left := _others(value, "name", "key")) else secret


def _others(value: Mapping[Any, Any], *known: str) -> list[tuple[str, str]]:
    """What a mapping has beside the keys that are read."""
    why = f"only {', '.join(known[:-1])} and {known[-1]} are read"
    return [(f".{key}", why) for key, part in value.items() if key not in known and part not in (None, "", {}, [])]


def variables(value: Any) -> object:  # noqa: ANN401
    """A NodeSet's env as a mapping; what comes from elsewhere is a raw piece."""
    if not isinstance(value, list):
        return value
    plain_texts, others = {}, []
    for number, variable in enumerate(value, 1):
        if not isinstance(variable, Mapping) or "name" not in variable:
            raise Left(
                f"entry {number} of env has no name, so the whole env is left out: write `name` and `value` in each entry,"
                " then run this again"
            )
        if "valueFrom" in variable:
            others.append(variable)
        else:
            plain_texts[str(variable["name"])] = _plain(variable.get("value", ""))
    settings: dict[str, object] = {"nodesets.{}.env": plain_texts} if plain_texts else {}
    return Several({**settings, **({"nodesets.{}.raw.container.env": others} if others else {})})


def listed(value: object) -> object:
    """A list, also where it is one text with commas."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def members(value: object) -> object:
    """NodeSets of a partition, each once, as the chart writes them."""
    return (
        list(dict.fromkeys(value)) if isinstance(value, list) and all(isinstance(member, str) for member in value) else value
    )


def endpoints(value: object) -> object:
    """What Prometheus asks slurmctld's pod for. The stack's own paths are there in any case."""
    if not isinstance(value, list) or not all(isinstance(endpoint, Mapping) and endpoint.get("path") for endpoint in value):
        return value
    own = {endpoint["path"]: endpoint for endpoint in value if endpoint["path"] in METRICS_PATHS}
    others = [endpoint for endpoint in value if endpoint["path"] not in METRICS_PATHS]
    left = [(f" ({path})", _ASKED) for path, endpoint in own.items() if endpoint.keys() != {"path"}]
    more = [path for path in METRICS_PATHS if path not in own]
    notes = [f"the stack's ServiceMonitor has {', '.join(more)} too, which these values leave out"] if more else []
    return Several({SAME: others} if others else {}, left, notes)


_ASKED: Final = "the stack's ServiceMonitor has this path already, with the interval of `monitoring.interval`"


def gpus(value: object) -> object:
    """A number of GPUs, which are a device plugin's and Slurm's."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Left("give their number: extended: {nvidia.com/gpu: NUMBER} and gres: [gpu:NUMBER]")
    return Several({"nodesets.{}.resources.extended": {"nvidia.com/gpu": value}, "nodesets.{}.gres": [f"gpu:{value}"]})


def key_ref(name: str) -> Take:
    """The Secret of one key; ``name``: ``slurm`` or ``jwt``."""

    def take(value: Any) -> object:  # noqa: ANN401
        if not isinstance(value, Mapping) or not value.get("name"):
            raise Left("name the Secret in the section `keys`, with `source: existing`")
        # The Secrets are in the namespace already, so it isn't this stack's to make.
        secret = reference({key: part for key, part in value.items() if key in ("name", "key")})
        settings = {"keys.source": "existing", f"keys.{name}KeyFrom": secret, "cluster.createNamespace": False}
        return Several(settings, _others(value, "name", "key"))

    return take


def outside(value: Any) -> object:  # noqa: ANN401
    """An outside daemon's host and port."""
    if not isinstance(value, Mapping):
        return value
    return {key: number(part) for key, part in value.items() if part is not None}


def priority_class(value: Any) -> object:  # noqa: ANN401
    """The chart's one class for all pods."""
    places = ("controller", "accounting", "restapi", "nodesets.*", "logins.*")
    return Several({f"{place}.pod.priorityClass": value for place in places})


def storage(value: Any) -> object:  # noqa: ANN401
    """The size of a claim."""
    asked = value.get("requests") if isinstance(value, Mapping) else None
    if not isinstance(asked, Mapping) or "storage" not in asked:
        raise Left("it is `size`, for example 4Gi")
    left = _others(value, "requests", "limits")
    left += [(f".requests{at}", "a claim asks for storage alone") for at, _ in _others(asked, "storage", "storage")]
    limits = {"controller.raw.spec.persistence.resources.limits": value["limits"]} if value.get("limits") else {}
    return Several({SAME: text(asked["storage"]), **limits}, left)


def storage_class(value: object) -> object:
    """The class of a claim. ``-`` is the chart's word for the empty one: no class, a volume that is there already."""
    return "" if value == "-" else value


def only(*, allowed: Sequence[object] = (), why: str) -> Take:
    """A value that means what is so here in any case; for another one ``why``."""

    def take(value: Any) -> object:  # noqa: ANN401
        if value in allowed:
            return Several()
        raise Left(why)

    return take


def scaling_mode(value: object) -> object:
    """A NodeSet's mode; the one with a number of pods is the default here."""
    known = {"statefulset": Several(), "daemonset": DAEMON}
    if str(value).lower() not in known:
        raise Left("it is StatefulSet or DaemonSet")
    return known[str(value).lower()]


def padding(value: object) -> object:
    """Zeros before the numbers in names of nodes."""
    if value in (0, "0"):
        return Several()
    digits = value if isinstance(value, int) and 0 < value < _MOST_DIGITS else 3
    raise Left(
        f"numbers in node names have no leading zeros here, so nodes get other names: {NAME}-0 in the place of"
        f" {NAME}-{'0' * digits}. {ADOPTED}"
    )


def named(value: object) -> object:
    """A mapping by name, also where it is a list of mappings with a name each."""
    if not isinstance(value, list) or not all(isinstance(part, Mapping) and "name" in part for part in value):
        raise Left("it is a mapping of names to settings")
    return {str(part["name"]): {key: inner for key, inner in part.items() if key != "name"} for part in value}


def _plain(value: object) -> str:
    """A value as Kubernetes has it in a text."""
    return str(value).lower() if isinstance(value, bool) else word(value)


def word(value: object) -> str:
    """A value as Slurm has it in a text."""
    if isinstance(value, bool):
        return "YES" if value else "NO"
    return "" if value is None else str(value)
