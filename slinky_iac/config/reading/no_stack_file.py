"""What is said of a text that isn't a stack's file, or has no setting yet."""

from __future__ import annotations

import re
from typing import Final

NO_YAML: Final = "this isn't valid YAML, or is nested too deeply"
NO_FILE: Final = "isn't a stack file, which is YAML with a mapping `config:`"
SLURM_CONF: Final = re.compile(
    r"^\s*(ClusterName|SlurmctldHost|ControlMachine|NodeName|PartitionName)\s*=\s*\S", re.IGNORECASE | re.MULTILINE
)
IS_SLURM_CONF: Final = (
    "this is slurm.conf and not a stack's file: run `slinky init STACK --slurmctld HOST --via 'ssh root@{host} sh -s'`,"
    " which writes one from the running slurmctld, or `slinky init STACK --show-config FILE` with the output of"
    " `scontrol show config`"
)
NEW: Final = (
    "isn't there yet: Pulumi has made this file, and no setting is in it. `slinky init STACK --force` writes them from the"
    " Slurm that runs; or write `config:` in a line of its own, and the sections below it (`slinky docs quick-start`)"
)
VALUES: Final = (
    "these are values of Slinky's Helm chart and not a stack's file: run `slinky import-chart` with this file and"
    " `--out Pulumi.STACK.yaml`, which writes one"
)
