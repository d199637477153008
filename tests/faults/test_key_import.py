"""A key comes from a Secret of the cluster into the stack's configuration byte for byte, or not at all."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml

from lab import charts, paths
from lab.stacks import Stack
from slinky_iac.keys.raw import fingerprint
from tests.e2e.world import World, dev_settings
from tests.raw_keys import raw_key

NAMESPACE = "importing"
BYTES = bytes(range(256)) * 4
OTHER = b"\x00\xff" * 8 + raw_key("other")
TEXT = b"a key as an editor leaves it, long enough\n"


@dataclass(frozen=True)
class Importing:
    """A stack that was never up, and Secrets to import from."""

    stack: Stack

    def keys(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`slinky keys`."""
        return self.stack.program("keys", *arguments, timeout=120)

    def configured(self, name: str) -> bytes | None:
        """A key of the configuration."""
        values = json.loads(self.stack.pulumi("config", "--json", "--show-secrets").stdout)
        found = values.get(f"slinky-iac:{name}")
        return None if found is None else base64.b64decode(found["value"])


@pytest.fixture(scope="module")
def importing(world: World) -> Iterator[Importing]:
    data = {"key": BYTES, "other": OTHER, "text": TEXT}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "theirs", "namespace": NAMESPACE},
        "data": {name: base64.b64encode(raw).decode() for name, raw in data.items()},
    }
    world.kubectl("create", "namespace", NAMESPACE)
    world.kubectl("create", "-f", "-", stdin=yaml.safe_dump(secret))
    stack = Stack("importing", paths.STATE / "projects" / "importing", world.env)
    stack.folder.mkdir(parents=True, exist_ok=True)
    draft = stack.folder / "draft.yaml"
    draft.write_text(yaml.safe_dump({"config": dev_settings()}))
    stack.init(draft, charts.chart_dir(), {})
    yield Importing(stack)
    world.kubectl("delete", "namespace", NAMESPACE)
    stack.pulumi("stack", "rm", "--yes")


def test_a_key_comes_byte_for_byte_and_never_over_another(importing: Importing) -> None:
    before = importing.configured("slurmKey")
    assert before is None
    newline = importing.keys("import", "slurm", "--secret", f"{NAMESPACE}/theirs/text")
    assert (newline.returncode, importing.configured("slurmKey")) == (1, None)
    assert "ends with a line break" in newline.stderr

    done = importing.keys("import", "slurm", "--secret", f"{NAMESPACE}/theirs/key", "--json")
    assert done.returncode == 0, done.stderr
    assert importing.configured("slurmKey") == BYTES
    assert json.loads(done.stdout)["fingerprint"] == fingerprint(BYTES)

    other = importing.keys("import", "slurm", "--secret", f"{NAMESPACE}/theirs/other")
    assert (other.returncode, importing.configured("slurmKey")) == (1, BYTES)
    assert "keys rotate slurm" in other.stderr
    same = importing.keys("import", "jwt", "--secret", f"{NAMESPACE}/theirs/key")
    assert (same.returncode, importing.configured("jwtKey")) == (1, None)

    replaced = importing.keys("import", "slurm", "--secret", f"{NAMESPACE}/theirs/other", "--replace")
    assert (replaced.returncode, importing.configured("slurmKey")) == (0, OTHER)


def test_a_place_that_is_not_there_is_told(importing: Importing) -> None:
    for place, words in (("theirs/none", "has the entries key, other, text"), ("nobodys/key", "there is no Secret")):
        done = importing.keys("import", "jwt", "--secret", f"{NAMESPACE}/{place}")
        assert (done.returncode, importing.configured("jwtKey")) == (1, None)
        assert words in done.stderr
