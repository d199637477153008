"""Names of the parameters that Slurm's daemons read, by file and release, and the values that they take.

A daemon refuses its whole file over another name. The facts are ``table.json``, which ``lab/slurm_table.py`` reads
from Slurm's sources; tests/faults/test_slurm_words.py asks slurmctld itself.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Final

from slinky_iac.config.shown import shown, word_of
from slinky_iac.releases import release_numbers
from slinky_iac.text import closest

_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*")
TRUE: Final = frozenset({"1", "true", "up", "yes"})
"""Values that Slurm reads as true (``s_p_handle_boolean``)."""
SWITCH: Final = TRUE | {"0", "down", "false", "no"}
"""The same, and those that it reads as false."""
_UNLIMITED: Final = frozenset({"unlimited", "infinite"})
_FORMS: Final = {
    "text": (re.compile(".*"), ""),
    "switch": (re.compile("|".join(sorted(SWITCH))), "YES or NO"),
    "decimal": (re.compile(r"[0-9]+(\.[0-9]*)?|unlimited|infinite"), "a number"),
    "time": (
        re.compile(r"([0-9]+-)?[0-9]+(:[0-9]+){0,2}|infinite|unlimited|-1"),
        "a time of Slurm: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes,"
        " days-hours:minutes:seconds or UNLIMITED",
    ),
    "purge": (
        re.compile(r"[0-9]+(m(onths?)?|mo(n(th?)?)?|h(o(u(rs?)?)?)?|d(a(ys?)?)?)?"),
        "a number with months, days or hours behind it, as 12months",
    ),
}
"""Forms of values in lower case, and their names: parse_config.c, ``time_str2secs``, ``slurmdb_parse_purge``."""
_TIMES: Final = frozenset(
    {"preemptexempttime", "prioritymaxage", "prioritycalcperiod", "prioritydecayhalflife", "maxtime", "defaulttime"}
)
_LEVELS: Final = frozenset(
    ["slurmctlddebug", "slurmddebug", "slurmctldsyslogdebug", "slurmdsyslogdebug", "debuglevel", "debuglevelsyslog"]
)
_IN_CAPITALS: Final = ("propagateresourcelimits", "propagateresourcelimitsexcept")
"""Their words are compared as they are written (``parse_rlimits``)."""
_BY_BEGINNING: Final = ("suspendexcstates",)
"""Of each of their words the beginning counts (``parse_node_state_flag``)."""
_OF_STATES: Final = ("healthchecknodestate", "suspendexcstates")
"""Parameters whose words are states of nodes: such a word elsewhere wasn't meant for them."""
_PLUGINS: Final = {
    "acctgatherenergytype": "acct_gather_energy",
    "acctgatherfilesystemtype": "acct_gather_filesystem",
    "acctgatherinterconnecttype": "acct_gather_interconnect",
    "acctgatherprofiletype": "acct_gather_profile",
    "burstbuffertype": "burst_buffer",
    "clifilterplugins": "cli_filter",
    "hashplugin": "hash",
    "jobacctgathertype": "jobacct_gather",
    "jobcomptype": "jobcomp",
    "jobcontainertype": "namespace",
    "jobsubmitplugins": "job_submit",
    "mcsplugin": "mcs",
    "metricstype": "metrics",
    "mpidefault": "mpi",
    "namespacetype": "namespace",
    "nodefeaturesplugins": "node_features",
    "preempttype": "preempt",
    "prepplugins": "prep",
    "prioritysitefactorplugin": "site_factor",
    "prioritytype": "priority",
    "proctracktype": "proctrack",
    "schedulertype": "sched",
    "switchtype": "switch",
    "taskplugin": "task",
    "tlstype": "tls",
    "topologyplugin": "topology",
}
"""Parameters whose value is a plugin, or several, and the kind of each."""
_PMIX: Final = re.compile(r"pmix(_v[2-6])?")
"""PMIx is built once for each release of it that a site has, of those that Slurm's build looks for (x_ac_pmix.m4)."""
_WHOLE: Final = frozenset(
    {"acct_gather_filesystem", "acct_gather_profile", "jobacct_gather", "jobcomp", "mcs", "metrics", "preempt", "priority"}
    | {"proctrack", "sched", "site_factor", "tls", "topology"}
)
"""Kinds of which the daemon loads what is written, with the kind before the name. Of all others it takes both forms."""
_ADDED: Final = frozenset({"mpi"})
"""But for these: their kind is put before what is written, also where it has it already (``_mpi_init_locked``, mpi.c)."""
_MAY_BE_NONE: Final = frozenset(
    {"acct_gather_energy", "acct_gather_filesystem", "acct_gather_interconnect", "acct_gather_profile", "jobacct_gather"}
    | {"jobcomp", "mcs", "mpi", "namespace", "site_factor", "switch", "task", "topology"}
)
"""Kinds of which ``none``, in both forms, stands for no plugin."""
_REPLACED: Final = {
    "acct_gather_energy": ("rsmi", "gpu"),
    "acct_gather_interconnect": ("infiniband", "interconnect"),
}
"""What Slurm writes in the place of an old name, before it loads a plugin of this kind (``xstrsubstituteall``)."""
_OTHERS: Final = {
    "mpi": frozenset({"openmpi", "mpi/openmpi"}),
    "namespace": frozenset({"job_container/none", "job_container/tmpfs"}),
    "preempt": frozenset({"preempt/none"}),
    "topology": frozenset({"default", "topology/default"}),
}
"""More words of a kind (``mpi.c``, ``namespace.c``, ``read_config.c``). All of this was run on slurmctld 26.05.5."""


