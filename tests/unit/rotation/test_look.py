"""What a look concludes: a daemon's silence isn't a refusal, and a host counts only with what its daemons have read."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from slinky_iac.commands.rotation import jwt, slurm
from slinky_iac.commands.rotation.cluster import Cluster, Snapshot
from slinky_iac.commands.rotation.host_scripts import MARK, hosts_of
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import RotationError, SlurmrestAuthError, SlurmrestUnreachable
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.raw import fingerprint, several_keys
from tests.stacks import merged
from tests.unit.rotation.daemons import Daemons
from tests.unit.rotation.world import CONFIG, OLD, OLD_JWT

NEW_JWT = b"n" * 40
JWT_NAME, JWT_ENTRY = "slurm-auth-jwths256", "jwt_hs256.key"


def a_look(session: Daemons, over: dict[str, Any] | None = None, via: object = None, **given: bytes) -> Snapshot:
    config = load(merged(CONFIG, over or {}))
    cluster = Cluster(config, session)  # type: ignore[arg-type]
    return Snapshot(Values(config, (), KeyMaterial(given)), cluster, hosts_of(config), via)  # type: ignore[arg-type]


REFUSED, SILENT = SlurmrestAuthError("no"), SlurmrestUnreachable("7000")


@pytest.mark.parametrize(
    ("ctl", "dbd", "expected"),
    [
        ((None, REFUSED), (None, SILENT), ((True, False), (True, False))),
        ((REFUSED, None), (SILENT, None), ((False, True), (False, True))),
        ((SILENT, SILENT), (SILENT, SILENT), ((None, None), (None, None))),
    ],
)
def test_who_takes_which_key(ctl: Any, dbd: Any, expected: Any) -> None:
    """slurmdbd's refusal looks like its silence (7000); it is one only where another key is taken."""
    secrets = {JWT_NAME: {JWT_ENTRY: OLD_JWT, JWT_ENTRY + ".next": NEW_JWT}}
    both = (OLD_JWT, NEW_JWT)
    said = [{key: [answer] for key, answer in zip(both, answers, strict=True)} for answers in (ctl, dbd)]
    session = Daemons(secrets, ctl=said[0], dbd=said[1])
    facts = jwt.facts_of(a_look(session, jwtKey=OLD_JWT, jwtKeyNext=NEW_JWT))
    prints = [fingerprint(raw) for raw in both]
    assert facts.held == tuple(prints)
    assert tuple(facts.slurmctld[each] for each in prints) == expected[0]
    assert facts.slurmdbd is not None
    assert tuple(facts.slurmdbd[each] for each in prints) == expected[1]


def test_a_cluster_without_accounting_has_no_slurmdbd_to_ask() -> None:
    session = Daemons({JWT_NAME: {JWT_ENTRY: OLD_JWT}}, ctl={})
    assert jwt.facts_of(a_look(session, {"accounting": {"enabled": False}}, jwtKey=OLD_JWT)).slurmdbd is None


def test_a_generated_key_is_what_its_secret_holds() -> None:
    session = Daemons({JWT_NAME: {JWT_ENTRY: OLD_JWT}}, ctl={}, dbd={})
    facts = jwt.facts_of(a_look(session, {"keys": {"source": "generated", "jwks": False}}))
    assert facts.current == fingerprint(OLD_JWT)


def test_an_imported_key_that_is_not_set_is_told_and_nothing_is_taken_for_it() -> None:
    session = Daemons({JWT_NAME: {JWT_ENTRY: OLD_JWT}}, ctl={}, dbd={})
    with pytest.raises(RotationError, match="keys import"):
        jwt.facts_of(a_look(session))


class Host:
    """Says the same for every host."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines

    def script(self, _host: object, _text: str) -> str:
        return "\n".join(self.lines)


WANTED = sha256(several_keys(OLD)).hexdigest()
PLAIN = sha256(OLD).hexdigest()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((f"{MARK} slurm.jwks {WANTED} {WANTED}",), WANTED),
        ((f"{MARK} slurm.jwks {WANTED} never",), None),
        ((f"{MARK} slurm.jwks other other",), "other"),
        ((f"{MARK} slurm.key {PLAIN} never",), WANTED),
        ((f"{MARK} slurm.key other never",), None),
        (("Welcome",), None),
    ],
)
def test_a_host_counts_with_what_its_daemons_have_read(lines: tuple[str, ...], expected: str | None) -> None:
    session = Daemons({"slurm-auth-slurm": {"slurm.key": OLD}})
    facts = slurm.facts_of(a_look(session, via=Host(*lines), slurmKey=OLD))
    assert set(facts.confirmed.values()) == {expected}
    assert facts.unmanaged_nodes == ("metal-9",)


def test_a_plain_key_is_no_knowledge_of_the_next_one() -> None:
    session = Daemons({"slurm-auth-slurm": {"slurm.key": OLD}})
    via = Host(f"{MARK} slurm.key {PLAIN} never")
    facts = slurm.facts_of(a_look(session, via=via, slurmKey=OLD, slurmKeyNext=b"n" * 40))
    assert set(facts.confirmed.values()) == {None}
