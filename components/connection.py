"""One connection: a component's resources and its gate go to the same Kubernetes cluster, or nothing is made.

A gate runs in a process of its own, also when no program runs (`pulumi destroy`), and reads a kubeconfig there; it can't use
a provider of the program. So the cluster is named once, as ``kubernetes`` of :class:`ClusterConfig`, and the provider of the
resources is made from that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import pulumi
from pulumi_kubernetes import Provider, ProviderArgs

from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.config.shown import shown
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.engine.program_process import end_silently
from slinky_iac.text import closest

from .blueprint import Blueprint, joined_document
from .callbacks import start_callbacks
from .cluster_identity import ClusterIdentity, place_props
from .resources import token

_MEMBER: Final = "kubernetes:core/v1:Pod"
"""Any type of the package: a resource tells its provider by one."""


class ClusterProvider(Provider):
    """The Kubernetes provider that a configuration means. Its check stands before everything in the cluster."""

    def __init__(self, name: str, config: ClusterConfig, opts: pulumi.ResourceOptions) -> None:
        access = config.kubernetes
        self.access = (access.kubeconfig, access.context)
        # The SDK would write this shell's $KUBECONFIG into the state. A destroy from another shell would then delete there,
        # while the gates, which read their shell's, drain elsewhere; and each desk's path would be a change to preview.
        shells: list[pulumi.ResourceTransformation] = [_without_kubeconfig] if access.kubeconfig is None else []
        has_clients = isinstance(config, StackConfig) and bool(config.clients)
        in_place = config.signing.own_keys or config.slurmrestd.files_change
        super().__init__(
            name,
            kubeconfig=access.kubeconfig,
            context=access.context,
            # In place, else a Secret that changes is deleted first. Those that are immutable are replaced all the same.
            enable_secret_mutable=True if config.keys.jwks or has_clients or in_place or config.identity.sssd else None,
            enable_config_map_mutable=True if in_place or config.identity.passwd is not None else None,
            opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(transformations=shells)),
            **_upserts(),
        )


def _upserts() -> dict[str, Any]:
    """Up to 4.28 pulumi-kubernetes takes up what is there under the name; from 4.29 on only with this. So what this stack
    made, and lost from its state, comes back; what it didn't make is refused before (slinky_iac/ownership.py)."""
    name = "upsert_existing_objects"
    return {name: True} if name in inspect.signature(ProviderArgs).parameters else {}


def as_it_is(value: Any) -> Any:  # noqa: ANN401
    """A value that holds no placeholder."""
    return value


def require_args(made: type, own: type, args: type, given: object) -> None:
    """Raises TypeError where the class of typed arguments is made with anything else: a program means the class of the same
    name in ``slinky_iac``, which has an argument for each section."""
    if made is own and not isinstance(given, args):
        name = own.__name__
        raise TypeError(
            f"slinky_iac.components.{name} takes {args.__name__}. The one that takes sections by name is slinky_iac.{name}:"
            f" `import slinky_iac`, then slinky_iac.{name}(…)"
        )


