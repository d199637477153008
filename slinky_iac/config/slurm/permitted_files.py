"""What each parameter of the files beside slurm.conf may be: acct_gather.conf, cgroup.conf, gres.conf and others.

A parameter that is in no table here is refused, so that one of a later release is judged before it passes.

Source: the manual of each file, of 26.05.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slinky_iac.config.slurm.forms import NUMBER, OTHER, SWITCH, TEXT, words
from slinky_iac.config.stack import VARIABLES

_NEARLY: Final = r"9\d(\.\d{1,9})?"
CGROUP: Final = {
    **{
        "allowedramspace": (
            rf"{_NEARLY}|[12]\d\d(\.\d{{1,9}})?",
            "jobs are ended before they use the memory that they asked for, or with those of others; 90 to 299",
        ),
        "maxrampercent": (
            rf"{_NEARLY}|100(\.0{{1,9}})?",
            "jobs are ended before they use the memory that they asked for; 90 to 100",
        ),
        "memorylimitthreshold": (rf"{_NEARLY}|100", "jobs are ended before they use their memory; 90 to 100"),
        "minramspace": (r"[1-9]\d{1,3}", "job steps do not start, or take memory of others; 10 to 9999 megabytes"),
        "memoryswappiness": (r"\d{1,2}|100", "slurmd does not start; 0 to 100"),
        "systemdtimeout": (r"[1-9]\d{3,5}", "slurmd does not start; 1000 to 999999 milliseconds"),
        "cgroupplugin": ("(cgroup/v[12]|autodetect|disabled)", "slurmd does not start"),
        "cgroupslice": (r"[\w.@-]{1,80}\.slice", "slurmd does not start"),
    },
    **dict.fromkeys(words("allowedswapspace maxswappercent"), (r"\d{1,3}(\.\d{1,9})?", "it is a percentage")),
    **dict.fromkeys(
        words("constraincores constraindevices constrainramspace"),
        ("yes|true|1", "jobs take processors, memory and devices of others"),
    ),
}
"""The same for cgroup.conf."""
GRES: Final = {
    "flags": (r"(?!countonly)\w+", "jobs are given devices that are not there, or two of them the same"),
    "count": (r"[1-9]\d{0,14}[kmgtp]?", "nodes are drained for devices that are not there"),
}
"""The same for gres.conf."""
COUNTED: Final = (
    r"(?i)^(?!.*\bname[ \t]*[=:][ \t]*\"?(?:gpu|mps|shard)\b)(?!.*\b(?:file|multiplefiles|autodetect)[ \t]*[=:])"
    r"(?=.*\bname[ \t]*[=:])(.*)\bflags=countonly(?=\s|$)"
)
"""A line of gres.conf that may say CountOnly, up to there: what it names isn't a GPU, and it names no files of devices."""
INCLUDED: Final = r"(?i)^[ \t]*include[ \t]+"
"""How a line of each file reads another, which may be anybody's. Source: Slurm src/common/parse_config.c."""
RUNTIME: Final = (
    r"(?!.*--privileged)(/usr/(local/)?s?bin/)?(runc|crun|youki|nvidia-container-runtime|singularity|apptainer)( .*)?",
    "another program than a container runtime runs for every container",
)
_KILL: Final = r"(/(usr/)?bin/)?kill -s (SIG)?[A-Z]{1,9}[0-9]? %p"
"""Ends the container's own process, as in the example for Singularity (containers.html)."""
OCI: Final = {
    **{f"runtime{command}": RUNTIME for command in ("create", "query", "run", "start")},
    **{f"runtime{command}": (f"{RUNTIME[0]}|{_KILL}", RUNTIME[1]) for command in ("delete", "kill")},
    "mountspooldir": (r"/[\w./%+-]{1,200}", "it is a folder inside the container"),
}
"""The same for oci.conf."""
BURST_BUFFER: Final = dict.fromkeys(
    words("stageintimeout stageouttimeout othertimeout"),
    (r"[1-9]\d{1,6}", "what jobs have written is lost before it is moved; 10 seconds or more"),
)
"""The same for burst_buffer.conf."""
_PRIVATE: Final = r"/(?:var/)?tmp|/dev/shm|/run/user|/(?:l(?:ocal)?_?scratch|local|nvme|raid|var/nvme)(?:/[\w.-]{1,60}){0,3}"
JOB_CONTAINER: Final = {
    "dirs": (_PRIVATE, "each job has a folder of its own there, and what users write in it goes with the job"),
}
"""The same for job_container.conf. A folder of all nodes is none of a job's."""
MPI: Final = {
    "pmixenv": (
        rf"(?:(?!LD_|GLIBC_|GCONV_|BASH_|PYTHON|PERL|{'|'.join(('SLURM', *VARIABLES, 'SACK'))}|PATH=|ENV=|IFS="
        r"|\w{0,60}?(?:PRELOAD|LIBRARY_PATH|_PATH=|MODULE|_DIR=|_FILE=|PLUGIN))\w{1,80}(?:=[\w.:@%+^~-]{0,200})?(?:;|$)){1,50}",
        "each MPI step of each user has it, and may load a library by it",
    ),
    **dict.fromkeys(words("pmixdebug pmixtimeout"), (NUMBER, OTHER)),
    **dict.fromkeys(
        words("pmixcollfence pmixfencebarrier pmixnetdevicesucx pmixtlsucx"),
        (TEXT, OTHER),
    ),
    **dict.fromkeys(
        words("pmixdirectconn pmixdirectconnearly pmixdirectconnucx pmixdirectsamearch pmixshareservertopology"),
        (SWITCH, OTHER),
    ),
}
"""The same for mpi.conf."""
_TUNED: Final = {
    "acct_gather.conf": (
        """energyipmiauthenticationtype energyipmiciphersuiteid energyipmidisableautoprobe energyipmidriveraddress
energyipmidrivertype energyipmifrequency energyipmik_g_len energyipmiprivilegelevel energyipmiprotocolversion
energyipmiregisterspacing energyipmiretransmissiontimeout energyipmisessiontimeout energyipmitimeout
energyipmiworkaroundflags infinibandofedport interconnectofedport profileinfluxdbfrequency profileinfluxdbtimeout""",
        """energyipmiassumebmcowner energyipmibridgesensors energyipmicalcadjustment energyipmidiscretereading
energyipmientitysensornames energyipmiignorenoninterpretablesensors energyipmiignorescanningdisabled
energyipmiinterpretoemdata energyipmirereadsdrcache energyipmisharedsensors energyxccfake""",
        """energyipmipowersensors energyipmiusername energyipmivariable profilehdf5default profileinfluxdbdatabase
profileinfluxdbdefault profileinfluxdbextratags profileinfluxdbflags profileinfluxdbrtpolicy profileinfluxdbuser
sysfsinterfaces""",
    ),
    "burst_buffer.conf": (
        "pollinterval validatetimeout",
        "",
        "allowusers defaultpool denyusers directive flags granularity pools",
    ),
    "cgroup.conf": (
        "",
        """cgroupautomount cgroupjobidpaths constrainswapspace enablecontrollers ignoresystemd ignoresystemdonfailure
memorylimitenforcement signalchildrenprocesses""",
        "enableextracontrollers",
    ),
    "gres.conf": ("", "", "autodetect cores cpus link links name nodename type"),
    "helpers.conf": ("boottime exectime", "", "feature flags mutuallyexclusive nodename"),
    "job_container.conf": ("clonensepilog_wait clonensscript_wait", "autobasepath entirestepinns shared", "nodename"),
    "oci.conf": (
        "",
        "disablecleanup ignorefileconfigjson",
        "createenvfile debugflags disablehooks filedebug srunargs stdiodebug syslogdebug",
    ),
    "topology.conf": ("linkspeed", "", "blockname blocksizes nodes ringname switches switchname"),
}
"""Numbers, switches and texts of these files that tune and name."""
PATHS: Final = {
    "acct_gather.conf": words("energyipmidriverdevice profilehdf5dir"),
    "burst_buffer.conf": words(
        "createbuffer destroybuffer getsysstate getsysstatus startstagein startstageout stopstagein stopstageout"
    ),
    "cgroup.conf": words("alloweddevicesfile cgroupmountpoint"),
    "gres.conf": words("file files multiplefiles"),
    "helpers.conf": words("helper"),
    "job_container.conf": words("basepath clonensepilog clonensscript initscript"),
    "oci.conf": words("containerpath envexclude runtimeenvexclude srunpath"),
    "topology.conf": (),
}
"""Names in these files whose value is a path, a program, or what a rule of its own judges. What is neither here nor in
:data:`IN_FILES` is refused."""


def _total(file: str, rows: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    numbers, switches, texts = _TUNED.get(file, ("", "", ""))
    forms = {NUMBER: numbers, SWITCH: switches, TEXT: texts}
    return {name: (form, OTHER) for form, names in forms.items() for name in words(names)} | dict(rows)


_ROWS: Final = {
    "cgroup.conf": CGROUP,
    "gres.conf": GRES,
    "oci.conf": OCI,
    "burst_buffer.conf": BURST_BUFFER,
    "job_container.conf": JOB_CONTAINER,
    "mpi.conf": MPI,
    "helpers.conf": {"allowuserboot": (r"[\w.-]{1,64}", "everybody starts machines again, with jobs on them")},
}
IN_FILES: Final = {file: _total(file, _ROWS.get(file, {})) for file in (*PATHS, "mpi.conf")} | {
    "namespace.yaml": JOB_CONTAINER
}


def table() -> dict[str, object]:
    """What isn't a row, as data."""
    return {"paths": {file: list(names) for file, names in PATHS.items()}, "counted": COUNTED, "included": INCLUDED}
