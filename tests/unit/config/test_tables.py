"""The tables of names that scripts make from others' sources: what they hold is counted, so that none is lost unseen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import kubernetes_table, slurm_table, tools
from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.slurm import words as slurm_words
from tests.stacks import ROOT

TABLE = json.loads((ROOT / "slinky_iac/config/slurm/table.json").read_text())
COUNTS = {
    "25.11": {
        "slurm.conf": 241,
        "PartitionName": 46,
        "NodeName": 28,
        "slurmdbd.conf": 67,
        "cgroup.conf": 23,
        "gres.conf": 13,
        "topology.conf": 6,
        "helpers.conf": 8,
        "job_container.conf": 11,
        "mpi.conf": 13,
        "oci.conf": 20,
        "burst_buffer.conf": 20,
        "acct_gather.conf": 44,
    },
    "26.05": {
        "slurm.conf": 248,
        "PartitionName": 47,
        "NodeName": 29,
        "slurmdbd.conf": 72,
        "cgroup.conf": 24,
        "gres.conf": 13,
        "topology.conf": 7,
        "helpers.conf": 8,
        "job_container.conf": 11,
        "mpi.conf": 13,
        "oci.conf": 20,
        "burst_buffer.conf": 20,
        "acct_gather.conf": 46,
    },
}

OBJECTS = {
    "25.11": {"topology.yaml": [5, 2, 2, 3, 1], "namespace.yaml": [2, 12, 2, 12]},
    "26.05": {"topology.yaml": [7, 3, 3, 3, 2, 2, 3, 1, 3, 3, 1, 2, 3, 1, 5, 1], "namespace.yaml": [2, 13, 4, 2, 13]},
}
"""Names of each object of a file in YAML, the whole file first, then by their names."""
OPTIONS = {
    "25.11": [5, 3, 13, 6, 3, 4, 6, 13, 7, 13, 8, 82, 35, 15, 7, 1],
    "26.05": [5, 3, 13, 6, 3, 4, 6, 13, 7, 13, 8, 81, 36, 15, 7, 1],
}
"""Options of each parameter of ``slurm_table.OPTIONS``."""


@pytest.mark.parametrize("release", COUNTS)
def test_every_parameter_of_a_release_is_in_the_table(release: str) -> None:
    files = {file: len(" ".join(TABLE[release][file].values()).split()) for file in slurm_table.FILES}
    assert files == COUNTS[release]
    words = {key: len(each.split()) for key, each in TABLE[release]["words"].items()}
    assert words.pop("DebugFlags") == {"25.11": 67, "26.05": 69}[release]
    assert words.pop("SelectTypeParameters") == {"25.11": 15, "26.05": 16}[release]
    assert words == {
        "AccountingStorageEnforce": 10,
        "EnforcePartLimits": 10,
        "PreemptMode": 9,
        "PriorityUsageResetPeriod": 7,
        "PrologFlags": 8,
        "PropagateResourceLimits": 10,
        "ReconfigFlags": 3,
        "SlurmctldDebug": 10,
    }
    table = TABLE[release]
    objects = {file: [len(table[file][name].split()) for name in sorted(table[file])] for file in slurm_table.YAML}
    assert objects == OBJECTS[release]
    assert [len(table["options of slurm.conf"][key].split()) for key in slurm_table.OPTIONS] == OPTIONS[release]
    states = {key: len(table["options of slurm.conf"][key].split()) for key in ("HealthCheckNodeState", "SuspendExcStates")}
    assert states == {"HealthCheckNodeState": {"25.11": 7, "26.05": 8}[release], "SuspendExcStates": 12}
    assert {file: len(names.split()) for file, names in table["unread"].items()} == {"cgroup.conf": 4, "slurm.conf": 11}
    assert table["renamed"] == {
        "JobContainerType": "NamespaceType",
        "KeepAliveTime": "CommunicationParameters",
        "SbcastParameters": "BcastParameters",
    }
    assert table["defunct options"] == {"CommunicationParameters": "NoAddrCache", "SlurmctldParameters": "cloud_reg_addrs"}
    assert len(table["options of gres.conf"]["Flags"].split()) == {"25.11": 9, "26.05": 10}[release]
    assert {"sched": "backfill builtin", "preempt": "partition_prio qos"}.items() <= TABLE[release]["plugins"].items()


@pytest.mark.parametrize(("release", "counts"), [("25.11", (81, 35)), ("26.05", (80, 34))])
def test_every_option_of_the_scheduler_has_what_it_may_be(release: str, counts: tuple[int, int]) -> None:
    values = slurm_words.values_of(release, "schedulerparameters")
    assert (len(values), sum(not form for form in values.values())) == counts
    assert {"bf_interval": "1..10800,-1", "bf_window": "1..43200", "bf_continue": ""}.items() <= values.items()
    assert values.keys() <= slurm_words.words(release, "slurm.conf").options["schedulerparameters"]


def test_a_release_that_the_table_lacks_is_judged_by_the_nearest_before_it() -> None:
    assert slurm_words.words("26.11", "slurm.conf") == slurm_words.words("26.05", "slurm.conf")
    assert slurm_words.words("24.11", "slurm.conf") == slurm_words.words("25.11", "slurm.conf")
    assert "HealthCheckTimeout" not in slurm_words.words("25.11", "slurm.conf")


VALUES = """
#define MAX_WINDOW (30 * 24 * 60 * 60) /* 30 days */
#  define LEAST 10
\tif ((tmp_ptr = xstrcasestr(sched_params, "bf_window="))) {
\t\twindow = atoi(tmp_ptr + 10) * 60;
\t\tif (window < 1 ||
\t\t    window > MAX_WINDOW) {
\t\t\terror("Invalid: %d", window);
\t\t}
\t}
\tif ((tmp_ptr = xstrcasestr(sched_params, "bf_interval="))) {
\t\tinterval = atoi(tmp_ptr + 12);
\t\tif (((interval != -1) && (interval < 1)) || interval >= LEAST)
\t\t\terror("Invalid: %d", interval);
\t}
\tif ((tmp_ptr = xstrcasestr(sched_params, "retry="))) {
\t\tparam = strtol(tmp_ptr + 6, NULL, 10);
\t\tif (param >= 1)
\t\t\tretry = param;
\t}
\tif ((tmp_ptr = xstrcasestr(sched_params, "prio="))) {
\t\tif (!xstrncasecmp(tmp_ptr, "min", 3)) a();
\t\telse if (!xstrncasecmp(tmp_ptr, "max", 3)) a();
\t}
\tif ((tmp_ptr = xstrcasestr(sched_params, "boot="))) {
\t\ti = time_str2secs(tmp_ptr + 5);
\t}
"""
TREE = {
    "src/common/read_config.c": """
