"""How a value of Slinky's chart becomes the value of a setting. Pure; each raises :class:`Left` where it can't be one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Take = Callable[[Any], object]
_WHOLE: Final = re.compile(r"[0-9]+")
SPLIT: Final = "\n "
"""Under this key a conversion gives settings of several places, by their paths."""


class Left(ValueError):
    """A value that isn't carried over, and why."""


def same(value: object) -> object:
    """As it is: the settings' own types judge it."""
    return value


def number(value: object) -> object:
    """A whole number, also where it is a text of one, as Helm's --set-string makes it."""
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value


def text(value: object) -> object:
    """A text, also where YAML reads a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def texts(value: object) -> object:
    """A mapping whose values are texts."""
    return {str(k): _word(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def secret_names(value: object) -> object:
    """Names of Secrets, which Kubernetes has as ``{name: …}``."""
    if not isinstance(value, list):
        return value
    return [each.get("name") if isinstance(each, Mapping) else each for each in value]


def image(name: str) -> Take:
    """``repository``, ``tag`` and ``digest`` as one text; ``name``: of Slinky's image, for a part that is left out."""

    def take(value: Any) -> object:  # noqa: ANN401
        if not isinstance(value, Mapping):
            return value
        repository, tag, digest = (value.get(key) or "" for key in ("repository", "tag", "digest"))
        if not (tag or digest):
            raise Left("the image has no tag: without one two pods may run two versions")
        base = repository or name
        return f"{base}@{digest}" if digest else f"{base}:{tag}"

    return take


def resources(value: Any) -> object:  # noqa: ANN401
    """A container's resources as ``cpus``, ``memory`` and ``extended``: requests equal limits here."""
    if not isinstance(value, Mapping):
        return value
    limits, requests = value.get("limits") or {}, value.get("requests") or {}
    if not all(isinstance(each, Mapping) for each in (limits, requests)):
        raise Left("limits and requests are mappings")
    if unknown := sorted(map(str, value.keys() - {"limits", "requests"})):
        raise Left(f"{', '.join(unknown)} can't be said here")
    both = {**requests, **limits}
    found: dict[str, object] = {}
    extended = {}
    for key, amount in both.items():
        if key == "cpu":
            found["cpus"] = text(amount)
        elif key == "memory":
            found["memory"] = text(amount)
        elif "/" in str(key):
            extended[str(key)] = number(amount)
        else:
            raise Left(f"{key} can't be said here: cpu, memory and resources of device plugins can")
    return {**found, **({"extended": extended} if extended else {})}


def container_resources(value: Any) -> object:  # noqa: ANN401
    """Resources of a container that runs no jobs: ``cpus`` and ``memory`` of the limits, and ``requests``."""
    if not isinstance(value, Mapping):
        return value
    limits, requests = ({**(value.get(word) or {})} for word in ("limits", "requests"))
    if unknown := sorted({*value} - {"limits", "requests"} | {*limits, *requests} - {"cpu", "memory"}):
        raise Left(f"{', '.join(map(str, unknown))} can't be said here: requests and limits of cpu and memory can")
    found = {word: text(limits[key]) for key, word in _SIZES if limits.get(key) is not None}
    asked = {word: text(requests[key]) for key, word in _SIZES if requests.get(key) is not None}
    return {**found, **({"requests": asked} if asked else {})}


_SIZES: Final = (("cpu", "cpus"), ("memory", "memory"))


def reference(value: Any) -> object:  # noqa: ANN401
    """An entry of a Secret."""
    if not isinstance(value, Mapping) or not value.get("name"):
        raise Left("it names a Secret: {secret: NAME, key: password}")
    return {"secret": value["name"], **({"key": value["key"]} if value.get("key") else {})}


def variables(value: Any) -> object:  # noqa: ANN401
    """A NodeSet's env as a mapping; what comes from elsewhere is a raw piece."""
    if not isinstance(value, list):
        return value
    found, others = {}, []
    for each in value:
        if not isinstance(each, Mapping) or "name" not in each:
            raise Left("a variable has a name and a value")
        if "valueFrom" in each:
            others.append(each)
        else:
            found[str(each["name"])] = _word(each.get("value", ""))
    settings: dict[str, object] = {"nodesets.{}.env": found} if found else {}
    return {SPLIT: {**settings, **({"nodesets.{}.raw.container.env": others} if others else {})}}


