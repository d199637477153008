"""Rules of files in YAML that Slurm's daemons read: names that no object of theirs has, and what slurmd can't read.

Slurm's data parser passes over a name that it doesn't know, at most with a line in a log. The facts are
:func:`slinky_iac.config.slurm.words.objects`; what is said of slurmd was run on 26.05.5 and 25.11.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac import safe_yaml
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes.pieces import listed
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.config.stack import StackConfig
from slinky_iac.text import closest

_NAMESPACE: Final = "namespace.yaml"
_MOST: Final = 3
"""Names in a file of which each has a sentence of its own."""


def unread(document: object, release: str, file: str) -> Iterator[str]:
    """Names in a document that a release doesn't read at their place in ``file``, each as a sentence."""
    keys = dict.fromkeys(_unread(document, "", slurm_words.objects(release, file)))
    for place, key in list(keys)[:_MOST]:
        known = slurm_words.objects(release, file)[place]
        later = slurm_words.since(key, release, file, place)
        close = closest(key, sorted(known))
        hint = f" Slurm {later} reads it." if later else f" Did you mean {close}?" if close else ""
        below = f" below {place}" if place else ""
        yield (
            f"has {name_of(key)}{below}, where Slurm {release} reads {', '.join(sorted(known))}, and passes over any other"
            f" name: what it says has no effect.{hint} Correct the name, or remove it"
        )


def _unread(value: object, place: str, objects: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for child in value:
            yield from _unread(child, place, objects)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if str(key) not in objects[place]:
                yield place, str(key)
            elif str(key) in objects:
                yield from _unread(inner, str(key), objects)


def _namespaces(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """namespace.yaml, which slurmd reads (``init_ns_conf`` of read_nsconf.c)."""
    text = config.slurmctld.config_files.get(_NAMESPACE)
    if text is None:
        return
    path = at(f"controller.configFiles.{_NAMESPACE}")
    try:
        document = safe_yaml.read(text)
    except safe_yaml.NotYamlError as wrong:
        yield path.error(f"{wrong}: no slurmd starts with it. Correct it (namespace.yaml(5))")
        return
    if not isinstance(document, Mapping):
        yield path.error(
            "isn't a mapping, so no slurmd starts with it. Write what all nodes have below defaults, as"
            " `defaults: {auto_base_path: true, base_path: /var/tmp/slurm}` (namespace.yaml(5))"
        )
        return
    for said in unread(document, config.slurm_release, _NAMESPACE):
        yield path.error(f"{said} (namespace.yaml(5))")
    for options in (document.get("defaults"), *(node_conf.get("options") for node_conf in listed(document, "node_confs"))):
        if isinstance(options, Mapping) and isinstance(options.get("dirs"), list | Mapping):
            yield path.error(
                "has dirs that aren't a text, so no slurmd starts with it. Write the folders with commas between, as"
                ' dirs: "/tmp,/dev/shm" (namespace.yaml(5))'
            )


RULES = (_namespaces,)
