"""Names of the parameters that slurmctld reads, by what it takes for a value. It refuses its whole file over any other name.

Facts from ``src/common/read_config.c`` of Slurm 25.11 and 26.05 (``slurm_conf_options``, ``_partition_options``,
``_nodename_options``); tests/faults/test_slurm_words.py asks slurmctld itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*")
_UNLIMITED: Final = frozenset({"unlimited", "infinite"})
_SWITCH: Final = frozenset({"yes", "no", "true", "false", "up", "down", "1", "0"})


@dataclass(frozen=True)
class Words:
    """Parameters of one kind of line, in lower case. Those of ``numbers`` have the bits that slurmctld has for them."""

    texts: frozenset[str]
    numbers: dict[str, int]
    switches: frozenset[str]

    @classmethod
    def of(cls, texts: str, switches: str, numbers: dict[int, str]) -> Words:
        """From names with blanks between them."""
        sized = {name: bits for bits, names in numbers.items() for name in _split(names)}
        return cls(_split(texts), sized, _split(switches))

    def without(self, names: frozenset[str]) -> Words:
        """The same without some names."""
        numbers = {name: bits for name, bits in self.numbers.items() if name not in names}
        return Words(self.texts - names, numbers, self.switches - names)

    def __contains__(self, key: str) -> bool:
        name = key.lower()
        return name in self.texts or name in self.numbers or name in self.switches

    def fault(self, key: str, value: str) -> str:
        """What slurmctld takes where it doesn't take this value; ``""`` where it does, or where no rule here says so."""
        name, text = key.lower(), value.lower()
        if name in self.switches:
            return "" if text in _SWITCH else "YES or NO"
        bits = self.numbers.get(name)
        if bits is None or text in _UNLIMITED:
            return ""
        fits = len(text) < 40 and _NUMBER.fullmatch(text) is not None and _as_c(text) < 1 << bits
        return "" if fits else f"a whole number from 0 to {(1 << bits) - 1}, or UNLIMITED"


def _as_c(text: str) -> int:
    """The number as C reads it: 0x for hexadecimal, 0 for octal."""
    if text.startswith("0x"):
        return int(text, 16)
    return int(text, 8) if text.startswith("0") else int(text)


def _split(names: str) -> frozenset[str]:
    return frozenset(names.lower().split())


