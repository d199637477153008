"""``python -m slinky_iac token``: a token of slurmrestd for an ordinary user, signed with the stack's token key.

Who may read the key's Secret may sign for anybody. The command signs for no user who rules the cluster, and for no longer
than the stack allows. The token is all that goes to stdout; it is in no message, log or state.
"""

from __future__ import annotations

import argparse
import re
import time
from typing import Final

from slinky_iac.cluster.connection import Connection, connected
from slinky_iac.cluster_access import reach
from slinky_iac.commands.output import add_stack, as_argument
from slinky_iac.commands.stack_config import configured
from slinky_iac.config.fields import parse_duration
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KeyMaterialError, SlurmrestAuthError, SlurmrestError
from slinky_iac.slurmrest.auth import SigningKey, user_token
from slinky_iac.slurmrest.level import ADMIN

CODES = (
    "exit codes: 0 printed; 1 the user or the lifespan isn't allowed, or the key or slurmrestd could not be asked; 2 wrong"
    " arguments"
)
LEAST: Final = 60
"""Seconds of the shortest lifespan: slurmctld's clock may be some seconds off."""
_USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
NEXT: Final = "No token was made."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--user", required=True, help="whom the token is for: a user whom slurmctld's host knows")
    parser.add_argument(
        "--lifespan", type=as_argument(parse_duration), default=3600, help="lifetime, for example 30m; by default 1h"
    )
    add_stack(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the token. Raises ValueError where it isn't allowed, and what asking Kubernetes and slurmrestd raises."""
    config = configured(arguments.stack).config
    require_allowed(config, arguments.user, arguments.lifespan)
    with connected(reach(config)) as connection:
        key = _taken(connection)
        _require_ordinary(connection, arguments.user, accounting=config.accounting.enabled)
        print(user_token(key, arguments.user, int(time.time()), arguments.lifespan))
    return 0


def require_allowed(config: StackConfig, user: str, lifespan: int) -> None:
    """Raises ValueError where the stack's own settings forbid the token."""
    if refused := config.auth.refusals.get("token"):
        raise ValueError(f"{refused}. {NEXT}")
    if _USER.fullmatch(user) is None:
        raise ValueError(f"--user: a user's name is letters, digits, '_', '-' and '.', at most 32 characters. {NEXT}")
    if user in config.in_control:
        raise ValueError(
            f"--user: {user} rules the cluster, and a token that has leaked can't be taken back. Name an ordinary"
            f" user. {NEXT}"
        )
    most = config.keys.max_token_lifespan
    if not LEAST <= lifespan <= most:
        raise ValueError(f"--lifespan: got {lifespan} s; keys.maxTokenLifespan allows {LEAST} to {most} s. {NEXT}")


def _taken(connection: Connection) -> SigningKey:
    """The key that slurmctld takes tokens of; while one is being replaced there are two."""
    for key in connection.signing_keys():
        with connection.slurm_with([key]) as client:
            try:
                client.diag()
            except SlurmrestAuthError:
                continue
            return key
    raise KeyMaterialError(f"slurmctld takes tokens of none of the stack's keys; `preflight` tells why. {NEXT}")


def _require_ordinary(connection: Connection, user: str, *, accounting: bool) -> None:
    """Raises ValueError for slurmctld's own SlurmUser, and for an administrator of slurmdbd."""
    slurm = connection.slurm
    if slurm.slurm_user() == user:
        raise ValueError(f"--user: {user} is SlurmUser of this cluster. Name an ordinary user. {NEXT}")
    if not accounting:
        return
    try:
        level = slurm.admin_level(user)
    except SlurmrestError as error:
        raise ValueError(f"--user: whether {user} is an administrator in slurmdbd is not known: {error} {NEXT}") from None
    if level == ADMIN:
        raise ValueError(f"--user: {user} has AdminLevel=Admin in slurmdbd. Name an ordinary user. {NEXT}")
