"""`status --from`: a document of the stack names what its state names, holds no secret, and anything else is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac import names
from slinky_iac.cluster.reach import Reach
from slinky_iac.commands.status import watched
from slinky_iac.commands.status.ask import look_by
from slinky_iac.commands.status.facts import facts
from slinky_iac.commands.status.prometheus import samples
from slinky_iac.drain.settings import Settings
from slinky_iac.errors import StateError
from tests.clusters import STACKS, all_traces, recorded, state_of
from tests.program import Recording

JOB = {"image": "registry.example.org/slinky:0.1", "serviceAccount": "eyes", "folder": "/var/lib/node_exporter"}
DESK = {"kubeconfig": "/home/carol/.kube/config", "context": "prod-eu"}
every_stack = pytest.mark.parametrize("name", STACKS)


def watched_stack(name: str, tokens: str = "hs256") -> Recording:
    """A stack whose status is looked at by a CronJob, updated from a desk with a kubeconfig of its own."""
    return recorded(name, monitoring={"status": JOB}, keys={"tokens": tokens}, kubernetes=DESK)


def document_of(recording: Recording) -> str:
    (written,) = [each for each in recording.of("ConfigMap") if names.WATCHED_FILE in each.inputs.get("data", {})]
    text = written.inputs["data"][names.WATCHED_FILE]
    assert isinstance(text, str), "no secret"
    return text


def without_desk(settings: Settings | None) -> Settings | None:
    """Without what leads from the desk to the cluster, and without the place of the gate in the state."""
    if settings is None:
        return None
    way = settings.reach
    here = Reach(way.namespace, way.restapi_service, way.jwt_secret, way.jwt_entry, way.algorithm,
                 restapi_scheme=way.restapi_scheme, user=way.user)  # fmt: skip
    return dataclasses.replace(settings, urn="", reach=here)


@pytest.mark.parametrize(
    ("name", "tokens"),
    [*((name, "hs256") for name in STACKS), ("all-in-kubernetes", "rs256"), ("controller-outside", "rs256")],
)
def test_the_document_names_what_the_state_names(name: str, tokens: str) -> None:
    recording = watched_stack(name, tokens)
    found, state = watched.of(json.loads(document_of(recording)), "here").facts, facts("", state_of(recording))
    assert found.gates.keys() == state.gates.keys()
    for nodeset, gate in found.gates.items():
        assert gate == without_desk(state.gates[nodeset])
    assert found.hosts == without_desk(state.hosts)
    for field in ("stack", "cluster", "operator", "operator_namespace", "slurmctld", "slurmdbd", "has_slurmctld",
                  "has_slurmdbd", "signing"):  # fmt: skip
        assert getattr(found, field) == getattr(state, field), field
    for guard, guarded in found.guards.items():
        assert sorted(guarded, key=repr) == sorted(state.guards[guard], key=repr)
    for own, theirs in zip(found.keys, state.keys, strict=True):
        assert (own.name, own.namespace, own.secret, own.entry) == (
            theirs.name, theirs.namespace, theirs.secret, theirs.entry,
        )  # fmt: skip
        assert own.public == theirs.public
    assert [key.name for key in found.keys if key.read] == [found.signing], "one Secret"


@every_stack
def test_the_document_holds_no_key_and_no_way_to_the_state(name: str) -> None:
    text = document_of(watched_stack(name))
    assert not [trace for trace in all_traces() if trace in text]
    assert "/home/carol" not in text
    assert "prod-eu" not in text


def test_a_look_that_gets_no_answer_gives_no_number_of_the_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    found = look_by(watched.of(json.loads(document_of(watched_stack("dev"))), "here"))
    own = {each.name: each.value for each in samples(found)}
    assert own["slinky_status_unknown"] > 0
    assert not own.keys() & {"slinky_nodeset_wanted", "slinky_drain_nodes", "slinky_key_matches", "slinky_fence_stands"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda part: st.lists(part) | st.dictionaries(st.text(), part),
    )
)
def test_what_is_no_document_of_ours_is_refused(found: Any) -> None:
    for each in (found, {"schema": 1, "usersUrl": "", "gates": found}, {"schema": found}):
        with pytest.raises(StateError, match="nothing was asked"):
            watched.of(each, "here")


@pytest.mark.parametrize("part", ["gates", "keys", "fence", "reach", "hosts", "stack"])
def test_a_document_with_a_part_missing_is_refused(part: str) -> None:
    whole = json.loads(document_of(watched_stack("all-outside")))
    watched.of(whole, "here")
    del whole[part]
    with pytest.raises(StateError, match="a field is missing"):
        watched.of(whole, "here")


def test_a_file_that_is_not_there_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="No such file"):
        watched.read(tmp_path / "none")
    (tmp_path / "text").write_text("slurm.key: s3cret")
    with pytest.raises(StateError, match="isn't JSON") as refused:
        watched.read(tmp_path / "text")
    assert "s3cret" not in str(refused.value)
