"""What a pod needs to look at a stack: the part of the state that `status` reads, as a document without any secret.

:mod:`slinky_iac.commands.status.watched` reads it. It names objects and holds numbers and fingerprints, which the gates'
props and the stack's outputs show as well; what leads to the state, or is a file of the desk, isn't in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from slinky_iac import names
from slinky_iac.blueprint.document import facts, guards
from slinky_iac.cluster_access import reach
from slinky_iac.config.stack import StackConfig
from slinky_iac.drain.settings import reach_props
from slinky_iac.keys.catalogue import DAEMON_KEYS
from slinky_iac.keys.public import kids

from .gates import counts, gate_props, outside_props


def watched(
    config: StackConfig,
    fingerprints: Mapping[str, pulumi.Input[str]],
    since: Mapping[str, pulumi.Input[str]],
    public: pulumi.Input[str] | None,
    numbers: Mapping[str, pulumi.Input[int]],
) -> pulumi.Output[str]:
    """The document. ``fingerprints`` and ``since`` are those of the daemons' keys, by their names in the configuration.
    ``numbers``: of nodes, where Outputs give them."""
    way = replace(
        reach(config), kubeconfig=None, context=None, url=None, ca_file=None, client_cert_file=None, client_key_file=None
    )
    hosts = outside_props(config) | reach_props(way) if config.external.slurmd_hosts else None
    document: dict[str, Any] = {
        "schema": names.WATCHED_SCHEMA,
        "stack": pulumi.get_stack(),
        **facts(config),
        "accounting": config.accounting.enabled,
        "reach": reach_props(way),
        "hosts": hosts,
        "usersUrl": config.external.users_url,
        **guards(config),
    }
    gates = [
        gate_props(config, name, nodeset) | reach_props(way) | counts(nodeset, numbers.get(name))
        for name, nodeset in config.nodesets.items()
    ]
    given = pulumi.Output.all(fingerprints=dict(fingerprints), since=dict(since), public={"text": public}, gates=gates)
    return given.apply(
        lambda values: json.dumps(
            document | {"gates": values["gates"], "keys": _keys(config, values)}, indent=1, sort_keys=True
        )
    )


def _keys(config: StackConfig, outputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Only the key that signs is read in the pod: one right to read a Secret. Of a key of others the stack has no
    fingerprint to compare with."""
    signs, others = reach(config).jwt_secret, config.key_source.awaited
    rows = []
    for key in DAEMON_KEYS:
        place = config.secret_of(key)
        row = {"name": key.label, "secret": place.name, "entry": place.entry, "read": place.name == signs and not others}
        row |= {"fingerprint": outputs["fingerprints"].get(key.config, ""), "since": outputs["since"].get(key.config, "")}
        rows.append(row)
    text = outputs["public"].get("text")
    for key in config.own_keys:
        place = config.secret_of(key)
        row = {"name": key.label, "secret": place.name, "entry": place.entry, "read": place.name == signs}
        public = sorted(kids(text.encode())) if text else []
        rows.append(row | {"beside": key.bundle_at(config.cluster.resource_name).name, "public": public})
    return rows
