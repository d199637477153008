"""What a stack's state says about itself and where its keys are: pure reading of `pulumi stack export`. No secret is
decrypted for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import (
    CONFIG_MAP,
    PROVIDER,
    RELEASE,
    SECRET,
    Resource,
    State,
    as_written,
    custom,
    dynamic,
)
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster.spec_drift import Desired, desired
from slinky_iac.commands.rotation.planned_stop import daemons, holders
from slinky_iac.drain.settings import GateSettings, OutsideSettings, gates, outside_hosts
from slinky_iac.keys.catalogue import DAEMON_KEYS, JWT, SLURM, TOKENS
from slinky_iac.keys.jwks import kids
from slinky_iac.parts.registry import GUARDS
from slinky_iac.text import moment

EXTERNAL_KEY: Final = dynamic("ExternalKey")


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
    public: frozenset[str] = frozenset()
    """Names (kid) of the keys in the public set, as the state has it."""
    record: Mapping[str, Any] | None = None
    """What the state knows of a key that somebody else makes (:mod:`slinky_iac.external_keys`); None for others."""
    read: bool = True
    """Whether its Secret is read; not by an account that has no right to."""


def key_places(state: State) -> Iterable[KeyPlace]:
    """All keys of the stack. Its Controller names the Secrets of the daemons' keys."""
    controller = state.first(custom("Controller"))
    slurm = controller.spec.get("slurmKeyRef")
    places = (
        (SLURM, slurm if isinstance(slurm, dict) else {}, "slurmKeyFingerprint"),
        (JWT, jwt_reference(controller.spec), "jwtKeyFingerprint"),
    )
    jwks = state.of_key(SECRET, "-slurm-jwks-secret")
    for key, reference, output in places:
        if reference:
            secret = str(reference.get("name") or "")
            said = state.outputs.get(output)
            fingerprint = said if isinstance(said, str) else ""
            beside = jwks.object_name if key is SLURM else ""
            made = next((moment(each.created) for each in state.all(SECRET) if each.object_name == secret), None)
            kept = (each.outputs for each in state.all(EXTERNAL_KEY))
            record = next((each for each in kept if each.get("secret") == secret and each.get("mark")), None)
            entry = str(reference.get("key") or "")
            yield KeyPlace(key.label, controller.namespace, secret, entry, fingerprint, made, beside, record=record)
    yield from _token_key(state)


def _token_key(state: State) -> Iterable[KeyPlace]:
    """The key of the stack's own tokens. Its Secret is changed in place, so the key is as old as that at least."""
    secret, public = state.of_key(SECRET, "-token-key-secret"), state.of_key(CONFIG_MAP, "-token-jwks")
    if secret:
        yield KeyPlace(
            TOKENS.label,
            secret.namespace,
            secret.object_name,
            TOKENS.file,
            "",
            moment(secret.modified or secret.created),
            public.object_name,
            public_kids(public.part("data").get(names.JWKS_FILE)),
        )


def public_kids(document: object) -> frozenset[str]:
    """Names of the keys in a public set; none where there is none, or it can't be read."""
    try:
        return kids(str(document).encode())
    except ValueError:
        return frozenset()


def jwt_reference(controller: Mapping[str, Any]) -> Mapping[str, Any]:
    """Secret and entry of the JWT key, as a Controller's spec of any operator names them; empty where there is none."""
    found = controller.get("jwtKeyRef") or controller.get("jwtHs256KeyRef")
    return found if isinstance(found, dict) else {}


def signing(reach: Reach | None, keys: tuple[KeyPlace, ...]) -> str:
    """Name of the key that signs the stack's tokens, by what its gates say; ``reach`` None: it has no gate, and then two
    keys leave it open (empty)."""
    if reach is not None:
        return TOKENS.label if reach.tokens == names.RS256 else JWT.label
    return "" if any(place.name == TOKENS.label for place in keys) else JWT.label


IDENTITY: Final = dynamic("ClusterIdentity")
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
    """What each daemons' key is held in, by its name; see :func:`slinky_iac.commands.rotation.planned_stop.holders`."""
    daemons: tuple[Resource, ...] = ()
    """Custom resources whose pods read keys when they start."""
    guards: Mapping[str, tuple[Desired, ...]] = field(default_factory=dict)
    """Objects of each guard in the API server; empty where the stack has none."""


@as_written()
def facts(stack: str, state: State) -> Facts:
    """What the state says. ``stack``: its name where known, else read from the resources."""
    own, hosts = gates(state), outside_hosts(state)
    controller, accounting = state.first(custom("Controller")).spec, state.first(custom("Accounting")).spec
    keys = tuple(key_places(state))
    release = next((each.inputs for each in state.all(RELEASE) if each.inputs.get("name") == OPERATOR), {})
    versions = [str(settings.version) for settings in own.values()]
    way = reach_of(own, hosts) or _reach(state)
    return Facts(
        stack=stack or state.stack,
        resources=len(state),
        cluster=cluster_name(state),
        operator=next(iter([*versions, str(release.get("version") or "")]), ""),
        operator_namespace=str(release.get("namespace") or ""),
        slurmctld=_address(controller),
        slurmdbd=_address(accounting),
        has_slurmctld=bool(controller),
        has_slurmdbd=bool(accounting),
        reach=way,
        gates=own,
        hosts=hosts,
        keys=keys,
        signing=signing(reach_of(own, hosts), keys),
        holders={key.label: holders(state, key) for key in DAEMON_KEYS},
        daemons=daemons(state),
        guards={name: desired(state, guard.policies) for name, guard in GUARDS.items()},
    )


def reach_of(gates: Mapping[str, GateSettings], hosts: OutsideSettings | None) -> Reach | None:
    """The way to the clusters that the stack's gates have; None where it has no gate."""
    return next(iter([*(each.reach for each in gates.values()), *([hosts.reach] if hosts else [])]), None)


def cluster_name(state: State) -> str:
    """ClusterName, as the Controller or the record of the cluster's identity has it; empty where there is neither."""
    identity = state.first(IDENTITY)
    said = (state.first(custom("Controller")).spec, identity.inputs, identity.outputs)
    return next((str(each["clusterName"]) for each in said if each.get("clusterName")), "")


def _address(spec: Mapping[str, Any]) -> str:
    external = spec.get("externalConfig")
    if spec.get("external") is not True or not isinstance(external, dict):
        return ""
    return f"{external.get('host')}:{int(external.get('port') or 0)}"


def _reach(state: State) -> Reach | None:
    """For a stack without any NodeSet or host: what its gates would have said."""
    restapi, jwt = state.first(custom("RestApi")), jwt_reference(state.first(custom("Controller")).spec)
    if not restapi.metadata or not jwt:
        return None
    provider = state.first(PROVIDER).inputs
    return Reach(
        namespace=restapi.namespace,
        restapi_service=names.restapi_service(restapi.object_name),
        jwt_secret=str(jwt.get("name") or ""),
        jwt_entry=str(jwt.get("key") or ""),
        kubeconfig=_text(provider.get("kubeconfig")),
        context=_text(provider.get("context")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
