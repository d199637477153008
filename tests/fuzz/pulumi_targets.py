"""What comes from Pulumi and from stack files: previews, removals, states, histories, configurations."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from slinky_iac.cluster import pulumi_state
from slinky_iac.cluster.pulumi_command import Runner
from slinky_iac.commands import stack_config, verify_state
from slinky_iac.commands.drift.cli import expected
from slinky_iac.commands.plan.build import change_order, read_removals
from slinky_iac.commands.plan.cli import as_json
from slinky_iac.commands.plan.limits import Limits, judge
from slinky_iac.commands.plan.render_html import page
from slinky_iac.commands.plan.render_markdown import markdown
from slinky_iac.commands.plan.render_table import table
from slinky_iac.commands.rotation import cluster
from slinky_iac.commands.rotation.engine import Engine, others_that_change
from slinky_iac.commands.stack_config import configured_file
from slinky_iac.commands.status.build import last_up
from slinky_iac.commands.status.facts import facts
from slinky_iac.config.reading.values import values_of
from slinky_iac.config.stack import SECRET_KEYS
from slinky_iac.drain.settings import gates, outside_hosts
from slinky_iac.errors import PreviewError, SlinkyError, StateError
from tests.fuzz.target import SECRET, Target
from tests.raw_keys import raw_key
from tests.stacks import EXAMPLES, sections
from tests.unit.plan import made as previews
from tests.unit.status import made as states

NOW = previews.NOW
LIMITS = Limits(0.5, 3, 3600, strict=True)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _order(data: bytes) -> str:
    """Read, judge, and show in all forms."""
    order = change_order(_text(data), now=NOW)
    verdict = judge(order, LIMITS)
    forms = (
        table(order, verdict),
        table(order, verdict, width=100),
        markdown(order, verdict),
        as_json(order, verdict),
        page(order, verdict, zone=UTC),
    )
    return "\n".join(forms)


def _removals(data: bytes) -> None:
    plans = read_removals(_text(data))
    order = change_order(previews.digest(previews.teardown()), now=NOW, removals=plans)
    judge(order, LIMITS)


def _printing(data: bytes) -> Runner:
    """A `pulumi` that prints the fuzzed bytes."""

    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(list(arguments), 0, _text(data), "")

    return run


def _state(data: bytes) -> str:
    """All that is read of a state: gates, hosts, keys, fence, foreign code, what Slurm should be."""
    run = _printing(data)
    resources = pulumi_state.export("prod", run)
    said = verify_state.foreign(pulumi_state.everything("prod", run, decrypted=True), CLASSES)
    facts("prod", resources)
    expected(resources, gates(resources), outside_hosts(resources))
    return "\n".join(said)


def _history(data: bytes) -> None:
    last_up(pulumi_state.history("prod", 10, _printing(data)))


def _configured(data: bytes) -> str:
    values = stack_config.configured("prod", _printing(data), with_keys=True)
    return "\n".join(str(each) for each in values.findings)


def _material(data: bytes) -> None:
    """The configuration as a rotation reads it."""

    def run(words: Sequence[str], **_options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(list(words), 0, _text(data), "")

    cluster.read(Engine("prod", run))


def _sections(data: bytes) -> str:
    """The sections of a stack file, as the program gets them: each a text, secrets among them."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = {"cluster": _text(data)}
    found = found if isinstance(found, dict) else {"cluster": found}
    own = {str(name): value if isinstance(value, str) else _json(value) for name, value in found.items()}
    values = values_of(own, frozenset(SECRET_KEYS) & own.keys())
    return "\n".join(str(each) for each in values.findings)


def _json(value: object) -> str:
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return ""


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="slinky-fuzz-"))


def _stack_file(data: bytes) -> None:
    file = _folder() / "Pulumi.x.yaml"
    file.write_bytes(data)
    configured_file(file)


def _policy_lines() -> bytes:
    said = [
        previews.policy("images-pinned", "advisory", "\u202e no digest \x1b[31m"),
        {"diagnosticEvent": {"message": "x\x85y"}},
    ]
    return previews.events(previews.scale_in(None, before=3, after=1), said=said).encode()


def _with_secret() -> bytes:
    secret = previews.step("update", "kubernetes:core/v1:Secret", "key", {"data": {"k": "old"}}, {"data": {"k": SECRET}})
    return previews.digest(secret, previews.teardown(), diagnostics=[{"severity": "warning", "message": "look"}]).encode()


