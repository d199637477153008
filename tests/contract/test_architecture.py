"""Who may import whom, checked over the syntax trees of all modules: a wall that a review would miss stands here."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from slinky_iac.commands import cli
from tests import tree
from tests.bench.shape import circles
from tests.stacks import ROOT
from tests.tree import python_modules, syntax_tree

MODULES = tuple(path.relative_to(ROOT).as_posix() for path in python_modules())

MAY_IMPORT = {
    "__main__.py": {"components", "slinky_iac", "pulumi"},
    "components/": {"components", "slinky_iac", "pulumi", "pulumi_kubernetes", "pulumi_random"},
    "slinky_iac/blueprint/": {"slinky_iac"},
    "slinky_iac/config/": {"slinky_iac", "pydantic", "pydantic_core"},
    "slinky_iac/parts/": {"slinky_iac", "pydantic"},
    "slinky_iac/specs/": {"slinky_iac"},
    "slinky_iac/slurmrest/": {"slinky_iac", "httpx", "jwt", "msgspec"},
    "slinky_iac/kube/": {"slinky_iac", "httpx", "httpcore", "msgspec", "pydantic"},
    "slinky_iac/cluster/": {"slinky_iac", "httpx"},
    "slinky_iac/commands/handoff/": {"slinky_iac", "yaml"},
    "slinky_iac/commands/diagram/": {"slinky_iac"},
    "slinky_iac/commands/rights/": {"slinky_iac", "yaml"},
    "slinky_iac/commands/init/": {"slinky_iac", "yaml"},
    "slinky_iac/": {"slinky_iac"},
    "policies/": {"slurm_rules", "pulumi_policy"},
    "lab/standins/": {"lab", "pulumi", "grpc", "google", "bcrypt"},
    "lab/": {"lab"},
}
"""Packages besides the standard library that the modules of a folder may import; the longest folder counts."""
EXTRA = {
    "slinky_iac/__init__.py": {"components"},
    "components/hybrid_cluster.py": {"pydantic"},
    "components/output_kinds.py": {"pydantic"},
    "components/plain_data.py": {"pydantic"},
    "components/program_parts.py": {"pydantic"},
    "components/takes.py": {"pydantic"},
    "slinky_iac/config/reading/engine.py": {"pulumi"},
    "lab/crd_table.py": {"yaml"},
    "slinky_iac/config/reading/stack_file.py": {"yaml"},
    "slinky_iac/config/chart/translation.py": {"yaml"},
    "slinky_iac/config/reading/yaml_faults.py": {"yaml"},
    "slinky_iac/commands/mend.py": {"yaml"},
    "slinky_iac/commands/paste.py": {"yaml"},
    "slinky_iac/commands/import_chart.py": {"yaml"},
    "slinky_iac/parts/node_table/topology.py": {"yaml"},
    "slinky_iac/identity.py": {"pulumi"},
    "slinky_iac/external_keys.py": {"pulumi"},
    "slinky_iac/parts/tokens/rsa.py": {"cryptography", "jwt"},
    "slinky_iac/parts/slurmrestd/certificate.py": {"cryptography"},
    "slinky_iac/safe_yaml.py": {"yaml"},
    "slinky_iac/pulumi_yaml.py": {"yaml"},
    "slinky_iac/config/reading/scalars.py": {"yaml"},
    "slinky_iac/commands/client.py": {"yaml"},
    "slinky_iac/commands/command_page.py": {"shtab"},
    "slinky_iac/commands/plan/build.py": {"msgspec"},
    "slinky_iac/commands/plan/drains.py": {"msgspec"},
    "slinky_iac/commands/preflight/host_answer.py": {"msgspec"},
    "slinky_iac/commands/plan/wire.py": {"msgspec"},
    "slinky_iac/commands/qualify/fleet.py": {"msgspec"},
    "slinky_iac/commands/plan/render_html.py": {"jinja2", "markupsafe"},
    "slinky_iac/drain/gates.py": {"pulumi"},
    "slinky_iac/drain/conf_gates.py": {"pulumi"},
    "slinky_iac/engine/provider.py": {"pulumi"},
    "slinky_iac/engine/provider_pickle.py": {"pulumi"},
    "slinky_iac/parts/jobs/gates.py": {"pulumi"},
    "slinky_iac/parts/node_table/gates.py": {"pulumi"},
    "slinky_iac/engine/plugin_process.py": {"google", "grpc", "pulumi"},
    "slinky_iac/drain/plan.py": {"msgspec"},
    "slinky_iac/drain/settings.py": {"msgspec"},
    "slinky_iac/drain/written_plan.py": {"msgspec"},
    "slinky_iac/decoders.py": {"msgspec"},
    "slinky_iac/parts/monitoring/command.py": {"yaml"},
    "lab/dashboard.py": {"grafana_foundation_sdk"},
    "lab/device_plugin.py": {"grpc", "google"},
}
"""The few modules that stand on the border to the engine."""
_PARTS = {
    "addresses": "",
    "collector": "",
    "node_demand": "",
    "names": "",
    "field_managers": "",
    "releases": "",
    "selection": "",
    "safe_yaml": "",
    "pulumi_yaml": "safe_yaml",
    "decoders": "",
    "engine": "causes errors text",
    "conf_lines": "",
    "daemon_variables": "",
    "text": "",
    "causes": "",
    "errors": "text",
    "hostlist": "errors",
    "keys.base": "errors names",
    "parts.keys": "errors keys.base names",
    "keys": "errors keys.base names parts.keys",
    "kube": "causes addresses decoders errors field_managers names safe_yaml text selection",
    "config.base": "errors hostlist keys names pulumi_yaml releases selection",
    "parts.settings": "addresses config.base hostlist keys names parts.keys",
    "config": (
        "addresses conf_lines config.base daemon_variables node_demand errors hostlist keys names parts.settings pulumi_yaml"
        " releases safe_yaml selection text"
    ),
    "slurmrest": "addresses decoders errors hostlist keys kube names text",
    "cluster": "causes errors keys kube names slurmrest selection",
    "blueprint.base": "config names",
    "specs.base": "addresses config keys names node_demand",
    "preflight.base": "blueprint.base cluster config keys parts.settings slurmrest",
    "parts": (
        "addresses preflight.base config node_demand errors hostlist keys kube names parts.gates parts.keys specs.base text"
    ),
    "blueprint": "blueprint.base cluster config keys names parts specs",
    "specs": "addresses blueprint.base config daemon_variables node_demand keys names parts releases specs.base",
    "config.rules": (
        "addresses blueprint.base conf_lines config errors hostlist keys names parts releases safe_yaml selection text"
    ),
    "drain.base": "cluster conf_lines engine errors hostlist keys kube names releases slurmrest text selection",
    "parts.writers": "drain.base errors kube names node_demand slurmrest text cluster",
    "drain": "cluster drain.base engine errors kube names parts.writers slurmrest text selection",
    "identity": "cluster config errors kube names",
    "cluster_access": "cluster config keys names",
    "settings": "",  # types alone
    "external_keys": "cluster engine errors keys kube names text",
    "parts.gates": "cluster drain engine errors hostlist kube names slurmrest text",
    "operator_change": "cluster config drain errors kube names cluster_access releases slurmrest text",
    "preflight": (
        "causes preflight.base blueprint.base cluster cluster_access config errors hostlist keys kube names"
        " node_demand parts releases slurmrest specs text"
    ),
    "ownership": "config errors field_managers kube names cluster_access selection text",
    "__main__": "commands.cli",
    "commands": "",
    "commands.children": "",
    "commands.api_page": "",
    "commands.command_page": "",
    "commands.host_shell": "",
    "commands.output": "",
    "commands.whole_file": "",
    "commands.new": "errors",
    "commands.listing": "text",
    "commands.docs": "commands.new errors text",
    "commands.policies": "commands.new commands.whole_file errors",
    "commands.mend": "config",
    "commands.paste": "commands.mend config pulumi_yaml safe_yaml",
    "commands.check": "commands.mend commands.paste commands.output commands.whole_file config errors specs",
    "commands.import_chart": (
        "commands.check commands.output commands.whole_file config errors pulumi_yaml releases safe_yaml"
    ),
    "commands.adopt": (
        "blueprint cluster commands.check commands.import_chart commands.output config errors field_managers kube names "
        "ownership releases selection specs text"
    ),
    "commands.plan": "causes cluster commands.output config drain errors names text",
    "commands.stack_config": "cluster commands.check commands.output config errors keys",
    "commands.diagram": "blueprint.base cluster commands.stack_config config errors hostlist keys names specs text",
    "commands.drain": "cluster commands.output drain engine errors kube slurmrest text",
    "commands.client": "commands.stack_config config errors specs text",
    "commands.handoff": (
        "addresses blueprint.base cluster commands.host_shell commands.output commands.stack_config config errors keys "
        "names parts cluster_access specs text"
    ),
    "commands.rights": (
        "blueprint cluster commands.output commands.stack_config config drain errors keys names parts cluster_access specs"
        " text"
    ),
    "commands.rotation": (
        "causes cluster commands.children commands.host_shell commands.stack_config config errors external_keys keys kube"
        " names cluster_access slurmrest specs text"
    ),
    "commands.rotations": "commands.rotation config errors keys parts.keys",
    "commands.token": "cluster commands.output commands.stack_config config errors parts cluster_access slurmrest",
    "commands.qualify": ("cluster cluster_access commands.output config errors kube names parts safe_yaml slurmrest"),
    "commands.init": (
        "causes commands.check commands.children commands.rotation commands.host_shell config errors keys kube names parts"
        " pulumi_yaml releases safe_yaml specs text"
    ),
    "commands.keys": "commands.output commands.rotation commands.rotations config errors keys names",
    "commands.status": (
        "causes cluster commands.output commands.rotation commands.stack_config config drain errors "
        "external_keys keys kube names parts parts.writers releases slurmrest text"
    ),
    "commands.verify_state": (
        "cluster cluster_access commands.output commands.stack_config config drain engine errors keys names parts text"
    ),
    "commands.drift": (
        "cluster commands.output commands.status config drain errors keys kube names parts "
        "preflight selection slurmrest specs text"
    ),
    "commands.preflight": (
        "causes blueprint.base cluster commands.children commands.output commands.host_shell commands.stack_config "
        "commands.verify_state config errors keys kube names parts preflight cluster_access slurmrest specs text"
    ),
    "commands.cli": (
        "commands.adopt commands.api_page commands.check commands.client commands.command_page commands.diagram "
        "commands.docs commands.drain commands.drift "
        "commands.handoff commands.import_chart commands.init commands.keys commands.listing "
        "commands.new commands.output commands.plan "
        "commands.policies "
        "commands.preflight commands.qualify "
        "commands.rights commands.status commands.token commands.verify_state config errors parts text"
    ),
}
UNDER_RULES = {"blueprint.base", "preflight.base", "config.base", "parts.settings", "config", "specs.base", "parts", "specs"}
"""Parts that the rules ask, and that can't ask them."""


