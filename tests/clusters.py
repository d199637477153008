"""Whole programs, run without an engine: what each form registers, with keys whose every trace can be searched for."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Sequence
from typing import Any

from components import HybridCluster, HybridClusterArgs
from slinky_iac.cluster.pulumi_state import State
from slinky_iac.config.reading.engine import StackSettings
from tests.program import GENERATED, Recording, Secret, run_stack
from tests.rsa_keys import pem
from tests.stacks import FORMS, ROOT, merged, sections, without_networks

RAW_KEYS = (bytes(range(1, 97)), b"jwt" * 30 + bytes(range(200, 232)))
COMING_KEY = b"coming" * 12 + bytes(range(100, 132))
PASSWORD = "database-p4ssword"
SECRETS = {
    "slurmKey": base64.b64encode(RAW_KEYS[0]).decode(),
    "jwtKey": base64.b64encode(RAW_KEYS[1]).decode(),
    "databasePassword": PASSWORD,
    "mungeKey": base64.b64encode(RAW_KEYS[0]).decode(),
    "jwtKeyNext": base64.b64encode(COMING_KEY).decode(),
    "slurmKeyNext": base64.b64encode(COMING_KEY).decode(),
    "sssdConf": "[sssd]\ndomains = site\n[domain/site]\nid_provider = ldap\n",
}
RSA = {"tokenKey": "old", "tokenKeyNext": "new", "tokenKeyPrevious": "new"}
"""Which RSA key stands for which secret."""
MUNGE = "munge"
"""The worked example of a munge cluster's clients."""
STACKS = (*FORMS, "dev")
"""The four forms and the lab's stack."""


def stack_sections(name: str) -> dict[str, Any]:
    """The sections of a form's example, of the lab's stack, or of the munge example."""
    if name == MUNGE:
        return sections(ROOT / "examples" / "jupyter" / "Pulumi.munge.yaml")
    return sections(ROOT / "Pulumi.dev.yaml" if name == "dev" else ROOT / "examples" / f"Pulumi.{name}.yaml")


def recorded(name: str, *, coming: Sequence[str] = (), again: bool = False, **over: Any) -> Recording:
    """What the cluster of a stack without NetworkPolicies registers, with ``over`` laid over its configuration, and with the
    secrets ``coming`` set that a rotation sets. The same is run once, unless ``again``: don't change what comes back."""
    return (_recorded.__wrapped__ if again else _recorded)(name, json.dumps(over, sort_keys=True), tuple(coming))


@functools.cache
def _recorded(name: str, over: str, coming: tuple[str, ...]) -> Recording:
    data = merged(without_networks(stack_sections(name)), json.loads(over))
    wanted = set(coming)
    if data.get("keys", {}).get("source") == "imported":
        wanted |= {"mungeKey"} if data["keys"].get("auth") == "auth/munge" else {"slurmKey", "jwtKey"}
    if data.get("accounting", {}).get("database"):
        wanted.add("databasePassword")
    secrets = {key: SECRETS[key] for key in wanted - set(RSA)}
    if data.get("keys", {}).get("tokens", "hs256") != "hs256":
        secrets |= {key: base64.b64encode(pem(RSA[key])).decode() for key in {"tokenKey", *wanted} & set(RSA)}
    return run_stack(data, build, secrets)


def build(settings: StackSettings) -> HybridCluster:
    """As the program does."""
    return HybridCluster(settings.config.cluster.name, HybridClusterArgs(settings=settings))


def traces(raw: bytes) -> set[str]:
    """Every form in which a key could stand somewhere: text, base64 (twice, URL-safe), hex."""
    once = base64.b64encode(raw)
    forms = {once, base64.b64encode(once), base64.urlsafe_b64encode(raw), raw.hex().encode(), raw.hex().upper().encode()}
    return {text.decode().rstrip("=") for text in forms} | {raw.decode("latin-1")}


def all_traces() -> set[str]:
    """Traces of both imported keys, of a generated key and of the database password."""
    return {trace for raw in (*RAW_KEYS, COMING_KEY, GENERATED.encode(), PASSWORD.encode()) for trace in traces(raw)}


def state_of(recording: Recording) -> State:
    """The state that an engine would have after it: each resource as it was asked for."""
    return State.read(
        {
            "urn": each.urn,
            "type": each.type,
            "inputs": _open(each.inputs),
            "outputs": _open(recording.outputs.get(each.urn, each.inputs)),
            "protect": each.protect,
        }
        for each in recording.resources
    )


def _open(value: Any) -> Any:
    if isinstance(value, Secret):
        return _open(value.value)
    if isinstance(value, dict):
        return {key: _open(each) for key, each in value.items()}
    return [_open(each) for each in value] if isinstance(value, list) else value