def _deployment(*resources: dict[str, Any]) -> bytes:
    found = [*states.fenced(), *resources]
    return json.dumps({"version": 3, "deployment": {"resources": found, "pending_operations": []}}).encode()


SIGNED = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": json.dumps(SECRET)}
CLASSES = verify_state.project_classes()
HISTORY = [
    {
        "kind": "update",
        "result": "succeeded",
        "startTime": "2026-11-21T04:00:00.000Z",
        "endTime": "2026-11-21T04:03:00.000Z",
        "message": "more nodes",
        "environment": {"git.head": "a" * 40, "git.author": "alice", "ci.system": "github"},
        "resourceChanges": {"same": 12, "update": 1},
        "config": {"slinky-iac:slurmKey": {"secret": True, "value": SECRET}},
    },
    {"kind": "destroy", "result": "failed", "startTime": "2026-11-20T04:00:00Z"},
]
CONFIG = {
    **{f"slinky-iac:{name}": {"value": json.dumps(value), "secret": False} for name, value in sections(EXAMPLES[0]).items()},
    "slinky-iac:slurmKey": {"value": SECRET * 3, "secret": True},
    "slinky-iac:jwtKey": {"value": SECRET, "secret": True},
    "slinky-iac:tokenKey": {"value": f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n", "secret": True},
    "slinky-iac:databasePassword": {"value": "hunter2", "secret": True},
    "aws:region": {"value": "eu-west-1"},
}
SOUND = {name: value for name, value in CONFIG.items() if not name.endswith("Key")}
SOUND |= {
    f"slinky-iac:{name}": {"value": base64.b64encode(raw_key(name)).decode(), "secret": True}
    for name in ("slurmKey", "jwtKey")
}
CONFIGS = (json.dumps(CONFIG).encode(), json.dumps(SOUND).encode())
KEYS = {"slurmKey": SECRET * 2, "jwtKey": SECRET, "databasePassword": SECRET + "#", "tokenKey": SECRET}
GOOD = {name: base64.b64encode(raw_key(name)).decode() for name in ("slurmKey", "jwtKey")} | {"databasePassword": "hunter2"}
STACKS = tuple(json.dumps({**sections(path), **keys}).encode() for path in EXAMPLES for keys in (KEYS, GOOD, GOOD))
PASTED = (
    json.dumps(
        {
            **sections(EXAMPLES[0]),
            "keys": {"source": "existing", "slurmKeyFrom": {"secret": SECRET * 2}, "jwtKeyFrom": {"secret": SECRET}},
        }
    ),
    json.dumps({**sections(EXAMPLES[0]), "kubernetes": {"kubeconfig": f"apiVersion: v1\nusers: [{{token: {SECRET}}}]"}}),
    json.dumps({**sections(EXAMPLES[0]), "cluster": {"name": SECRET + SECRET}}),
)

TARGETS = (
    Target(
        "preview",
        (previews.worked_example().encode(), _policy_lines(), _with_secret()),
        _order,
        (PreviewError,),
    ),
    Target(
        "removals",
        (json.dumps({"schema": 1, "plans": [previews.plan({"gpu-0": [], "gpu-1": []}, before=2, after=0)]}).encode(),),
        _removals,
        (PreviewError,),
    ),
    Target(
        "preview-of-a-rotation",
        (_with_secret(), previews.digest(previews.custom("update", "Controller", "c", {}, {})).encode()),
        lambda data: others_that_change(_text(data)) and None,
        (StateError,),
    ),
    Target(
        "state",
        (_deployment(), _deployment({"type": "x:y:Z", "urn": "u", "inputs": {"__provider": SIGNED}, "outputs": {}})),
        _state,
        (SlinkyError, ValueError),  # the command line says both, without a traceback
    ),
    Target("history", (json.dumps(HISTORY).encode(),), _history, (StateError,)),
    Target("pulumi-config", CONFIGS, _configured, (SlinkyError,)),
    Target("pulumi-config-of-a-rotation", CONFIGS, _material, (SlinkyError,)),
    Target("stack-settings", (*STACKS, *(text.encode() for text in PASTED)), _sections, (SlinkyError,)),
    Target(
        "stack-file",
        (*(path.read_bytes() for path in EXAMPLES), yaml.safe_dump({"config": {"slinky-iac:jwtKey": SECRET}}).encode()),
        _stack_file,
        (SlinkyError,),
    ),
)