def also(own: str, below: set[str]) -> set[str]:
    """The parts that one may import, with what belongs to them: a folder can have several floors."""
    rules = set() if own in UNDER_RULES else {"config.rules"}
    more = {
        "config": {"config.base", "parts.settings", *rules},
        "specs": {"specs.base"},
        "preflight": {"preflight.base"},
        "drain": {"drain.base"},
        "keys": {"keys.base"},
    }
    return below.union(*(more.get(each, set()) for each in below)) - {own}


PARTS = {part: also(part, set(below.split())) for part, below in _PARTS.items()}
"""Parts of the library, lowest first, and the parts that each may import. `commands` holds what a person runs; what stands
above it, `pulumi up` imports. drain, kube and slurmrest never see the configuration: the process that runs the gates stays
small, and a destroy works with no program at hand."""
NARROW = {
    "slinky_iac/cluster/pulumi_command.py": {"errors"},
    "slinky_iac/cluster/pulumi_state.py": {"causes", "errors", "names"},
    "slinky_iac/cluster/reach.py": {"keys", "names"},
    "slinky_iac/commands/children.py": set(),
    "slinky_iac/commands/command_page.py": set(),
    "slinky_iac/commands/host_shell.py": set(),
    "slinky_iac/commands/init/cli.py": {
        "causes",
        "commands.check",
        "commands.children",
        "commands.rotation",
        "config",
        "errors",
        "keys",
        "kube",
        "pulumi_yaml",
        "safe_yaml",
        "text",
    },
    "slinky_iac/commands/init/stack.py": {
        "commands.host_shell",
        "config",
        "errors",
        "keys",
        "names",
        "parts",
        "releases",
        "pulumi_yaml",
    },
    "slinky_iac/commands/keys/report.py": {"commands.rotation"},
    "slinky_iac/commands/new.py": {"__version__", "errors"},
    "slinky_iac/commands/output.py": set(),
    "slinky_iac/commands/rotation/cluster.py": {
        "causes",
        "cluster",
        "commands.children",
        "commands.stack_config",
        "config",
        "errors",
        "keys",
        "kube",
        "names",
        "cluster_access",
        "slurmrest",
        "specs",
    },
    "slinky_iac/commands/rotation/engine.py": {"cluster", "config", "errors", "keys", "names"},
    "slinky_iac/commands/rotation/host_scripts.py": {
        "causes",
        "commands.children",
        "commands.host_shell",
        "config",
        "errors",
        "keys",
        "kube",
    },
    "slinky_iac/commands/rotation/model.py": {"keys"},
    "slinky_iac/commands/rotation/planned_stop.py": {"cluster", "config", "errors", "keys", "names"},
    "slinky_iac/commands/stack_config.py": {"cluster", "commands.check", "commands.output", "config", "errors", "keys"},
    "slinky_iac/config/shown.py": {"text"},
    "slinky_iac/hostlist.py": {"config.base", "errors"},  # of it, how messages show what was given
    "slinky_iac/config/reading/stack_file.py": {"config.base", "errors", "pulumi_yaml", "safe_yaml", "text"},
    "slinky_iac/keys/catalogue.py": {"names"},
    "slinky_iac/preflight/__init__.py": set(),
    "slinky_iac/preflight/kube_questions.py": {
        "blueprint.base",
        "cluster",
        "config",
        "errors",
        "kube",
        "names",
        "parts",
        "text",
    },
    "slinky_iac/preflight/connectivity.py": {
        "preflight.base",
        "blueprint.base",
        "causes",
        "cluster",
        "config",
        "errors",
        "kube",
    },
}
"""Modules that may import less than their part."""


