"""What each parameter of slurm.conf and slurmdbd.conf may be, beside those that :mod:`.reach` names.

Every parameter that a release reads is in exactly one table, here or there (tests/policies/test_contract.py). One that is in
no table is refused, so that a parameter of a later release is judged before it passes.

Source: slurm.conf(5), slurmdbd.conf(5), cgroup.conf(5) of 26.05 and 25.11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from slinky_iac.config.slurm import permitted_files as files
from slinky_iac.config.slurm.forms import LEVEL, NUMBER, OTHER, PLUGIN, QUIET, SWITCH, TEXT, TIME, words

FREE: Final = {
    **dict.fromkeys(
        words("""
acctgathernodefreq extsensorsfreq fairsharedampeningfactor fastschedule getenvtimeout groupupdateforce groupupdatetime
healthcheckinterval healthchecktimeout jobfileappend jobrequeue killonbadexit overtimelimit propagateprioprocess
resumerate resvoverrun returntoservice schedulertimeslice slurmschedloglevel suspendrate maxbatchrequeue
priorityweightage priorityweightassoc priorityweightfairshare priorityweightjobsize priorityweightpartition
priorityweightqos defcpupergpu maxnodecount maxpurgelimit
"""),
        NUMBER,
    ),
    **dict.fromkeys(
        words("""
accountingstorejobcomment allowspecresourcesusage disablerootjobs priorityfavorsmall trackwckey usepam allownodefacct
allresourcesabsolute archiveevents archivejobenv archivejobs archivejobscript archiveresvs archivesteps archivesuspend
archivetxn archiveusage disablearchivecommands disablecoorddbd trackslurmctlddown
"""),
        SWITCH,
    ),
    **dict.fromkeys(
        words("preemptexempttime prioritycalcperiod prioritydecayhalflife prioritymaxage suspendtime maxquerytimerange"),
        TIME,
    ),
    **dict.fromkeys(
        words("""
accountingstoragetres accountingstoreflags burstbufferparameters clifilterparameters cpufreqdef cpufreqgovernors
dataparserparameters defaultqos dependencyparameters enforcepartlimits federationparameters gpufreqdef grestypes
healthchecknodestate jobacctgatherfrequency launchparameters licenseparameters licenses logtimeformat
maildomain mcsparameters metricsparameters mpidefault mpiparams parameters preemptparameters priorityflags priorityparameters
prioritysitefactorparameters priorityweighttres privatedata prologflags propagateresourcelimits
propagateresourcelimitsexcept reconfigflags requeueexithold sbcastparameters scronparameters selecttypeparameters
srunportrange suspendexcnodes suspendexcparts suspendexcstates switchparameters taskpluginparam
topologyparam x11parameters
"""),
        TEXT,
    ),
    **dict.fromkeys(
        words("""
