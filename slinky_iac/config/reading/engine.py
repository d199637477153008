"""The one reader of the engine's configuration: from its strings to one checked value and secret outputs beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pulumi
from pydantic.alias_generators import to_snake

from slinky_iac.config.findings import Finding
from slinky_iac.config.reading.values import Values, material_of, own_names, used, values_of, words_in
from slinky_iac.config.stack import FIRST_SECRETS, PROJECT, SECRET_KEYS, SSSD_CONF, StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.keys.catalogue import JWT, SLURM
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.raw import to_secret_data
from slinky_iac.keys.registry import PUBLIC, ROTATING

SHOWN: Final = 32
"""Exit code of a program that has shown its error. At any other code the engine adds a second error, "an unhandled error
occurred: program exited with non-zero exit code"."""


class StackRefused(SystemExit):
    """Ends the program with an error that is shown once. For what is found before the first resource is registered."""

    def __init__(self, message: str) -> None:
        super().__init__(SHOWN)
        self.message = message
        pulumi.log.error(message)

    def __str__(self) -> str:
        return self.message


@contextmanager
def of_call(call: str) -> Iterator[None]:
    """What ends the program here begins with ``call``, which an Output was given to: its kind, its name and its line. Empty:
    it isn't known."""
    try:
        yield
    except pulumi.RunError as error:
        raise pulumi.RunError(f"{call}: {error}" if call else str(error)) from None


@dataclass(frozen=True)
class KeyOutputs:
    """The keys of a stack as a program hands them to components: base64 as secret outputs."""

    values: Mapping[str, pulumi.Output[str]] = field(default_factory=dict)
    """By the names of their configuration values; the daemons' keys with ``keys.source: imported`` only."""
    bundles: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Files with all keys of a kind that are in use, by name. Of public halves it is the text, and an Output only where the
    program gives a key by one."""

    @property
    def public(self) -> pulumi.Input[str] | None:
        """The file with public halves; None where there is none."""
        return self.bundles.get(PUBLIC.bundle)


@dataclass(frozen=True)
class StackSettings:
    """What a program needs to build a stack: settings, findings to show, and secrets as secret outputs."""

    config: StackConfig
    findings: tuple[Finding, ...]
    database_password: pulumi.Output[str] | None
    keys: KeyOutputs = field(default_factory=KeyOutputs)
    sssd_conf: pulumi.Output[str] | None = None
    sections: Mapping[str, object] = field(default_factory=dict)
    """What ``config`` was read from, without the secrets: a NodeSet that joins later is judged with it."""


def read_stack() -> StackSettings:
    """The current stack's settings. Raises :class:`StackRefused` with every error of the configuration."""
    try:
        return _read(dict(pulumi.runtime.config.CONFIG.get()))
    except ConfigError as error:
        raise StackRefused(str(error)) from None


Given = Mapping[str, pulumi.Input[str]]
"""Secrets that a program gives, by the names of their configuration values: texts, or Outputs of other resources."""
ARGUMENTS: Final = {name: to_snake(name) for name in sorted(FIRST_SECRETS)}
"""By secret, the argument by which a program gives it. Those of a rotation are none: `keys rotate` sets and removes them."""


def read_sections(sections: Mapping[str, object], given: Given | None = None, call: str = "") -> StackSettings:
    """The same of sections that a program gives; secrets are the stack's all the same, but for those that are ``given``. An
    Output is judged when its value is known, before the Secret is made of it: ``call`` is then in front of what is wrong.
    Raises :class:`ConfigError` with every error."""
    raw = _raw_of(sections)
    return _settings(_values(raw, given or {}), _own(raw), given or {}, call)


def sound_sections(sections: Mapping[str, object], given: Given, *, with_keys: bool = True) -> Values:
    """The settings and their findings, judged in the same way; keys too, unless not ``with_keys``. Raises
    :class:`ConfigError` with every error."""
    return _values(_raw_of(sections), given, with_keys=with_keys)


def _read(raw: dict[str, str]) -> StackSettings:
    return _settings(_values(raw, {}), _own(raw), {}, "")


def _raw_of(sections: Mapping[str, object]) -> dict[str, str]:
    kept = {f"{PROJECT}:{name}" for name in SECRET_KEYS}
    raw = {key: text for key, text in pulumi.runtime.config.CONFIG.get().items() if key in kept}
    return raw | {f"{PROJECT}:{name}": json.dumps(section) for name, section in sections.items()}


def _own(raw: Mapping[str, str]) -> dict[str, str]:
    return {name: raw[key] for name, key in own_names(raw).items()}


def _values(raw: Mapping[str, str], given: Given, *, with_keys: bool = True) -> Values:
    """Everything that is known now. Raises :class:`ConfigError`."""
    own = _own(raw)
    secret = frozenset(name for name in own if pulumi.runtime.config.is_config_secret(f"{PROJECT}:{name}"))
    texts = {name: text for name, text in given.items() if isinstance(text, str)}
    for name, text in texts.items():
        _require_one(name, own, text)
    return values_of({**own, **texts}, secret | given.keys(), with_keys=with_keys)