def nodes(path: str) -> tuple[ast.AST, ...]:
    """All nodes of a module's syntax tree."""
    return tree.nodes(ROOT / path)


@functools.cache
def imported(path: str) -> frozenset[str]:
    """Dotted names of all modules that a module imports, submodules of packages included."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1, f"{path}: imports are absolute, or of the same folder in components/"
            module = f"components.{node.module}" if node.level else node.module or ""
            found.update([module, *(f"{module}.{alias.name}" for alias in node.names)])
    return frozenset(found)


def packages(path: str) -> set[str]:
    return {name.split(".")[0] for name in imported(path)} - sys.stdlib_module_names - {"__future__"}


def rule_for(path: str, rules: dict[str, set[str]]) -> set[str] | None:
    fitting = [folder for folder in rules if path == folder or (folder.endswith("/") and path.startswith(folder))]
    return rules[max(fitting, key=len)] if fitting else None


PRODUCTION = [path for path in MODULES if not path.startswith("tests/")]


def test_a_module_imports_only_what_its_room_may() -> None:
    assert [path for path in PRODUCTION if rule_for(path, MAY_IMPORT) is None] == [], "in no room that house rules know"
    beyond = {path: packages(path) - (rule_for(path, MAY_IMPORT) or set()) - EXTRA.get(path, set()) for path in PRODUCTION}
    assert {path: names for path, names in beyond.items() if names} == {}


BASE = {
    "adopted",
    "auth",
    "base",
    "fields",
    "findings",
    "hosts",
    "labels",
    "networks",
    "paths",
    "quantities",
    "slurm.gres",
    "slurm.names",
} | {
    "file_paths",
    "kubernetes.names",
    "outputs",
    "raw",
    "resources",
    "sections",
    "shown",
}
"""Modules of config/ that are below the settings of the parts; the rest of it is above them."""
ROOMS = {path.name for path in (ROOT / "slinky_iac/config").iterdir() if (path / "__init__.py").exists()}
"""Folders of config/."""
RULES = re.compile(r"(rules\.\w+|files|reading\.(load|engine|values)|slurm\.reach)$")
"""Modules of config/ that judge a stack, or read one with all that is said of it: they are above the parts."""
SHARED = {"endpoints", "objects", "raw", "rights", "shared"}
"""Modules of specs/ that the parts make their objects from."""
SETTINGS = {"place", "settings", "signing"}
"""Modules of a part of parts/ that the stack's configuration is made of."""
OF_KEYS = {"key", "public", "rsa"}
"""Modules of a part with a key of its own: what that is, below all configuration."""
GATES = {"conf_gates", "gates", "preview", "scale"}
"""Modules of drain/ that ask these; the rest of it is below them."""


