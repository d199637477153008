"""A site's own repository: the wheel in a clean environment, a project from its template, a real engine, no checkout."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from slinky_iac import __version__
from slinky_iac.commands.verify_state import project_classes
from tests.contract.test_readme import block, cloned
from tests.integration.engine import Engine
from tests.raw_keys import text_key
from tests.stacks import ROOT
from tests.unit.init.made import JWT, SLURM, answer
from tests.wheel import Site, build, made

SETTINGS = {
    "slinky-iac:cluster": {"name": "atlas"},
    "slinky-iac:operator": {"install": False},  # its chart would be fetched
    "slinky-iac:keys": {"source": "imported"},
    "slinky-iac:accounting": {"enabled": False},
    "slinky-iac:controller": {"external": {"host": "192.0.2.10"}},
    "slinky-iac:nodesets": {"cpu": {"replicas": 2}},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    return made(build(folder / "dist"), folder / "cluster")


def test_a_wheel_goes_beside_pulumi_eks_of_today(tmp_path: Path) -> None:
    """pip finds versions of all that suit both, among what the package index has now. Nothing is installed."""
    wheel = build(tmp_path)
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    done = subprocess.run([*pip, str(wheel), "pulumi-eks>=4"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    chosen = {each["metadata"]["name"].lower().replace("_", "-") for each in json.loads(done.stdout)["install"]}
    assert {"slinky-iac", "pulumi", "pulumi-eks", "pulumi-kubernetes"} <= chosen


def test_the_first_two_lines_of_readme_make_a_project_that_runs(engine: Engine, tmp_path: Path) -> None:
    """As README prints them, from a clone, with a Python that has no packages, and the registry that pip is set up for.
    Where Pulumi's plugins can't be had, README says to go on, and so this does: bash has no -e, as where you paste.
    tests/contract/test_readme.py walks the same lines without an engine and a network."""
    bare = tmp_path / "bin"
    bare.mkdir()
    (bare / "python3").symlink_to(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
    assert subprocess.run([bare / "python3", "-c", "import pulumi"], capture_output=True, check=False).returncode == 1
    home = tmp_path / "home"
    home.mkdir()
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.lower().endswith("_proxy")}
    safe = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_COUNT": "1"}
    safe |= {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    env = {**engine.env, **pip, **safe, "HOME": str(home), "PATH": f"{bare}:{engine.tools.bin_dir}:/usr/bin:/bin"}
    env.pop("PYTHONPATH", None)
    walked = subprocess.run(
        ["bash", "-uc", f"{block()}\ncommand -v slinky && slinky --version && slinky docs quick-start"],
        cwd=cloned(tmp_path, env), env=env, capture_output=True, text=True, check=False, timeout=560,
    )  # fmt: skip
    assert walked.returncode == 0, walked.stdout[-4000:] + walked.stderr[-4000:]
    errors = re.findall(r"\berror: .*", walked.stderr)
    assert all("failed to download plugin: " in error for error in errors), errors
    assert f"{home}/my-cluster/venv/bin/slinky\nslinky-iac {__version__}\n" in walked.stdout
    write_stack(home / "my-cluster")
    site = Site(home / "my-cluster")
    assert json.loads(site.run("slinky", "check", "--json").stdout)["files"][0]["counts"]["error"] == 0
    own = "import slinky_iac; print(slinky_iac.__file__)"
    assert site.run("python", "-P", "-c", own).stdout.strip().startswith(f"{home}/my-cluster/venv/")


def test_a_wheel_has_its_digest_and_the_commit_that_it_is_made_of(tmp_path: Path) -> None:
    """What README tells to run; by the tests' own backend, which the lock holds too, so that nothing is fetched."""
    env = {**os.environ, "BUILD_PYTHON": sys.executable}
    digests = set()
    for name in ("one", "two"):
        out = tmp_path / name
        subprocess.run([str(ROOT / "build-wheel"), str(out)], env=env, check=True, capture_output=True, timeout=120)
        (wheel,) = out.glob("*.whl")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        assert (out / f"{wheel.name}.sha256").read_text() == f"{digest}  {wheel.name}\n"
        said = json.loads((out / f"{wheel.name}.provenance.json").read_text())
        git = ["git", "-C", str(ROOT)]
        head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        changed = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True, text=True).stdout
        assert (said["file"], said["sha256"], said["commit"]) == (wheel.name, digest, head)
        assert said["clean"] == (changed == "")
        digests.add(digest)
    assert len(digests) == 1, "the same commit gives the same bytes"


def links(page: str) -> list[str]:
    """Targets of a page's links and pictures, in Markdown and HTML."""
    found = re.findall(r"\]\(\s*([^)\s]+)|^\[[^\]]+\]:\s*(\S+)|(?:href|src)=[\"']([^\"']+)", page, re.MULTILINE)
    return ["".join(each) for each in found]


