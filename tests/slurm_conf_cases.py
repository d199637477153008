"""Lines of slurm.conf that slurmctld 26.05.5 and 25.11.7 without slurmdbd take (+), and lines over which they refuse
their file or end (-): run, one by one, up to "Running as primary controller". Where the two differ, 26.05's comes first. A
trial leaves out what needs other daemons (!): slurmctld alone refuses it.

tests/unit/config holds the rules to them, tests/faults/test_slurm_words.py slurmctld itself.
"""

from __future__ import annotations

CONF = """
+ SelectType=select/cons_tres
- SelectType=select/linear
- SelectType=select/cons_res
- SelectType=select/Cons_tres
+ SelectTypeParameters=CR_Core_Memory
+ SelectTypeParameters=cr_core
- SelectTypeParameters=CR_LLN
- SelectTypeParameters=CR_Memory
+ SelectTypeParameters=CR_Core_Memory,CR_LLN
+ SelectTypeParameters=CR_Core,CR_ONE_TASK_PER_CORE
- SelectTypeParameters=CR_CPU,CR_ONE_TASK_PER_CORE
- SelectTypeParameters=CR_Core,CR_Socket
- SelectTypeParameters=CR_Gpu
- SelectTypeParameters=NONE
+ PreemptMode=OFF
+ PreemptMode=GANG
+ PreemptMode=CLUSTER
- PreemptMode=SUSPEND
- PreemptMode=SUSPEND,GANG
- PreemptMode=REQUEUE
- PreemptMode=REQUEUE PreemptType=preempt/none
- PreemptMode=Requeu PreemptType=preempt/qos
- PreemptMode=REQUEUE,CANCEL PreemptType=preempt/qos
- PreemptMode=GANG,WITHIN PreemptType=preempt/qos
+ PreemptMode=REQUEUE,WITHIN PreemptType=preempt/qos
+ PreemptMode=REQUEUE PreemptType=preempt/qos
+ PreemptMode=SUSPEND,GANG PreemptType=preempt/partition_prio
+ PreemptMode=CANCEL PreemptType=preempt/partition_prio
- PreemptMode=GANG PreemptType=preempt/partition_prio
- PreemptMode=REQUEUE PreemptType=preempt/qos PreemptParameters=min_exempt_priority=high
+ PreemptMode=REQUEUE PreemptType=preempt/qos PreemptParameters=youngest_first,min_exempt_priority=100
+ PreemptParameters=min_exempt_priority=high
- PreemptType=preempt/qos
+ PrologFlags=Contain
+ PrologFlags=NoHold
+ PrologFlags=Alloc,NoHold
+ PrologFlags=RunInJob,Serial
- PrologFlags=Contains
- PrologFlags=Contain,NoHold
- PrologFlags=RunInJob,NoHold
- PrologFlags=X11,NoHold
+ PrologFlags=X11 ProctrackType=proctrack/cgroup
- PrologFlags=X11 ProctrackType=proctrack/linuxproc
+ NamespaceType=namespace/none
+ NamespaceType=namespace/tmpfs PrologFlags=Contain
- NamespaceType=namespace/tmpfs PrologFlags=Alloc
+ JobContainerType=job_container/none
+ JobContainerType=job_container/tmpfs PrologFlags=Contain
- JobContainerType=job_container/tmpfs PrologFlags=Alloc
+ HealthCheckNodeState=START_ONLY
+ HealthCheckNodeState=IDLE,CYCLE
-+ HealthCheckNodeState=START_ONLY,IDLE
-+ HealthCheckNodeState=REBOOT_ONLY,IDLE
+ LaunchParameters=enable_nss_slurm
- LaunchParameters=enable_nss_slurm,disable_send_gids
+ JobAcctGatherParams=UsePSS
- JobAcctGatherParams=UsePSS,NoShared
+ CommunicationParameters=block_null_hash
- CommunicationParameters=DisableIPv4
- MCSParameters=ondemand
+ MCSParameters=ondemand MCSPlugin=mcs/none
+ MCSPlugin=mcs/user
- MCSPlugin=mcs/group
+ MCSPlugin=mcs/group MCSParameters=ondemand,ondemandselect:alice
+ TaskPluginParam=Cores
+ TaskPluginParam=autobind=threads
+ TaskPluginParam=OOMKillStep TaskPlugin=task/cgroup
+ TaskPluginParam=SlurmdSpecOverride TaskPlugin=task/cgroup
- TaskPluginParam=OOMKillStep TaskPlugin=task/affinity
- TaskPluginParam=Core
- TaskPluginParam=Cores,Threads
- TaskPluginParam=autobind=gpus
- TaskPluginParam=SlurmdSpecOverride,SlurmdOffSpec TaskPlugin=task/cgroup
+ FastSchedule=1
- FastSchedule=2
- AccountingStoreJobComment=YES
- SallocDefaultCommand=x
- FirstJobId=0
+ FirstJobId=100
- FirstJobId=100 MaxJobId=50
- MaxJobCount=0
+ MaxJobCount=INFINITE
+ MaxJobCount=20k
- MaxJobCount=5000000000
- MaxStepCount=0
- MaxDBDMsgs=500
+ MaxDBDMsgs=20000
- PriorityDecayHalfLife=0
+ PriorityDecayHalfLife=0 PriorityUsageResetPeriod=MONTHLY
+ PriorityDecayHalfLife=0 PriorityUsageResetPeriod=none
- PriorityUsageResetPeriod=OFTEN
+ SlurmctldDebug=info
+ SlurmctldDebug=3
- SlurmctldDebug=chatty
- SlurmdDebug=chatty
- SlurmctldSyslogDebug=chatty
- SlurmdSyslogDebug=chatty
+ EnforcePartLimits=ALL
+ EnforcePartLimits=YES
- EnforcePartLimits=MOST
- PropagatePrioProcess=3
+ KillWait=UNLIMITED
+ KillWait=0x10
+ KillWait=030
- KillWait=-1
- KillWait=5s
- KillWait=70000
- MinJobAge=-1
+ JobRequeue=1
- JobRequeue=YES
+ DefMemPerCPU=4096
+ DefMemPerCPU=4K
- DefMemPerCPU=4G
+ UsePAM=YES
+ UsePAM=True
- UsePAM=on
- PriorityWeightAge=abc
+- HealthCheckTimeout=5
- PriorityCalcPeriod=0
- PriorityMaxAge=seven
- PropagateResourceLimits=memlock
+ PropagateResourceLimits=NONE
+ PropagateResourceLimits=RLIMIT_MEMLOCK,CORE
- DebugFlags=Gang,Foo
- AccountingStorageEnforce=assoc,limit
- SchedulerParameters=max_script_size=600000000
+ SchedulerParameters=max_script_size=500000000
- SchedulerParameters=max_submit_line_size=3000000
- SchedulerParameters=max_job_bf=100
+ SchedulerParameters=max_job_bf=100 SchedulerType=sched/builtin
+ SchedulerParameters=bf_max_job_test=100,max_job_bf=100
+ SchedulerParameters=bf_window=3000000,bf_interval=0
- JobSubmitPlugins=lua
- JobSubmitPlugins=all_partitions,require_timelimt
+ JobSubmitPlugins=all_partitions
+ TopologyPlugin=topology/default
- TopologyPlugin=topology/hypercube
- SchedulerType=backfill
- TopologyPlugin=flat
+ TopologyPlugin=none
- PreemptType=qos PreemptMode=REQUEUE
- PreemptType=none
+ PreemptType=preempt/none
- PriorityType=multifactor
+ PriorityType=priority/multifactor
- JobAcctGatherType=linux
! JobCompType=filetxt
+ JobCompType=none
! TLSType=none
+ TLSType=tls/none
+ SwitchType=none
+ AcctGatherEnergyType=none
- JobSubmitPlugins=none
+ TaskPlugin=affinity,cgroup TaskPluginParam=OOMKillStep
+ MpiDefault=openmpi
+ AcctGatherInterconnectType=sysfs
- AcctGatherFilesystemType=lustre
+ Licenses=matlab:50,ansys@db1=10,comsol
+ Licenses=a:1|b:2
- Licenses=a:1|b:2,c
- Licenses=matlab:many
- Licenses=matlab:5x
+ SlurmSchedLogLevel=0
- PreemptType=preempt/partition_priority
- PriorityType=priority/multifctor
- PrEpPlugins=prep/foo
- MCSPlugin=mcs/foo
- SwitchType=switch/foo
- MetricsType=metrics/foo
- NodeFeaturesPlugins=node_features/helpers
- NodeFeaturesPlugins=node_features/foo
- AcctGatherEnergyType=acct_gather_energy/foo
- PrioritySiteFactorPlugin=site_factor/foo
- SchedulerType=sched/bacfill
- HashPlugin=hash/sha1
- NamespaceType=namespace/foo
- SlurmctldParameters=enable_configless,enable_stepmgr
+ SlurmctldParameters=enable_configless,rl_enable,rl_bucket_size=20,rl_log_freq=-1
+ SlurmctldParameters=enable_configless,rl_bucket_size=ten
- SlurmctldParameters=enable_configless,rl_enable,rl_bucket_size=ten
- SlurmctldParameters=enable_configless,rl_enable,rl_refill_rate=0
- SlurmctldParameters=enable_configless,rl_enable,rl_log_freq=-2
+ SlurmctldParameters=enable_configless,enable_confless
+ SchedulerParameters=bf_windw=10
- AccountingStorageTRES=gres/gpu
- AccountingStorageTRES=gpu
- PriorityWeightTRES=CPU=1000,gres/foo=1
- GresTypes=shard
+ GresTypes=gpu,shard
+ ExtSensorsType=x
- AccountingStorageEnforce=0
- AccountingStorageEnforce=3
+ AcctGatherEnergyType=acct_gather_energy/rsmi
+ AcctGatherEnergyType=rsmi
+ JobAcctGatherType=jobacct_gather/none
+ GresTypes=gpu,
- TopologyPlugin=topology/torus3d
- SelectTypo=x
- SlurmctldTimeOuts=30
"""
PARTITION = """
+ Shared=FORCE:8
- Shared=4
+- Exclusive=USER
- Exclusive=FOO
+ SelectTypeParameters=CR_Core_Memory,CR_LLN
- SelectTypeParameters=CR_LLN
+ Topology=default
- Topology=topo1
- TRESBillingWeights=CPU
- TRESBillingWeights=CPU=one
+ TRESBillingWeights=CPU=1e3,Mem=.25GB,Node=-1
+ State=up
- State=OPEN
- Sate=UP
+ MaxTime=60
+ MaxTime=24:00
+ MaxTime=1-0
+ MaxTime=1-00:00:00
+ MaxTime=UNLIMITED
- MaxTime=7d
- MaxTime=soon
- DefaultTime=NONE
+ OverSubscribe=FORCE:4
+ OverSubscribe=EXCLUSIVE
- OverSubscribe=MAYBE
+ SelectTypeParameters=CR_Core
- SelectTypeParameters=CR_CPU
+ Default=1
- Default=maybe
+ MaxNodes=UNLIMITED
+ CpuBind=cores_
- MaxNodes=2-4
- PriorityTier=high
- PriorityTier=70000
- DefMemPerCPU=4G
+- Exclusive=NODE
- QOS=none
- AllowQos=high
- TRESBillingWeights=CPU=1,GRES/gpu=2
+ TRESBillingWeights=CPU=1.0,Mem=0.25G
"""
NODE = """
+ CPUs=2
- CPU=2
+ CPUs=UNLIMITED
+ RealMemory=4000
- RealMemory=4G
- Weight=x
"""
METAL = """
+ State=CLOUD
+ State=DRAINED
- State=MAINT
- State=DOWN*
+ TRESWeights=CPU=1.0,Mem=0.25G
- Topology=x
"""
"""Lines of hosts alone: the operator writes these of a pod's node."""


RELEASES = ("26.05", "25.11")


def cases(text: str, release: str, *, tried: bool = False) -> list[tuple[dict[str, str], bool]]:
    """Parameters, and whether slurmctld of a release takes them; with ``tried``, whether a trial says so."""
    found = []
    for signs, *words in (line.split() for line in text.strip().splitlines()):
        sign = signs[RELEASES.index(release) % len(signs)]
        found.append((dict(each.split("=", 1) for each in words), sign == "+" or (tried and sign == "!")))
    return found
