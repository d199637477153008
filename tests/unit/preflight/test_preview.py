"""A preview tells what is wrong with Slurm in bounded time, and nothing where no answer comes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeNotFound
from slinky_iac.preflight import preview
from slinky_iac.preflight.check import Check, Run, Verdict
from slinky_iac.preflight.compare import judged
from slinky_iac.preflight.facts import Facts, SlurmFacts
from tests.stacks import ROOT, minimal
from tests.unit.preflight.made import SLURM, check, conf, slurm, stack

BAD = check(
    Verdict.PROBLEM, "partitions", "partition gpu", "slurmctld", "isn't there", "Add", "A=1", "B=2", at="in slurm.conf"
)


@pytest.fixture
def silent_api(tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig whose API server takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        file = tmp_path / "kubeconfig"
        body = {
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{server.getsockname()[1]}"}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        file.write_text(yaml.safe_dump(body))
        yield file


def test_what_is_wrong_is_a_warning_with_the_lines_to_paste() -> None:
    (said,) = preview.findings(
        [BAD, check(Verdict.FINE, "a", "b", "c", "d"), check(Verdict.UNKNOWN, "e", "f", "g", "h", "i")]
    )
    assert str(said) == "preflight.partitions: partition gpu: isn't there. Add, in slurm.conf: A=1 | B=2"
    assert said.level == "warning"
    (said,) = preview.findings([check(Verdict.WARNING, "use-client-ids", "AuthInfo", "slurmctld", "is ''", "Set")])
    assert str(said) == "preflight.use-client-ids: AuthInfo: is ''. Set"


def test_a_good_slurm_is_not_worth_a_word() -> None:
    assert preview.findings(judged(Run.PREVIEW, stack(), Facts(slurm=SLURM))) == ()


def test_nothing_asked_is_nothing_said() -> None:
    assert preview.findings(judged(Run.PREVIEW, stack(), Facts(slurm=SlurmFacts()))) == ()


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        (slurm(partitions=()), "partitions"),
        (slurm(tokens={"Secret": "refused"}, conf=None, clusters=None, partitions=None), "jwt-key"),
        (conf(ClusterName="other"), "cluster-name"),
        (conf(SlurmctldParameters=[]), "configless"),
        (slurm(silent={"slurmdbd": "7000"}, clusters=None), "slurmdbd"),
    ],
)
def test_a_quick_look_names_what_is_wrong(facts: Facts, name: str) -> None:
    assert [each.path for each in preview.findings(judged(Run.PREVIEW, stack(), Facts(slurm=facts.slurm)))] == [
        f"preflight.{name}"
    ]


def test_lines_that_the_update_itself_brings_are_not_missed() -> None:
    over = {"controller": None, "keys": {"source": "generated"}, "accounting": {"enabled": False, "external": None}}
    inside = stack(**{**over, "external": None})
    assert preview.findings(judged(Run.PREVIEW, inside, slurm(partitions=()))) == ()


def test_silence_of_kubernetes_is_bounded_and_says_nothing_about_slurm(silent_api: Path) -> None:
    began = time.monotonic()
    found = preview.notices(load(minimal()), {"KUBECONFIG": str(silent_api)}, Path("/nowhere"))
    assert time.monotonic() - began < preview.TIMEOUT_S + 1.5
    assert [each for each in found if each.path.startswith("preflight")] == []


def test_before_the_first_up_there_is_no_secret_and_nothing_to_say() -> None:
    def absent(config: StackConfig, env: object, home: Path) -> tuple[Check, ...]:
        raise KubeNotFound("no such Secret")

    found = preview.notices(load(minimal()), {}, Path("/nowhere"), (absent,))
    assert [each.path for each in found] == ["kubernetes"], "no kubeconfig is reported, and nothing else"


def test_a_look_that_takes_too_long_is_left_alone() -> None:
    def slow(config: StackConfig, env: object, home: Path) -> tuple[Check, ...]:
        time.sleep(2)
        return (BAD,)

    assert BAD.verdict is Verdict.PROBLEM
    found = preview.notices(load(minimal()), {}, Path("/nowhere"), (slow,), longest_s=0.2)
    assert "preflight.partitions" not in {each.path for each in found}


def test_a_program_without_a_cluster_does_not_pay_for_the_clients() -> None:
    code = """
import json, sys
import components, slinky_iac.config.reading.engine
from pathlib import Path
from slinky_iac import ownership
from slinky_iac.config.reading.load import load
from slinky_iac.preflight import notices

config, nowhere = load(json.load(sys.stdin)), Path("/nowhere")
found = [each.id for each in notices(config, {}, nowhere)]
own = ownership.namespace("slurm", "dev", "cluster.createNamespace")
refused = ownership.refusal(config, own, {}, nowhere, preview=False)
print(json.dumps([found, refused is not None, sorted({"httpx", "jwt", "cryptography"} & sys.modules.keys())]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, input=json.dumps(minimal()), capture_output=True, text=True
    )
    assert json.loads(done.stdout) == [["kubernetes-unreachable"], True, []]