def test_what_an_index_shows_of_the_wheel_leads_nowhere_but_to_whole_addresses(tmp_path: Path) -> None:
    with ZipFile(build(tmp_path)) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        shown = Parser().parsestr(wheel.read(name).decode())
    page = str(shown.get_payload())
    addresses = [*links(page), *(each.partition(", ")[2] for each in shown.get_all("Project-URL", []))]
    assert [each for each in addresses if not each.startswith("https://")] == []
    assert "docs/forms.md" in links((ROOT / "README.md").read_text())
    assert "`slinky docs`" in page


def test_the_wheel_brings_its_command_and_what_it_needs(site: Site) -> None:
    assert site.run("slinky", "--version").stdout == f"slinky-iac {__version__}\n"
    assert site.run("python", "-m", "slinky_iac", "--version").stdout == f"slinky-iac {__version__}\n"
    assert "usage: slinky " in site.run("slinky", "--help").stdout
    assert site.run("python", "-m", "pip", "check").stdout == "No broken requirements found.\n"
    assert site.run("slinky", "completion", "bash").stdout.rstrip().endswith(" slinky")


def test_the_policy_pack_is_in_the_wheel(site: Site) -> None:
    assert "--policy-pack pack" in site.run("slinky", "policies", "write", "pack").stdout
    ours = (ROOT / "policies" / "slurm_rules" / "catalogue.py").read_text()
    assert (site.folder / "pack" / "slurm_rules" / "catalogue.py").read_text() == ours


PROGRAM = """
import pulumi
import slinky_iac
from slinky_iac.settings import NodeSetSettings

one = pulumi.Output.from_input("one")
GPU: NodeSetSettings = {"replicas": 2, "gres": ["gpu:8"]}
atlas = slinky_iac.HybridCluster(
    "atlas", slurmctld=slinky_iac.address(one), nodesets={"gpu": GPU, "cpu": {"image": one, "pod": {"labels": {"a": one}}}}
)
slinky_iac.NodeSet("big", cluster=atlas, replicas=one.apply(len), scaling_mode="StatefulSet")
"""


def test_a_type_checker_knows_each_setting_and_what_takes_an_output(site: Site, tmp_path: Path) -> None:
    """In the wheel, where a program's own types come from: a checkout's components have another name."""
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(site.folder / "venv" / "bin" / "python")]
    wrong = {
        '"gres": ["gpu:8"]}': ('"gres": [one]}', "Output[str]"),
        '{"replicas": 2,': ('{"replica": 2,', 'Extra key "replica"'),
        'scaling_mode="StatefulSet"': ('scaling_mode="Set"', 'Literal["StatefulSet", "DaemonSet"]'),
        "one.apply(len)": ("one", "Output[int]"),
    }
    texts = {"right.py": PROGRAM}
    texts |= {f"wrong{number}.py": PROGRAM.replace(old, new) for number, (old, (new, _)) in enumerate(wrong.items())}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [*mypy, "--scripts-are-modules", *texts], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    said = {name: [line for line in done.stdout.splitlines() if line.startswith(f"{name}:")] for name in texts}
    assert said.pop("right.py") == [], done.stdout
    for (name, lines), (_, word) in zip(said.items(), wrong.values(), strict=True):
        assert any("error: " in line for line in lines), name
        assert any(word.replace('"', "'") in line.replace('"', "'") for line in lines), (name, lines)


def test_nothing_of_the_checkout_is_at_hand(site: Site) -> None:
    found = site.run("python", "-c", "import slinky_iac.components as c; print(c.__file__)").stdout.strip()
    assert Path(found).is_relative_to(site.folder)
    failed = site.run("python", "-c", "import components", check=False)
    assert "No module named 'components'" in failed.stderr


def test_gates_have_the_module_paths_that_stand_in_states(site: Site) -> None:
    script = "from slinky_iac.commands.verify_state import project_classes; print('\\n'.join(sorted(project_classes())))"
    assert site.run("python", "-c", script).stdout.split() == sorted(project_classes())


def test_the_wheel_says_that_it_is_typed_and_holds_its_licence(site: Site) -> None:
    package = next((site.folder / "venv" / "lib").glob("python3*/site-packages/slinky_iac"))
    assert (package / "py.typed").exists()
    (licence,) = package.parent.glob("slinky_iac-*.dist-info/licenses/LICENSE")
    assert licence.read_text() == (ROOT / "LICENSE").read_text()


