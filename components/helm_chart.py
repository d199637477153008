"""Charts of a registry: that Helm deploys what the reference names, and no other release behind a digest."""

from __future__ import annotations

from pathlib import Path

import pulumi


def located(reference: str, *, local: bool) -> str:
    """What Helm takes: a local folder by its whole path, and a reference that only a registry can answer. Helm looks for a
    folder or file of that name first, below where the program runs, and compares no digest with it (pulumi-kubernetes 4.25,
    watched)."""
    if local:
        return str(Path(reference).resolve())
    if "://" in reference and Path(reference).exists():
        raise pulumi.RunError(
            f"{Path(reference)} is a folder or file of this program, and Helm would deploy it in place of {reference},"
            " whatever its digest. Nothing was changed. Remove it"
        )
    return reference


def of_release(
    which: str, setting: str, version: str | None, others: pulumi.ResourceHookBinding
) -> pulumi.ResourceHookBinding:
    """Other hooks, and before them a look at the release of a chart by digest, in previews too. Helm compares nothing
    where the registry has no tag of the version."""

    def before(args: pulumi.ResourceHookArgs) -> None:
        release = (args.new_inputs or {}).get("version")
        if release != version:
            raise pulumi.RunError(
                f"{setting} is the digest of release {release} of the chart {which}, and the stack is of {version}. Nothing"
                f" of the chart was deployed. Set the digest that `helm pull` prints for {version}"
            )

    hook = pulumi.ResourceHook(f"slinky-chart-release-{which}", before, pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceHookBinding(
        before_create=[hook, *(others.before_create or [])], before_update=[hook, *(others.before_update or [])]
    )
