"""What whole programs make, and what is said of their settings: ``venv/bin/python -m tests.bench.programs FILE``.

One line of JSON a configuration: its findings; and of a sound one every resource that a program registers, its rights, who
connects to whom, the picture, files for outside hosts and pods, and rows of preflight. Run it before and after a change that
is to change none of it, then ``cmp`` the two files. They are in one folder, where RSA keys are kept for the second run. The
configurations are the examples, the four forms with every part, and each rule's case and cure.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Iterator
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import Any

from slinky_iac.blueprint.flows import flows
from slinky_iac.blueprint.objects import objects
from slinky_iac.commands.diagram.build import picture
from slinky_iac.commands.diagram.mermaid import mermaid
from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.forms import FORMS, render
from slinky_iac.commands.handoff.role_sheets import handoff
from slinky_iac.commands.rights.table import rights
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.stack import SECRET_KEYS, StackConfig
from slinky_iac.keys.raw import fingerprint
from slinky_iac.preflight.check_encryption import hops
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import Facts
from slinky_iac.specs.clients import client_pod
from slinky_iac.specs.rights import Use
from tests.clusters import MUNGE, RSA, SECRETS, STACKS, build, stack_sections
from tests.parts import whole as every_part
from tests.program import Secret, run_stack
from tests.rsa_keys import pem
from tests.stacks import DEPLOYMENTS, EXAMPLES, Data, merged, sections, without_networks
from tests.unit.config.test_rules import ERRORS, HINTS

PRINT = fingerprint(b"key")
EVERY = 5
"""Of the sound cases one of so many is asked for more than its findings: a whole program takes a tenth of a second."""


def configurations() -> Iterator[tuple[str, Data, frozenset[str]]]:
    """Each with a name, and the secrets that its findings are asked with."""
    everything = frozenset(SECRET_KEYS)
    for path in (*EXAMPLES, *DEPLOYMENTS, *sorted(EXAMPLES[0].parent.glob("jupyter/Pulumi.*.yaml"))):
        yield path.stem, sections(path), everything
    for name in (*STACKS, MUNGE):
        yield f"{name} with every part", merged(without_networks(stack_sections(name)), every_part()), everything
    for case in (*ERRORS, *HINTS):
        yield f"{case.name}: case", case.bad, case.secrets
        yield f"{case.name}: cure", merged(case.bad, case.cure), case.secrets


def made(data: Data, secrets: frozenset[str], folder: Path, *, whole: bool) -> dict[str, Any]:
    """All of one configuration; a text in place of what fails."""
    try:
        config = load(data)
    except Exception as error:
        return {"refused": repr(error)}
    found = findings(config, secrets)
    answer: dict[str, Any] = {"findings": [str(each) for each in found]}
    if not whole or any(each.level is Level.ERROR for each in found):
        return answer
    for name, ask in ASKED.items():
        try:
            answer[name] = ask(config)
        except Exception as error:
            answer[name] = repr(error)
    try:
        answer["program"] = program(data, config, folder)
    except Exception as error:
        answer["program"] = repr(error)
    return answer


def program(data: Data, config: StackConfig, folder: Path) -> Any:
    """What a program registers, by URN since asynchronous calls come in any order, and its components' outputs."""
    keys = {key.config for key in config.in_configuration}
    wanted = {name: SECRETS[name] for name in {*keys, "databasePassword", "sssdConf"} & {*SECRETS}}
    wanted |= {name: rsa_key(folder / f"{RSA[name]}.pem") for name in keys & {*RSA}}
    recording = run_stack(data, build, wanted)
    return {"resources": sorted(map(asdict, recording.resources), key=itemgetter("urn")), "outputs": recording.outputs}


def rsa_key(path: Path) -> str:
    """base64 of the key in a file, which is made where it isn't there."""
    if not path.exists():
        path.write_bytes(pem(path.stem))
    return base64.b64encode(path.read_bytes()).decode()


ASKED = {
    "objects": objects,
    "rights": lambda config: {use: rights(config, use) for use in Use},
    "flows": flows,
    "hops": hops,
    "picture": lambda config: mermaid(picture(config)),
    "handoff": lambda config: [render(form, handoff(config, Known(PRINT, PRINT)), None) for form in FORMS],
    "pods": lambda config: {name: client_pod(config, name, each) for name, each in config.clients.items()},
    "preflight": lambda config: [repr(each) for each in checks(config, Facts(), from_here_only=True)],
}


def _plain(value: object) -> object:
    if isinstance(value, Secret):
        return {"secret": value.value}
    return sorted(value) if isinstance(value, frozenset) else repr(value)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    file, count, programs = parser.parse_args().file, 0, 0
    with file.open("w") as lines:
        for name, data, secrets in configurations():
            answer = made(data, secrets, file.parent, whole=": " not in name or not count % EVERY)
            count, programs = count + 1, programs + isinstance(answer.get("program"), dict)
            lines.write(json.dumps({"name": name, **answer}, default=_plain, sort_keys=True) + "\n")
    print(f"{count} configurations, {programs} whole programs")


if __name__ == "__main__":
    main()