s_p_options_t slurm_conf_options[] = {
\t{"ClusterName", S_P_STRING},
\t{"JobRequeue", S_P_UINT16},
\t{"UsePAM" , S_P_BOOLEAN},
\t{NULL}
};
static int part(void)
{
\tstatic s_p_options_t _partition_options[] = { {"Nodes", S_P_STRING}, {NULL} };
\tstatic s_p_options_t _nodename_options[] = { {"CPUs", S_P_UINT16}, {NULL} };
\ts_p_get_string(&t, "ClusterName", hashtbl);
\ts_p_get_uint16(&t, "JobRequeue", hashtbl);
\terror("Old has been renamed to New. Please update your configuration.");
\terror("The SlurmctldParameters option \\"gone\\" is defunct, please remove it.");
\tif (s_p_get_string(&t, "LogTimeFormat", hashtbl)) {
\t\tif (xstrcasestr(t, "iso8601_ms")) a();
\t\txfree(t);
\t}
\tif (s_p_get_string(&t, "PriorityUsageResetPeriod", hashtbl)) {
\t\tif (xstrcasecmp(t, "now") == 0) a(); else return SLURM_ERROR;
\t}
}
static int _validate_accounting_storage_enforce(char *s)
{
\tif (!xstrcasecmp(tok, "All")) a();
}
static uint16_t _health_node_state(char *s)
{
\tif (!xstrcasecmp(token, "ANY")) a();
}
extern int debug_str2flags(const char *f)
{
\tif (xstrcasecmp(tok, "Agent") == 0) a();
}
extern uint16_t prolog_str2flags(char *f)
{
\tif (!xstrncasecmp(tok,
\t\t\t "Contain", 7)) a();
}
extern uint16_t reconfig_str2flags(char *f)
{
}
static int _parse_select_type_param(
\tchar *p)
{
\tif (!xstrcasecmp(p, "CR_LLN")) a();
}
""",
    "src/common/slurm_protocol_defs.c": """
