"""What the daemons say of themselves: slurmctld's running configuration, release and clock, and whether slurmdbd answers.

What is missing is unknown, never a default: the wire models have None for it, and the caller says so. Field names are those
of data_parser v0.0.45 (Slurm 26.05.5, run).
"""

from __future__ import annotations

from dataclasses import dataclass

from slinky_iac.errors import SlurmrestVersionError
from slinky_iac.slurmrest.accounts import AccountsSession
from slinky_iac.slurmrest.answers import Envelope
from slinky_iac.slurmrest.objects import Wire
from slinky_iac.slurmrest.session import LONG
from slinky_iac.slurmrest.versions import CONF_SINCE


class SlurmConf(Wire, frozen=True):
    """slurm.conf as slurmctld runs with it: the part that a hybrid cluster depends on. None: not in the answer."""

    ClusterName: str | None = None
    AuthType: str | None = None
    AuthInfo: str | None = None
    AuthAltTypes: list[str] | None = None
    AuthAltParameters: str | None = None
    CredType: str | None = None
    SlurmctldParameters: list[str] | None = None
    SlurmctldPort: int | None = None
    MaxNodeCount: int | None = None
    ReturnToService: str | None = None
    GresTypes: list[str] | None = None
    SlurmUser: str | None = None
    SlurmUserId: int | None = None
    AccountingStorageType: str | None = None
    AccountingStorageHost: str | None = None
    AccountingStoragePort: int | None = None
    ProctrackType: str | None = None
    TaskPlugin: list[str] | None = None
    JobAcctGatherType: str | None = None


class _ConfMeta(Wire, frozen=True):
    SLURM_VERSION: str | None = None


class _ConfBody(Envelope, frozen=True, kw_only=True):
    slurm_conf: SlurmConf
    slurm_conf_meta: _ConfMeta = _ConfMeta()


class _Set(Wire, frozen=True):
    set: bool = False
    number: int = 0


class _Statistics(Wire, frozen=True):
    req_time: _Set | int


class _DiagBody(Envelope, frozen=True, kw_only=True):
    statistics: _Statistics


class _Pinged(Wire, frozen=True):
    responding: bool


class _DbdPingBody(Envelope, frozen=True, kw_only=True):
    pings: list[_Pinged]


@dataclass(frozen=True)
class RunningConf:
    """slurmctld's configuration and its own release."""

    conf: SlurmConf
    version: str


class DaemonsSession(AccountsSession):
    """Their calls, which only read; :class:`slinky_iac.slurmrest.client.SlurmrestClient` has all."""

    def running_conf(self) -> RunningConf:
        """slurmctld's running configuration. :raises SlurmrestVersionError: slurmrestd is older than 26.05."""
        if self.version() != CONF_SINCE:
            raise SlurmrestVersionError(
                f"slurmrestd at {self._shown} speaks {self.version()}, and a running slurm.conf can be read over REST only"
                f" from {CONF_SINCE} (Slurm 26.05) on"
            )
        body = self._get("conf", _ConfBody, None, most=LONG)
        return RunningConf(body.slurm_conf, body.slurm_conf_meta.SLURM_VERSION or "")

    def slurmctld_time(self) -> int:
        """slurmctld's clock, in seconds since 1970; proof as well that it takes our tokens. :raises SlurmrestAuthError:"""
        asked = self._get("diag/", _DiagBody, None).statistics.req_time
        return asked if isinstance(asked, int) else asked.number

    def slurmdbd_responds(self) -> bool:
        """Whether slurmdbd answers slurmrestd."""
        return any(each.responding for each in self._get("ping/", _DbdPingBody, None, api="slurmdb").pings)
