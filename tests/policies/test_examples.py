"""The program's own stacks on the real engine, without a cluster: each previews, passes the pack and shows no secret."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from slinky_iac.commands import cli
from tests.integration import leaks
from tests.integration.engine import REPO, STACK, Engine, Project, Tools, create_project
from tests.policies.pack import LAB, PACK, Outcome, environment, lay_out, plain_stack, preview
from tests.stacks import DEPLOYMENTS, EXAMPLES, merged, sections

SECRETS = {
    "slurmKey": base64.b64encode(b"a made-up slurm.key of enough characters").decode(),
    "jwtKey": base64.b64encode(b"another made-up key of enough characters").decode(),
    "mungeKey": base64.b64encode(b"a made-up munge.key of enough characters").decode(),
    "databasePassword": "a-made-up-password",
}
FILES = (*EXAMPLES, REPO / "examples" / "jupyter" / "Pulumi.munge.yaml", *DEPLOYMENTS)
NAMES = [file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in FILES]
PARTS = {"munge": ("slinky:slurm:MungeClients", "kubernetes:core/v1:Secret", "kubernetes:core/v1:ConfigMap")}
"""What a stack without a cluster makes."""
SITES = {"dev": LAB} | {file.parent.name: file.with_name("site.json") for file in DEPLOYMENTS}
"""Sites that declare something. The lab's stack (dev) is made and destroyed many times a day, so its keys and CRDs aren't
protected, on a network that enforces no NetworkPolicies (site.lab.json)."""


def needed(config: Mapping[str, Any]) -> set[str]:
    """Secrets that a stack asks for."""
    if config.get("keys", {}).get("auth") == "auth/munge":
        return {"mungeKey"}
    found = {"slurmKey", "jwtKey"} if config.get("keys", {}).get("source") == "imported" else set()
    database = config.get("accounting", {}).get("database", {"passwordFrom": {}})
    return found | ({"databasePassword"} if "passwordFrom" not in database else set())


def program(engine: Engine, folder: Path, setup: Mapping[str, Any], config: Mapping[str, Any]) -> Project:
    """The real program in a folder of its own, with a stack's configuration and charts that hold no more than a name."""
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text((setup["folder"] / "Pulumi.yaml").read_text())
    version = config.get("operator", {}).get("version", "1.2.1")
    lay_out(folder, plain_stack("inside", {"resources": {"operator": {"properties": {"version": version}}}}))
    (folder / "__main__.py").unlink()
    for name in ("__main__.py", "components", "slinky_iac"):
        (folder / name).symlink_to(REPO / name)
    values: dict[str, Any] = {name: setup["secrets"][name] for name in needed(config)}
    values |= merged(config, {"operator": {"chart": {"path": "charts"}}})
    body = {"encryptionsalt": setup["salt"], "config": {f"slinky-iac:{key}": value for key, value in values.items()}}
    (folder / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump(body))
    return Project(engine, folder)


@pytest.fixture(scope="module")
def previews(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """Every example's preview, with no Kubernetes and no Slurm to be found."""
    root = tmp_path_factory.mktemp("examples")
    engine = Engine(tools, root / "engine")
    first = create_project(engine, root / "first", "slinky-iac")
    for name, value in SECRETS.items():
        first.run("config", "set", "--secret", name, value)
    settings = yaml.safe_load((first.folder / f"Pulumi.{STACK}.yaml").read_text())
    secrets = {key.split(":")[1]: value for key, value in settings["config"].items()}
    setup = {"folder": first.folder, "salt": settings["encryptionsalt"], "secrets": secrets}

    def one(name: str, file: Path) -> Outcome:
        return preview(program(engine, root / name, setup, sections(file)), SITES.get(name), "--diff")

    pool = ThreadPoolExecutor(2)
    running: dict[str, Future[Outcome]] = {n: pool.submit(one, n, f) for n, f in zip(NAMES, FILES, strict=True)}
    return lambda name: running[name].result()


@pytest.fixture(scope="module")
def events(previews: Callable[[str], Outcome], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """An example's preview as the engine's events, as CI takes it."""

    def one(name: str) -> Path:
        seen = previews(name)
        assert seen.project is not None
        flags = ["--json", "--policy-pack", str(PACK)]
        env = {**environment(), "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "1"}
        file = tmp_path_factory.mktemp("events") / "preview.json"
        file.write_text(seen.project.preview(*flags, ok=False, env=env).stdout)
        return file

    return one


@pytest.mark.parametrize(("name", "code"), [("all-in-kubernetes", 4), ("controller-outside", 0)])
def test_a_strict_plan_ends_with_4_where_a_rule_could_not_judge(
    events: Callable[[str], Path], name: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keys that the update makes have no fingerprint yet. Of imported ones all is known but a time (`keysSince`)."""
    seen = events(name)
    assert cli.main(["plan", str(seen)]) == 4, "no Kubernetes answers here, so nothing is known of the NodeSets"
    assert "it is unknown whether" in capsys.readouterr().out
    # What is asked here is the rules' part alone.
    seen.write_text("".join(line for line in seen.read_text().splitlines(True) if "slurm:NodeSetScale" not in line))
    file = str(seen)
    assert cli.main(["plan", file]) == 0
    assert cli.main(["plan", file, "--strict"]) == code
    assert ("keys-not-in-clear: not judged, since" in capsys.readouterr().out) is bool(code)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_passes(previews: Callable[[str], Outcome], name: str) -> None:
    seen = previews(name)
    assert seen.code == 0, seen.output
    assert seen.refused_by == set()


@pytest.mark.parametrize("name", NAMES)
def test_an_example_makes_its_parts_and_shows_no_secret(
    previews: Callable[[str], Outcome], name: str, tmp_path: Path
) -> None:
    seen = previews(name)
    slinky = "kubernetes:slinky.slurm.net"
    for kind in PARTS.get(name, ("slinky:slurm:HybridCluster", "slinky:slurm:NodeSet", f"{slinky}/v1beta1:NodeSet")):
        assert f"+ {kind}: (create)" in seen.output
    assert (slinky in seen.output) is (name not in PARTS)
    assert seen.project is not None
    (tmp_path / "shown.txt").write_text(seen.output)
    for value in [base64.b64decode(SECRETS[key]) if key.endswith("Key") else SECRETS[key] for key in SECRETS]:
        assert leaks.find(value, tmp_path, seen.project.engine.root, seen.project.folder) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_rule_finds_fault_with_an_example(previews: Callable[[str], Outcome], name: str) -> None:
    not_judged = [line for line in previews(name).output.splitlines() if "not judged, since" in line]
    assert len(previews(name).said) == len(not_judged), previews(name).output


def test_only_what_the_update_will_make_is_not_judged(previews: Callable[[str], Outcome]) -> None:
    """Keys that are made in the update: their Secrets' entries, and fingerprints in outputs and an annotation."""
    unknown = {"cluster-complete", "keys-not-in-clear", "no-secrets-in-clear", "no-secrets-in-outputs"}
    spoke = {name: previews(name).spoke for name in NAMES if previews(name).spoke}
    assert spoke == {"all-in-kubernetes": unknown, "hyperpod": unknown}
    assert "Fingerprint is known only after the update" in previews("all-in-kubernetes").output
