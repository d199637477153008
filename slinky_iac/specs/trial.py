"""The files that a slurmctld and a slurmdbd in Kubernetes would read, for a trial on daemons that nothing depends on.

They are those that the operator of the stack's release writes (``config/operator/conf.py``); the trial puts hosts, ports,
keys and addresses of its own in the place of the living daemons' (``trial.sh``).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slinky_iac.config.operator import conf as operator_conf
from slinky_iac.config.sections import PodSettings
from slinky_iac.config.stack import StackConfig
from slinky_iac.node_demand import METRICS_TYPE
from slinky_iac.parts.registry import reads_metrics
from slinky_iac.specs.shared import image_of
from slinky_iac.specs.slurm_conf import controller_extra_conf, nodeset_lines, pair, partition_lines

_MERGED: Final = "SlurmctldParameters"
"""The parameter of the user's that operators from 1.2 on merge with their own and that no other setting owns; before, the
last one counts."""


def script() -> str:
    """Functions for bash: try a folder of Slurm's files on daemons that nothing depends on."""
    return Path(__file__).with_name("trial.sh").read_text()


def trial_files(config: StackConfig) -> dict[str, str]:
    """Files of /etc/slurm by name: slurm.conf, configuration files and, with a slurmdbd in Kubernetes, slurmdbd.conf."""
    files = operator_conf.files(config) | dict(config.controller.config_files) | {"slurm.conf": _slurm_conf(config)}
    if any(trial.daemon == "slurmdbd" for trial in trials(config)):
        files["slurmdbd.conf"] = _slurmdbd_conf(config)
    return files


@dataclass(frozen=True)
class Trial:
    """One daemon, the image that it is tried in, and where that may run."""

    daemon: str
    image: str
    pod: PodSettings


def trials(config: StackConfig) -> tuple[Trial, ...]:
    """The daemons of the stack that read files of its own; none where slurmctld is outside."""
    if not config.slurmctld.owns_conf:
        return ()
    ctld = (Trial("slurmctld", image_of(config, "slurmctld"), pod) for pod in config.slurmctld.pods)
    dbd = (Trial("slurmdbd", image_of(config, "slurmdbd"), pod) for pod in config.slurmdbd.pods)
    return (*ctld, *dbd)


FILE, IMAGE = "file.", "image."
"""How the names in a record begin."""


def record(config: StackConfig) -> dict[str, str]:
    """What a trial of this stack is a trial of: a digest of each file, and the daemons' images."""
    files = {f"{FILE}{name}": hashlib.sha256(text.encode()).hexdigest()[:32] for name, text in trial_files(config).items()}
    return files | {f"{IMAGE}{trial.daemon}": trial.image for trial in trials(config)}


def _slurm_conf(config: StackConfig) -> str:
    controller, written = config.controller, operator_conf.written(config)
    if controller.metrics or reads_metrics(config):
        written["MetricsType"] = METRICS_TYPE
    sets, partitions = nodeset_lines(config), partition_lines(config)
    enabled = {name for name, nodeset in config.nodesets.items() if nodeset.partition.enabled}
    own = [(sets[name], partitions[name] if name in enabled else "") for name in sorted(config.nodesets)]
    lines = [
        *(pair(key, value) for key, value in written.items()),
        *(f"Prolog={name}" for name in sorted(controller.prolog)),
        *(f"Epilog={name}" for name in sorted(controller.epilog)),
        *(line for block in own for line in block),
        controller_extra_conf(config),
    ]
    given = next((value for key, value in controller.extra_conf.items() if key.lower() == _MERGED.lower()), "")
    if config.operator_version.prunes_slurm_conf and given and " " not in given:
        lines.append(f"{_MERGED}={operator_conf.merged(written[_MERGED], given)}")
    return "\n".join(filter(None, lines)) + "\n"


def _slurmdbd_conf(config: StackConfig) -> str:
    own = operator_conf.AUTH | {"StorageType": "accounting_storage/mysql"}
    if not config.operator_version.prunes_slurm_conf:
        own["LogTimeFormat"] = operator_conf.LOG_TIME_FORMAT
    extra = config.accounting.extra_conf
    return "\n".join(pair(key, value) for section in (own, extra) for key, value in section.items()) + "\n"
