"""Rules of lines of helpers.conf and plugstack.conf: names of features, and plugins by a pattern.

Source: ``_is_feature_valid`` and ``_handle_config_features`` of node_features_helpers.c, ``_spank_stack_process_line`` and
``_spank_conf_include`` of spank.c, which expands patterns for include alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.conf_lines import PLUGSTACK, file_lines
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.rules.slurm_files import pairs
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm.refusals import Conf
from slinky_iac.config.stack import StackConfig

_HELPERS: Final = "helpers.conf"
_FEATURE: Final = re.compile(r"[A-Za-z_=][A-Za-z0-9_.=]*")
_PATTERN: Final = re.compile(r"\s*(required|optional)\s+([^\s#]*[*?\[][^\s#]*)")


def _features(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Of a file that no plugin reads another rule speaks."""
    named = Conf(config.slurmctld.extra_conf).plugins("NodeFeaturesPlugins")
    if "helpers" not in named:
        return
    for line, key, value in pairs(config.slurmctld.config_files.get(_HELPERS, "")):
        wrong = [feature for feature in value.split(",") if feature and _FEATURE.fullmatch(feature) is None]
        if key.lower() == "feature" and wrong:
            yield at(f"controller.configFiles.{_HELPERS}").error(
                f"has the feature {name_of(wrong[0])} on line {line}: a feature's name begins with a letter or _, and has"
                " letters, digits, _, . and = alone. slurmctld and slurmd end over another. Write it so, here and in"
                " features of NodeSets"
            )


def _patterns(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Slurm takes a pattern of a plugin for its name. Where include has none that is there, nothing happens."""
    for number, line in file_lines(PLUGSTACK, config.slurmctld.config_files.get(PLUGSTACK, "")):
        if not (match := _PATTERN.match(line)):
            continue
        path, said = at(f"controller.configFiles.{PLUGSTACK}"), f"has {shown(match[2])} on line {number}"
        if match[1] == "required":
            yield path.error(
                f"{said}, and Slurm expands no pattern of a plugin: there is none of this name, and each job fails. Name"
                " each plugin on its line"
            )
        else:
            yield path.warning(
                f"{said}, and Slurm expands no pattern of a plugin: none is loaded. Name each plugin on its line",
                id="slurm-ignores",
            )


RULES = (_features, _patterns)
