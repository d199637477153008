"""Who may import whom, checked over the syntax trees of all modules: a wall that a review would miss stands here."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stacks import ROOT
from tests.tree import python_modules

MODULES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in python_modules()}

MAY_IMPORT = {
    "__main__.py": {"components", "slinky_iac", "pulumi"},
    "components/": {"components", "slinky_iac", "pulumi", "pulumi_kubernetes", "pulumi_random"},
    "slinky_iac/config/": {"slinky_iac", "pydantic", "pydantic_core"},
    "slinky_iac/specs/": {"slinky_iac"},
    "slinky_iac/slurmrest/": {"slinky_iac", "httpx", "jwt", "msgspec"},
    "slinky_iac/kube/": {"slinky_iac", "httpx", "httpcore", "msgspec", "pydantic"},
    "slinky_iac/cluster/": {"slinky_iac", "httpx"},
    "slinky_iac/handoff/": {"slinky_iac", "yaml"},
    "slinky_iac/diagram/": {"slinky_iac"},
    "slinky_iac/rights/": {"slinky_iac", "yaml"},
    "slinky_iac/init/": {"slinky_iac", "yaml"},
    "slinky_iac/": {"slinky_iac"},
    "policies/": {"slurm_rules", "pulumi_policy"},
    "lab/standins/": {"lab", "pulumi", "grpc", "google", "bcrypt"},
    "lab/": {"lab"},
}
"""Packages besides the standard library that the modules of a folder may import; the longest folder counts."""
EXTRA = {
    "slinky_iac/config/reader.py": {"pulumi"},
    "slinky_iac/config/stack_file.py": {"yaml"},
    "slinky_iac/identity.py": {"pulumi"},
    "slinky_iac/external_keys.py": {"pulumi"},
    "slinky_iac/keys/rsa.py": {"cryptography"},
    "slinky_iac/certificates.py": {"cryptography"},
    "slinky_iac/safe_yaml.py": {"yaml"},
    "slinky_iac/shell_completion.py": {"shtab"},
    "slinky_iac/drain/gates.py": {"pulumi"},
    "slinky_iac/drain/conf_gates.py": {"pulumi"},
    "slinky_iac/drain/plugin_process.py": {"google", "grpc", "pulumi"},
    "slinky_iac/drain/policy.py": {"msgspec"},
}
"""The few modules that stand on the border to the engine."""
LAYERS = {
    "slinky_iac/errors.py": {"text"},
    "slinky_iac/text.py": set(),
    "slinky_iac/safe_yaml.py": set(),
    "slinky_iac/names.py": set(),
    "slinky_iac/new.py": {"__version__", "errors"},
    "slinky_iac/actor.py": set(),
    "slinky_iac/closing.py": set(),
    "slinky_iac/operator_version.py": set(),
    "slinky_iac/fence.py": {"cluster", "errors", "kube"},
    "slinky_iac/config/shown.py": set(),
    "slinky_iac/identity.py": {"cluster", "config", "errors", "kube", "names"},
    "slinky_iac/external_keys.py": {"cluster", "drain", "errors", "keys", "kube", "names"},
    "slinky_iac/taken.py": {"config", "errors", "kube", "names", "reach"},
    "slinky_iac/hostlist.py": {"errors"},
    "slinky_iac/output.py": set(),
    "slinky_iac/shell_completion.py": set(),
    "slinky_iac/command_page.py": set(),
    "slinky_iac/host_shell.py": set(),
    "slinky_iac/keys/catalogue.py": {"names"},
    "slinky_iac/keys/": {"keys", "errors"},
    "slinky_iac/certificates.py": set(),
    "slinky_iac/cluster/pulumi_command.py": {"errors"},
    "slinky_iac/stack_config.py": {"check", "config", "errors", "cluster", "keys"},
    "slinky_iac/slurm_release.py": set(),
    "slinky_iac/reach.py": {"names", "config", "cluster", "keys"},
    "slinky_iac/operator_change.py": {"names", "config", "drain", "kube", "errors", "reach"},
    "slinky_iac/rotation/model.py": {"keys"},
    "slinky_iac/rotation/host_scripts.py": {"host_shell", "keys", "rotation"},
    "slinky_iac/rotation/planned_stop.py": {"cluster", "config", "errors", "keys", "names", "rotation"},
    "slinky_iac/rotation/engine.py": {"cluster", "errors", "keys", "names"},
    "slinky_iac/rotation/hosts.py": {"config", "errors", "keys", "kube", "rotation"},
    "slinky_iac/rotation/cluster.py": {
        "cluster",
        "config",
        "errors",
        "keys",
        "kube",
        "names",
        "reach",
        "rotation",
        "slurmrest",
    },
    "slinky_iac/rotation/snapshot.py": {"config", "errors", "keys", "rotation", "slurmrest", "stack_config"},
    "slinky_iac/rotation/": {"config", "errors", "external_keys", "keys", "kube", "names", "rotation"},
    "slinky_iac/key_lifecycle/report.py": {"key_lifecycle", "rotation"},
    "slinky_iac/key_lifecycle/": {"config", "errors", "key_lifecycle", "keys", "names", "rotation", "output"},
    "slinky_iac/preflight/__init__.py": {"preflight"},
    "slinky_iac/cluster/reach.py": {"names"},
    "slinky_iac/cluster/pulumi_state.py": {"cluster", "errors", "names"},
    "slinky_iac/cluster/": {"cluster", "slurmrest", "kube", "errors", "names"},
    "slinky_iac/preflight/reach.py": {"preflight", "cluster", "config", "kube", "errors"},
    "slinky_iac/preflight/kube_questions.py": {"preflight", "cluster", "config", "errors", "kube", "names"},
    "slinky_iac/preflight/": {
        "preflight",
        "closing",
        "cluster",
        "reach",
        "slurmrest",
        "kube",
        "specs",
        "slurm_release",
        "config",
        "stack_config",
        "keys",
        "errors",
        "names",
        "operator_version",
        "text",
        "output",
    },
    "slinky_iac/config/stack_file.py": {"config", "errors", "safe_yaml"},
    "slinky_iac/config/": {"config", "errors", "names", "operator_version", "keys"},
    "slinky_iac/specs/": {"specs", "config", "keys", "names", "operator_version"},
    "slinky_iac/handoff/": {
        "keys",
        "handoff",
        "specs",
        "config",
        "names",
        "errors",
        "host_shell",
    },
    "slinky_iac/init/found.py": {"errors"},
    "slinky_iac/init/stack.py": {"init", "config", "errors", "operator_version"},
    "slinky_iac/init/cli.py": {
        "init",
        "check",
        "config",
        "errors",
        "keys",
        "kube",
        "rotation",
        "text",
        "safe_yaml",
    },
    "slinky_iac/check/": {"check", "config", "errors", "output"},
    "slinky_iac/rights/": {"rights", "cluster", "drain", "config", "keys", "specs", "names", "reach", "output"},
    "slinky_iac/diagram/": {"diagram", "config", "keys", "specs", "names", "hostlist", "text", "errors"},
    "slinky_iac/kube/": {"kube", "errors", "names", "safe_yaml", "text"},
    "slinky_iac/slurmrest/": {"slurmrest", "kube", "errors", "names", "hostlist", "keys", "text"},
    "slinky_iac/drain/": {
        "drain",
        "closing",
        "cluster",
        "slurmrest",
        "kube",
        "errors",
        "names",
        "hostlist",
        "operator_version",
        "keys",
        "actor",
        "text",
    },
}
"""Parts of the library that each part may import. drain, kube and slurmrest never see the configuration: the process
that runs the gates stays small, and a destroy works with no program at hand."""
BORDER = {
    "slinky_iac/preflight/cli.py": {"verify_state"},
    "slinky_iac/drain/command.py": {"config", "output"},
    "slinky_iac/diagram/cli.py": {"stack_config"},
    "slinky_iac/rights/cli.py": {"cluster", "errors", "stack_config"},
    "slinky_iac/handoff/known.py": {"cluster", "kube", "reach", "stack_config"},
    "slinky_iac/handoff/cli.py": {"cluster", "output", "stack_config"},
}


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names of all modules that a module imports, submodules of packages included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1, "imports are absolute, or of the same folder in components/"
            module = f"components.{node.module}" if node.level else node.module or ""
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def packages(tree: ast.AST) -> set[str]:
    return {name.split(".")[0] for name in imported(tree)} - sys.stdlib_module_names - {"__future__"}


def rule_for(path: str, rules: dict[str, set[str]]) -> set[str] | None:
    fitting = [folder for folder in rules if path == folder or (folder.endswith("/") and path.startswith(folder))]
    return rules[max(fitting, key=len)] if fitting else None


PRODUCTION = [path for path in MODULES if not path.startswith("tests/")]


@pytest.mark.parametrize("path", PRODUCTION)
def test_a_module_imports_only_what_its_room_may(path: str) -> None:
    allowed = rule_for(path, MAY_IMPORT)
    assert allowed is not None, f"{path} stands in no room that docs/adr or house rules know"
    assert packages(MODULES[path]) - allowed - EXTRA.get(path, set()) == set()


@pytest.mark.parametrize("path", [path for path in PRODUCTION if rule_for(path, LAYERS) is not None])
def test_a_part_of_the_library_imports_only_the_parts_below_it(path: str) -> None:
    allowed = (rule_for(path, LAYERS) or set()) | BORDER.get(path, set())
    parts = {name.split(".")[1] for name in imported(MODULES[path]) if name.startswith("slinky_iac.")}
    assert parts - allowed == set()


@pytest.mark.parametrize("path", PRODUCTION)
def test_components_alone_and_always_import_each_other_by_place(path: str) -> None:
    """A wheel holds them as slinky_iac.components, the checkout as components (docs/adr/0014)."""
    relative = [node for node in ast.walk(MODULES[path]) if isinstance(node, ast.ImportFrom) and node.level]
    by_name = [node for node in ast.walk(MODULES[path]) if isinstance(node, ast.ImportFrom) and not node.level]
    if path.startswith("components/"):
        assert [node.module for node in by_name if (node.module or "").startswith("components")] == []
    else:
        assert relative == []


OPENERS = {"KubeClient", "ShortPodClient", "SlurmrestClient", "Surveyor", "KubeTransport", "load"}
"""What opens a way to a cluster, or reads where it is."""


@pytest.mark.parametrize("path", [p for p in PRODUCTION if p.startswith(("slinky_iac/", "components/"))])
def test_every_client_comes_from_the_one_connection(path: str) -> None:
    """Clients of their own would read the kubeconfig and shake hands each."""
    of_kube = any(name == "slinky_iac.kube.kubeconfig.load" for name in imported(MODULES[path]))
    calls = {
        node.func.id for node in ast.walk(MODULES[path]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    own = calls & (OPENERS if of_kube else OPENERS - {"load"})
    allowed = {
        "slinky_iac/cluster/connection.py": {"KubeTransport", "SlurmrestClient", "load"},
        "slinky_iac/kube/client.py": {"KubeTransport"},
        "slinky_iac/slurmrest/endpoints.py": {"KubeTransport", "load"},
        "slinky_iac/preflight/ask_slurm.py": {"Surveyor"},
    }
    assert own == allowed.get(path, set())


def test_nothing_but_tests_imports_tests() -> None:
    assert [path for path in PRODUCTION if "tests" in {n.split(".")[0] for n in imported(MODULES[path])}] == []


def test_the_program_needs_nothing_of_the_lab() -> None:
    users = [path for path in PRODUCTION if not path.startswith("lab/") and "lab" in packages(MODULES[path])]
    assert users == []


def test_the_program_itself_has_no_branch_and_no_loop() -> None:
    tree = MODULES["__main__.py"]
    assert not any(isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.FunctionDef) for node in ast.walk(tree))
    assert len((ROOT / "__main__.py").read_text().splitlines()) < 40


def test_pure_parts_read_no_clock_and_no_environment() -> None:
    """What decides gets time and surroundings as arguments, so that a test can give them."""
    pure = [p for p in PRODUCTION if p.startswith(("slinky_iac/config/", "slinky_iac/specs/"))]
    pure += [f"slinky_iac/{name}.py" for name in ("actor", "names", "hostlist", "operator_version", "errors")]
    pure += [f"slinky_iac/keys/{name}.py" for name in ("catalogue", "raw", "jwks", "rsa")]
    pure += [p for p in PRODUCTION if p.startswith("slinky_iac/preflight/check")]
    pure += [f"slinky_iac/preflight/{name}.py" for name in ("facts", "pod", "compare", "report")]
    pure += [path for path in PRODUCTION if path.startswith("slinky_iac/diagram/")]
    pure += ["slinky_iac/drain/plan.py", "slinky_iac/drain/ranking.py", "slinky_iac/drain/free.py"]
    pure += [f"slinky_iac/drain/{name}.py" for name in ("queue", "conf_steps", "members", "rollout", "scale_in_state")]
    impure = {"time", "datetime", "os", "random", "secrets", "socket", "subprocess"}
    allowed = {"datetime"}  # the type; `now` is searched for below
    for path in pure:
        assert {name.split(".")[0] for name in imported(MODULES[path])} & (impure - allowed) == set(), path
        assert ".now(" not in (ROOT / path).read_text(), path


@pytest.mark.parametrize("path", PRODUCTION)
def test_everything_public_says_what_it_is_for(path: str) -> None:
    tree = MODULES[path]
    assert isinstance(tree, ast.Module)
    silent = [] if ast.get_docstring(tree) or not tree.body else ["the module"]
    silent += [node.name for node in spoken_for(tree) if not ast.get_docstring(node)]
    assert silent == []


def spoken_for(tree: ast.Module) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Public classes and functions, and public methods that are more than one statement and no base class describes."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        yield node
        if isinstance(node, ast.ClassDef) and not node.bases:
            methods = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            yield from (m for m in methods if not m.name.startswith("_") and len(m.body) > 1)


@pytest.mark.parametrize("path", MODULES)
def test_no_module_is_too_long_to_be_read_at_once(path: str) -> None:
    longest = 600 if path.startswith("tests/") else 400  # tables of cases are read by the row
    assert len((ROOT / path).read_text().splitlines()) <= longest


@pytest.mark.parametrize("path", [path for path in MODULES if path.startswith("tests/")])
def test_tests_are_where_they_are_found(path: str) -> None:
    tree = MODULES[path]
    holds_tests = any(isinstance(n, ast.FunctionDef) and n.name.startswith("test_") for n in ast.walk(tree))
    if holds_tests:
        assert Path(path).name.startswith("test_")
