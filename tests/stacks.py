"""Configurations that many tests need: the shipped examples, and the smallest that is sound."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings, require_sound
from slinky_iac.config.stack import StackConfig

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = (*sorted(ROOT.glob("examples/Pulumi.*.yaml")), ROOT / "Pulumi.dev.yaml")
DEPLOYMENTS = (ROOT / "examples" / "hyperpod" / "Pulumi.hyperpod.yaml", ROOT / "examples" / "oke" / "Pulumi.oke.yaml")
"""Public reference deployments as examples; beside each is what its site declares to the policies (site.json)."""
SECRETS = frozenset({"slurmKey", "jwtKey", "databasePassword"})
FORMS = ("all-in-kubernetes", "slurmdbd-outside", "controller-outside", "all-outside")
"""The four hybrid forms, by the name of their example."""

Data = dict[str, Any]
LAB_NETWORKS: Data = {
    "enabled": True,
    "apiServer": [{"cidr": "10.88.0.1"}],
    "addresses": {"ctl": ["10.99.0.10"]},
}
"""networkPolicies of the lab's stack, which has none of its own."""


def without_networks(stack: Data) -> Data:
    """A stack's sections without its NetworkPolicies."""
    return {name: section for name, section in stack.items() if name != "networkPolicies"}


def networks(stack: str) -> Data:
    """What to lay over a stack so that it has NetworkPolicies: its own, or for the lab's stack, which has none, some."""
    own = LAB_NETWORKS if stack == "dev" else sections(ROOT / "examples" / f"Pulumi.{stack}.yaml")["networkPolicies"]
    return {"networkPolicies": own}


def read_yaml(text: str | bytes) -> Any:
    """What a document says, by libyaml where there is one: that takes a tenth of the time."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def yaml_of(value: object) -> str:
    """``value`` as a document, likewise."""
    return yaml.dump(value, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))


def told(sections: Data) -> Data:
    """A stack's sections, none of them secret, as `pulumi config --json` tells them."""
    return {f"slinky-iac:{name}": {"value": json.dumps(section), "secret": False} for name, section in sections.items()}


def sections(path: Path) -> Data:
    """The sections of a stack file, without the project's prefix."""
    return copy.deepcopy(_sections(path.read_text()))


@functools.cache
def _sections(text: str) -> Data:
    config: Data = read_yaml(text)["config"]
    return {key.split(":", 1)[1]: value for key, value in config.items()}


def minimal(**more: object) -> Data:
    """The smallest sound configuration, and ``more`` sections."""
    return {"cluster": {"name": "lab"}, "accounting": {"enabled": False}, **more}


def outside(**more: object) -> Data:
    """slurmctld outside, keys imported, and ``more`` sections."""
    return minimal(keys={"source": "imported"}, controller={"external": {"host": "ctl.example.org"}}) | more


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Data:
    """``over`` laid over ``base``: mappings merged, and what is None there is left out."""
    result = dict(base)
    for key, value in over.items():
        if value is None:
            result.pop(key, None)
            continue
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if both else value
    return result


def form(name: str, **over: Any) -> StackConfig:
    """The example of a hybrid form, with ``over`` laid over it; sound, or this raises. Without its NetworkPolicies, which
    ask for the address of whatever host is laid over it; :func:`networks` has them."""
    example = sections(ROOT / "examples" / f"Pulumi.{name}.yaml")
    config = load(merged(without_networks(example), over))
    require_sound(findings(config, SECRETS | {"tokenKey"} if config.signing.own_keys else SECRETS))
    return config
