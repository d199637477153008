"""Each kind of value holds its rule: what Slurm, Kubernetes and the operator take, and nothing that they'd misread."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from slinky_iac.config import fields
from slinky_iac.config.labels import Labels
from slinky_iac.config.slurm.gres import GresItem
from slinky_iac.parts.slurmdbd.settings import Database
from slinky_iac.specs.slurm_conf import pair


def accepts(kind: Any, value: object) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("gpu:tesla:v100:8", True),
        ("gpu:a100:8(S:0-1)", True),
        ("gpu:hunter2hunter2:x:8", False),
        ("user:hunter2:hunter2", False),
    ],
)
def test_a_gres_that_is_refused_is_shown_where_it_is_one_of_gpus(text: str, is_shown: bool) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(fields.Gres).validate_python(text)
    assert (repr(text) in refused.value.errors()[0]["msg"]) == is_shown


def test_the_count_of_a_gres_has_slurms_units() -> None:
    """suffix_mult of slurm_protocol_defs.c."""
    counts = {"gpu": 1, "gpu:a100": 1, "m:4g": 4 << 30, "m:4GiB": 4 << 30, "m:4KB": 4000, "m:x:no_consume:2k": 2048}
    assert {text: item.count for text in counts if (item := GresItem.parse(text))} == counts


TABLE: list[tuple[Any, list[object], list[object]]] = [
    (
        Labels,
        [{}, {"app": "a_b.c-1"}, {"example.org/app": ""}, {"a" * 63: "x" * 63}],
        [{"a b": "c"}, {"app": "a b"}, {"app": "-a"}, {"a/b/c": "d"}, {"app": "x" * 64}, {"": "a"}, {"app": 1}],
    ),
    (fields.DnsLabel, ["a", "slurm", "a-1", "1a", "a" * 63], ["", "A", "a_b", "-a", "a-", "a.b", "a" * 64, 1]),
    (fields.NodeSetName, ["gpu", "gpu-a100", "g" * 30], ["g" * 31, "all", "default", "GPU", "gpu_1", "gpu.a", "gpu,cpu"]),
    (
        fields.SlurmName,
        ["gpu", "GPU_1", "a.b", "metal-001", "x" * 64, "gpu+", "physics:theory", "lab@dept"],
        ["", "default", "DEFAULT", "a b", "a,b", "a=b", "x" * 65, "-a", "a[0-3]", "+a", "a/b", "a$b", "a;b", "a#b", "a%b"],
    ),
    (
        fields.NodeName,
        ["metal-001", "Node_1", "n.example.org", "1"],
        ["", "default", "a b", "a,b", "a:b", "a@b", "a+b", "x" * 65, "-a", "a[0-3]"],
    ),
    (
        fields.Feature,
        ["ib:hdr", "k8s/zone", "cpu+", "a100", "sm_8.0", "x" * 128],
        ["", "a b", "a,b", "a=b", "a&b", "a|b", "[a", "(a)", "a*2", "a#b", "a'b", "x" * 129, "-a", "a{b}"],
    ),
    (
        fields.SlurmUser,
        ["alice", "a.b-c_d", "_ldap", "7alice", "s1234567", "alice@ad.example.org", "a+b", "x" * 64],
        ["", "0", "1234", "-a", "a b", "a,b", "a:b", "a/b", "x" * 65, "a\nb", "$a"],
    ),
    (fields.ClusterName, ["lab", "Lab_1", "a$", "a-b", "a.b", "c" * 40], ["", "c" * 41, "-b", ".b", "a/b", "a b", "läb"]),
    (
        fields.Host,
        ["ctl", "ctl.example.org", "ctl.example.org.", "192.0.2.1", "2001:db8::1", "a" * 63],
        [
            *("", "CTL", "http://ctl", "ctl:6817", "ctl/x", "a_b", "10.99.0.300", "1.2.3", "ctl..", ".ctl", "a b", "a" * 64),
            *("fe80::1%eth0", "2001:db8::1%x\nExecStartPre=reboot", "2001:db8::1%$(reboot)"),
        ],
    ),
    (
        fields.Url,
        ["http://ctl:6820", "https://slurm.example.org/rest", "http://192.0.2.1:6820/", "http://[2001:db8::1]:6820"],
        [
            *(
                "ctl:6820",
                "ftp://ctl",
                "http://ctl:99999",
                "http://ctl:x",
                "http://[::1",
                "http://{{lookup('pipe','id')}}:1",
            ),
            *("http://user:password@ctl:6820", "http://token@ctl", "http://ctl/\x1b[2J", "http://$(reboot)", "http://a b"),
            *("https://ctl/$(id)", "https://ctl/`id`", "https://ctl/a;id", "https://ctl/a'b", 'https://ctl/a"b'),
            *("https://ctl/a|b", "https://ctl/${a}", "https://ctl/a&b", "https://ctl/<a>", "https://ctl/{{a}}"),
        ],
    ),
    (
        fields.DatabaseUser,
        ["slurm", "slurm-dbd", "a.b@c"],
        ["", "a b", "a#b", "a\nStoragePass=x", "a\\", "a=b", "'a'", "é"],
    ),
    (
        fields.Quantity,
        ["500m", "4", "16Gi", "1.5", 4, 0.5, "2T"],
        ["", "4 Gi", "Gi", "-1", "\u0661Gi", "1e3", "4GB", None],
    ),
    (
        fields.Image,
        ["r/slurmd:26.05", f"slurmd@sha256:{64 * 'a'}", "host:5000/slurmd:1"],
        ["", "slurmd", "r/slurmd", "host:5000/slurmd", "a b:1", " a:1", "a:$(id)", "`id`:1", "a:{{ b }}", "a\u202eb:1"],
    ),
    (
        fields.Seconds,
        [0, 7, "90s", "30m", "2d12h", "1d2h3m4s"],
        [-1, "", "s", "30", "1.5h", "4h30", "30 m", "1w", 1.5, None],
    ),
    (fields.Port, [1, 6817, 65535], [0, 65536, "x", None]),
    (
        fields.Gres,
        ["gpu:8", "gpu:a100:8", "mps:0", "bandwidth:lustre:no_consume:4g", "tmpdisk:10KiB", "tmpdisk:1TB", "gpu:1g.5gb:2"],
        ["", "gpu:", ":8", "gpu:a100:x:y", "gpu:a:b:1", "gpu: 8", "gpu:8,mps:1", "gpu:1g.5gb", "gpu:8x"],
    ),
    (fields.Version, ["1.2.1", "v1.0.1", "1.1.0"], ["1.4.0", "0.4.0", "latest", "1.2"]),
    (
        fields.NodeConf,
        [{}, {"Weight": 10}, {"RealMemory": "1000", "Gres": "gpu:1,mps:2"}],
        [
            {"Weight": "1 0"},
            {"Weight": "a=b"},
            {"Weight": ""},
            {"Weight": "'"},
            {"Weight": "#"},
            {"Weight": "1\\"},
            {"Weight": "1\x00"},
            {"We ight": "1"},
            {"": "1"},
        ],
    ),
    (
        fields.HostConf,
        [{"TRESWeights": "CPU=1.0,Mem=0.25G"}, {"CPUs": 64}, {"Reason": "bad DIMM"}],
        [{"Feature": "a b"}, {"Reason": "see Port=1"}, {"Reason": "'"}, {"Reason": "#"}, {"Reason": "\\"}, {"Reason": ""}],
    ),
    (
        fields.PartitionConf,
        [{"MaxTime": "UNLIMITED"}, {"Default": True}, {"TRESBillingWeights": "CPU=1.0,Mem=0.25G"}],
        [
            *(
                {"MaxTime": "a\tb"},
                {"MaxTime": 'a "b"'},
                {"MaxTime": "a\nPartitionName=evil"},
                {"MaxTime": "#"},
                {"MaxTime": ""},
                {"A=B": "1"},
                [],
                "x",
            ),
            *({"MaxTime": "1\\"}, {"MaxTime": "1\x00"}, {"MaxTime": "\x1b[2J"}, []),
        ],
    ),
]
GOOD = [(kind, value) for kind, good, _ in TABLE for value in good]
BAD = [(kind, value) for kind, _, bad in TABLE for value in bad]


@pytest.mark.parametrize(("kind", "value"), GOOD, ids=[repr(v)[:40] for _, v in GOOD])
def test_a_good_value_is_taken(kind: Any, value: object) -> None:
    assert accepts(kind, value)


@pytest.mark.parametrize(("kind", "value"), BAD, ids=[repr(v)[:40] for _, v in BAD])
def test_a_bad_value_is_refused(kind: Any, value: object) -> None:
    assert not accepts(kind, value)


@pytest.mark.parametrize(
    ("value", "text"), [(True, "YES"), (False, "NO"), (10, "10"), (0.5, "0.5"), ("UNLIMITED", "UNLIMITED")]
)
def test_numbers_and_booleans_become_slurms_words(value: object, text: str) -> None:
    assert TypeAdapter(fields.PartitionConf).validate_python({"Key": value}) == {"Key": text}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('"CPU=1.0,Mem=0.25G"', "CPU=1.0,Mem=0.25G"),
        ('"two words"', "two words"),
        ('""', '""'),
        ("UNLIMITED", "UNLIMITED"),
    ],
)
def test_a_value_in_quotes_is_what_is_in_them(value: str, text: str) -> None:
    """As slurm.conf(5) has it; TRESBillingWeights is in quotes there and in most sites' files."""
    assert TypeAdapter(fields.PartitionConf).validate_python({"Key": value}) == {"Key": text}