acctgatherenergytype acctgatherfilesystemtype acctgatherinfinibandtype acctgatherinterconnecttype burstbuffertype
clifilterplugins corespecplugin extsensorstype jobcontainertype jobsubmitplugins launchtype mcsplugin metricstype
namespacetype nodefeaturesplugins preempttype prioritysitefactorplugin prioritytype routeplugin switchtype
topologyplugin
"""),
        rf"{PLUGIN}|\w{{1,60}}",
    ),
}
"""Parameters that may be whatever is of this form: they tune, name and weigh."""

LOGS: Final = "the log hides what the daemon did, or holds messages between daemons with their credentials"
FEW: Final = r"conmgr_max_connections=\d{1,2}$|conmgr_threads=[01]$"
"""So few connections that daemons do not answer each other, and nodes are taken for down."""
_MORE: Final = r"node_reg_mem_percent=(?!(100|\d{1,2})(\.\d{1,9})?$)"
"""More memory than a node has, so that each is drained when it registers (``validate_node_specs`` of node_mgr.c)."""
_MEMORY: Final = r"0|unlimited|6[4-9]|[7-9]\d|[1-9]\d{2,11}"
SENT: Final = "data of jobs and users may leave the cluster"
PERMITTED: Final = {
    "accountingstorageenforce": ("associations|limits|qos|safe|wckeys|all|1|2", "jobs go past limits, or into no accounts"),
    "accountingstorageparameters": (r"max_step_records=\d+", "slurmctld goes past the stack's slurmdbd"),
    "authinfo": (
        r"use_client_ids|cred_expire=([6-9]\d|[1-9]\d{2,3})",
        "pods can't speak to daemons, or jobs of slow nodes don't begin",
    ),
    "acctgatherprofiletype": ("(acct_gather_profile/)?(none|hdf5)", SENT),
    "bcastexclude": (r"none|/[\w./+-]{1,200}", "sbcast doesn't leave out the folder that is meant"),
    "bcastparameters": (r"compression=\w+|send_libs(=\w+)?|destdir=/(tmp|scratch|local|run|dev/shm)(/.*)?", SENT),
    "commitdelay": (r"\d{1,2}", "slurmdbd stops, and so many seconds of records are lost; at most 99"),
    "communicationparameters": (
        r"noaddrcache|enableipv6|disableipv4|block_null_hash|noctldinaddrany|noinaddrany|checkghalquiesce|disablehttp"
        r"|(keepalive\w+|keep_alive\w*|host_unreach_retry_count|getnameinfo_cache_timeout)=\d+",
        "daemons may not find each other",
    ),
    "completewait": (r"\d{1,3}", "no job begins for so long after each that ends; at most 999 seconds"),
    "debugflags": (r"\+?(?!(net\w*|protocol|script|tls)$)\w{1,40}", LOGS),
    "slurmctlddebug": (LEVEL, LOGS),
    "slurmddebug": (LEVEL, LOGS),
    "debuglevel": (LEVEL, LOGS),
    "slurmctldsyslogdebug": (QUIET, LOGS),
    "slurmdsyslogdebug": (QUIET, LOGS),
    "debuglevelsyslog": (QUIET, LOGS),
    "disablerollups": ("no|false|0", "no usage is counted, so limits and fair share stand still"),
    "epilogmsgtime": (r"\d{1,5}", "nodes stay COMPLETING for this times their number; at most 99999 microseconds"),
    "firstjobid": (r"[1-9]\d{0,6}|[1-5]\d{7}", "slurmctld does not start above MaxJobId"),
    "hashplugin": ("(hash/)?(k12|sha3)", "messages between daemons aren't checked against their signature"),
    "interactivestepoptions": (
        r"(--\w[\w=.-]{0,60} {1,9}){0,20}(--\w[\w=.-]{0,60}|\$shell|((/usr)?/bin/)?(ba|z|da|tc|c)?sh)( -l)?",
        "every salloc runs it",
    ),
    "jobacctgatherparams": (rf"(?!overmemorykill)(?:{TEXT})", "jobs are ended over memory that they did not use"),
    "jobacctgathertype": ("(jobacct_gather/)?(linux|cgroup|none)", "memory and time of jobs aren't counted"),
    "jobcomptype": ("(jobcomp/)?(none|filetxt)", SENT),
    "maxarraysize": (
        r"[1-9]\d{3,5}|[1-3]\d{6}",
        "slurmctld does not start above 4000001, and below 1000 arrays that wait are lost",
    ),
    "metricsauthusers": (r"(?!all$|\*)[\w.-]+", "names of users and jobs are shown to everybody"),
    "preemptmode": ("off|requeue|suspend|gang|within|priority", "jobs are ended for others"),
    "prepplugins": ("(prep/)?script", "another program runs at the beginning and the end of every job"),
    "priorityusageresetperiod": ("none|daily|weekly|monthly|quarterly|yearly", "the usage of all users is forgotten"),
    "proctracktype": ("(proctrack/)?cgroup", "processes leave their job, and go on after it"),
    "requeueexit": (
        r"[1-9](-[1-9])?|[1-9]\d{1,2}",
        "jobs that ended well, or by a fault of their own, begin again",
    ),
    "schedulerparameters": (
        rf"(?!sched_interval=-|max_script_size=0|default_queue_depth=0*$|max_rpc_cnt=[1-9]$)(?:{TEXT})",
        "nothing is scheduled",
    ),
    "schedulertype": ("(sched/)?(backfill|builtin)", "nothing is scheduled"),
    "selecttype": ("(select/)?cons_tres", "slurmctld forgets all jobs where this changes"),
    "slurmctldparameters": (
        rf"(?!allow_user_triggers|user_resv_delete|max_dbd_msg_action(?!=exit$)|{_MORE}|{FEW})[a-z][\w=.:/-]{{1,80}}",
        "users run programs, end reservations, records of jobs are dropped, nodes are drained, or can't connect",
    ),
    "slurmdparameters": (
        rf"(?!.*config_override|{FEW})(?:{TEXT})",
        "jobs are given memory and processors that the pods lack, or slurmd doesn't answer",
    ),
    "slurmdport": ("6818", "slurmctld finds no pod: all listen at 6818"),
    "storagetype": ("(accounting_storage/)?mysql", SENT),
    "taskplugin": ("(task/)?(cgroup|affinity)", "jobs take processors, memory and devices of others"),
    "tmpfs": (r"/[\w./%+-]{1,200}", "slurmd reports no size of it"),
    "tlstype": ("(tls/)?(none|s2n)", SENT),
}
"""Parameters of which some values do harm: each part between commas is of this form, else what stands beside it happens."""
KEPT: Final = {"authinfo": "use_client_ids"}
"""Items that a parameter must have, since pods need them: where a stack sets it, they are added to what it says."""
WITHOUT_CGROUPS: Final = {
    "proctracktype": ("(proctrack/)?linuxproc", PERMITTED["proctracktype"][1]),
    "taskplugin": ("(task/)?(none|affinity)", PERMITTED["taskplugin"][1]),
    "jobacctgatherparams": (rf"(?!overmemorykill)(?:{TEXT})", "jobs are ended over memory that they did not use"),
    "jobacctgathertype": ("(jobacct_gather/)?(linux|none)", PERMITTED["jobacctgathertype"][1]),
}
"""The same where cgroup.conf has CgroupPlugin=disabled: slurmd does not start with a plugin that uses cgroups."""
_MINUTES: Final = r"0*(?:[5-9]|[1-9]\d{1,8})"
_FEW_MINUTES: Final = (
    rf"unlimited|infinite|none|-1|{_MINUTES}(:\d\d)?|0*[1-9]\d{{0,5}}:\d\d:\d\d|0+:(0[5-9]|[1-5]\d):\d\d"
    r"|0*[1-9]\d{0,5}-\d{1,2}(:\d\d){0,2}",
    "every job that asks for no time is ended after less than 5 minutes",
)
_SHARED: Final = (r"(no|exclusive|yes|force)(:\d{1,3})?", OTHER)
PARTITION: Final = {
    "preemptmode": PERMITTED["preemptmode"],
    **dict.fromkeys(
        words("defmempercpu defmempergpu defmempernode maxmempercpu maxmempernode"),
        (_MEMORY, "jobs are ended or refused over memory below 64 megabytes"),
    ),
    **dict.fromkeys(words("defaulttime maxtime"), _FEW_MINUTES),
    **dict.fromkeys(words("oversubscribe shared"), _SHARED),
    "state": ("up|down|drain|inactive", OTHER),
    **dict.fromkeys(
        words("""
