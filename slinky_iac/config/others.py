"""What settings name in the cluster's namespace that somebody else makes there: Secrets, claims, ConfigMaps. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slinky_iac.config.shown import name_of
from slinky_iac.keys.sources import KEY_SOURCES

_PULL: Final = frozenset({"pullSecrets", "imagePullSecrets"})
_CLAIMS: Final = frozenset({"existingClaim", "claimName"})
_REFERENCES: Final[Mapping[str, str]] = {
    "configMap": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "nodePublishSecretRef": "Secret",
    "secret": "Secret",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
}
"""Fields of Kubernetes that name an object as ``{name: …}``."""


def of_others(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Kind and name of each object that ``settings``, as a stack's file has them, take as given; each once."""
    daemons = {name: settings.get(name) for name in ("controller", "accounting", "restapi", "nodesets", "logins")}
    sssd = (settings.get("identity") or {}).get("sssd")
    images = (settings.get("cluster") or {}).get("images")
    own = settings.get("keys") or {}
    source = KEY_SOURCES.get(own.get("source", ""))
    keys = {} if source is None or source.makes_secrets else own
    return tuple(dict.fromkeys(_named({"keys": keys, **daemons, "sssd": sssd, "images": images})))


def of_operator(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The same of `operator.values`, in slurm-operator's own namespace."""
    return tuple(dict.fromkeys(_named(values)))


def _named(value: object) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for child in value:
            yield from _named(child)
    if not isinstance(value, Mapping):
        return
    for key, child in value.items():
        if key in _CLAIMS and isinstance(child, str) and child:
            yield f"claim {name_of(child)}"
        elif key == "secretName" and isinstance(child, str):
            yield f"Secret {name_of(child)}"
        elif key in _PULL and isinstance(child, list | tuple):
            names = (one.get("name") if isinstance(one, Mapping) else one for one in child)
            yield from (f"Secret {name_of(str(name))}" for name in names if name)
        elif str(key).endswith("From") and isinstance(child, Mapping) and isinstance(child.get("secret"), str):
            yield f"Secret {name_of(child['secret'])}"
        elif key in _REFERENCES and isinstance(child, Mapping) and isinstance(child.get("name"), str):
            yield f"{_REFERENCES[key]} {name_of(child['name'])}"
        else:
            yield from _named(child)
