"""Why keys of Slinky's Helm chart have no setting, where it takes more than a line: what they would do, and the way out."""

from __future__ import annotations

from typing import Final

IN_PLACE: Final = (
    "new files come to daemons by a restart of slurmctld's pod, whose end the gate of slurm.conf waits for. With"
    " inplaceReconfigure there would be no restart"
)
BACKUP: Final = (
    "slurmctld in Kubernetes is one pod here, whose answer shows the gates that it has a new slurm.conf; of two, one may"
    " have the earlier file. Leave it out: Kubernetes starts that pod again, and jobs run on meanwhile. A slurmctld outside"
    " can have backups (`controller.external.backups`)"
)
"""docs/adr/0034-one-slurmctld-in-kubernetes.md."""
BUDGET: Final = (
    "no PodDisruptionBudget is made for slurmrestd: when a machine is emptied its pod goes, no job with it, and drains wait"
    " until the next one answers. Set `restapi.replicas: 2`, or make the PodDisruptionBudget yourself"
)
SCHEDULED: Final = (
    "the operator would replace pods at that time, whether or not a gate has drained them, and end their jobs: `pulumi up`"
    " replaces them when it runs"
)
SSHD_PORT: Final = "the port stays sshd's, 22: NetworkPolicies of the stack and what it says to users go by that one"
HOST_KEYS: Final = (
    "slurm-operator makes sshd's host keys once, in Secret NAME-ssh-host-keys of the login set, and all its pods have them,"
    " later ones too: remove the line. It takes no keys of yours"
)
"""``BuildLoginSshHostKeys``, 1.0 to 1.2: immutable."""
UNREAD: Final = "the chart doesn't read it, so it has no effect with Helm"
PASSWORD: Final = "the password is that of the Secret in passwordKeyRef; look that it is there"
WORDS_OF_0: Final = ("compute", "login", "authcred", "slurm", "mariadb", "slurm-exporter", "jwt", "debug")
"""First words of charts 0.2 and 0.3 (helm/slurm/values.yaml), which 1.x has under other names or not at all."""
OF_0: Final = "is a key of chart 0.x, whose clusters 1.x can't take over: begin with values of chart 1.2"


def of_slurmctld(parameter: str) -> str:
    """Why a script that slurmctld runs has no setting for its text."""
    return (
        "slurmctld runs it for every job, in its own pod, so the script and what it needs belong in slurmctld's image"
        f" (`cluster.images.slurmctld`): name it there by `controller.extraConf: {{{parameter}: /opt/…}}`"
    )
