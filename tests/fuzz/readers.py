"""All readers that are fuzzed."""

from __future__ import annotations

from tests.fuzz import key_targets, kube_targets, part_targets, pulumi_targets, slurm_targets

READERS = (
    *slurm_targets.TARGETS,
    *kube_targets.TARGETS,
    *pulumi_targets.TARGETS,
    *key_targets.TARGETS,
    *part_targets.TARGETS,
)
