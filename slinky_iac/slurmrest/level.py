"""Whether the user of our tokens is an administrator of Slurm, asked before anything is concluded or changed.

slurmctld lets SlurmUser, root and users with AdminLevel=Admin change nodes; Operator isn't enough (2010, run). It tells who
has less no error for a list: with PrivateData set the list is shorter, and a busy node looks free (run).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slinky_iac.errors import SlurmrestAuthError, SlurmrestError, SlurmrestUnreachable
from slinky_iac.names import SLURM_USER

if TYPE_CHECKING:  # a check names ALWAYS without a client
    from slinky_iac.slurmrest.client import SlurmrestClient

ALWAYS: Final = frozenset({SLURM_USER, "root"})
"""Not asked about: root is an administrator of every cluster, and slurm of every one whose SlurmUser has its usual name."""
ADMIN: Final = "Administrator"


def require_admin(client: SlurmrestClient, user: str) -> None:
    """Return where ``user`` is an administrator.

    Raises SlurmrestAuthError where it is not, and SlurmrestUnreachable where that is unknown now.
    """
    if user in ALWAYS or client.slurm_user() == user:
        return
    try:
        level = client.admin_level(user)
    except SlurmrestError as error:
        raise SlurmrestUnreachable(
            f"slurmrest.user: whether {user} is an administrator of Slurm is not known, for slurmdbd does not tell: {error}."
            " Nothing was changed. Without slurmdbd only SlurmUser and root are administrators"
        ) from None
    if level != ADMIN:
        has = f"{user} has AdminLevel={level} in slurmdbd" if level else f"slurmdbd knows no user {user}"
        raise SlurmrestAuthError(
            f"slurmrest.user: {has}, and drains need AdminLevel=Admin: with less, slurmctld refuses every drain, and with"
            " PrivateData it hides other users' jobs, so that a busy node looks free. Nothing was changed. Run `sacctmgr"
            f" modify user {user} set adminlevel=Admin` (a new one: `sacctmgr add user {user} account=ACCOUNT"
            " adminlevel=Admin`), or name SlurmUser"
        )
