"""Which Kubernetes nodes fit: the rule against a second reading of Kubernetes' documentation, and each of its corners."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.kube.selection import fits, machine_of, tolerates
from slinky_iac.releases import OperatorVersion
from slinky_iac.selection import REQUIRED, Selection, faults
from tests.made.machines import worker_machine
from tests.made.pods import pod

KEYS, VALUES = ("pool", "zone", "size"), ("a", "b", "7", "12", "")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {REQUIRED[0]: {REQUIRED[1]: {"nodeSelectorTerms": list(terms)}}}


def needs(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


# -- the oracle: "Assigning Pods to Nodes" and "Taints and Tolerations", read once more -------------------------------------
def holds(wanted: dict[str, Any], labels: dict[str, str]) -> bool:
    has, own = wanted["key"] in labels, labels.get(wanted["key"], "")
    values = wanted.get("values", [])
    table = {
        "In": lambda: has and own in values,
        "NotIn": lambda: not (has and own in values),
        "Exists": lambda: has,
        "DoesNotExist": lambda: not has,
        "Gt": lambda: own.isdigit() and int(own) > int(values[0]),
        "Lt": lambda: own.isdigit() and int(own) < int(values[0]),
    }
    return bool(table[wanted["operator"]]())


def on(term: dict[str, Any], name: str, labels: dict[str, str]) -> bool:
    expressions, fields = term.get("matchExpressions", []), term.get("matchFields", [])
    if not expressions + fields:
        return False
    by_name = [(name == each["values"][0]) == (each["operator"] == "In") for each in fields]
    return all(by_name) and all(holds(each, labels) for each in expressions)


def left(taints: list[tuple[str, str, str]], tolerations: list[dict[str, str]]) -> set[str]:
    """Effects of the taints that no toleration matches."""
    found = set()
    for key, value, effect in taints:
        for each in tolerations:
            same_key = each.get("key", "") in ("", key)
            same_effect = each.get("effect", "") in ("", effect)
            same_value = each.get("operator", "Equal") == "Exists" or each.get("value", "") == value
            if same_key and same_effect and same_value:
                break
        else:
            found.add(effect)
    return found


LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
EXPRESSIONS = st.one_of(
    st.builds(
        lambda key, operator, values: needs(key, operator, *values),
        st.sampled_from(KEYS),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(VALUES), min_size=1, max_size=3),
    ),
    st.builds(needs, st.sampled_from(KEYS), st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(needs, st.sampled_from(KEYS), st.sampled_from(["Gt", "Lt"]), st.sampled_from(["0", "7", "9"])),
)
NAMES = st.builds(needs, st.just("metadata.name"), st.sampled_from(["In", "NotIn"]), st.sampled_from(["k-1", "k-2"]))
TERMS = st.fixed_dictionaries(
    {}, optional={"matchExpressions": st.lists(EXPRESSIONS, max_size=2), "matchFields": st.lists(NAMES, max_size=1)}
)
TAINTS = st.lists(
    st.tuples(st.sampled_from(["gpu", "site"]), st.sampled_from(["", "x"]), st.sampled_from(EFFECTS)), max_size=3
)
TOLERATIONS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "key": st.sampled_from(["", "gpu", "site"]),
            "operator": st.sampled_from(["Exists", "Equal"]),
            "value": st.sampled_from(["", "x"]),
            "effect": st.sampled_from(["", *EFFECTS]),
        },
    ),
    max_size=3,
)


@given(
    selector=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2),
    terms=st.none() | st.lists(TERMS, max_size=3),
    tolerations=TOLERATIONS,
    labels=LABELS,
    taints=TAINTS,
)
def test_the_rule_is_the_one_that_kubernetes_documents(
    selector: dict[str, str],
    terms: list[dict[str, Any]] | None,
    tolerations: list[dict[str, str]],
    labels: dict[str, str],
    taints: list[tuple[str, str, str]],
) -> None:
    wanted = Selection(selector, {} if terms is None else affinity(*terms), tuple(tolerations))
    place = selector.items() <= labels.items() and (terms is None or any(on(each, "k-1", labels) for each in terms))
    bad = left(taints, tolerations)
    machine = worker_machine("k-1", labels, *((f"{key}={value}", effect) for key, value, effect in taints))
    expected = (place and not bad & {"NoSchedule", "NoExecute"}, place and "NoExecute" not in bad)
    assert fits(wanted, machine) == expected


@given(selector=LABELS, tolerations=TOLERATIONS, labels=LABELS, taints=TAINTS)
def test_where_a_pod_should_come_one_that_is_there_stays(
    selector: dict[str, str], tolerations: list[dict[str, str]], labels: dict[str, str], taints: list[tuple[str, str, str]]
) -> None:
    machine = worker_machine("k-1", labels, *((f"{key}={value}", effect) for key, value, effect in taints))
    comes, stays = fits(Selection(selector, {}, tuple(tolerations)), machine)
    assert stays or not comes


@pytest.mark.parametrize(
    "term",
    [
        {"matchExpressions": [needs("pool", "In")]},
        {"matchExpressions": [needs("pool", "Exists", "a")]},
        {"matchExpressions": [needs("size", "Gt", "many")]},
        {"matchExpressions": [needs("size", "Gt", "1", "2")]},
        {"matchExpressions": [needs("pool", "Is", "a")]},
        {"matchExpressions": [needs("-", "DoesNotExist")]},
        {"matchExpressions": [needs("pool", "NotIn", "no label!")]},
        {"matchExpressions": ["pool"]},
        {"matchFields": [needs("metadata.name", "In", "k-1", "k-2")]},
        {"matchFields": [needs("metadata.uid", "NotIn", "7")]},
        {"matchFields": [needs("metadata.name", "Exists")]},
        {},
    ],
)
def test_a_term_that_kubernetes_cant_read_fits_nothing_and_is_refused_in_settings(term: dict[str, Any]) -> None:
    wanted = Selection({}, affinity(term), ())
    assert fits(wanted, worker_machine("k-1", {"pool": "a", "size": "7"})) == (False, False)
    assert list(faults(wanted))
    beside = affinity(term, {"matchExpressions": [needs("pool", "Exists")]})
    assert fits(Selection({}, beside, ()), worker_machine("k-1", {"pool": "a"})) == (True, True)


def test_settings_that_are_read_as_meant_have_no_fault() -> None:
    term = {"matchExpressions": [needs("pool", "In", "a"), needs("size", "Lt", "9")], "matchFields": []}
    named = {"matchFields": [needs("metadata.name", "NotIn", "k-9")]}
    assert list(faults(Selection({"pool": "a"}, affinity(term, named), ({"operator": "Exists"},)))) == []
    assert list(faults(Selection({}, {"podAntiAffinity": {}}, ({"key": "gpu", "effect": "NoSchedule"},)))) == []


def test_a_toleration_with_an_operator_of_a_feature_gate_is_refused_and_tolerates_nothing() -> None:
    later = {"key": "gpu", "operator": "Gt", "value": "1"}
    assert [each.partition(":")[0] for each in faults(Selection({}, {}, (later,)))] == ["tolerations.0.operator"]
    (taint,) = worker_machine("k-1", {}, ("gpu=2", "NoExecute")).spec.taints or ()
    assert not tolerates(later, taint)


def test_the_operators_own_toleration_is_replaced_by_a_list() -> None:
    machine = worker_machine("k-1", {}, ("nodeset.slinky.slurm.net/worker", "NoExecute"))
    assert fits(Selection(), machine) == (True, True)
    assert fits(Selection({}, {}, ({"key": "gpu", "operator": "Exists"},)), machine) == (False, False)


def test_an_affinity_without_a_term_fits_nothing() -> None:
    assert fits(Selection({}, affinity(), ()), worker_machine("k-1")) == (False, False)
    assert [*faults(Selection({}, affinity(), ()))]


def test_a_pod_without_a_place_is_for_the_machine_that_the_operator_has_named() -> None:
    waits = pod("p", scheduled=False, affinity=affinity({"matchFields": [needs("metadata.name", "In", "k-7")]}))
    assert machine_of(waits) == "k-7"
    assert machine_of(pod("p", machine="k-1")) == "k-1"
    assert machine_of(pod("p", scheduled=False)) == ""


@pytest.mark.parametrize(
    ("override", "version", "on_host", "found"),
    [
        ("", "1.2.1", False, ("k-1",)),
        ("gpu7", "1.2.1", False, ("gpu7",)),
        ("gpu7", "1.2.1", True, ("gpu7", "k-1")),
        ("gpu7", "1.1.2", False, ("k-1",)),
        ("gpu7", "1.1.2", True, ("k-1",)),
        ("k-1", "1.2.1", True, ("k-1",)),
    ],
)
def test_a_machines_name_in_slurm_is_its_annotations_from_1_2_on_else_its_first_label(
    override: str, version: str, on_host: bool, found: tuple[str, ...]
) -> None:
    given = {"nodeset.slinky.slurm.net/hostname-override": override} if override else {}
    machine = worker_machine("k-1.site.example", annotations=given)
    assert (
        machine.slurm_names(by_annotation=OperatorVersion.parse(version).reads_hostname_override, on_host=on_host) == found
    )


def test_numbers_that_pulumis_wire_made_floats_are_whole_again_and_no_null_is_left() -> None:
    found = Selection.of({"tolerations": [{"key": "gpu", "tolerationSeconds": 300.0, "value": None}], "affinity": None})
    (only,) = found.fields["tolerations"]
    assert only == {"key": "gpu", "tolerationSeconds": 300}
    assert isinstance(only["tolerationSeconds"], int)


@pytest.mark.parametrize("spec", [{"affinity": ["a"]}, {"tolerations": ["gpu"]}, {"nodeSelector": "a"}])
def test_another_shape_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be mappings"):
        Selection.of(spec)


@pytest.mark.parametrize("terms", [[{"matchExpressions": 5}], [{"matchFields": True}], [7], 7, "ab", None])
def test_terms_of_another_shape_fit_no_machine(terms):
    """The API server checks no template of a NodeSet: somebody may have written this."""
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    assert fits(Selection({}, affinity), worker_machine("a")) == (False, False)
