"""What is committed: nothing of the machine it was made on, and documents that say what is there."""

from __future__ import annotations

import argparse
import functools
import inspect
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import slinky_iac
from components.hybrid_cluster import EXPORTS
from lab import __main__ as lab_entry
from slinky_iac.commands import api_page, cli
from slinky_iac.config.reference import findings_page, reference
from slinky_iac.config.settings_stub import stub
from slinky_iac.config.stack import StackConfig
from tests.stacks import ROOT, read_yaml
from tests.tree import tracked

TEXTS = {
    path: path.read_text(errors="replace")
    for path in tracked()
    if path.suffix in {".py", ".md", ".yaml", ".toml", ".txt", ".sh", ".json", ".mod", ".go", ".ini", ""}
}
PAGES = [path for path in TEXTS if path.suffix == ".md"]
PUBLIC = ("debian.org", "golang.org", "pypi.org", "pythonhosted.org", "github.com")
"""Registries that everybody has: their names say nothing about a machine."""
OWN = "" if Path.home() == Path("/root") else f"|{re.escape(str(Path.home())[1:])}/"
HOME = re.compile(rf"(?<![\w${{.}}/-])/(?:Users/\w+/|root/\.|work/{OWN})")
"""Paths that only a developer's machine has; homes of made-up users on made-up hosts are none."""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def registry_hosts() -> set[str]:
    """Hosts that this machine is configured to fetch packages from, the public ones left out."""
    urls = [value for key, value in os.environ.items() if re.search(r"proxy|index|mirror|registry", key, re.IGNORECASE)]
    pip = subprocess.run(["python3", "-m", "pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    urls += re.findall(r"https?://[^\s'\",|]+", pip)
    for folder in (Path("/etc/apt"), Path.home() / ".config" / "go"):
        for file in folder.rglob("*") if folder.is_dir() else ():
            if file.is_file() and file.suffix in {".list", ".sources", ".conf", ""} and file.stat().st_size < 100_000:
                urls += re.findall(r"https?://[^\s'\"]+", file.read_text(errors="replace"))
    found = {urlsplit(url).hostname for text in urls for url in re.findall(r"https?://[^\s,|'\"]+", text)}
    return {host for host in found if host and not host.endswith((*PUBLIC, "localhost", "127.0.0.1"))}


def test_no_file_names_a_registry_of_this_machine() -> None:
    hosts = registry_hosts()
    assert [(name(path), host) for path, text in TEXTS.items() for host in hosts if host in text] == []


def test_no_file_names_a_folder_of_this_machine() -> None:
    found = [
        (name(path), hit.group()) for path, text in TEXTS.items() for hit in HOME.finditer(text) if path != Path(__file__)
    ]
    assert found == []
    assert [name(path) for path, text in TEXTS.items() if str(ROOT) in text] == []


def test_no_private_key_or_credential_is_committed() -> None:
    pattern = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/]|ghp_[A-Za-z0-9]{36}|AKIA[A-Z0-9]{16}")
    assert [name(path) for path, text in TEXTS.items() if pattern.search(text)] == []


def test_committed_stacks_hold_no_salt_and_no_ciphertext() -> None:
    for path in (*ROOT.glob("Pulumi.*.yaml"), *ROOT.glob("examples/*.yaml")):
        assert set(read_yaml(path.read_text())) == {"config"}, name(path)
        assert "secure:" not in path.read_text(), name(path)


@pytest.mark.parametrize("wanted", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/index.md"])
def test_the_documents_are_there(wanted: str) -> None:
    assert TEXTS[ROOT / wanted].startswith("# ")


def test_the_reference_is_current() -> None:
    made = (ROOT / "docs" / "configuration.md").read_text()
    assert made == reference(), "run `venv/bin/python -m slinky_iac reference > docs/configuration.md`"


def test_the_page_of_findings_is_current() -> None:
    made = (ROOT / "docs" / "findings.md").read_text()
    assert made == findings_page(), "run `venv/bin/python -m slinky_iac reference findings > docs/findings.md`"


def test_the_python_reference_is_current_and_has_every_argument_and_output() -> None:
    made = (ROOT / "docs" / "api.md").read_text()
    assert made == api_page.page(), "run `venv/bin/python -m slinky_iac reference api > docs/api.md`"
    arguments = inspect.signature(slinky_iac.HybridCluster.__init__).parameters
    assert {name for name in arguments if name != "self" and f"    {name}: " not in made} == set()
    assert {output for output in EXPORTS if f"| `{output}` | " not in made} == set()


def test_the_types_of_sections_are_current() -> None:
    made = (ROOT / "slinky_iac" / "settings.pyi").read_text()
    assert made == stub(), "run `venv/bin/python -m slinky_iac reference settings > slinky_iac/settings.pyi`"


def test_every_setting_is_in_the_reference() -> None:
    schema = StackConfig.model_json_schema()
    settings = {field for part in [*schema["$defs"].values(), schema] for field in part.get("properties", {})}
    page = (ROOT / "docs" / "configuration.md").read_text()
    assert {field for field in settings if f"| `{field}` |" not in page} == set()


LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(TEXTS[page]):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


@functools.cache
def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_paths_that_a_page_names_exist(page: Path) -> None:
    text = TEXTS[page]
    named = re.findall(r"(?<![\w/.-])((?:examples|slinky_iac|components|lab|tests)/[\w./-]*\w)", text)
    assert {path for path in named if not (ROOT / path).exists()} == set()


OURS = r"\./lab/lab|\./tests/run|(?:venv/bin/)?python -m slinky_iac|(?<!.)slinky(?= [a-z])"
"""How a document calls one of our own tools."""


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of our own tools in a document, with the page it stands on."""
    for page in PAGES:
        for block in re.findall(r"`{1,3}(?:sh\n)?([^`]+)`{1,3}", TEXTS[page]):
            for line in block.replace("\\\n", " ").splitlines():
                found = re.search(rf"(?:^|\s)((?:{OURS})(?: .*)?)$", line)
                if found:
                    plain = re.split(r"\s+#|\s+>|[)\"]", found[1])[0]
                    yield name(page), shlex.split(plain)


def choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Sub-commands of a parser."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= action.choices
    return found


def test_every_command_in_the_documents_exists() -> None:
    tiers = set(re.findall(r"^    ([\w-]+)\)(?:$| )", (ROOT / "tests" / "run").read_text(), flags=re.MULTILINE)) | {"N"}
    parsers = {"lab": lab_entry.parser(), "slinky": cli.parser()}
    checked = 0
    for page, words in commands():
        checked += 1
        if words[0] == "./tests/run":
            assert set(words[1:]) <= tiers, (page, words)
            continue
        parser, rest = (
            (parsers["lab"], words[1:])
            if words[0] == "./lab/lab"
            else (parsers["slinky"], words[1 if words[0] == "slinky" else 3 :])
        )
        for word in rest:
            below = choices(parser)
            if not below or word.startswith("-"):
                break
            assert word in below, (page, words)
            parser = below[word]
        if not choices(parser):
            options = {word.partition("=")[0] for word in rest if word.startswith("--")}
            assert options <= set(parser._option_string_actions), (page, words)
    assert checked > 10


def test_the_readme_names_the_test_command_that_ci_calls() -> None:
    assert "./tests/run" in TEXTS[ROOT / "README.md"]
    assert "exec ./tests/run\n" in (ROOT / ".ci" / "run").read_text()


def test_outputs_that_documents_name_are_exported() -> None:
    named = {hit for page in PAGES for hit in re.findall(r"pulumi stack output (\w+)", TEXTS[page])}
    assert named - EXPORTS.keys() - {"jobs", "outsideTopology"} - exported_by_examples() == set(), (
        "those two some stacks have"
    )


def exported_by_examples() -> set[str]:
    """Outputs of the example programs' own."""
    programs = (ROOT / "examples").rglob("__main__.py")
    return {hit for program in programs for hit in re.findall(r'pulumi\.export\("(\w+)"', program.read_text())}


def test_no_chart_crd_or_binary_is_vendored() -> None:
    """They come from their Go module when they are needed, so no copy can go stale or carry another licence."""
    crds = [name(p) for p, text in TEXTS.items() if p.suffix == ".yaml" and "kind: CustomResourceDefinition" in text]
    assert [each for each in crds if not each.startswith("tests/policies/")] == [], "stacks to judge have bits of some"
    assert [name(path) for path in tracked() if path.name == "Chart.yaml" or path.stat().st_size > 1_000_000] == []


def test_files_that_documents_tell_to_write_into_the_project_are_not_committed_by_accident() -> None:
    """Some hold keys; all are of one site, of one moment."""
    written = {hit for page in PAGES for hit in re.findall(r"(?:--out|--file|[^-]>) ([\w./-]+)", shell_blocks(TEXTS[page]))}
    kept = {"docs/api.md", "docs/cli.md", "docs/configuration.md", "docs/stack.schema.json"}
    ours = sorted(path for path in written - kept if not path.startswith("/") and path != "-")
    done = subprocess.run(["git", "check-ignore", "--", *ours], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "slurm.key" in ours
    assert sorted(done.stdout.split()) == ours


def shell_blocks(text: str) -> str:
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))