defcpupergpu maxcpuspernode maxcpuspersocket maxnodes minnodes overtimelimit priority priorityjobfactor prioritytier
resumetimeout suspendtimeout
"""),
        (NUMBER, OTHER),
    ),
    **dict.fromkeys(
        words("default disablerootjobs exclusivetopo exclusiveuser hidden lln powerdownonidle reqresv rootonly"),
        (SWITCH, OTHER),
    ),
    **dict.fromkeys(words("gracetime suspendtime"), (rf"{NUMBER}|{TIME}", OTHER)),
    **dict.fromkeys(
        words("""
allocnodes allowaccounts allowgroups allowqos alternate cpubind denyaccounts denyqos exclusive nodes qos
selecttypeparameters topology tresbillingweights
"""),
        (TEXT, OTHER),
    ),
}
"""The same for a PartitionName= line: every parameter that a release reads there."""
NODE: Final = {
    "state": ("unknown|idle|cloud|future|drain|external", "slurmctld takes it out of service, and ends its jobs"),
    "parameters": PERMITTED["slurmdparameters"],
    **dict.fromkeys(
        words("""
boards corespeccount corespersocket cpus memspeclimit procs realmemory restrictedcorespergpu sockets
socketsperboard threadspercore tmpdisk weight
"""),
        (NUMBER, OTHER),
    ),
    "port": (r"\[?\d{1,5}(-\d{1,5})?\]?", OTHER),
    "suspendtime": (rf"{NUMBER}|{TIME}", OTHER),
    **dict.fromkeys(
        words("""
