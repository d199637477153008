"""The configuration files of the outside hosts, as text. No side effects.

Sources: slurm.conf(5), slurmdbd.conf(5), cgroup.conf(5) of 26.05. What a hybrid cluster needs of its outside
slurmctld: configless, auth/slurm with use_client_ids (logins without host users), auth/jwt for slurmrestd,
MaxNodeCount for dynamic nodes, ReturnToService=2 so that a worker pod that comes back is used again.
"""

import re
from dataclasses import dataclass

CLUSTER = "lab"
CTLD_PORT, SLURMD_PORT, DBD_PORT, REST_PORT = 6817, 6818, 6819, 6820
KEY = "slurm.key"
JWT_KEY = "jwt_hs256.key"
ETC = "/etc/slurm"
STATE_SAVE = "/var/lib/slurm/slurmctld"
DATABASE = "slurm_acct_db"

DEFAULT_NODESETS = """\
NodeSet=gpu Feature=gpu
NodeSet=cpu Feature=cpu
PartitionName=gpu Nodes=gpu State=UP
PartitionName=cpu Nodes=cpu State=UP
"""

_AUTH = """\
AuthType=auth/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
"""
_JWT = f"AuthAltParameters=jwt_key={ETC}/{JWT_KEY}\n"


@dataclass(frozen=True)
class Metal:
    """A bare-metal slurmd host as slurm.conf names it. `memory` is in MiB."""

    name: str
    address: str
    cpus: int = 2
    memory: int = 1000


@dataclass(frozen=True)
class Controller:
    """One slurmctld host, the primary first."""

    name: str
    address: str


def partitions(metal: tuple[Metal, ...], nodesets: str) -> str:
    """The lab's own partitions, `metal` and the default `all`, unless `nodesets` has partitions of these names."""
    own = {
        "metal": f"PartitionName=metal Nodes={','.join(node.name for node in metal)} State=UP\n" if metal else "",
        "all": "PartitionName=all Nodes=ALL Default=YES State=UP\n",
    }
    theirs = {name.lower() for name in re.findall(r"^\s*PartitionName=(\S+)", nodesets, re.IGNORECASE | re.MULTILINE)}
    return "".join(line for name, line in own.items() if name not in theirs)


def slurm_conf(controllers: tuple[Controller, ...], metal: tuple[Metal, ...], nodesets: str, name: str = CLUSTER) -> str:
    """slurm.conf of the outside slurmctld. `nodesets` holds the stack's NodeSet= and PartitionName= lines."""
    hosts = "".join(f"SlurmctldHost={host.name}({host.address})\n" for host in controllers)
    nodes = "".join(
        f"NodeName={node.name} NodeAddr={node.address} CPUs={node.cpus} RealMemory={node.memory} State=UNKNOWN\n"
        for node in metal
    )
    return f"""\
ClusterName={name}
SlurmUser=slurm
{hosts}SlurmctldPort={CTLD_PORT}
SlurmdPort={SLURMD_PORT}
{_AUTH}CredType=cred/slurm
{_JWT}SlurmctldParameters=enable_configless
StateSaveLocation={STATE_SAVE}
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmctldTimeout=10
SlurmdTimeout=30
KillWait=3
MinJobAge=300
MessageTimeout=10
ReturnToService=2
JobRequeue=1
MaxNodeCount=1024
TreeWidth=65533
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=dbd
AccountingStoragePort={DBD_PORT}
{nodes}{partitions(metal, nodesets)}{nodesets}"""


def rest_conf(controllers: tuple[Controller, ...], name: str = CLUSTER) -> str:
    """slurm.conf of the outside slurmrestd: where the daemons are, and no key (it forwards its callers' tokens)."""
    hosts = "".join(f"SlurmctldHost={host.name}({host.address})\n" for host in controllers)
    return f"""\
ClusterName={name}
SlurmUser=slurm
{hosts}SlurmctldPort={CTLD_PORT}
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=dbd
AccountingStoragePort={DBD_PORT}
"""


def slurmdbd_conf(password: str) -> str:
    """slurmdbd.conf. Holds the database's password: mode 0600, owned by slurm. (CredType is refused here.)"""
    return f"""\
DbdHost=dbd
DbdPort={DBD_PORT}
SlurmUser=slurm
{_AUTH}{_JWT}LogFile=/var/log/slurm/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass={password}
StorageLoc={DATABASE}
"""


def cgroup_conf() -> str:
    """cgroup.conf: containerised and bare slurmd share no cgroup tree here, so Slurm manages none."""
    return "CgroupPlugin=disabled\n"