def write_stack(folder: Path) -> None:
    (folder / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": SETTINGS}))


def prepare(engine: Engine, folder: Path) -> None:
    write_stack(folder)
    engine.run("stack", "init", "prod", cwd=folder)
    for name in ("slurmKey", "jwtKey"):
        engine.run(
            "config", "set", "--stack", "prod", "--secret", name, cwd=folder, stdin=base64.b64encode(text_key(name)).decode()
        )


def test_a_project_of_the_template_previews_the_whole_cluster(site: Site, engine: Engine) -> None:
    write_stack(site.folder)
    checked = json.loads(site.run("slinky", "check", "--json").stdout)["files"][0]
    assert (checked["file"], checked["counts"]["error"]) == ("Pulumi.prod.yaml", 0)

    prepare(engine, site.folder)
    preview = json.loads(engine.run("preview", "--stack", "prod", "--json", cwd=site.folder).stdout)
    kinds = {step["newState"]["type"] for step in preview["steps"]}
    assert {"pulumi-python:dynamic/slurm:NodeSetScale", "kubernetes:slinky.slurm.net/v1beta1:RestApi"} <= kinds
    assert all(step["op"] == "create" for step in preview["steps"])


def test_pulumi_new_makes_the_same_project_from_a_folder_offline(site: Site, engine: Engine, tmp_path: Path) -> None:
    template = next((site.folder / "venv" / "lib").glob("python3*/site-packages/slinky_iac/templates/site"))
    folder = tmp_path / "mine"
    folder.mkdir()
    engine.run("new", str(template), "--offline", "--generate-only", "--yes", "--force", cwd=folder)
    made_by_pulumi = {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
    ours = {name: (site.folder / name).read_text() for name in made_by_pulumi}
    assert set(made_by_pulumi) == {"Pulumi.yaml", "__main__.py", "requirements.txt", ".gitignore"}
    project = yaml.safe_load(made_by_pulumi.pop("Pulumi.yaml"))
    assert project.pop("config").keys() == {"pulumi:tags"}, "pulumi notes which template it was"
    assert project == yaml.safe_load(ours.pop("Pulumi.yaml"))
    assert made_by_pulumi == ours


def test_a_configuration_with_faults_is_sentences_in_a_sites_project_too(site: Site, engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "faulty"
    shutil.copytree(site.folder, folder, ignore=shutil.ignore_patterns("venv", "Pulumi.*.yaml"))
    (folder / "venv").symlink_to(site.folder / "venv")
    bad = {**SETTINGS, "slinky-iac:nodesets": {"cpu": {"count": 2}}}
    (folder / "Pulumi.bad.yaml").write_text(yaml.safe_dump({"config": bad}))
    engine.run("stack", "init", "bad", cwd=folder)
    failed = engine.run("preview", "--stack", "bad", cwd=folder, ok=False)
    said = re.sub(r"\s+", " ", failed.stdout + failed.stderr)
    assert "nodesets.cpu.count: is not a setting; it is `nodesets.cpu.replicas`" in said
    assert "Traceback" not in said


def test_init_writes_a_stack_that_previews_with_its_keys_as_secrets(site: Site, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "answer").write_text(answer())
    (tmp_path / "base.yaml").write_text("config:\n  slinky-iac:operator: {install: false, namespace: slinky}\n")
    via = f"sh -c 'cat >/dev/null; cat {tmp_path}/answer' {{host}}"
    options = ["--slurmctld", "ctl.example.org", "--via", via, "--base", str(tmp_path / "base.yaml")]
    env = {**engine.env, "PATH": f"{engine.tools.bin_dir}:{site.bin}:/usr/bin:/bin"}
    site.run("slinky", "init", "read", *options, env=env)
    text = (site.folder / "Pulumi.read.yaml").read_text()
    assert "# DECIDE: " in text, "pulumi leaves comments where they are when it adds secrets"
    site.run("slinky", "check", "--strict", "Pulumi.read.yaml")
    values = json.loads(engine.run("config", "--json", "--show-secrets", "--stack", "read", cwd=site.folder).stdout)
    held = {name: base64.b64decode(values[f"slinky-iac:{name}"]["value"]) for name in ("slurmKey", "jwtKey")}
    assert held == {"slurmKey": SLURM, "jwtKey": JWT}
    assert all(values[f"slinky-iac:{name}"]["secret"] for name in held)
    engine.run("preview", "--stack", "read", cwd=site.folder)

    again = site.run("slinky", "init", "read", *options, "--force", env=env)
    assert "its keys stay as they are" in again.stdout
    assert "encryptionsalt: " in (site.folder / "Pulumi.read.yaml").read_text()
    kept = json.loads(engine.run("config", "--json", "--show-secrets", "--stack", "read", cwd=site.folder).stdout)
    assert kept == values
