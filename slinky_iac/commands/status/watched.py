"""What a status in a pod looks at: the document that components/watched.py writes, read back. Pure but :func:`read`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slinky_iac import causes, names
from slinky_iac.cluster.blueprint import guarded
from slinky_iac.commands.status.facts import Facts, KeyPlace, signing
from slinky_iac.drain.settings import GateSettings, OutsideSettings, reach_from
from slinky_iac.errors import StateError
from slinky_iac.keys.registry import BY_LABEL
from slinky_iac.parts.registry import GUARDS
from slinky_iac.text import moment

MADE_AGAIN = (
    "Get it again from the stack's ConfigMap, which `pulumi up` writes: `kubectl get configmap -n slurm slurm-watched -o"
    " 'jsonpath={.data.watched\\.json}' > watched.json`"
)


@dataclass(frozen=True)
class Watched:
    """A stack, as far as it can be looked at without its state."""

    facts: Facts
    users_url: str = ""


def read(file: Path) -> Watched:
    """The file's document. Raises :class:`StateError`."""
    try:
        document = json.loads(file.read_bytes())
    except OSError as error:
        raise StateError(f"{file} can't be read: {error.strerror}. {MADE_AGAIN}") from None
    except (ValueError, RecursionError):
        raise StateError(f"{file} isn't JSON, so nothing was asked. {MADE_AGAIN}") from None
    return of(document, str(file))


def of(document: Any, where: str) -> Watched:  # noqa: ANN401 - any JSON
    """The same of a document. Raises :class:`StateError` where it isn't as this program writes it."""
    try:
        if document["schema"] != names.WATCHED_SCHEMA:
            raise StateError(
                f"{where} has schema {document['schema']!a:.20} and this program reads {names.WATCHED_SCHEMA}: nothing was"
                " asked. Run the release of slinky-iac that the stack is deployed with: in monitoring.status.image"
            )
        return Watched(_facts(document), str(document["usersUrl"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise StateError(
            f"{where} isn't as this program writes it ({causes.of_shape(error)}), so nothing was asked. {MADE_AGAIN}"
        ) from None


def _facts(document: Mapping[str, Any]) -> Facts:
    own = [GateSettings.from_props(gate) for gate in document["gates"]]
    way = reach_from(document["reach"])
    places = tuple(_place(key, way.namespace) for key in document["keys"])
    hosts = document["hosts"]
    return Facts(
        stack=str(document["stack"]),
        resources=1 + len(own),
        cluster=str(document["cluster"]),
        operator=str(document["operator"]),
        operator_namespace=str(document["operatorNamespace"]),
        slurmctld=str(document["slurmctld"]),
        slurmdbd=str(document["slurmdbd"]),
        has_slurmctld=True,
        has_slurmdbd=bool(document["accounting"]),
        reach=way,
        gates={gate.owner.nodeset: gate for gate in own},
        hosts=None if hosts is None else OutsideSettings.from_props(hosts),
        keys=places,
        signing=signing(way, places),
        guards={name: guarded(document[name]) for name in GUARDS},
    )


def _place(row: Mapping[str, Any], namespace: str) -> KeyPlace:
    return KeyPlace(
        name=BY_LABEL[str(row["name"])].label,
        namespace=namespace,
        secret=str(row["secret"]),
        entry=str(row["entry"]),
        fingerprint=str(row.get("fingerprint", "")),
        made=moment(row.get("since")),
        beside=str(row.get("beside", "")),
        public=frozenset(map(str, row["public"])) if "public" in row else None,
        read=row["read"] is True,
    )