OF_PARTS = {
    "rotation": "commands.rotations",  # of its key: a person runs it
    **dict.fromkeys(SETTINGS, "parts.settings"),
    **dict.fromkeys(OF_KEYS, "parts.keys"),
    **dict.fromkeys(("demand", "keda", "pause", "pause_steps", "writer", "writers"), "parts.writers"),
    **dict.fromkeys(("gates", "labels", "plan", "preview", "props", "run", "steps"), "parts.gates"),
}
"""Floors of a part, by its modules; all others are one. Those of writers and gates run in a process without configuration:
beside a NodeSet's gate, and gates of its own."""
FLOORS = {
    "blueprint": ({"objects", "document"}, "blueprint", "blueprint.base"),
    "drain": (GATES, "drain", "drain.base"),
    "keys": ({"registry", "material"}, "keys", "keys.base"),
    "preflight": ({"check", "facts"}, "preflight.base", "preflight"),
    "specs": (SHARED, "specs.base", "specs"),
}
"""Folders of two floors: modules of the one, its name, and the name of the other."""


def part(module: str) -> str:
    """The part of the library that a module belongs to: a name of :data:`PARTS`."""
    names = module.split(".")
    if names[1] == "config":  # a folder is below its modules: it is empty but for its docstring
        module = ".".join(names[2:4] if names[2:3] and names[2] in ROOMS else names[2:3])
        return "config.base" if module in BASE | ROOMS | {""} else "config.rules" if RULES.match(module) else "config"
    if names[1] in FLOORS:
        modules, floor, others = FLOORS[names[1]]
        return floor if names[2:3] and names[2] in modules else others
    if names[1] == "parts":  # a folder is below its modules: it is empty but for its docstring
        own = names[2:3] if names[2:3] in (["registry"], ["part"], ["writers"]) else names[3:4]
        return OF_PARTS.get(own[0], "parts") if own else "parts.settings"
    return ".".join(names[1:3]) if names[1] == "commands" else names[1]