def lines(value: object) -> object:
    """Lines ``Key=Value`` of a configuration file as a mapping."""
    if not isinstance(value, str):
        return texts(value)
    rows = [line.partition("#")[0].strip() for line in value.splitlines()]
    return _pairs([row for row in rows if row])


def words(value: object) -> object:
    """Words ``Key=Value`` of one line of slurm.conf as a mapping; so are the values of the chart's own mapping."""
    return _pairs(value.split()) if isinstance(value, str) else _joined(value)


def conf(value: object) -> object:
    """The chart's mapping of parameters: a list is joined by commas."""
    return _joined(value)


def of_node(value: object) -> object:
    """Parameters of a node: GRES and features have settings of their own."""
    found = words(value)
    if not isinstance(found, Mapping):
        return found
    rest = {key: each for key, each in found.items() if key.lower() not in {"gres", "features", "feature"}}
    settings: dict[str, object] = {"nodesets.{}.extraConf": rest} if rest else {}
    for key, each in found.items():
        if key.lower() == "gres":
            settings["nodesets.{}.gres"] = each.split(",")
        elif key.lower() in {"features", "feature"}:
            settings["nodesets.{}.features"] = each.split(",")
    return {SPLIT: settings}


def listed(value: object) -> object:
    """A list, also where it is one text with commas."""
    return [each.strip() for each in value.split(",")] if isinstance(value, str) else value


def gpus(value: object) -> object:
    """A number of GPUs, which are a device plugin's and Slurm's."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Left("GPUs are `resources.extended: {nvidia.com/gpu: NUMBER}` and `gres: [gpu:NUMBER]`")
    return {
        SPLIT: {"nodesets.{}.resources.extended": {"nvidia.com/gpu": value}, "nodesets.{}.gres": [f"gpu:{value}"]},
    }


def key_ref(name: str) -> Take:
    """The Secret of one key; ``name``: ``slurm`` or ``jwt``."""

    def take(value: Any) -> object:  # noqa: ANN401
        if not isinstance(value, Mapping) or not value.get("name"):
            raise Left("name the Secret in the section `keys`, with `source: existing`")
        # The Secrets are in the namespace already, so it isn't this stack's to make.
        found = {"keys.source": "existing", f"keys.{name}KeyFrom": reference(value), "cluster.createNamespace": False}
        return {SPLIT: found}

    return take


def outside(value: Any) -> object:  # noqa: ANN401
    """An outside daemon's host and port."""
    if not isinstance(value, Mapping):
        return value
    return {key: number(each) for key, each in value.items() if each is not None}


def priority_class(value: Any) -> object:  # noqa: ANN401
    """The chart's one class for all pods."""
    places = ("controller", "accounting", "restapi", "nodesets.*", "logins.*")
    return {SPLIT: {f"{place}.pod.priorityClass": value for place in places}}


def storage(value: Any) -> object:  # noqa: ANN401
    """The size of a claim."""
    asked = value.get("requests") if isinstance(value, Mapping) else None
    if not isinstance(asked, Mapping) or "storage" not in asked:
        raise Left("it is `size`, for example 4Gi")
    return text(asked["storage"])


def only(*, allowed: Sequence[object] = (), why: str) -> Take:
    """A value that means what is so here in any case; for another one ``why``."""

    def take(value: Any) -> object:  # noqa: ANN401
        if value in allowed:
            return {SPLIT: {}}
        raise Left(why)

    return take


def named(value: object) -> object:
    """A mapping by name, also where it is a list of mappings with a name each."""
    if not isinstance(value, list) or not all(isinstance(each, Mapping) and "name" in each for each in value):
        raise Left("it is a mapping of names to settings")
    return {str(each["name"]): {key: inner for key, inner in each.items() if key != "name"} for each in value}


def _pairs(rows: list[str]) -> dict[str, str]:
    found = {}
    for row in rows:
        key, equals, value = row.partition("=")
        if not equals:
            raise Left("a line that isn't Key=Value can't be said here")
        if key in found:
            raise Left(f"{key} occurs twice: a mapping has each parameter once")
        text = value.strip()
        found[key.strip()] = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    return found


def _joined(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {
        str(key): ",".join(map(_word, each)) if isinstance(each, list) else _word(each)
        for key, each in value.items()
        if each is not None
    }


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    return "" if value is None else str(value)