class Component(pulumi.ComponentResource):
    """Base of all components: a Kubernetes provider of the caller's, which its gates could not use, is refused."""

    filled: Callable[[Any], Any]
    """What outputs are shown by: a program's Outputs take the place of placeholders here."""

    def __init__(self, kind: str, name: str, config: ClusterConfig, opts: pulumi.ResourceOptions | None) -> None:
        """Raises :class:`StackRefused`, before anything is registered."""
        end_silently()
        provider, access = given(opts), (config.kubernetes.kubeconfig, config.kubernetes.context)
        if provider is None:
            opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(providers=self.providers(config)))
        elif not isinstance(provider, ClusterProvider) or provider.access != access:
            raise StackRefused(
                f"{kind} {name}: its options have a Kubernetes provider, while drains reach Kubernetes by a kubeconfig: the"
                " two could be different clusters. Nothing of it was made. Leave `provider` and `providers` out, and name"
                " the cluster for both: `kubernetes` with kubeconfig and context, an argument (in Python"
                ' kubernetes={"kubeconfig": FILE, "context": NAME}) or a section of the stack\'s file. For resources of'
                " yours beside it in Python, `kubernetes_provider(cluster)` is the same connection"
            )
        start_callbacks()
        self.filled = as_it_is if opts is None else getattr(opts.parent, "filled", as_it_is)
        super().__init__(token(kind), name, None, opts)

    if not TYPE_CHECKING:  # a type checker would take every name for one that is there

        def __getattr__(self, name: str) -> object:
            """Of what isn't there, which name is meant. Raises AttributeError."""
            near = (
                ""
                if name.startswith("_")
                else closest(name, (attribute for attribute in dir(self) if not attribute.startswith("_")))
            )
            meant = f"; did you mean {near}?" if near else ""
            raise AttributeError(f"{name} isn't an attribute of this resource{meant}", name=name, obj=self)

    def register_outputs(self, outputs: Mapping[str, Any]) -> None:
        """What the state has of the component."""
        super().register_outputs({name: self.filled(output) for name, output in outputs.items()})

    def providers(self, config: ClusterConfig) -> Mapping[str, pulumi.ProviderResource]:
        """Providers for a component that stands alone."""
        return {"kubernetes": kubernetes_provider(config)}


def given(opts: pulumi.ResourceOptions | None) -> pulumi.ProviderResource | None:
    """The Kubernetes provider in a resource's options, or its parent's."""
    if opts is None:
        return None
    several: Any = opts.providers or ()
    listed = several.values() if isinstance(several, Mapping) else several
    own = next(
        (provider for provider in (opts.provider, *listed) if provider is not None and provider.package == "kubernetes"),
        None,
    )
    return own if own is not None or opts.parent is None else opts.parent.get_provider(_MEMBER)


_made: WeakKeyDictionary[object, dict[tuple[str | None, ...], ClusterProvider]] = WeakKeyDictionary()
"""The connections of each program of this process."""


def kubernetes_provider(cluster: ClusterConfig | Component) -> ClusterProvider:
    """The connection that the parts of a program share: give it to resources of yours in the same Kubernetes cluster.

    ``cluster``: a ``HybridCluster``, whose own connection it is; or the configuration of a cluster that another program
    makes. Then it is made at the first call, and the stack keeps to the Kubernetes cluster that answers at that time.

    Raises ``StackRefused`` for anything else.
    """
    config = getattr(cluster, "config", cluster)
    if not isinstance(config, ClusterConfig):
        raise StackRefused(f"kubernetes_provider: takes a HybridCluster, or its config; got {described(cluster)}")
    connections = _of_program()
    key = _key(config)
    if key not in connections:
        space, access = config.cluster, config.kubernetes
        name = f"{space.namespace}-{space.resource_name}" + (f"-{access.context}" if access.context else "")
        identity = ClusterIdentity(f"{name}-connection", place_props(config))
        after = pulumi.ResourceOptions(depends_on=[identity])
        Blueprint(f"{name}-blueprint", joined_document(config), after)
        connections[key] = ClusterProvider(f"{name}-kubernetes", config, after)
    return connections[key]


def share(provider: ClusterProvider, config: ClusterConfig) -> None:
    """A HybridCluster's connection is that of all parts of its cluster in the program."""
    _of_program()[_key(config)] = provider


def _of_program() -> dict[tuple[str | None, ...], ClusterProvider]:
    return _made.setdefault(pulumi.runtime.settings.get_monitor(), {})


def _key(config: ClusterConfig) -> tuple[str | None, ...]:
    cluster, access = config.cluster, config.kubernetes
    return (cluster.namespace, cluster.resource_name, access.kubeconfig, access.context)


def described(value: object) -> str:
    """What an argument is, for a message."""
    article = "an" if isinstance(value, pulumi.Output) else "a"
    return shown(value) if isinstance(value, str) else f"{article} {type(value).__name__}"


def _without_kubeconfig(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
    return pulumi.ResourceTransformationResult({**args.props, "kubeconfig": None}, args.opts)
