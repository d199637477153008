"""Each rule speaks up where it must, keeps silent where it may, and says where, what is allowed and what to do."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import RULES, findings, require_sound
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.errors import ConfigError
from tests.stacks import ROOT, SECRETS, merged, minimal, outside
from tests.unit.config.rule_cases import DAEMONS, Case, nodeset
from tests.unit.config.rule_cases_adopted import ADOPTED, ADOPTED_TOLD
from tests.unit.config.rule_cases_clients import CLIENTS, CLIENTS_TOLD
from tests.unit.config.rule_cases_field import FIELD, FIELD_TOLD, SOUND
from tests.unit.config.rule_cases_files import FILES, FILES_SOUND, FILES_TOLD
from tests.unit.config.rule_cases_identity import IDENTITY
from tests.unit.config.rule_cases_networks import NETWORKS, NETWORKS_TOLD
from tests.unit.config.rule_cases_programs import PROGRAMS, PROGRAMS_SOUND, PROGRAMS_TOLD
from tests.unit.config.rule_cases_raw import RAW, RAW_SOUND, RAW_TOLD
from tests.unit.config.rule_cases_reach import REACH, REACH_RAW
from tests.unit.config.rule_cases_releases import RELEASES, RELEASES_SOUND, RELEASES_TOLD
from tests.unit.config.rule_cases_sites import SITES, SITES_SOUND, SITES_TOLD
from tests.unit.config.rule_cases_slurm import REFUSED_ONCE, SLURM, SLURM_SOUND, SLURM_TOLD
from tests.unit.config.rule_cases_sshd import SSHD, SSHD_TOLD
from tests.unit.config.rule_cases_tls import TLS, TLS_SOUND, TLS_TOLD
from tests.unit.config.rule_cases_values import VALUES, VALUES_SOUND, VALUES_TOLD
from tests.unit.config.rule_cases_workers import TOLD, WORKERS

RULES_OF_PARTS = sorted((ROOT / "tests" / "unit" / "parts").glob("*/rule_cases.py"))
OF_PARTS = [import_module(f"tests.unit.parts.{each.parent.name}.rule_cases") for each in RULES_OF_PARTS]
"""Each part has its own cases beside its tests: errors, and what is only told."""
ERRORS = DAEMONS + WORKERS + TLS + NETWORKS + CLIENTS + IDENTITY + FIELD + REACH + REACH_RAW + RAW + ADOPTED
ERRORS += RELEASES + PROGRAMS + FILES + VALUES + SLURM + SITES + SSHD + [case for each in OF_PARTS for case in each.CASES]
HINTS = (
    TOLD
    + TLS_TOLD
    + NETWORKS_TOLD
    + CLIENTS_TOLD
    + FIELD_TOLD
    + PROGRAMS_TOLD
    + FILES_TOLD
    + VALUES_TOLD
    + SLURM_TOLD
    + SITES_TOLD
    + SSHD_TOLD
    + ADOPTED_TOLD
    + RAW_TOLD
    + RELEASES_TOLD
    + [case for each in OF_PARTS for case in getattr(each, "TOLD", [])]
)


def ids(case: Case) -> str:
    return case.name


def found(data: dict[str, Any], secrets: frozenset[str]) -> list[tuple[str, str, str]]:
    return [(f.level.value, f.path, f.message) for f in findings(load(data), secrets)]


@pytest.mark.parametrize("case", ERRORS + HINTS, ids=ids)
def test_a_fault_is_found_and_told_where_it_stands(case: Case) -> None:
    here = [f for f in found(case.bad, case.secrets) if f[1] == case.path and all(w in f[2] for w in case.words)]
    assert [level for level, _, _ in here] == [case.level], found(case.bad, case.secrets)


@pytest.mark.parametrize("case", ERRORS + HINTS, ids=ids)
def test_its_cure_ends_the_finding(case: Case) -> None:
    cured = merged(case.bad, case.cure)
    again = [f for f in found(cured, case.secrets) if f[1] == case.path and all(w in f[2] for w in case.words)]
    assert again == []


@pytest.mark.parametrize("case", ERRORS, ids=ids)
def test_an_error_stops_before_the_first_resource(case: Case) -> None:
    with pytest.raises(ConfigError) as caught:
        require_sound(findings(load(case.bad), case.secrets))
    assert any(fault.startswith(f"{case.path}: ") for fault in caught.value.faults)


@pytest.mark.parametrize("case", HINTS, ids=ids)
def test_what_is_only_told_stops_nothing(case: Case) -> None:
    assert require_sound(findings(load(case.bad), case.secrets))


def test_all_errors_are_told_at_once() -> None:
    bad = merged(nodeset(owner="autoscaler"), {"keys": {"auth": "auth/munge"}, "operator": {"namespace": "slurm"}})
    with pytest.raises(ConfigError) as caught:
        require_sound(findings(load(bad)))
    assert {f.split(":")[0] for f in caught.value.faults} == {"keys.auth", "nodesets.gpu.maxReplicas", "operator.namespace"}


SOUNDS = SOUND | RAW_SOUND | SLURM_SOUND | PROGRAMS_SOUND | SITES_SOUND | TLS_SOUND


@pytest.mark.parametrize("data", SOUNDS.values(), ids=SOUNDS)
def test_what_slurm_takes_is_sound(data: dict[str, Any]) -> None:
    assert found(data, frozenset()) == []


NEIGHBOURS = FILES_SOUND | VALUES_SOUND | RELEASES_SOUND


@pytest.mark.parametrize("data", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_a_sound_neighbour_of_a_fault_has_no_error(data: dict[str, Any]) -> None:
    assert [each for each in found(data, frozenset()) if each[0] == "error" or "passes over" in each[2]] == []


@pytest.mark.parametrize(("key", "value"), REFUSED_ONCE.items())
def test_what_slurmctld_cannot_read_of_a_partition_is_said_once(key: str, value: str) -> None:
    said = found(nodeset(partition={"config": {key: value}}), frozenset())
    assert [(level, path) for level, path, _ in said] == [("error", f"nodesets.gpu.partition.config.{key}")]
    assert "refuses its whole file" in said[0][2]


def test_every_rule_has_a_case() -> None:
    silent = [
        rule.__name__ for rule in RULES if not any(list(rule(load(case.bad), case.secrets)) for case in ERRORS + HINTS)
    ]
    assert silent == []


@pytest.mark.parametrize("missing", ["slurmKey", "jwtKey"])
def test_imported_keys_must_be_set(missing: str) -> None:
    said = found(outside(), SECRETS - {missing})
    assert [(level, path) for level, path, _ in said] == [("error", "keys.source")]
    assert f"slinky keys import {missing.removesuffix('Key')} --file" in said[0][2]
    assert found(outside(), SECRETS) == []


@pytest.mark.parametrize("name", ["slurmKey", "jwtKey"])
def test_a_key_that_is_set_and_not_used_is_told(name: str) -> None:
    (said,) = found(minimal(), frozenset({name}))
    assert said[:2] == ("warning", "keys.source")
    assert f"pulumi config rm slinky-iac:{name}" in said[2]


def test_a_database_needs_its_password() -> None:
    data = minimal(accounting={"database": {"host": "db"}})
    assert found(data, SECRETS - {"slurmKey", "jwtKey"}) == []
    (said,) = found(data, frozenset())
    assert said[:2] == ("error", "accounting.database")
    assert "pulumi config set --secret slinky-iac:databasePassword" in said[2]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("extraConf", {"SlurmctldDebug": "info"}),
        ("configFiles", {"cgroup.conf": ""}),
        ("prolog", {"a.sh": ""}),
        ("epilog", {"a.sh": ""}),
        ("metrics", True),
        ("persistence", {"enabled": True}),
        ("service", {"type": "NodePort"}),
        ("pod", {"priorityClass": "high"}),
    ],
)
def test_what_an_outside_slurmctld_ignores_is_told(field: str, value: object) -> None:
    data = merged(outside(), {"controller": {field: value}})
    assert [f[:2] for f in found(data, SECRETS)] == [("warning", f"controller.{field}")]


def test_an_autoscalers_maximum_counts_against_max_node_count() -> None:
    data = merged(nodeset(owner="autoscaler", maxReplicas=9), {"cluster": {"maxNodeCount": 8}})
    assert [path for level, path, _ in found(data, SECRETS) if level == "error"] == ["nodesets"]
    assert found(merged(data, {"cluster": {"maxNodeCount": 9}}), frozenset()) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:6820", "http://[::1]:6820", "http://localhost", "https://192.0.2.7"])
def test_plain_http_on_this_host_and_tls_need_no_leave(url: str) -> None:
    assert found(minimal(slurmrest={"url": url}), frozenset()) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "localhost.example.org", "127.example.org", "192.0.2.7", "[2001:db8::1]"])
def test_plain_http_to_any_other_host_is_refused(host: str) -> None:
    (said,) = found(minimal(slurmrest={"url": f"http://{host}:6820/"}), frozenset())
    assert said[:2] == ("error", "slurmrest.url")


QUOTED = {
    "TRESBillingWeights": "CPU=1.0,Mem=0.25G",
    "MaxTime": "7-00:00:00",
    "PreemptMode": "OFF",
    "OverSubscribe": "FORCE:2",
    "State": "UP",
    "Default": "YES",
    "DefMemPerCPU": "2048",
}


@pytest.mark.parametrize("key", QUOTED)
def test_every_rule_reads_a_value_in_quotes_as_slurm_does(key: str) -> None:
    """TRESBillingWeights="CPU=1.0,…" was refused, with the advice to track a resource that is called \"cpu."""
    values = QUOTED[key], f'"{QUOTED[key]}"'
    said = [found(nodeset(partition={"config": {key: value}}), SECRETS) for value in values]
    assert said[0] == said[1]
    assert "error" not in {level for level, path, _ in said[1] if path.startswith("nodesets")}


