"""`slinky verify-state`: whether the stack's state holds code, before an engine is let near it.

Code is what an engine would load and run from the state and this project doesn't put there. Providers of dynamic resources
are in the state as pickles. `refresh`, `destroy` and every removal load the state's, not the program's
(pulumi/dynamic/__main__.py), so who can write to the backend could run code as the next person or runner. Providers of this
project have no attributes and are pickled by reference: the value names a class and holds nothing else. Other ways from a
state to code: a resource of a package that the program doesn't use, whose plugin the engine would fetch; a plugin's own
address; a kubeconfig's text, or the path of one that somebody else has laid there: a `destroy` or `refresh` takes the
state's, not the settings'. A kubeconfig starts programs, and sends any file of this machine away as a token (``tokenFile``).
Options by which Pulumi drops a gate without a call are named too: policies don't see them.
So all inputs of a provider are compared with what the program gives one, and all that leads a gate somewhere with what the
settings give: tokens of SlurmUser would go to a planted slurmrestd, which could also answer that all nodes are idle.

The pickle is read by its opcodes and never loaded.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from slinky_iac import names
from slinky_iac.cluster import pulumi_state
from slinky_iac.cluster.pulumi_command import Runner, answer, run_pulumi
from slinky_iac.cluster_access import reach
from slinky_iac.commands.output import FOUND, add_json, add_stack, print_result
from slinky_iac.commands.stack_config import own_texts
from slinky_iac.config.reading.values import settings_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.drain.settings import REACH, REACH_PROPS, reach_props
from slinky_iac.engine.provider_pickle import reference
from slinky_iac.errors import ConfigError
from slinky_iac.keys.registry import SIGNING
from slinky_iac.parts.registry import PROVIDERS
from slinky_iac.text import plain

Json = Mapping[str, Any]
PROVIDER: Final = "__provider"
PACKAGES: Final = frozenset({"pulumi", "pulumi-python", "kubernetes", "random", "slinky"})
"""Packages of this project's resources, as their types begin."""
_SIGNATURE: Final = ("4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270")
"""Key and value by which a state marks a secret (pulumi sdk/go/common/resource/properties.go)."""
_PROVIDERS: Final = "pulumi:providers:"
_PLUGIN: Final = frozenset({"pluginDownloadURL", "parameterization", "name", "envVarMappings"})
"""Properties by which a state says which plugin the engine fetches, and from where (pkg/resource/deploy/providers)."""
_DYNAMIC: Final = "pulumi-python:dynamic"
_TEXT: Final = re.compile(r"[\n{]|: ")
"""What a kubeconfig's text has, and no path that the settings take."""
_GIVEN: Final = frozenset({"kubeconfig", "context", "version", "__internal"})
"""Inputs that the program, or the engine, gives a provider, each compared on its own."""
_SWITCHES: Final = frozenset({"enableSecretMutable", "enableConfigMapMutable", "upsertExistingObjects"})
"""Further ones: whether an object is changed in place, or taken up where it is there already."""
_VERSION: Final = re.compile(r"v?\d+\.\d+\.\d+")
_OF_RELEASE: Final = frozenset({"postrender", "valueYamlFiles", "keyring"})
"""Inputs of a Helm release that name a program or a file of this machine; the program gives none."""
_RELEASE: Final = "kubernetes:helm.sh/v3:Release"
_COMPARED: Final = (
    *REACH_PROPS,
    *("secret", "entry", "otherSecret", "otherEntry", "controller", "resourceName", "cluster", "clusterName"),
)
"""Properties of a gate that say where it goes, whom it asks there, which keys it reads, whose nodes it drains."""
CLASSES_BY_KIND: Final = {
    "ClusterIdentity": "slinky_iac.identity.IdentityProvider",
    "ControllerGate": "slinky_iac.drain.conf_gates.ControllerGateProvider",
    "ExternalKey": "slinky_iac.external_keys.ExternalKeyProvider",
    "NodeSetScale": "slinky_iac.drain.gates.NodeSetScaleProvider",
    "OutsideHosts": "slinky_iac.drain.gates.OutsideHostsProvider",
    "QueueGate": "slinky_iac.drain.conf_gates.QueueGateProvider",
    "Removals": "slinky_iac.drain.gates.RemovalsProvider",
    "SessionsGate": "slinky_iac.drain.gates.SessionsProvider",
    **PROVIDERS,
}
"""The class of each of this program's own resources, by the end of their type: another one's would do something else. The
policies' made.json has the same, from whole programs; it isn't read here, since a checkout may have no policies."""
_UNASKED: Final = {
    "retainOnDelete": "Pulumi drops it without a call, and nothing drains",
    "deletedWith": "Pulumi drops it without a call where the other goes, and nothing drains",
    "hideDiff": "a review doesn't show what changes",
    "ignoreChanges": "what a review shows isn't what the gate has",
}
"""Options in a state (pulumi sdk/go/common/apitype, ResourceV3) that go round a gate. Policies see the last one alone."""
_SLINKY: Final = f"kubernetes:{names.GROUP}/"
_MODE: Final = f'metadata.annotations["{names.ANNOTATION_MODE}"]'
"""The one field whose change replaces a NodeSet (components/node_set.py). Policies don't see this option either."""
_UNLIKE: Final = "isn't one of this project's providers, pickled by reference"


