"""Names that a site has already, each by the rule of the program that reads it: beside each check are file and function.

Slurm itself takes nearly any text without blanks and commas. What is refused beyond that is what another reader of the same
name would misread: slurm.conf, a list of Slurm's, the operator, or Kubernetes. Source: Slurm 25.11.7 and 26.05.3.
"""

from __future__ import annotations

import re
from typing import Final

from slinky_iac.config.shown import Refused, of_name

_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:+-]*")
_NODE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_FEATURE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@+-]*")
_CLUSTER: Final = re.compile(r"[0-9A-Za-z$_][0-9A-Za-z$_.-]*")
USER: Final = r"^[0-9]{0,31}[A-Za-z_][A-Za-z0-9_.@+-]{0,63}$"
"""A user's name as LDAP and sssd have it, digits first and ``name@domain`` included. Slurm asks the host's users and, where
none has that name, reads digits alone as a uid, 0 as root (``uid_from_string`` of common/uid.c, which auth_jwt.c asks about
the ``sun`` of a token): so digits alone are refused."""


def slurm_word(value: str) -> str:
    """A partition, account or QOS. slurmctld parts lists of them at commas and compares the rest as it is
    (``get_part_list`` of partition_mgr.c; ``slurm_addto_char_list`` of slurm_protocol_defs.c for accounts and QOS), and
    ``PartitionName=`` ends at a blank (``keyvalue_pattern`` of parse_config.c). ``+`` and ``-`` in front of a QOS add and
    remove it (sacctmgr(1)). ``DEFAULT`` isn't a name (``_parse_partitionname`` of read_config.c)."""
    return _named(value, _WORD, 64, "letters, digits, '_', '-', '.', ':', '@' and '+', without spaces or commas")


def node_name(value: str) -> str:
    """A host's NodeName, or a user of its system: a hostlist (``hostlist_create`` of common/hostlist.c) with ``:`` and ``/``
    kept for ports and addresses (``slurm_set_addr``), and at most 64 characters (HOST_NAME_MAX). ``DEFAULT`` isn't a name
    (``_parse_nodename`` of read_config.c), and slurmctld ends over ``ALL`` there."""
    if value.lower() == "all":
        raise Refused(value, "; ALL stands for every node (slurm.conf(5)), and slurmctld ends over it. Give another name")
    return _named(value, _NODE, 64, "letters, digits, '_', '-' and '.', without spaces or commas")


def feature(value: str) -> str:
    """A feature of nodes. Slurm parts them at commas (``filter_out_changeable_features`` of node_mgr.c), and a job's
    ``--constraint`` ends one at ``&``, ``|``, ``*``, ``,`` and brackets (``_feature_string2list`` of job_scheduler.c). ``=``
    is the operator's, which splits slurmd's ``--conf`` there."""
    return _of(value, _FEATURE, 128, "letters, digits, '_', '-', '.', ':', '/', '@' and '+', without spaces or commas")


def cluster_name(value: str) -> str:
    """ClusterName. Slurm takes any text and writes it in lower case (``_validate_and_set_defaults`` of read_config.c);
    slurm.conf(5) and the operator's webhook (``controller_webhook.go``) allow 40 characters. slurmdbd quotes the names of
    its tables (``mysql_db_get_db_connection`` of mysql_common.c sets ANSI_QUOTES), and the operator makes a folder of it
    (``clusterSpoolDir``)."""
    if _CLUSTER.fullmatch(value) is None or len(value) > 40:
        raise Refused(
            value,
            "; ClusterName is 1 to 40 of letters, digits, '_', '-', '.' and '$', and begins with none of '-' and '.':"
            " slurmdbd's tables and slurmctld's folder are named after it",
            whole=of_name(value),
        )
    return value


def _named(value: str, form: re.Pattern[str], longest: int, allowed: str) -> str:
    if value.lower() == "default":
        raise Refused(
            value, "; DEFAULT sets defaults for the lines after it and can't be a name (slurm.conf(5)). Give another name"
        )
    return _of(value, form, longest, allowed)


def _of(value: str, form: re.Pattern[str], longest: int, allowed: str) -> str:
    if form.fullmatch(value) is None or len(value) > longest:
        raise Refused(
            value, f"; it is 1 to {longest} of {allowed}, and begins with a letter, a digit or '_'", whole=of_name(value)
        )
    return value
