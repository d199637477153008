"""What a stack's state says about itself and where its keys are: pure reading of `pulumi stack export`. No secret is
decrypted for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac.cluster.blueprint import Blueprint, KeyRow, blueprint, standing
from slinky_iac.cluster.pulumi_state import SECRET, Resource, State, as_written, custom, dynamic
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster.spec_drift import Desired
from slinky_iac.drain.settings import GateSettings, OutsideSettings, gates, outside_hosts, reach_from
from slinky_iac.keys.catalogue import DAEMON_KEYS, JWT, SLURM
from slinky_iac.keys.public import kids
from slinky_iac.keys.registry import BY_LABEL, SIGNING
from slinky_iac.text import moment

EXTERNAL_KEY: Final = dynamic("ExternalKey")
_PRINTS: Final = {SLURM.label: "slurm_key_fingerprint", JWT.label: "jwt_key_fingerprint"}
"""Outputs of the component of the keys, which has them as soon as they are known."""


@dataclass(frozen=True)
class KeyPlace:
    """Where a key is, and what the stack says about it."""

    name: str
    namespace: str
    secret: str
    entry: str
    fingerprint: str
    """``SHA256:…``; something else where the stack doesn't know it."""
    made: int | None
    beside: str = ""
    """Object of the same namespace in which other keys are handed out while one is being replaced: for slurm.key the Secret
    with slurm.jwks, for the token key the ConfigMap with the public set. Empty where there is none."""
    public: frozenset[str] | None = None
    """Of an RSA key the names (kid) in the public set, as the state has it; None for a key that daemons have themselves."""
    record: Mapping[str, Any] | None = None
    """What the state knows of a key that somebody else makes (:mod:`slinky_iac.external_keys`); None for others."""
    read: bool = True
    """Whether its Secret is read; not by an account that has no right to."""


def key_places(stack: Blueprint, state: State) -> Iterable[KeyPlace]:
    """All keys of the stack that stand: daemons' keys with its Controller, the key of its tokens with its Secret."""
    prints = next(iter(state.components("AuthKeys")), {})
    for row in stack.keys:
        secret = state.object(SECRET, stack.namespace, row.secret)
        if BY_LABEL[row.name] not in DAEMON_KEYS:
            # Its Secret is changed in place, so the key is as old as that at least.
            since = moment(secret.modified or secret.created)
            if secret:
                yield _place(stack, row, made=since, beside=row.beside, public=public_kids(stack.public))
        elif stack.stands(state, custom("Controller")):
            said = prints.get(_PRINTS[row.name])
            kept = (resource.outputs for resource in state.all(EXTERNAL_KEY))
            yield _place(
                stack,
                row,
                fingerprint=said if isinstance(said, str) else "",
                made=moment(secret.created),
                beside=state.object(SECRET, stack.namespace, row.beside).object_name,
                record=next(
                    (outputs for outputs in kept if outputs.get("secret") == row.secret and outputs.get("mark")), None
                ),
            )


def _place(stack: Blueprint, row: KeyRow, fingerprint: str = "", **more: Any) -> KeyPlace:  # noqa: ANN401
    return KeyPlace(row.name, stack.namespace, row.secret, row.entry, fingerprint, **more)


def public_kids(document: object) -> frozenset[str]:
    """Names of the keys in a public set; none where there is none, or it can't be read."""
    try:
        return kids(str(document).encode())
    except ValueError:
        return frozenset()


def signing(reach: Reach | None, keys: tuple[KeyPlace, ...]) -> str:
    """Name of the key that signs the stack's tokens, by what its gates say; ``reach`` None: it has no gate, and then two
    keys leave it open (empty)."""
    if reach is not None:
        return SIGNING[reach.algorithm].label
    return "" if any(place.public is not None for place in keys) else JWT.label


OPERATOR: Final = "slurm-operator"
"""Name of the operator's release and Deployment."""


@dataclass(frozen=True)
class Facts:
    """One stack, as its state has it."""

    stack: str
    resources: int
    cluster: str = ""
    operator: str = ""
    """The release that the specs are written for."""
    operator_namespace: str = ""
    """Where this stack deploys the operator; empty where another does."""
    slurmctld: str = ""
    """``host:port`` of an outside slurmctld; empty where it is in Kubernetes, or there is none."""
    slurmdbd: str = ""
    has_slurmctld: bool = False
    has_slurmdbd: bool = False
    reach: Reach | None = None
    gates: Mapping[str, GateSettings] = field(default_factory=dict)
    hosts: OutsideSettings | None = None
    keys: tuple[KeyPlace, ...] = ()
    signing: str = ""
    """Name of the key that signs this stack's tokens; empty where the state doesn't tell."""
    holders: Mapping[str, tuple[Resource, ...]] = field(default_factory=dict)
    """What each daemons' key is held in, by its name; see :meth:`slinky_iac.cluster.blueprint.Blueprint.holders`."""
    daemons: tuple[Resource, ...] = ()
    """Custom resources whose pods read keys when they start."""
    guards: Mapping[str, tuple[Desired, ...]] = field(default_factory=dict)
    """Objects of each guard in the API server; empty where the stack has none."""


@as_written()
def facts(stack: str, state: State) -> Facts:
    """What the state says. ``stack``: its name where known, else read from the resources."""
    own, hosts = gates(state), outside_hosts(state)
    known = blueprint(state)
    keys = tuple(key_places(known, state))
    versions = [str(settings.version) for settings in own.values()]
    restapi = known.stands(state, custom("RestApi"))
    return Facts(
        stack=stack or state.stack,
        resources=len(state),
        cluster=known.cluster,
        operator=next(iter(versions), known.operator),
        operator_namespace=known.operator_namespace,
        slurmctld=known.slurmctld,
        slurmdbd=known.slurmdbd,
        has_slurmctld=known.stands(state, custom("Controller")),
        has_slurmdbd=known.stands(state, custom("Accounting")),
        reach=reach_of(own, hosts) or (reach_from(known.reach) if restapi else None),
        gates=own,
        hosts=hosts,
        keys=keys,
        signing=signing(reach_of(own, hosts), keys),
        holders={key.label: known.holders(state, key.label) for key in DAEMON_KEYS},
        daemons=standing(state, known.daemons),
        guards=known.guards,
    )


def reach_of(gates: Mapping[str, GateSettings], hosts: OutsideSettings | None) -> Reach | None:
    """The way to the clusters that the stack's gates have; None where it has no gate."""
    return next(iter([*(gate.reach for gate in gates.values()), *([hosts.reach] if hosts else [])]), None)
