"""Is the user that gates' tokens name an administrator of Slurm? Pure."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import ON_SLURMCTLD, Check, fine, problem, unknown
from slinky_iac.preflight.facts import Facts
from slinky_iac.slurmrest.level import ALWAYS


def admin_level(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """AdminLevel of slurmrest.user. Gates ask it again before they drain."""
    user, slurm = config.slurmrest.user, facts.slurm
    if user in ALWAYS:
        return
    subject, modify = f"slurmrest.user {user}", f"sacctmgr modify user {user} set adminlevel=Admin"
    if slurm.admin is None:
        why = slurm.failed.get("admin") or slurm.trouble or "Slurm was not asked"
        look = f"sacctmgr show user {user} format=user,adminlevel"
        yield unknown("admin-level", subject, "slurmdbd", f"not known: {why}", "Look by hand", look, at=ON_SLURMCTLD)
    elif slurm.admin:
        yield problem("admin-level", subject, "slurmdbd", slurm.admin, "Give it the level", modify, at=ON_SLURMCTLD)
    else:
        yield fine("admin-level", subject, "slurmdbd", "is an administrator of Slurm, as drains need it")


CHECKS = (admin_level,)