def test_a_part_of_the_library_imports_only_the_parts_below_it() -> None:
    beyond = {path: not_below(path) for path in PRODUCTION if path.startswith("slinky_iac/")}
    assert {path: parts for path, parts in beyond.items() if parts} == {}


def not_below(path: str) -> set[str]:
    """Parts that a module imports and that its own part may not."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if module in {"slinky_iac", "slinky_iac.commands"}:
        # The root names what a program means by a word, and hears of a program that calls nothing of it.
        allowed, own = {"engine", "text"} if module == "slinky_iac" else set[str](), ""
    else:
        own = part(module)
        assert own in PARTS, f"{path} belongs to no part that has a rule"
        allowed = also(own, NARROW.get(path, PARTS[own]))
    found = {name for name in imported(path) if name.startswith("slinky_iac.") and name not in EMPTY}
    return {part(name) for name in found} - allowed - {own} - ROOT_NAMES


ROOT_NAMES = {"__version__"}
EMPTY = {"slinky_iac.commands", "slinky_iac.parts"} | {
    f"slinky_iac.parts.{path.name}" for path in (ROOT / "slinky_iac/parts").iterdir() if path.is_dir()
}
"""Folders that are empty but for their docstrings: their modules have floors."""


def test_commands_that_are_imported_by_name_are_below_the_command_line() -> None:
    assert {part(each.dotted) for each in cli.COMMANDS.values() if each.module} <= PARTS["commands.cli"]


def test_no_part_imports_itself_through_others() -> None:
    assert list(TopologicalSorter(PARTS).static_order()), "raises CycleError"
    assert {below for parts in PARTS.values() for below in parts} <= set(PARTS)


def test_no_module_imports_itself_through_others() -> None:
    """Lines below ``TYPE_CHECKING`` count: two modules that name each other's types are one module."""
    assert circles() == []