def project_classes() -> frozenset[str]:
    """Dotted names of the providers that this project's resources have."""
    return frozenset(CLASSES_BY_KIND.values())


@dataclass(frozen=True)
class Settled:
    """What the settings say that may be in a state: by property; or, of a program without our sections, any text of them."""

    props: Mapping[str, frozenset[str]] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()

    def names(self, prop: str, value: str) -> bool:
        """Whether a property may have this value. An empty one leads nowhere that the settings don't."""
        return value in self.allowed or value in (self.props.get(prop, frozenset()) if self.props else self.texts | {""})


def foreign(
    resources: Sequence[Json],
    classes: frozenset[str],
    packages: frozenset[str] = PACKAGES,
    known: Callable[[], Settled] = Settled,
    allowed: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """One sentence for each place of a state that would run code which isn't the program's, or lead it elsewhere; no secret
    is quoted.

    ``resources`` as `pulumi stack export` has them. ``known``: what the stack's settings give, asked for where the state has
    something to compare with it. ``allowed``: inputs of providers of the caller's own, as NAME.INPUT. Encrypted values pass:
    only who has the stack's secrets could have made them. With --show-secrets they are decrypted, and compared.
    """
    findings = [
        f"{_name(resource)}: {fault}" for resource in resources for fault in _faults(resource, classes, packages, allowed)
    ]
    ways = [(resource, *way) for resource in resources for way in _ways(resource, allowed)]
    settled = known() if ways else Settled()
    for resource, what, text in ways:
        if not settled.names(what, text):
            shown = plain(text, 80)
            findings.append(
                f"{_name(resource)}: its {what} is {shown!r}, which the settings don't name; --allow {shown} if it is yours"
            )
    return tuple(findings)


def _ways(resource: Json, allowed: frozenset[str]) -> Iterable[tuple[str, str]]:
    """Each property that leads a provider or a gate somewhere, with its value."""
    kind = str(resource.get("type", ""))
    if kind == f"{_PROVIDERS}kubernetes":
        wanted: tuple[str, ...] = ("kubeconfig", "context")
    else:
        wanted = _COMPARED if kind.startswith(_DYNAMIC) else ()
    for what in wanted:
        values = (_decrypted(props.get(what)) for _, props in _sides(resource))
        for text in dict.fromkeys(value for value in values if isinstance(value, str)):
            if text and not (what == "kubeconfig" and _TEXT.search(text)) and _own(resource, what) not in allowed:
                yield what, text


def _sides(resource: Json) -> Iterable[tuple[str, Json]]:
    return ((side, props) for side in ("inputs", "outputs") if isinstance(props := resource.get(side), Mapping))


def _own(resource: Json, what: str) -> str:
    """An input as ``--allow`` names it."""
    return f"{str(resource.get('urn', '')).rpartition('::')[2]}.{what}"


def _faults(resource: Json, classes: frozenset[str], packages: frozenset[str], allowed: frozenset[str]) -> Iterable[str]:
    kind = str(resource.get("type", ""))
    package = kind.removeprefix(_PROVIDERS).partition(":")[0]
    if package not in packages:
        named = f"is of the package {plain(package, 40)!r}, which the program doesn't use"
        yield f"{named}; the engine would fetch and run its plugin"
    if kind.startswith(_DYNAMIC) and (given := [option for option in _UNASKED if resource.get(option)]):
        why = " and ".join(_UNASKED[option] for option in given)
        yield f"it has {', '.join(given)}, which the program gives no gate: {why}"
    if kind.startswith(_SLINKY) and (given := sorted(set(resource.get("replaceOnChanges") or ()) - {_MODE})):
        named = plain(", ".join(map(str, given)), 80)
        yield f"it has replaceOnChanges ({named}), which the program doesn't give: a change there deletes it with its pods"
    own = CLASSES_BY_KIND.get(kind.rpartition(":")[2])
    for side, props in _sides(resource):
        if kind.startswith(_PROVIDERS):
            # The engine gives the provider of dynamic resources the whole configuration, each value as NAMESPACE:NAME.
            inputs = {key: value for key, value in props.items() if package != "pulumi-python" or ":" not in key}
            yield from _of_plugin(resource, side, inputs, allowed, ours=package in PACKAGES)
        elif PROVIDER in props and (why := _of_pickle(props[PROVIDER], classes, own)):
            yield f"{PROVIDER} in its {side} {why}"
        if kind.startswith(_DYNAMIC):
            yield from _of_gate(side, props)
        if kind == _RELEASE and (given := sorted(key for key in _OF_RELEASE & set(props) if props[key])):
            yield f"its {side} name a program or a file ({', '.join(given)}); the program doesn't"


def _of_plugin(resource: Json, side: str, props: Json, allowed: frozenset[str], *, ours: bool) -> Iterable[str]:
    internal = props.get("__internal")
    inside = set(internal) if isinstance(internal, Mapping) else set()
    named = sorted((_PLUGIN & inside) | ({"pluginDownloadURL"} & set(props)))
    if named:
        yield f"its {side} say which plugin is fetched ({', '.join(named)}); the program doesn't"
    if not ours:
        return
    for key, value in props.items():
        said = _decrypted(value)
        if said in (None, "") or _own(resource, key) in allowed or key == "__internal" or key in named:
            continue
        hint = f"--allow {plain(_own(resource, key), 80)} if it is yours"
        if key in _SWITCHES:
            if said not in ("true", "false", True, False):
                yield f"{key} in its {side} isn't true or false; {hint}"
        elif key not in _GIVEN:
            yield f"its {side} have {plain(key, 40)!r}, which the program doesn't give; {hint}"
        elif key == "version" and not (isinstance(said, str) and _VERSION.fullmatch(said)):
            yield f"the version in its {side} isn't a release; {hint}"
        elif key == "kubeconfig" and not (isinstance(said, str) and not _TEXT.search(said)):
            yield f"the kubeconfig in its {side} is a text (not shown), and the program gives a path or nothing; {hint}"
        elif key == "context" and not isinstance(said, str):
            yield f"the context in its {side} isn't a text; {hint}"


def _of_gate(side: str, props: Json) -> Iterable[str]:
    """What of a gate's properties doesn't go together."""
    properties = {key: _decrypted(props[key]) for key in (*_COMPARED, "resource", "nodeset") if key in props}
    for key in _COMPARED:
        if not isinstance(properties.get(key, ""), str | None):
            yield f"{key} in its {side} isn't a text"
    kubeconfig = properties.get("kubeconfig")
    if isinstance(kubeconfig, str) and _TEXT.search(kubeconfig):
        yield f"the kubeconfig in its {side} is a text (not shown), and the program gives a path or nothing"
    nodeset, base, named = (properties.get(key) for key in ("nodeset", "controller", "resource"))
    if isinstance(nodeset, str) and isinstance(base, str) and named != names.nodeset_resource(base, nodeset):
        yield f"its {side} name another NodeSet's resource than {plain(nodeset, 40)!r} has"


def _of_pickle(value: object, classes: frozenset[str], own: str | None = None) -> str:
    """What is wrong with a ``__provider``; empty where nothing is. ``own``: the class that a resource of this type has."""
    if _is_secret(value) and isinstance(value, Mapping) and isinstance(value.get("ciphertext"), str):
        return ""
    text = _decrypted(value)
    name = reference(text) if isinstance(text, str) else None
    if name is None:
        return _UNLIKE
    if own is not None and name.startswith("slinky_iac.") and name != own:
        return (
            f"is the code of another kind of resource, {plain(name, 80)!r}: what its own does at the end would not be done"
        )
    return "" if name in classes else f"{_UNLIKE}: it names {plain(name, 80)!r}"


def _is_secret(value: object) -> bool:
    return isinstance(value, Mapping) and value.get(_SIGNATURE[0]) == _SIGNATURE[1]


def _decrypted(value: object) -> object:
    """The value of a secret that was decrypted by --show-secrets; the value itself where it isn't a secret."""
    if not (_is_secret(value) and isinstance(value, Mapping)):
        return value
    try:
        return json.loads(value["plaintext"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _name(resource: Json) -> str:
    """Logical name and type of a resource, both texts that an attacker may have written."""
    urn = str(resource.get("urn", ""))
    return f"{plain(urn.rpartition('::')[2], 80)} ({plain(str(resource.get('type', '')), 80)})"


CODES = "exit codes: 0 no foreign code; 1 the state could not be read; 2 wrong arguments; 6 foreign code, or what may be"
NEXT = (
    "Somebody who can write to the backend may have put it there, to run it with your rights. Don't run `pulumi` on this"
    " stack. Compare with an earlier version of the state in the backend, import a good one (`pulumi stack import`), and"
    " find out who can write there. Where it is your own program's: --allow PACKAGE, MODULE.CLASS, PATH or NAME.INPUT"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_stack(parser)
    add_json(parser)
    allow = (
        "package, dotted name of a dynamic provider, path of a kubeconfig or address, or NAME.INPUT of a provider, that is"
        " your own; can be repeated"
    )
    parser.add_argument("--allow", action="append", default=[], metavar="NAME", help=allow)
    encrypted = "decrypt nothing: needs no passphrase, and trusts what is encrypted, with whichever key"
    parser.add_argument("--encrypted", action="store_true", help=encrypted)


def run(arguments: argparse.Namespace, pulumi: Runner = run_pulumi) -> int:
    """Look and tell. Raises StateError; returns the exit code."""
    findings = look(arguments.stack, decrypted=not arguments.encrypted, allow=arguments.allow, pulumi=pulumi)
    words = "\n".join([*findings, NEXT]) if findings else "the state holds no foreign code"
    print_result(arguments, {"foreign": list(findings)}, words)
    return FOUND if findings else 0


def look(
    stack: str | None, *, decrypted: bool, allow: list[str] | None = None, pulumi: Runner = run_pulumi
) -> tuple[str, ...]:
    """What :func:`slinky_iac.commands.verify_state.foreign` finds in a stack's state. Raises StateError."""
    more = frozenset(allow or ())
    resources = pulumi_state.everything(stack, pulumi, decrypted=decrypted)

    def known() -> Settled:
        settled = answer(pulumi, ["config", "--json"], stack, known_of, wanted="a stack's settings")
        return replace(settled, allowed=more)

    return foreign(resources, project_classes() | more, PACKAGES | more, known, more)


def known_of(settings: object) -> Settled:
    """What the settings give. Of a program that hasn't our sections it may be any of its own texts. Raises ValueError."""
    texts = _texts(settings)
    own = settings if isinstance(settings, dict) else {}
    entries = {name: {"secret": False, **setting} for name, setting in own.items() if isinstance(setting, dict)}
    try:
        config = settings_of(own_texts(entries)[0])
    except ConfigError:
        return Settled(texts=texts)
    return Settled(_given(config))


def _given(config: StackConfig) -> dict[str, frozenset[str]]:
    """Values that a resource of this configuration may have, by property. What a change of settings goes to and comes from
    is both there, where neither leads elsewhere."""
    base, keys = config.cluster.resource_name, config.key_entries
    allowed = {prop: {value, ""} for prop, value in reach_props(reach(config)).items()}
    allowed[REACH["algorithm"]] |= SIGNING.keys()
    allowed["restapiScheme"] |= {"https"}
    allowed["slurmUser"] |= {names.SLURM_USER}
    secrets, entries = {key.name for key in keys}, {key.entry for key in keys}
    allowed["jwtSecret"] |= secrets
    allowed["jwtEntry"] |= entries
    allowed |= {"secret": secrets, "otherSecret": secrets, "entry": entries, "otherEntry": entries}
    allowed |= {"controller": {base}, "resourceName": {base}, "cluster": {config.cluster.name}}
    allowed |= {"clusterName": {config.cluster.name}}
    return {prop: frozenset(values) for prop, values in allowed.items()}


def _texts(settings: object) -> frozenset[str]:
    """Every text that a stack's settings hold in the clear; structured ones are JSON in a text. Raises ValueError."""
    if isinstance(settings, str):
        texts = {settings}
        if settings[:1] in ("{", "["):
            texts |= _texts(json.loads(settings))
        return frozenset(texts)
    parts = settings.values() if isinstance(settings, dict) else settings if isinstance(settings, list) else ()
    return frozenset().union(*map(_texts, parts))