def test_a_node_s_value_in_quotes_is_what_is_in_them() -> None:
    assert TypeAdapter(fields.NodeConf).validate_python({"Feature": '"a,b"'}) == {"Feature": "a,b"}


@pytest.mark.parametrize("value", ['a"b', '"a"b"', '"a', 'a"', '"a" "b"', '" a"'])
def test_a_quote_elsewhere_is_refused(value: str) -> None:
    assert not accepts(fields.PartitionConf, {"Key": value})


@given(days=st.integers(0, 99), hours=st.integers(0, 99), minutes=st.integers(0, 99), seconds=st.integers(0, 99))
def test_a_duration_is_the_sum_of_its_parts(days: int, hours: int, minutes: int, seconds: int) -> None:
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    assert fields.parse_duration(f"{days}d{hours}h{minutes}m{seconds}s") == total


def stored(kind: Any, text: str) -> str | None:
    """What is kept of an accepted value: without the line break at its end, say."""
    try:
        kept = TypeAdapter(kind).validate_python({"Key": text})["Key"]
    except ValidationError:
        return None
    return str(kept)


@given(text=st.text(max_size=30))
@example(text="0\n")
def test_no_accepted_text_breaks_the_line_it_stands_on(text: str) -> None:
    of_node, of_partition = stored(fields.NodeConf, text), stored(fields.PartitionConf, text)
    assert of_node is None or not any(c.isspace() or c == "#" for c in of_node)
    if of_partition is not None:
        read = re.fullmatch(
            r'Key=("([^"#\\\n]*)"|[^\s#\\]+)', pair("Key", of_partition)
        )  # parse_config.c: a word, or in quotes
        assert read is not None
        assert of_partition in (read[1], read[2])


@pytest.mark.parametrize(("name", "taken"), [("slurm-acct", True), ("slurm_acct_db", True), ("a.b", False), ("a/b", False)])
def test_a_databases_name_is_what_slurmdbd_takes_for_one(name: str, *, taken: bool) -> None:
    """acct_get_db_name of common_as.c: with '.' or '/' slurmdbd uses slurm_acct_db without a word."""
    assert accepts(Database, {"host": "db.example.org", "name": name}) is taken