extern uint16_t preempt_mode_num(const char *m)
{
}
extern uint16_t log_string2num(const char *m)
{
\tif (!xstrcasecmp(name, "quiet")) a();
}
extern int parse_part_enforce_type(char *m)
{
}
static const node_state_flags_t node_state_flags[] = {
\t{ NODE_STATE_CLOUD, "CLOUD" },
\t{ NODE_STATE_DRAIN, "DRAIN" },
\t{ NODE_STATE_FAIL, "FAIL" },
};
""",
    "src/slurmctld/power_save.c": "\tuint32_t excludable_state_flags = NODE_STATE_CLOUD |\n\t\tNODE_STATE_DRAIN;\n",
    "src/common/slurm_rlimits_info.c": '{ RLIMIT_CPU,      "CPU", NOT_SET },\n',
    "src/slurmdbd/read_config.c": 's_p_options_t options[] = {\n{"DbdPort", S_P_UINT16},\n{NULL} };\n',
    "src/interfaces/cgroup.c": 's_p_options_t options[] = {\n{"MaxRAMPercent", S_P_FLOAT},\n{NULL} };\n',
    "src/interfaces/gres.c": (
        's_p_options_t _gres_options[] = {\n{"File",  S_P_STRING},\n{NULL} };\n'
        '\tstatic s_p_options_t _gres_conf_options[] = {\n{"Name",  S_P_ARRAY, _parse_gres_config,  NULL},\n{NULL} };\n'
        'extern uint32_t gres_flags_parse(char *input)\n{\n\tif (xstrcasestr(input, "CountOnly"))\n}\n'
    ),
    "src/common/slurm_resource_info.c": (
        'extern int xlate_cpu_bind_str(char *s)\n{\n\tif (xstrcasecmp(tok, "cores") == 0) a();\n}\n'
    ),
    "src/common/oci_config.c": 'static s_p_options_t options[] = {\n{"SrunPath", S_P_STRING},\n{NULL} };\n',
    "src/slurmctld/a.c": (
        'if (xstrcasestr(slurm_conf.sched_params, "defer")) a();\n\tx = conf_get_opt_str(sched_params,\n\t"Depth=");'
    ),
    "src/plugins/sched/backfill/b.c": VALUES,
    "src/plugins/data_parser/v0.0.44/parsers.c": "static const parser_t PARSER_ARRAY(TOPOLOGY_CONF)[] = {\n};\n",
    "src/plugins/data_parser/v0.0.45/parsers.c": (
        "static const parser_t PARSER_ARRAY(TOPOLOGY_CONF)[] = {\n"
        '\tadd_parse(STRING, name, "topology", "Any name, \\"t1\\""),\n\tadd_cparse(TOPOLOGY_FLAT, "flat", "Plugin"),\n};\n'
    ),
    "doc/man/man5/slurm.conf.5": (
        ".TP\n\\fBClusterName\\fR\nText\n.TP\n\\fBUsePAM\\fR\n.TP\n\\fBno\\fR\n.TP\n\\fBPriorityFlags\\fR\n"
        ".RS\n.TP\n\\fBMAX_TRES\\fR\n.IP\n.TP\n\\fBJobRequeue\\fR\n.TP\n\\fB1\\fR\n"
    ),
    "src/plugins/topology/ring/ring_record.c": 's_p_options_t ring_options[] = {\n{"RingName", S_P_ARRAY, a}, {NULL} };\n',
    "src/plugins/sched/backfill/backfill.c": "",
    "src/plugins/sched/common/common.c": "",
}


def test_a_table_is_read_from_a_tree_of_sources(tmp_path: Path) -> None:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = slurm_table.table(tmp_path)
    assert {file: found[file] for file in slurm_table.FILES} == {
        "slurm.conf": {"16": "JobRequeue", "switch": "UsePAM", "text": "ClusterName"},
        "PartitionName": {"text": "Nodes"},
        "NodeName": {"16": "CPUs"},
        "slurmdbd.conf": {"16": "DbdPort"},
        "cgroup.conf": {"decimal": "MaxRAMPercent"},
        "gres.conf": {"text": "File Name"},
        "topology.conf": {"text": "RingName"},
        "oci.conf": {"text": "SrunPath"},
        **{f"{name}.conf": {} for name in ("helpers", "job_container", "mpi", "burst_buffer", "acct_gather")},
    }
    assert found["heads"]["gres.conf"] == "Name"
    assert found["topology.yaml"] == {"": "flat topology"}
    options = {key: each for key, each in found["options of slurm.conf"].items() if each}
    assert options == {
        "HealthCheckNodeState": "any",
        "LogTimeFormat": "iso8601_ms",
        "PriorityFlags": "max_tres",
        "SchedulerParameters": "bf_interval bf_window boot defer depth prio retry",
        "SuspendExcStates": "cloud down drain",
    }
    assert found["unread"] == {"cgroup.conf": "MaxRAMPercent", "slurm.conf": "UsePAM", "slurmdbd.conf": "DbdPort"}
    assert found["renamed"] == {"Old": "New"}
    assert found["defunct options"] == {"SlurmctldParameters": "gone"}
    assert found["values of slurm.conf"]["SchedulerParameters"] == (
        "bf_interval=1..9,-1 bf_window=1..43200 boot=time defer depth=.. prio=max|min retry=1.."
    )
    assert found["options of gres.conf"] == {"Flags": "countonly"}
    assert found["options of NodeName"] == found["options of PartitionName"] == {"CpuBind": "cores"}
    assert {key: words for key, words in found["words"].items() if words} == {
        "AccountingStorageEnforce": "all",
        "DebugFlags": "agent",
        "PriorityUsageResetPeriod": "now",
        "PrologFlags": "contain",
        "PropagateResourceLimits": "cpu",
        "SelectTypeParameters": "cr_lln",
        "SlurmctldDebug": "quiet",
    }
    assert found["plugins"] == {"data_parser": "v0.0.44 v0.0.45", "sched": "backfill", "topology": "ring"}


def test_a_tree_that_is_not_slurms_is_refused(tmp_path: Path) -> None:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("_gres_options", "others"))
    with pytest.raises(SystemExit, match="no table _gres_options"):
        slurm_table.table(tmp_path)


def test_kubernetes_types_are_of_the_release_that_the_lab_builds() -> None:
    """So that they age with it: tests/integration/test_kubernetes_table.py reads them from its API server."""
    assert tools.KUBERNETES.startswith(f"{kubernetes_types.RELEASE}.")


def test_kubernetes_types_are_those_that_a_pod_can_hold() -> None:
    whole = json.loads((ROOT / "slinky_iac/config/kubernetes/types.json").read_text())
    assert {name: len(part) for name, part in whole.items()} == {"enums": 20, "required": 68, "types": 114}
    assert whole["enums"]["Toleration"]["effect"] == ["NoExecute", "NoSchedule", "PreferNoSchedule"]
    assert whole["required"]["KeyToPath"] == ["key", "path"]
    counts = {kind: len(kubernetes_types.fields(kind)) for kind in ("PodSpec", "Container", "ServiceSpec", "Volume")}
    assert counts == {"PodSpec": 42, "Container": 25, "ServiceSpec": 20, "Volume": 31}
    made = kubernetes_table.table(
        {
            "io.k8s.api.core.v1.PodSpec": {"properties": {"hostname": {"type": "string"}}},
            "io.k8s.api.core.v1.ServiceSpec": {
                "properties": {"ports": {"type": "array", "items": {"$ref": "#/definitions/io.k8s.api.core.v1.ServicePort"}}}
            },
            "io.k8s.api.core.v1.ServicePort": {
                "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "enum": ["TCP", "UDP"]}},
                "required": ["port"],
            },
        }
    )
    assert made == {
        "enums": {"ServicePort": {"protocol": ["TCP", "UDP"]}},
        "required": {"ServicePort": ["port"]},
        "types": {
            "PodSpec": {"hostname": "string"},
            "ServiceSpec": {"ports": "[ServicePort]"},
            "ServicePort": {"port": "integer", "protocol": "string"},
        },
    }


@pytest.mark.parametrize(
    ("kind", "value", "paths"),
    [
        ("Volume", {"emptyDir": {"medium": "Memory", "sizeLimit": 5}}, []),
        ("Volume", {"emptyDir": {"mediun": "Memory"}}, [".emptyDir.mediun"]),
        (
            "Volume",
            {"projected": {"sources": [{"secret": {"nme": "a"}}]}},
            [
                ".projected.sources[0].secret.nme",
                ".projected.sources[0].secret",
            ],
        ),
        ("Volume", {"hostPath": "/scratch"}, [".hostPath"]),
        ("[Toleration]", [{"operator": "Exists", "tolerationSeconds": True}], ["[0].tolerationSeconds"]),
        ("[Toleration]", {"key": "a"}, [""]),
        ("PodSpec", {"nodeSelector": {"a": 1}}, [".nodeSelector.a"]),
        ("PodSpec", {"nodeSelector": ["a"]}, [".nodeSelector"]),
    ],
)
def test_what_kubernetes_does_not_know_is_named_by_its_path(kind: str, value: object, paths: list[str]) -> None:
    assert [path for path, _ in kubernetes_types.faults(kind, value)] == paths


_PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
_ANY = st.recursive(
    _PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3), max_leaves=8
)


@given(st.data())
def test_every_type_judges_any_value_without_an_exception(data: st.DataObject) -> None:
    kinds = sorted(json.loads((ROOT / "slinky_iac/config/kubernetes/types.json").read_text())["types"])
    kind = data.draw(st.sampled_from(kinds))
    fields = sorted(kubernetes_types.fields(kind)) or ["a"]
    value = data.draw(st.dictionaries(st.sampled_from(fields), _ANY, max_size=6) | _ANY)
    for path, why in kubernetes_types.faults(kind, value, whole=True):
        assert path == "" or path[0] in ".["
        assert why