def test_pulumi_up_imports_nothing_that_a_person_runs() -> None:
    below = {name for name, parts in PARTS.items() if not name.startswith("commands.") and name != "__main__"}
    assert {above for name in below for above in PARTS[name] if above.startswith("commands.")} == set()


def test_components_alone_and_always_import_each_other_by_place() -> None:
    """A wheel holds them as slinky_iac.components, the checkout as components (docs/adr/0014)."""
    from_imports = [(path, node) for path in PRODUCTION for node in nodes(path) if isinstance(node, ast.ImportFrom)]
    own = [(path, node) for path, node in from_imports if path.startswith("components/")]
    by_name = [(path, node.module) for path, node in own if not node.level and (node.module or "").startswith("components")]
    assert by_name == []
    others = [(path, node.module) for path, node in from_imports if node.level and not path.startswith("components/")]
    # What a program takes from `slinky_iac` is imported when it asks; these lines are for its type checker.
    assert {path for path, _ in others} == {"slinky_iac/__init__.py"}


OPENERS = {"KubeClient", "ShortPodClient", "SlurmrestClient", "KubeTransport", "load"}
"""What opens a way to a cluster, or reads where it is."""


def test_every_client_comes_from_the_one_connection() -> None:
    """Clients of their own would read the kubeconfig and shake hands each."""
    opened = {path: opens(path) for path in PRODUCTION if path.startswith(("slinky_iac/", "components/"))}
    assert {path: own for path, own in opened.items() if own} == {
        "slinky_iac/cluster/connection.py": {"SlurmrestClient"},
        "slinky_iac/cluster/kube_connection.py": {"KubeTransport", "load"},
        "slinky_iac/kube/requests.py": {"KubeTransport"},
        "slinky_iac/slurmrest/endpoints.py": {"KubeTransport", "load"},
        "slinky_iac/preflight/ask_slurm.py": {"SlurmrestClient"},
    }


