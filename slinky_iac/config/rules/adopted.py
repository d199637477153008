"""Rules about what a stack takes over from a Helm release: its objects are the stack's, and it writes what gates rely on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac import names
from slinky_iac.config.adopted import ANNOTATIONS, KINDS, LABELS, LINES, OWN_LINE
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.registry import REFERENCES

_PROMISED: Final = frozenset(
    {"replicas", "updateStrategy", "controllerRef", "accountingRef", "external", "externalConfig", "clusterName"}
    | {"slurmKeyRef", "jwtKeyRef", "jwtHs256KeyRef", *REFERENCES, "workloadDisruptionProtection"}
)
"""Fields of a spec that gates, keys and names rely on."""


def adopted(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Each object is one that the stack registers, its keys are those that are there, and kept fields are named."""
    own = config.adopted
    if own is None:
        return
    if config.key_source.makes_secrets:
        yield at("adopted").error(
            "needs keys.source: existing. The daemons of the release run with keys that are there, and with others they"
            " would refuse each other; `slinky adopt` names their Secrets"
        )
    if config.cluster.create_namespace:
        yield at("adopted").error(
            "needs cluster.createNamespace: false, since the release's namespace is there already: set it"
        )
    made = tuple(own_objects(config))
    for called, adoption in own.objects.items():
        if called not in made:
            yield at("adopted.objects").error(
                f"{called} isn't made by this stack, which has {', '.join(made)}, so it would not be taken over. Remove it,"
                " or add the section that makes it (a NodeSet to nodesets, a LoginSet to logins)"
            )
        for field in adoption.keep:
            yield from _kept(called, field)
    kept = {called: adoption.keep for called, adoption in own.objects.items() if adoption.keep}
    if kept:
        fields = "; ".join(f"{called}: {', '.join(fields)}" for called, fields in kept.items())
        yield at("adopted").info(
            f"fields stay as the Helm release had them, and settings of them have no effect ({fields}). Remove one when its"
            " pods may restart",
            id="adopted-fields",
        )


def _kept(called: str, field: str) -> Iterator[Finding]:
    place = "adopted.objects"
    first, *rest = field.split(".")
    if first == "spec" and rest[0] in _PROMISED:
        yield at(place).error(
            f"{called} keeps {field}, which the stack must write, since gates and daemons rely on it. Take {field} out of"
            " that object's `keep`"
        )
    elif first == "spec" and rest[0] == "extraConf" and called.startswith("Controller ") and field != LINES + OWN_LINE:
        yield at(place).error(
            f"{called} keeps {field}. The only line of slurm.conf that can stay as it is is {LINES}{OWN_LINE}; a gate writes"
            " the others, which are settings. Take it out of that object's `keep`"
        )
    elif called.startswith("NodeSet ") and field in (LABELS, ANNOTATIONS):
        yield at(place).error(
            f"{called} keeps {field}, but the stack has to write it: its gates store notes there. Take {field} out of that"
            " object's `keep`; no pod restarts for it"
        )


def own_objects(config: StackConfig) -> Iterator[str]:
    """Custom resources that the stack makes, as the section names them: those of :mod:`slinky_iac.blueprint.objects`, which
    the rules can't ask, since it makes them of a configuration that has passed the rules. A test compares both."""
    base = config.cluster.resource_name
    yield from (f"{kind} {base}" for kind in KINDS[:3] if kind != "Accounting" or config.accounting.enabled)
    yield from (f"NodeSet {names.nodeset_resource(base, name)}" for name in config.nodesets)
    yield from (f"LoginSet {names.loginset_resource(base, name)}" for name in config.logins)


RULES: Final = (adopted,)
