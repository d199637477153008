"""Parameters of Slurm's files that do more than configure: what they run, load, send away or write. What the others may be
says :mod:`.permitted`.

The settings (:mod:`slinky_iac.config.rules.slurm_reach`) and the policies judge by these tables:
``policies/slurm_rules/made.json`` has them, as the command
``PYTHONPATH=policies python -m tests.policies.making`` writes it.

Source: slurm.conf(5), slurmdbd.conf(5), plugstack.conf(5) of 26.05.
"""

from __future__ import annotations

import re
from typing import Final

from slinky_iac.config.rules.slurm_conf import (
    OPERATOR_NODE_KEYS,
    SCRIPT_ENDINGS,
    SLURM_FILES,
    TAKEN_ENDINGS,
    TAKEN_FILES,
)
from slinky_iac.config.slurm import permitted as slurm_permitted
from slinky_iac.config.slurm import scripts as script_faults
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.config.slurm.owned import OWNED, OWNED_BY_DATABASE


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


WRITTEN: Final = frozenset({"authaltparameters", "maxnodecount", "nodename", "nodeset", "partitionname"})
"""Parameters of OWNED that this program writes into ``spec.extraConf`` itself."""
PROGRAMS: Final = _words("""
prolog epilog prologslurmctld epilogslurmctld taskprolog taskepilog srunprolog srunepilog resvprolog
resvepilog healthcheckprogram rebootprogram resumeprogram resumefailprogram suspendprogram mailprog
unkillablestepprogram slurmctldprimaryonprog slurmctldprimaryoffprog plugindir plugstackconfig archivescript
""")
"""Parameters whose value is a program or a folder of libraries."""
SENT: Final = _words("prolog epilog taskprolog taskepilog")
"""Of these, the ones whose plain name is a file beside slurm.conf, which slurmctld sends to nodes without one.
Source: Slurm, src/common/fetch_config.c (new_config_response), src/slurmd/slurmd/slurmd.c (_read_config)."""
CONF_FOLDER: Final = "/etc/slurm"
PROGRAM_FOLDERS: Final = (CONF_FOLDER, "/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt")
"""Where an image has its programs and libraries."""
ARGUMENTS: Final = r"-{1,2}[a-zA-Z][a-zA-Z-]{0,40}|now|reboot|\+?\d{1,4}"
"""What a program may be given: options without values, as RebootProgram has them; no path, and no host."""
_OWN_FOLDERS: Final = ("/var/spool", "/run", "/var/run", "/var/lib")
FILE_FOLDERS: Final = (
    *("/var/log", "/var/spool", "/run", "/var/run", "/tmp", "/var/tmp", "/var/lib/slurm", "/dev/null"),
    *(
        "/lustre",
        "/gpfs",
        "/beegfs",
        "/scratch",
        "/local",
        "/localscratch",
        "/lscratch",
        "/var/nvme",
        "/nvme",
        "/raid",
        "/mnt",
        "/data",
    ),
)
"""Where daemons may write: the system's folders for it, and what sites call the local disks of their nodes."""
FILES: Final = {
    **dict.fromkeys(_words("slurmctldpidfile slurmdpidfile slurmdspooldir pidfile"), _OWN_FOLDERS),
    **dict.fromkeys(_words("slurmctldlogfile slurmschedlogfile logfile jobcomploc"), FILE_FOLDERS),
    "slurmdlogfile": ("/var/log", "/var/spool", "/run", "/var/run", "/var/lib/slurm", "/dev/null"),  # slurmd is root
    "archivedir": ("/var/log", "/var/spool", "/var/lib/slurm", "/scratch", "/mnt", "/data", "/archive"),
}
"""Parameters whose value is a file or folder that a daemon writes, and below which folders it may be: what a daemon later
runs or trusts, in none where users may rename and write."""
_SECOND: Final = "names another slurmdbd, which would get the records of all jobs: slurmdbd is one pod here"
_CONTROL: Final = "names another host as slurmctld, which pods and users would believe: slurmctld is one pod here"
_OF_JOBS: Final = "sends records of all jobs to another host; slurmdbd has them, too (`sacct`)"
_PRINTED: Final = "names a program that prints a password: a secret is given by `pulumi config set --secret`"
_OTHER_KEY: Final = "names a file with a key: all daemons have the keys of the section keys"
_CERTIFICATES: Final = "says whose certificates a daemon believes: with others, another host passes for a daemon"
_PARSER: Final = "loads another parser of what comes over the network than Slurm's own"
PASSWORD: Final = "is a password in plain text, in the file and its history: give the user a new one"
ELSEWHERE: Final = {
    **dict.fromkeys(("accountingstoragebackuphost", "dbdbackuphost"), _SECOND),
    "accountingstorageexternalhost": "names slurmdbds of other clusters, which would know this one and send it jobs",
    "accountingstoragepass": f"{PASSWORD}. It isn't used: slurmctld speaks to slurmdbd by the cluster's key",
    "jobcomppass": PASSWORD,
    "accountingstorageuser": "isn't used: slurmctld speaks to slurmdbd by the cluster's key",
    **dict.fromkeys(("backupaddr", "backupcontroller", "controladdr", "controlmachine", "slurmctldaddr"), _CONTROL),
    **dict.fromkeys(("dbdaddr", "dbdhost"), "names another host as slurmdbd, which is one pod here"),
    "downnodes": "sets nodes DOWN at each start of slurmctld, with jobs on them; `slinky drain` takes nodes out of service",
    **dict.fromkeys(("jobcomphost", "jobcompparams", "jobcompport", "jobcompuser"), _OF_JOBS),
    **dict.fromkeys(("jobcomppassscript", "storagepassscript"), _PRINTED),
    **dict.fromkeys(("jobcredentialprivatekey", "jobcredentialpubliccertificate"), _OTHER_KEY),
    "sallocdefaultcommand": "runs a command in every salloc; LaunchParameters=use_interactive_step has taken its place",
    **dict.fromkeys(
        ("certgenparameters", "certgentype", "certmgrparameters", "certmgrtype", "tlsparameters"), _CERTIFICATES
    ),
    **dict.fromkeys(("httpparsertype", "urlparsertype"), _PARSER),
    "prepparameters": "is for plugins of PrEpPlugins that Slinky's images lack",
}
"""Parameters by which another host gets data or is believed, or that take what is the operator's; what is said of each."""
PURGES: Final = ("jobpurge", "steppurge")
"""Old names of purges that begin otherwise."""
LEAST_PURGED_HOURS: Final = 720
"""Records of jobs are kept for a month at the least (slurmdbd.conf(5), Purge…After)."""
LUA: Final = ("os.execute", "io.popen", "os.remove", "package", "loadlib", "dofile", "loadfile", "require")
"""Names by which a script of Lua runs or loads something else."""
KEYS_READ: Final = r"\bslurm\.key\b|\bjwt(_hs256)?\.key\b|\bSLURM_JWT\b"
"""What a script or file has that takes a key or a token to where users see it. No prolog, epilog or plugin needs one."""
LUA_COMMENT: Final = re.compile(r"^[ \t]*--[^\]\"'\r\n]*\r?$", re.MULTILINE)
"""A line that is a comment wherever it stands: nothing in it could end a text that began on a line above."""
LUA_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
"""A name, with those that lead to it."""
DEVICES: Final = (
    *(
        "/dev/nvidia",
        "/dev/dxg",
        "/dev/dri/",
        "/dev/kfd",
        "/dev/infiniband/",
        "/dev/fuse",
        "/dev/shm",
        "/dev/accel",
        "/dev/neuron",
    ),
    *("/dev/davinci", "/dev/xpu", "/dev/vfio/", "/dev/fpga", "/dev/null", "/sys/fs/cgroup"),
)
"""Beginnings of what files of Slurm's may name beside these: devices for jobs. A disk or a node's memory is none."""
RUN_KEYS: Final = (
    *("helper", "runtime", "exec", "program", "script", "command", "plugin", "epilog", "prolog", "srunpath"),
    *("buffer", "stagein", "stageout", "sysstate", "sysstatus"),
)
"""Beginnings and ends of names in files whose value a daemon runs."""
SHELLS: Final = ("oci.conf", "burst_buffer.conf", "helpers.conf")
"""Files whose values a shell runs."""
EXPRESSIONS: Final = ("envexclude", "runtimeenvexclude")
"""Names in these whose value is a regular expression, which nothing runs (oci.conf(5))."""
SET: Final = r"(?<![A-Za-z0-9_])([A-Za-z][A-Za-z0-9_]{0,59}+)[ \t\r\v\f]*+[-*+/]?[=:][ \t\r\v\f]*+(\"[^\"]*\"|\S++)"
"""A name and its value, as these files have them; a value in quotes may have blanks. Source: ``keyvalue_pattern`` of
parse_config.c, where an operator changes nothing (``+=`` sets)."""