def opens(path: str) -> set[str]:
    """The openers that a module calls."""
    of_kube = "slinky_iac.kube.kubeconfig.load" in imported(path)
    calls = {node.func.id for node in nodes(path) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return calls & (OPENERS if of_kube else OPENERS - {"load"})


def test_nothing_but_tests_imports_tests() -> None:
    assert [path for path in PRODUCTION if "tests" in {n.split(".")[0] for n in imported(path)}] == []


def test_the_program_needs_nothing_of_the_lab() -> None:
    users = [path for path in PRODUCTION if not path.startswith("lab/") and "lab" in packages(path)]
    assert users == []


def test_the_program_itself_has_no_branch_and_no_loop() -> None:
    branches = ast.If | ast.For | ast.While | ast.Try | ast.FunctionDef
    assert not any(isinstance(node, branches) for node in nodes("__main__.py"))
    assert len((ROOT / "__main__.py").read_text().splitlines()) < 40


def test_pure_parts_read_no_clock_and_no_environment() -> None:
    """What decides gets time and surroundings as arguments, so that a test can give them."""
    pure = [p for p in PRODUCTION if p.startswith(("slinky_iac/config/", "slinky_iac/specs/"))]
    pure += [f"slinky_iac/{name}.py" for name in ("parts/tokens/judged", "names", "hostlist", "releases", "errors")]
    pure += [f"slinky_iac/keys/{name}.py" for name in ("catalogue", "raw", "public", "registry")]
    pure += [f"slinky_iac/parts/tokens/{name}.py" for name in ("key", "public", "rsa")]
    pure += [p for p in PRODUCTION if p.startswith("slinky_iac/preflight/check")]
    pure += [f"slinky_iac/preflight/{name}.py" for name in ("facts", "compare", "trial")]
    pure += [f"slinky_iac/commands/preflight/{name}.py" for name in ("pod", "report")]
    pure += [path for path in PRODUCTION if path.startswith("slinky_iac/commands/diagram/")]
    pure += ["slinky_iac/drain/plan.py", "slinky_iac/drain/cost.py", "slinky_iac/drain/free.py", "slinky_iac/drain/words.py"]
    pure += [
        f"slinky_iac/drain/{name}.py"
        for name in ("protocol", "requester", "conf_steps", "members", "rollout", "scale_in_state")
    ]
    impure = {"time", "datetime", "os", "random", "secrets", "socket", "subprocess"}
    allowed = {"datetime"}  # the type; `now` is searched for below
    for path in pure:
        assert {name.split(".")[0] for name in imported(path)} & (impure - allowed) == set(), path
        assert ".now(" not in (ROOT / path).read_text(), path


def test_everything_public_says_what_it_is_for() -> None:
    assert {path: names for path in PRODUCTION if (names := silent(syntax_tree(ROOT / path)))} == {}


def silent(tree: ast.Module) -> list[str]:
    """What has no docstring and needs one."""
    module = [] if ast.get_docstring(tree) or not tree.body else ["the module"]
    return module + [node.name for node in spoken_for(tree) if not ast.get_docstring(node)]


def spoken_for(tree: ast.Module) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Public classes and functions, and public methods that are more than one statement and no base class describes."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        yield node
        if isinstance(node, ast.ClassDef) and not node.bases:
            methods = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            yield from (m for m in methods if not m.name.startswith("_") and len(m.body) > 1)


def test_no_module_is_too_long_to_be_read_at_once() -> None:
    lines = {path: len((ROOT / path).read_text().splitlines()) for path in MODULES}
    longest = {path: 600 if path.startswith("tests/") else 400 for path in MODULES}  # tables of cases are read by the row
    assert {path: count for path, count in lines.items() if count > longest[path]} == {}


def test_tests_are_where_they_are_found() -> None:
    elsewhere = [path for path in MODULES if path.startswith("tests/") and not Path(path).name.startswith("test_")]
    holders = {path for path in elsewhere if re.search(r"^\s*def test_", (ROOT / path).read_text(), re.MULTILINE)}
    assert holders == set()