def test_weights_of_what_is_no_resource_lead_to_no_parameter() -> None:
    weights = nodeset(partition={"config": {"TRESBillingWeights": "gpu=2,Memory=1"}})
    (said,) = (message for _, path, message in found(weights, SECRETS) if path.endswith("Weights"))
    assert "write gres/gpu" in said
    assert "AccountingStorageTRES" not in said


SLURM_FILES = ("slurm.conf", "slurmdbd.conf", "cgroup.conf", "gres.conf", "PartitionName", "NodeName")


def of_line(file: str, key: str, value: str) -> dict[str, Any]:
    """A stack with one line of one of Slurm's files."""
    accounting: dict[str, Any] = {"enabled": True, "database": {"host": "db"}}
    return {
        "slurm.conf": lambda: minimal(controller={"extraConf": {key: value}}),
        "slurmdbd.conf": lambda: minimal(accounting=accounting | {"extraConf": {key: value}}),
        "PartitionName": lambda: nodeset(partition={"config": {key: value}}),
        "NodeName": lambda: nodeset(extraConf={key: value}),
    }.get(file, lambda: minimal(controller={"configFiles": {file: f"{key}={value}\n"}}))()


REMEDIES = (
    *(" or leave it out", "Leave it out", " instead", "Add ", "add ", "Set ", " set ", "allowed: ", "takes ", "ake one of"),
    *("rite ", "needs ", "ame one", "ame its", "remove ", "Remove ", "Give ", "must be ", "was removed", "use ", "lower it"),
    *("keep ", "says what else", "leave it out", "Give "),
)