_FEW: Final = 16
"""Options that a message lists."""


@dataclass(frozen=True)
class Words:
    """Parameters of one kind of line of one release: names in lower case, each with the kind of value that it takes."""

    kinds: dict[str, str]
    lists: dict[str, frozenset[str]]
    plugins: dict[str, frozenset[str]]
    options: dict[str, frozenset[str]]
    """Options of parameters, by parameters in lower case: the daemon passes over any other."""
    heads: tuple[str, ...]
    """What a line may begin with; none where that is any parameter."""

    @property
    def all_options(self) -> frozenset[str]:
        """Options of any parameter: one of another is no secret either."""
        return frozenset().union(*self.options.values())

    def __contains__(self, key: str) -> bool:
        return key.lower() in self.kinds

    def fault(self, key: str, value: str) -> str:
        """What the daemon takes where it doesn't take this value; ``""`` where it does, or where the table can't say."""
        name, text = key.lower(), value.lower()
        kind = self.kinds.get(name, "text")
        if kind.isdigit():
            return _number(text, int(kind))
        if name in self.lists:
            return f"one or more of {', '.join(sorted(self.lists[name]))}" if self.unknown(key, value) else ""
        purge = name.startswith("purge") and name.endswith("after")
        form, shown = _FORMS["time" if name in _TIMES else "purge" if purge else kind]
        return "" if form.fullmatch(text) else shown

    def unknown(self, key: str, value: str) -> tuple[str, ...]:
        """The words of a value that are in no list of words of this parameter; none for one without such a list."""
        known = self.lists.get(key.lower())
        if known is None:
            return ()
        exact = key.lower() in _IN_CAPITALS
        return tuple(word for word in value.split(",") if word and (word if exact else word.lower()) not in known)

    def passed_over(self, key: str, value: str) -> tuple[str, ...]:
        """The options of a value that the daemon doesn't know, and passes over; none for a parameter without such a list."""
        known = self.options.get(key.lower())
        named = [option.strip().partition("=")[0] for option in value.split(",")] if known else []
        if key.lower() in _BY_BEGINNING:
            return tuple(option for option in named if option and not _begins(option.lower(), known or frozenset()))
        return tuple(option for option in named if option and not option.isdigit() and option.lower() not in (known or ()))

    def like(self, key: str, option: str) -> str:
        """The option of a parameter that was meant by another word; empty where none is like it."""
        known = [
            candidate for candidate in sorted(self.options.get(key.lower(), ())) if not candidate.endswith(option.lower())
        ]
        return closest(option, known)

    def hint(self, key: str, option: str, page: str) -> str:
        """What was meant by an option that the daemon passes over: the one that is like it, the closest of many, or all."""
        if like := self.like(key, option):
            return f"did you mean {like}?"
        spelt = {parameter.lower(): parameter for kind in _table().values() for parameter in kind["options of slurm.conf"]}
        if other := next(
            (
                spelt[parameter]
                for parameter in spelt
                if parameter not in _OF_STATES and option.lower() in self.options.get(parameter, ())
            ),
            "",
        ):
            return f"it is an option of {other}"
        known = sorted(self.options.get(key.lower(), ()))
        if len(known) <= _FEW:
            return f"it reads {', '.join(known)}"
        close = get_close_matches(option.lower(), known, n=3, cutoff=0.5)
        named = f"closest of its {len(known)} options: {', '.join(close)}; all: " if close else "its options: "
        return f"{named}{page}"

    def got(self, key: str, value: str) -> str:
        """What is wrong with a value of which :meth:`fault` says what is taken, in words."""
        if not (wrong := self.unknown(key, value)):
            return f"is {shown(value)}"
        known = sorted(self.lists[key.lower()])
        close = closest(wrong[0], known)
        return f"has {', '.join(word_of(word, known) for word in wrong)}" + (f" (did you mean {close}?)" if close else "")

    def no_plugin(self, key: str, value: str) -> str:
        """What the release has in the place of a plugin that it lacks; ``""`` where it has what is named."""
        kind = _PLUGINS.get(key.lower(), "")
        known = self.plugins.get(kind, frozenset())
        none = frozenset({"none"} if kind in _MAY_BE_NONE else ())
        taken = {f"{kind}/{plugin}" for plugin in (none if kind in _ADDED else known | none)} | _OTHERS.get(
            kind, frozenset()
        )
        taken |= none if kind in _WHOLE else known | none
        versions = [plugin for plugin in value.split(",") if kind == "mpi" and _PMIX.fullmatch(plugin)]
        old, new = _REPLACED.get(kind, (kind, kind))
        named = [plugin.replace(old, new) for plugin in value.split(",")]
        lacking = [plugin for plugin in named if plugin and plugin not in taken and plugin not in versions]
        before = "" if kind in _ADDED else f"{kind}/"
        return ", ".join(f"{before}{plugin}" for plugin in sorted(known)) if known and lacking else ""

    def twice_named(self, key: str, value: str) -> str:
        """What a daemon loads where a value has a kind that it puts before the value itself; ``""`` for none."""
        kind = _PLUGINS.get(key.lower(), "")
        is_twice = kind in _ADDED and value.startswith(f"{kind}/") and value not in _OTHERS[kind] | {f"{kind}/none"}
        return f"{kind}/{value}" if is_twice else ""