def _settings(values: Values, own: dict[str, str], given: Given, call: str) -> StackSettings:
    own |= {name: text for name, text in given.items() if isinstance(text, str)}
    later: dict[str, pulumi.Output[str]] = {
        name: pulumi.Output.secret(pulumi.Output.from_input(output))
        for name, output in given.items()
        if not isinstance(output, str)
    }
    material = values.keys
    pems = {name: key.pem for name, key in material.rsa.items()}
    keys = KeyOutputs(
        values={name: _hidden(key) for name, key in (*material.raw.items(), *pems.items())},
        bundles={
            name: text if name == PUBLIC.bundle else pulumi.Output.secret(text) for name, text in _texts(material).items()
        },
    )
    texts = {name: pulumi.Output.secret(own[name]) for name in _NO_KEYS if name in own}
    if later:
        judged = _Later(values.config, own, later, call)
        keys, texts = judged.keys(keys), {**texts, **judged.texts}
    sections = {name: json.loads(text) for name, text in own.items() if name not in SECRET_KEYS}
    return StackSettings(values.config, values.findings, texts.get(_PASSWORD), keys, texts.get(SSSD_CONF), sections)


_PASSWORD: Final = "databasePassword"
_NO_KEYS: Final = (_PASSWORD, SSSD_CONF)
"""Secrets that are texts, and no keys."""


@dataclass(frozen=True)
class _Later:
    """Secrets that are known once another resource is made. Each waits for as few others as its check needs: a Secret whose
    data a preview doesn't know is shown as replaced."""

    config: StackConfig
    own: Mapping[str, str]
    given: Mapping[str, pulumi.Output[str]]
    call: str

    @property
    def texts(self) -> dict[str, pulumi.Output[str]]:
        """Those that aren't keys."""
        return {name: self._of(lambda _, name=name: name, name) for name in _NO_KEYS if name in self.given}  # type: ignore[misc]

    def keys(self, known: KeyOutputs) -> KeyOutputs:
        """The keys with those that are known now."""
        mine = [name for name in used(self.config) if name in self.given]
        values, bundles = dict(known.values), dict(known.bundles)
        for name in mine:
            beside = [SLURM.config] if name == JWT.config and SLURM.config in mine else []
            values[name] = self._of(partial(self._of_key, name), name, *beside)
        for key in (rotating_key for rotating_key in ROTATING if rotating_key.bundle and rotating_key.config in mine):
            made = self._of(lambda material, _, file=key.bundle: _texts(material).get(file, ""), key.config)  # type: ignore[misc]
            bundles[key.bundle] = pulumi.Output.unsecret(made) if key == PUBLIC else made
        return KeyOutputs(values, bundles)

    def _of(self, made: Callable[[KeyMaterial, str], str], name: str, *beside: str) -> pulumi.Output[str]:
        """What is made of the secret, once it and those ``beside`` it are known and judged."""
        wanted = {secret: self.given[secret] for secret in (name, *beside)}

        def of(known: Mapping[str, Any]) -> str:
            with of_call(self.call):
                return made(self._judged(known, name), known[name])

        return pulumi.Output.all(**wanted).apply(of)

    def _judged(self, known: Mapping[str, object], name: str) -> KeyMaterial:
        """Raises RunError, which ends the program, and shows nothing of a secret."""
        texts = {secret: text for secret, text in known.items() if isinstance(text, str)}
        try:
            for secret in known:
                _require_one(secret, self.own, texts.get(secret))
            return material_of(self.config, {**self.own, **texts})
        except ConfigError as wrong:
            bad = [ARGUMENTS[secret] for secret in known if any(fault.startswith(f"{secret}:") for fault in wrong.faults)]
            by = f"It came by the argument {' and '.join(bad or [ARGUMENTS[name]])}. What is made of it was left as it is"
            raise pulumi.RunError(f"{'; '.join(wrong.faults)}. {by}") from None

    def _of_key(self, name: str, material: KeyMaterial, _: str) -> str:
        raw = material.raw.get(name)
        for finding in words_in(self.config, {} if raw is None else {name: raw}):
            if not finding.reason:
                pulumi.log.warn(str(finding))
        return to_secret_data(material.secret(name) or b"")


def _require_one(name: str, own: Mapping[str, str], text: str | None) -> None:
    """Raises :class:`ConfigError` for what isn't text, and for a secret that the stack has otherwise."""
    if text is None:
        form = "its bytes as a text in base64" if in_base64(name) else "the text itself"
        raise ConfigError((f"{name}: isn't a text: give {form}",))
    if name in own and "".join(own[name].split()) != "".join(text.split()):
        raise ConfigError(
            (
                f"{name}: the program gives it by {ARGUMENTS[name]}, and the stack's secret slinky-iac:{name} is another"
                " one, so which of them the cluster has isn't known. Remove the argument, or run `pulumi config rm"
                f" slinky-iac:{name}`",
            )
        )


def in_base64(name: str) -> bool:
    """Whether a secret is a key, which is given in base64."""
    return name not in _NO_KEYS


def _texts(material: KeyMaterial) -> dict[str, str]:
    """The files of several keys as their objects have them: base64 in a Secret."""
    return {
        name: made.decode() if name == PUBLIC.bundle else to_secret_data(made) for name, made in material.bundles.items()
    }


def _hidden(raw: bytes) -> pulumi.Output[str]:
    return pulumi.Output.secret(to_secret_data(raw))