bcastaddr cpubind cpuspeclist feature features gres nodeaddr nodehostname nodes reason topology tresweights
"""),
        (TEXT, OTHER),
    ),
}
"""The same for a NodeName= line, and for spec.extraConf of a NodeSet."""
LEAST: Final = {
    **{"slurmdtimeout": (60, True), "slurmctldtimeout": (30, False), "messagetimeout": (5, False), "tcptimeout": (2, False)},
    **{"inactivelimit": (120, True), "minjobage": (2, False), "batchstarttimeout": (10, False), "killwait": (10, False)},
    **{"epilogtimeout": (10, True), "prologtimeout": (10, True), "prologepilogtimeout": (10, True)},
    **{"maxjobcount": (1000, False), "maxstepcount": (1000, False), "maxjobid": (100_000, False)},
    **{"maxdbdmsgs": (10_000, True), "unkillablesteptimeout": (60, False), "vsizefactor": (200, True)},
    **{"defmempercpu": (64, True), "defmempergpu": (64, True), "defmempernode": (64, True)},
    **{"waittime": (10, True), "resumetimeout": (60, False), "suspendtimeout": (30, False)},
    **{"maxmempercpu": (64, True), "maxmempernode": (64, True), "maxtaskspernode": (64, False)},
    **{"eiotimeout": (10, False), "keepalivetime": (30, True), "treewidth": (2, True)},
}
"""The lowest number with which no job is lost for a slow answer or a small table, and whether 0 stands for "never"."""

_DEBUG: Final = "error, info, verbose, debug, debug2, debug3"
_WORDS: Final = "words, numbers and assignments between commas, without a path at the beginning, an address or a quote"
_SLURMD: Final = f"all but config_overrides and few connections (conmgr_max_connections below 100): {_WORDS}"
_RUNTIMES: Final = "runc, crun, youki, nvidia-container-runtime, singularity or apptainer, without --privileged"
ALLOWED: Final[dict[str, str]] = {
    NUMBER: "a whole number, or UNLIMITED",
    SWITCH: "YES or NO",
    TIME: "a time as 30, 12:00:00 or 7-00:00:00, UNLIMITED or NONE",
    TEXT: _WORDS,
    rf"{PLUGIN}|\w{{1,60}}": "names of plugins",
    LEVEL: _DEBUG,
    QUIET: f"quiet, fatal, {_DEBUG}",
    files.RUNTIME[0]: _RUNTIMES,
    files.OCI["runtimekill"][0]: f"{_RUNTIMES}, or kill -s SIGNAL %p",
    "accountingstorageparameters": "max_step_records=NUMBER",
    "authinfo": "use_client_ids, which is always there, and cred_expire=SECONDS from 60 to 9999",
    "bcastexclude": "folders, or none",
    "bcastparameters": "Compression=…, send_libs, DestDir= below /tmp, /scratch, /local, /run or /dev/shm",
    "communicationparameters": "NoAddrCache, EnableIPv6, DisableIPv4, block_null_hash, NoCtldInAddrAny, NoInAddrAny,"
    " CheckGhalQuiesce, DisableHTTP, and times of connections as KeepAliveTime=NUMBER",
    **dict.fromkeys(("defaulttime", "maxtime"), "5 minutes or more, as 10, 1:00:00 or 7-0, or UNLIMITED"),
    **dict.fromkeys(("gracetime", "suspendtime"), "seconds, or a time"),
    **dict.fromkeys(("oversubscribe", "shared"), "NO, EXCLUSIVE, YES or FORCE, with a number behind a colon"),
    "allowuserboot": "names of users",
    "dirs": "/tmp, /var/tmp, /dev/shm, and folders of local disks below /local, /localscratch, /lscratch, /nvme or /raid",
    "pmixenv": "variables by which no program loads another file",
    "debugflags": "all but Network, Net, NetRaw, Protocol, Script and TLS",
    "flags": "all but CountOnly; this one too for what isn't a GPU and has no File",
    "interactivestepoptions": "options of srun, then $SHELL or a shell",
    "jobacctgatherparams": f"all but OverMemoryKill: {_WORDS}",
    "metricsauthusers": "names of users",
    "requeueexit": "exit codes from 1 to 999, and ranges below 10, as 1-9: by a long range every failure begins again",
    "schedulerparameters": "all but sched_interval=-1, max_script_size=0, default_queue_depth=0 and max_rpc_cnt below 10:"
    f" {_WORDS}",
    "slurmctldparameters": "all but allow_user_triggers, user_resv_delete, max_dbd_msg_action=discard,"
    " node_reg_mem_percent above 100, and few connections (conmgr_max_connections below 100, conmgr_threads below 2)",
    **dict.fromkeys(("parameters", "slurmdparameters"), _SLURMD),
    "port": "a number, or one for each host, as [17001-17004]",
    "tmpfs": "a folder, as /tmp",
}
"""What a form allows, for a message, by the form or else by the parameter; forms that only list values say it themselves."""
OWN_RULES: Final = ("nodename", "partitionname", "nodeset", "authaltparameters", "storageparameters")
"""Lines of several parameters, and parameters that this program writes: rules of their own judge them."""


def allowed(name: str, form: str) -> str:
    """What a form allows, in words, as ``" (allowed: …)"``; empty where only the form itself could say it."""
    listed = re.fullmatch(r"(?:\((\w+/)\)\?)?\(?([\w|]+)\)?", form)
    choices = ", ".join(f"{listed[1] or ''}{choice}" for choice in listed[2].split("|")) if listed else ""
    said = choices or ALLOWED.get(form) or ALLOWED.get(name, "")
    return f" (allowed: {said})" if said else ""


def _rows(rows: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    return {name: [form, harm + allowed(name, form)] for name, (form, harm) in rows.items()}


def table() -> dict[str, object]:
    """All of it as data."""
    return {
        "free": FREE,
        "permitted": _rows(PERMITTED),
        "kept": KEPT,
        "withoutCgroups": _rows(WITHOUT_CGROUPS),
        "partition": _rows(PARTITION),
        "node": _rows(NODE),
        **files.table(),
        **{file: _rows(rows) for file, rows in files.IN_FILES.items()},
        "least": {name: list(row) for name, row in LEAST.items()},
    }