def _begins(word: str, known: frozenset[str]) -> bool:
    return any(word.startswith(option) or option.startswith(word) for option in known)


def _number(text: str, bits: int) -> str:
    digits, factor = (text[:-1], 1024) if bits > 16 and text.endswith("k") else (text, 1)  # s_p_handle_uint32, …64
    fits = text in _UNLIMITED or (len(text) < 40 and _NUMBER.fullmatch(digits) and _as_c(digits) * factor < 1 << bits)
    return "" if fits else f"a whole number from 0 to {(1 << bits) - 1}, or UNLIMITED"


def _as_c(text: str) -> int:
    """The number as C reads it: 0x for hexadecimal, 0 for octal."""
    if text.startswith("0x"):
        return int(text, 16)
    return int(text, 8) if text.startswith("0") else int(text)


@cache
def _table() -> dict[str, dict[str, dict[str, str]]]:
    table: dict[str, dict[str, dict[str, str]]] = json.loads(Path(__file__).with_name("table.json").read_text())
    return table


def _of_release(release: str) -> dict[str, dict[str, str]]:
    older = [version for version in _table() if release_numbers(version) <= release_numbers(release)]
    return _table()[max(older or _table(), key=release_numbers) if older else min(_table())]


def beyond(release: str) -> str:
    """What to say of a release that is newer than all that the table has; empty of any other."""
    newest = max(_table(), key=release_numbers)
    if not release or release_numbers(release) <= release_numbers(newest):
        return ""
    return (
        f"Slurm {release}, newer than {newest}, the newest that this program knows: it judges parameters, plugins and their"
        f" values as {newest} reads them, and may miss what is new or gone. Take a newer release of this program, where"
        " there is one"
    )


@cache
def words(release: str, file: str) -> Words:
    """What ``release`` reads in ``file``: slurm.conf, slurmdbd.conf, another file of Name=Value that the table has, or a
    PartitionName or NodeName line of slurm.conf. Of releases that the table lacks, the nearest before it counts, else the
    oldest."""
    of_release = _of_release(release)
    kinds = {name.lower(): kind for kind, names in of_release[file].items() for name in names.split()}
    kinds |= {"include": "text"} if file.endswith(".conf") else {file.lower(): "text"}
    lists = {key.lower(): frozenset(names.split()) for key, names in of_release["words"].items()}
    lists |= dict.fromkeys(_LEVELS, lists["slurmctlddebug"] | {str(number) for number in range(10)})
    limits = {limit.upper() for limit in lists["propagateresourcelimits"]}
    lists |= dict.fromkeys(_IN_CAPITALS, frozenset({"ALL", "NONE", *limits, *(f"RLIMIT_{limit}" for limit in limits)}))
    if file != "slurm.conf":
        lists = {key: known for key, known in lists.items() if key in (*_LEVELS, "debugflags")}
    plugins = {kind: frozenset(names.split()) for kind, names in of_release["plugins"].items()}
    cgroups = frozenset({"autodetect", "disabled", *(f"cgroup/{plugin}" for plugin in plugins["cgroup"])})
    lists |= _OF_LINES.get(file, {}) | ({"cgroupplugin": cgroups} if file == "cgroup.conf" else {})
    options = {key.lower(): frozenset(names.split()) for key, names in of_release.get(f"options of {file}", {}).items()}
    if "logtimeformat" in options:
        options["logtimeformat"] |= {"format_stderr"}  # slurm-operator writes it, and no release of the table reads it
    heads = tuple(of_release["heads"].get(file, "").split())
    return Words(kinds, lists, plugins if file == "slurm.conf" else {}, options, heads)


