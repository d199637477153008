"""What a new release of slurm-operator would do to pods on its own, asked right before it is installed.

Under RollingUpdate it may count every worker pod as outdated, and replaces them in its first moments, in which it has no
Slurm client and takes busy nodes for drained. Worker pods that 1.0 made lack a label that 1.1 and newer look for, and go
whatever the strategy. Login pods may get another template, and with it end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeNotFound, SlinkyError
from slinky_iac.reach import kube_connection, reach

if TYPE_CHECKING:  # few updates change the operator, and the clients take 0.1 s to import
    from slinky_iac.kube.client import KubeClient

BUDGET_S: Final = 20.0


def changes_release(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a Helm release that goes from ``old`` to ``new``, both whole inputs, brings another operator."""
    return any(old.get(key) != new.get(key) for key in ("chart", "version")) or _image(old) != _image(new)


def _image(inputs: Mapping[str, Any]) -> object:
    return ((inputs.get("values") or {}).get("operator") or {}).get("image")


def in_the_way(config: StackConfig, env: Mapping[str, str], home: Path, hide: str) -> str:
    """Why the release must not be installed now, and what to do first; ``""`` where nothing speaks against it."""
    from slinky_iac import restarts  # noqa: PLC0415

    try:
        with kube_connection(config, env, home) as way:
            kube = way.kube(BUDGET_S)
            found = [*_rolling(config, kube), *_unlabelled(config, kube)]
    except SlinkyError as error:
        return f"which pods it would replace could not be asked: {error}"
    if config.controller.external is None and not config.controller.persistence.enabled:
        why = restarts.forgotten_jobs(reach(config), hide, config.cluster.name)
        found += [f"slurmctld's pod may restart, and controller.persistence is off: {why}"] if why else []
    for name, login in config.logins.items():
        if login.interrupt_sessions or found:
            continue
        resource = names.loginset_resource(config.cluster.resource_name, name)
        why = restarts.login_jobs(reach(config), resource, hide, config.cluster.name)
        if why:
            found.append(f"{resource}: {why}. Wait until they have ended, or set logins.{name}.interruptSessions: true")
    return "; ".join(found)


def _rolling(config: StackConfig, kube: KubeClient) -> Iterator[str]:
    for name, nodeset in config.nodesets.items():
        if nodeset.update_strategy.type == "RollingUpdate":
            continue  # asked for
        resource = names.nodeset_resource(config.cluster.resource_name, name)
        try:
            state = kube.nodeset(config.cluster.namespace, resource)
        except KubeNotFound:
            continue
        if not state.on_delete and state.has_pods:
            yield (
                f"{resource} still has the update strategy {state.spec.update_strategy.type}, so the new operator may"
                " replace busy pods. Set operator.version back and run `pulumi up`, which writes OnDelete; then set the new"
                " one and run `pulumi up` again"
            )


def _unlabelled(config: StackConfig, kube: KubeClient) -> Iterator[str]:
    if not config.operator_version.has_scaling_mode or not config.nodesets:
        return
    space = config.cluster.namespace
    pods = kube.pods_without(space, "slurmd", names.LABEL_SCALING_MODE)
    if pods:
        yield (
            f"{len(pods)} worker pods, {pods[0]} among them, were made by slurm-operator 1.0 and lack a label: the new one"
            f" would replace them all, whatever the update strategy. First `kubectl label pods -n {space} -l"
            f" app.kubernetes.io/name=slurmd {names.LABEL_SCALING_MODE}=StatefulSet`"
        )
