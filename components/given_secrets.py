"""Secrets that a program gives by arguments: what is said of them. :mod:`slinky_iac.config.reading.engine` judges them.

No value is in a message. Which secret is at which argument: :data:`slinky_iac.config.reading.engine.ARGUMENTS`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping

import pulumi

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.leaked import given_again
from slinky_iac.config.reading.engine import ARGUMENTS, in_base64

from .inputs import Given, is_known
from .plain_data import FORMATTED, got, is_of_output, of_resource


def given_secrets(secrets: Mapping[str, pulumi.Input[str] | None]) -> dict[str, pulumi.Input[str]]:
    """Those that are given, by the names of their configuration values; each is a text or an Output."""
    return {
        name: pulumi.Output.from_input(secret) if isinstance(secret, Awaitable) else secret
        for name, secret in secrets.items()
        if secret is not None
    }


def wrong_kinds(secrets: Mapping[str, object]) -> list[Finding]:
    """Faults of those that are no text and no Output, or a text made of an Output, which would be the secret."""
    said = {name: _wrong_kind(name, secret) for name, secret in secrets.items() if secret is not None}
    return [at(ARGUMENTS[name]).error(message) for name, message in said.items() if message]


def _wrong_kind(name: str, given: object) -> str:
    if isinstance(given, str):
        return FORMATTED if is_of_output(given) else ""
    if isinstance(given, pulumi.Output | Awaitable):
        return ""
    takes = f"{'a text of base64' if in_base64(name) else 'a text'}, or an Output of one"
    if isinstance(given, pulumi.Resource):
        return of_resource(given, takes)
    way = ": base64.b64encode(RAW).decode()" if in_base64(name) else ": BYTES.decode()"
    if isinstance(given, bytes | bytearray):
        return f"got bytes; takes {takes}{way}"
    return f"got {got(given)}; takes {takes}"


def in_plain_text(secrets: Mapping[str, pulumi.Input[str]]) -> Iterator[str]:
    """What is wrong with each that is a text."""
    for name in (name for name, secret in secrets.items() if isinstance(secret, str)):
        yield (
            f"{ARGUMENTS[name]}: is a text and no Output. If the program has it in plain text, treat it as leaked: it is in"
            f" the file and its history. {given_again(name)}. Leave this argument out then, or give an Output:"
            " config.require_secret(NAME)"
        )


async def said_of(inputs: Given, secrets: Mapping[str, pulumi.Input[str]]) -> tuple[Finding, ...]:
    """Of Outputs: that one isn't secret, and in a preview which aren't known yet, so that none passes in silence."""
    outputs = {name: secret for name, secret in secrets.items() if isinstance(secret, pulumi.Output)}
    # What isn't known yet isn't marked as secret either, also where it will be.
    said = [_open(name) for name, output in outputs.items() if await is_known(output) and not await _is_secret(output)]
    if pulumi.runtime.is_dry_run():
        unknown = [path for path, output in inputs.by_path.items() if not await is_known(output)]
        unknown += [ARGUMENTS[name] for name, output in outputs.items() if not await is_known(output)]
        said += [_later(unknown)] if unknown else []
    return tuple(said)


async def _is_secret(output: pulumi.Output[str]) -> bool:
    """Whether the engine keeps it as one. Of an Output that ends the program nothing is said."""
    try:
        return await output.is_secret()
    except Exception:  # whatever ended the resource that gives it
        return True


def _open(name: str) -> Finding:
    return at(ARGUMENTS[name]).warning(
        "the Output that it is given isn't secret: the resource that gives it has it in plain text in the state and in"
        " previews. Make it one there (additional_secret_outputs of its options, or the provider's secret output), and"
        " replace the secret. What the cluster makes of it is encrypted",
        id="output-not-secret",
    )


def _later(paths: list[str]) -> Finding:
    return at("outputs").info(
        f"not known in this preview: {', '.join(sorted(paths))}. They are judged when the update knows them, before what is"
        " made of them; a wrong one stops it there",
        id="output-not-known",
    )