@pytest.mark.parametrize("file", SLURM_FILES)
@pytest.mark.parametrize("value", ["x", "/etc/x", "0"])
def test_no_sentence_about_a_line_of_slurm_is_without_a_remedy(file: str, value: str) -> None:
    """Each parameter of the file with three values that most of them don't take."""
    before = {message for _, _, message in found(minimal(), SECRETS)}
    words = slurm_words.words("26.05", file)
    told = {
        message
        for key in words.kinds
        for level, path, message in found(of_line(file, key, value), SECRETS)
        if level == "error" and message not in before and (path.endswith(key) or file in path)
    }
    assert told or file in ("cgroup.conf", "gres.conf")
    assert [each for each in told if not any(remedy in each for remedy in REMEDIES)] == []


@pytest.mark.parametrize("value", ["x", "0"])
def test_a_parameter_with_one_fault_is_said_of_once(value: str) -> None:
    """A value that the daemon can't read was called harmful, too, with another remedy."""
    twice = []
    for file in SLURM_FILES[:2]:
        for key in slurm_words.words("26.05", file).kinds:
            errors = [path for level, path, _ in found(of_line(file, key, value), SECRETS) if level == "error"]
            twice += [path for path in set(errors) if errors.count(path) > 1]
    assert twice == []


@pytest.mark.parametrize(
    ("file", "key", "said"),
    [
        ("slurmdbd.conf", "JobCompHost", "it is a parameter of slurm.conf, which is in controller.extraConf"),
        ("slurm.conf", "MaxTime", "it is a parameter of a PartitionName line"),
        ("slurm.conf", "SlurmctldTimeOuts", "Did you mean SlurmctldTimeout?"),
        ("gres.conf", "Foo", "Correct the name (gres.conf(5))"),
        ("cgroup.conf", "AutoDetect", "it is a parameter of gres.conf, which is in controller.configFiles.gres.conf"),
    ],
)
def test_an_unknown_parameter_leads_to_where_it_is_known(file: str, key: str, said: str) -> None:
    assert any(said in message for _, _, message in found(of_line(file, key, "1"), SECRETS))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("DebugFlags", "Gang,Backfil,NoSuchFlagAtAll", "has Backfil, NoSuc…(15 characters) (did you mean backfill?)"),
        ("AccountingStorageEnforce", "limits,qoss", "has qoss (did you mean qos?)"),
        ("PropagateResourceLimits", "memlock", "has memlock"),
    ],
)
def test_of_a_list_of_words_the_wrong_ones_are_named(key: str, value: str, said: str) -> None:
    """The value was shown, cut after a few characters, beside sixty words that it may have."""
    assert any(said in message for _, _, message in found(of_line("slurm.conf", key, value), SECRETS))