def unjudged(file: str, line: str) -> bool:
    """Whether a line has more than :data:`SET` finds. YAML has keys and items of lists beside; what it finds there are all
    paths, unless a `/` is elsewhere, or a backslash is for one."""
    rest = re.sub(SET, "", line)
    return bool(rest.strip()) if file.endswith(".conf") else "/" in rest or "\\" in line


PATH: Final = r"[\w./%+~-]{1,400}(\[[\d,-]{1,400}\][\w./%+~-]{0,400}){0,4}"
"""One path, or several by numbers in brackets."""
RELEASES: Final = ("25.11", "26.05")
"""Releases of Slurm whose parameters are known."""


def known(file: str) -> list[str]:
    """Names of parameters that a release reads, in lower case."""
    return sorted({name for release in RELEASES for name in slurm_words.words(release, file).kinds})


def table() -> dict[str, object]:
    """All of it, and what the settings refuse, as data."""
    return {
        "owned": sorted(OWNED.keys() - WRITTEN),
        "known": known("slurm.conf"),
        "nodeKnown": known("NodeName"),
        "nodeOwned": sorted(OPERATOR_NODE_KEYS),
        "partitionKnown": known("PartitionName"),
        "taken": sorted(TAKEN_FILES),
        "takenEndings": sorted(TAKEN_ENDINGS),
        "files": sorted(SLURM_FILES),
        "scriptEndings": sorted(SCRIPT_ENDINGS),
        "programs": sorted(PROGRAMS),
        "sent": sorted(SENT),
        "arguments": ARGUMENTS,
        "programFolders": list(PROGRAM_FOLDERS),
        "writes": {key: list(folders) for key, folders in sorted(FILES.items())},
        "writeFolders": list(FILE_FOLDERS),
        "elsewhere": sorted(ELSEWHERE),
        **slurm_permitted.table(),
        "purges": list(PURGES),
        "leastPurgedHours": LEAST_PURGED_HOURS,
        "lua": list(LUA),
        "keysRead": KEYS_READ,
        "devices": list(DEVICES),
        "scripts": script_faults.TABLE,
        "runKeys": list(RUN_KEYS),
        "shells": list(SHELLS),
        "expressions": list(EXPRESSIONS),
        "set": SET,
        "path": PATH,
        "slurmdbdOwned": sorted(OWNED_BY_DATABASE.keys() - WRITTEN),
        "slurmdbd": known("slurmdbd.conf"),
    }