SLURM_CONF: Final = Words.of(
    texts="""
AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost AccountingStorageHost
AccountingStorageParameters AccountingStoragePass AccountingStorageTRES AccountingStorageType AccountingStorageUser
AccountingStoreFlags AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType
AcctGatherProfileType AuthAltParameters AuthAltTypes AuthInfo AuthType BackupAddr BackupController BcastExclude
BcastParameters BurstBufferParameters BurstBufferType CertgenParameters CertgenType CertmgrParameters CertmgrType
CliFilterParameters CliFilterPlugins ClusterName CommunicationParameters ControlAddr ControlMachine CoreSpecPlugin
CpuFreqDef CpuFreqGovernors CredType CryptoType DataParserParameters DebugFlags DependencyParameters DownNodes
EnforcePartLimits Epilog EpilogSlurmctld ExtSensorsType FederationParameters GpuFreqDef GresTypes HashPlugin
HealthCheckNodeState HealthCheckProgram HttpParserType include InteractiveStepOptions JobAcctGatherFrequency
JobAcctGatherParams JobAcctGatherType JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPassScript JobCompType
JobCompUser JobContainerType JobCredentialPrivateKey JobCredentialPublicCertificate JobSubmitPlugins LaunchParameters
LaunchType LicenseParameters Licenses LogTimeFormat MailDomain MailProg MCSParameters MCSPlugin MetricsAuthUsers
MetricsParameters MetricsType MpiDefault MpiParams NamespaceType NodeFeaturesPlugins NodeName NodeSet PartitionName
PluginDir PlugStackConfig PowerAction PowerParameters PowerPlugin PreemptExemptTime PreemptMode PreemptParameters
PreemptType PrEpParameters PrEpPlugins PriorityCalcPeriod PriorityDecayHalfLife PriorityFlags PriorityMaxAge
PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType PriorityUsageResetPeriod
PriorityWeightTRES PrivateData ProctrackType Prolog PrologFlags PrologSlurmctld PropagateResourceLimits
PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram ResumeProgram
ResvEpilog ResvProlog RoutePlugin SallocDefaultCommand SbcastParameters SchedulerParameters SchedulerType
ScronParameters SelectType SelectTypeParameters SlurmctldAddr SlurmctldDebug SlurmctldHost SlurmctldHttpAuthParameters
SlurmctldLogFile SlurmctldParameters SlurmctldPidFile SlurmctldPort SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg
SlurmctldSyslogDebug SlurmdDebug SlurmdHttpAuthParameters SlurmdLogFile SlurmdParameters SlurmdPidFile SlurmdSpoolDir
SlurmdSyslogDebug SlurmdUser SlurmSchedLogFile SlurmUser SrunEpilog SrunPortRange SrunProlog StateSaveLocation
SuspendExcNodes SuspendExcParts SuspendExcStates SuspendProgram SuspendTime SwitchParameters SwitchType TaskEpilog
TaskPlugin TaskPluginParam TaskProlog TLSParameters TLSType TmpFS TopologyParam TopologyPlugin UnkillableStepProgram
UrlParserType
""",
    switches="AccountingStoreJobComment AllowSpecResourcesUsage DisableRootJobs PriorityFavorSmall TrackWCKey UsePAM",
    numbers={
        16: """
AccountingStoragePort AcctGatherNodeFreq BatchStartTimeout CompleteWait EioTimeout EpilogTimeout ExtSensorsFreq
FairShareDampeningFactor FastSchedule GetEnvTimeout GroupUpdateForce GroupUpdateTime HealthCheckInterval
HealthCheckTimeout InactiveLimit JobFileAppend JobRequeue KillOnBadExit KillWait MaxTasksPerNode MessageTimeout
OverTimeLimit PrologEpilogTimeout PrologTimeout PropagatePrioProcess ResumeRate ResumeTimeout ResvOverRun
ReturnToService SchedulerTimeSlice SlurmctldTimeout SlurmdTimeout SlurmSchedLogLevel SuspendRate SuspendTimeout
TCPTimeout TreeWidth UnkillableStepTimeout VSizeFactor WaitTime
""",
        32: """
EpilogMsgTime FirstJobId JobCompPort KeepAliveTime MaxArraySize MaxBatchRequeue MaxDBDMsgs MaxJobCount MaxJobId
MaxNodeCount MaxStepCount MinJobAge PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare
PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS SlurmdPort
""",
        64: """
DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode MaxMemPerCPU MaxMemPerNode
""",
    },
)
"""Parameters of slurm.conf."""

PARTITION: Final = Words.of(
    texts="""
AllocNodes AllowAccounts AllowGroups AllowQos Alternate CpuBind DefaultTime DenyAccounts DenyQos Exclusive MaxTime
Nodes OverSubscribe OverTimeLimit PartitionName PreemptMode QOS SelectTypeParameters Shared State SuspendTime Topology
TRESBillingWeights
""",
    switches="Default DisableRootJobs ExclusiveTopo ExclusiveUser Hidden LLN PowerDownOnIdle ReqResv RootOnly",
    numbers={
        16: """
Priority PriorityJobFactor PriorityTier ResumeTimeout SuspendTimeout
""",
        32: """
GraceTime MaxCPUsPerNode MaxCPUsPerSocket MaxNodes MinNodes
""",
        64: """
DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode MaxMemPerCPU MaxMemPerNode
""",
    },
)
"""Parameters of a PartitionName= line."""

NODE: Final = Words.of(
    texts="""
BcastAddr CpuBind CPUSpecList Feature Features Gres GresConf NodeAddr NodeHostname NodeName Parameters Port Reason
State SuspendTime Topology TRESWeights
""",
    switches="",
    numbers={
        16: """
Boards CoreSpecCount CoresPerSocket CPUs Procs RestrictedCoresPerGPU Sockets SocketsPerBoard ThreadsPerCore
""",
        32: """
TmpDisk Weight
""",
        64: """
MemSpecLimit RealMemory
""",
    },
)
"""Parameters of a NodeName= line, and of ``slurmd --conf``."""

NEWER: Final = "26.05"
"""The release from which on slurmctld knows the names below."""
NEW: Final = frozenset(
    """
HealthCheckTimeout LicenseParameters MetricsAuthUsers MetricsParameters PowerAction SlurmctldHttpAuthParameters
SlurmdHttpAuthParameters
""".lower().split()
)
"""Those of slurm.conf that Slurm 25.11 doesn't know."""
NEW_OF_PARTITIONS: Final = frozenset({"exclusive"})
"""Those of a PartitionName= line."""
NEW_OF_NODES: Final = frozenset({"suspendtime"})
"""Those of a NodeName= line."""