@cache
def values_of(release: str, key: str) -> dict[str, str]:
    """What slurmctld of a release makes of the options of a parameter, by options in lower case: ``LEAST..MOST`` and more
    numbers, open where it takes any; ``time``; words with ``|`` between; ``""`` for an option without a value."""
    of_release = _of_release(release)["values of slurm.conf"]
    texts = [text for name, text in of_release.items() if name.lower() == key.lower()]
    return {name: form for text in texts for name, _, form in (word.partition("=") for word in text.split())}


@cache
def objects(release: str, file: str) -> dict[str, frozenset[str]]:
    """What ``release`` reads in ``file``, which is YAML: names by the object that has them, as it is called; the whole file
    is the one without a name. Of releases that the table lacks, as for :func:`words`."""
    return {name: frozenset(names.split()) for name, names in _of_release(release)[file].items()}


def since(key: str, release: str, file: str, place: str) -> str:
    """The first release after ``release`` that reads a name in an object of ``file``; empty where none does."""
    later = [
        version for version in sorted(_table(), key=release_numbers) if release_numbers(version) > release_numbers(release)
    ]
    return next((version for version in later if key in objects(version, file).get(place, ())), "")


def _folded(release: str, kind: str) -> dict[str, str]:
    return {key.lower(): value for key, value in _of_release(release)[kind].items()}


def is_unread(key: str, file: str, release: str) -> bool:
    """Whether ``release`` has a parameter in its table of ``file``, and nowhere asks for it."""
    return key.lower() in _of_release(release)["unread"].get(file, "").lower().split()


def renamed(key: str, release: str) -> str:
    """What has taken the place of a parameter of slurm.conf that ``release`` still reads; empty where nothing has."""
    return _folded(release, "renamed").get(key.lower(), "")


def defunct_option(key: str, release: str) -> str:
    """The option of a parameter of slurm.conf that ``release`` knows and does nothing with; empty where there is none."""
    return _folded(release, "defunct options").get(key.lower(), "")


def is_known(key: str, file: str) -> bool:
    """Whether a release that the table has reads this parameter in ``file`` (as for :func:`words`)."""
    return any(key in words(release, file) for release in _table())


_SHOWN_AS: Final = {"jobdefaults": "DefCpuPerGPU and DefMemPerGPU"}
"""What scontrol shows in one name, and the parameters that set it."""
_FILES: Final = ("slurm.conf", "slurmdbd.conf", "cgroup.conf", "gres.conf", "topology.conf")
_PLACES: Final = {
    "slurm.conf": "controller.extraConf",
    "slurmdbd.conf": "accounting.extraConf",
    "PartitionName": "a partition's config",
    "NodeName": "a NodeSet's extraConf, or config of a host",
}


def instead_of(key: str, file: str, release: str) -> str:
    """What to do about a parameter that a release doesn't read in this file or kind of line."""
    if instead := _SHOWN_AS.get(key.lower()):
        return f"It is what scontrol shows: write {instead} in its place"
    known = {
        parameter.lower(): parameter
        for kind in _table().values()
        for names in kind[file].values()
        for parameter in names.split()
    }
    if close := closest(key, [spelt for lower_name, spelt in known.items() if lower_name in words(release, file)]):
        return f"Did you mean {close}? Correct the name, or leave it out"
    for other in (*_FILES, "PartitionName", "NodeName"):
        if other != file and key in words(release, other):
            of_line = f"of a {other} line" if "." not in other else f"of {other}"
            place = _PLACES.get(other, f"controller.configFiles.{other}")
            return f"Leave it out here: it is a parameter {of_line}, which is in {place}"
    since = [
        version
        for version in _table()
        if release_numbers(version) > release_numbers(release) and key in words(version, file)
    ]
    if since:
        return f"Slurm {since[0]} reads it: leave it out, or set cluster.slurmVersion where that is what runs"
    return f"Correct the name ({file if '.' in file else 'slurm.conf'}(5)), or leave it out"


_OF_LINES: Final = {
    "PartitionName": {"state": frozenset({"up", "down", "drain", "inactive"})},
    "NodeName": {
        "state": frozenset(
            {"unknown", "down", "idle", "allocated", "mixed", "future", "cloud", "external"}
            | {"drain", "drained", "draining", "fail", "failing"}
        )
    },
    "gres.conf": {"autodetect": frozenset({"full", "nrt", "nvidia", "nvml", "off", "oneapi", "rsmi"})},
}
"""Lists of one file or kind of line (``_parse_partitionname``, ``state_str2int``, ``_handle_autodetect_flags``)."""
