"""Raw pieces laid beside what this program renders (config/raw.py). A rule has refused what it renders itself."""

from __future__ import annotations

from slinky_iac.config.operator.raw_merge import DAEMONS, beside, completed
from slinky_iac.config.raw import Raw
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.shared import Spec


def with_raw(config: ClusterConfig, spec: Spec, raw: Raw, section: str) -> Spec:
    """The spec of a section's custom resource with its raw pieces, for the release of the operator that merges them."""
    full_spec, container, version = dict(spec), DAEMONS[section], config.operator_version
    if raw.pod:
        template = full_spec.get("template", {})
        ours = template.get("spec", {})
        full_spec["template"] = {**template, "spec": beside(ours, completed(version, section, "pod", raw.pod, ours))}
    if raw.container:
        ours = full_spec[container]
        full_spec[container] = beside(ours, completed(version, section, "container", raw.container, ours))
    if raw.service:
        service = full_spec.get("service", {})
        full_spec["service"] = {**service, "spec": beside(service.get("spec", {}), raw.service)}
    return beside(full_spec, raw.spec)
