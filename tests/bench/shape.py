"""Rooms and modules that speak of each feature, and that ask where a daemon is: ``venv/bin/python -m tests.bench.shape``.

Comments and docstrings don't count. A room is a folder of the library (a folder of ``commands`` and of ``parts`` each), the
library's loose modules, or ``components``. ``--names`` lists the modules too. docs/evidence/house.md has the figures.
"""

from __future__ import annotations

import argparse
import ast
import re
import tokenize
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Final

from tests import tree
from tests.stacks import ROOT

FOLDERS: Final = {
    "munge": "munge",
    "token": "tokens",
    "autoscale": "autoscale",
    "fence": "fence",
    "monitoring": "monitoring",
    "TLS": "slurmrestd",
    "node": "node_table",
    "jobs": "jobs",
}
"""The folder of ``parts`` that is a feature's own, by the first word of the feature."""
FEATURES: Final = {
    "munge": r"munge",
    "token keys": r"jwks|token_?keys?\b|token_?set|has_token_keys|rs256|TOKENS\b|TOKEN_SECRETS|public_set|is_pair",
    "token keys but for the word tokens": (
        r"jwks|token_?keys?\b|token_?set|has_token_keys|rs256|(?-i:\bTOKENS\b)|TOKEN_SECRETS|public_set|is_pair|parts\.tokens"
    ),
    "token keys but for slurm.jwks and other sets": (
        r"has_jwks|jwks\.json|jwksKeyRef|token_?keys?\b|token_?set|has_token_keys|rs256|(?-i:\bTOKENS\b)|TOKEN_SECRETS"
        r"|public_set|is_pair|parts\.tokens"
    ),
    "autoscale": r"autoscal|\bscaler|keda|\bhpa\b",
    "fence": r"fence",
    "monitoring": r"monitoring|prometheus|grafana",
    "monitoring but for the word prometheus": r"monitoring(?!\.coreos\.com)|grafana",
    "TLS of slurmrestd": (
        r"restapi_tls|restapi\.tls|RestApiTls|tls_(pod|secret|service|annotations|files)|SLURMRESTD_TLS"
        r"|TlsSlurmrestd|parts\.slurmrestd\.(objects|proxy|certificate)"
    ),
    "node table": r"node_table|NodeTable|nodes\.table|topology",
    "node table but for the word topology": r"node_table|NodeTable|nodes\.(table|topologies)|parts\.node_table",
    "jobs of the stack": r"config\.jobs\b|smoke|SlurmJob|JobLife|jobs\.(settings|inputs|props|gates|run|steps|preview)\b",
}
"""Features, and the words by which a line of code speaks of them."""
QUESTIONS: Final = {
    "where slurmctld or slurmdbd is, of the settings": (
        r"(controller|accounting|section)\.(external|inside|outside)\b|\bexternal(_dbd)? is (not )?None"
        r"|isinstance\([^)]*(Inside|Outside)"
    ),
    "the same of a gate's props": r"(settings|after|before)\.(inside|outside)\b",
    "a yes or no of a place": (
        r"owns_conf|reads_one_key|\b(if|elif|not|and|or|bool)\b[ (]*[a-z.]*\.slurm(ctld|dbd)\.(hosts|pods|services)\b"
    ),
    "auth/munge, of the settings": r"auth/munge|\.keys\.auth\b",
    "a yes or no of auth": r"makes_daemons",
    "whose keys?": r"\bkeys\.(source|of_others)\b",
    "which tokens?": r"has_token_keys|keys\.tokens\b|signing\.own_keys|signing\.key is|public_set is|in signing\.at_hand",
    "a daemon's port, by its constant": r"\bSLURM(CTLD|DBD|D|RESTD)_PORT\b",
    "specs and names, of the state's resources": (
        r"custom\(\"|\bstate\.(first|of_keys?)\(|\bstate\.all\((SECRET|RELEASE|PROVIDER)\b|\.part\(\"data\"\)"
    ),
}
"""Questions about what a stack is, and how code asks them."""


def modules() -> Iterator[Path]:
    """The library's modules and the components."""
    yield from sorted(p for folder in ("slinky_iac", "components") for p in (ROOT / folder).rglob("*.py"))


def asked(path: Path) -> list[str]:
    """A module's lines without comments, docstrings and texts for people, which are texts that have a space in them; what is
    filled into one stays."""
    lines = path.read_text().splitlines()
    tokens = tokenize.generate_tokens(StringIO("\n".join(lines)).readline)
    for token in reversed([each for each in tokens if each.type in (tokenize.COMMENT, tokenize.STRING)]):
        (first, start), (last, end) = token.start, token.end
        if token.type == tokenize.STRING and " " not in token.string:
            continue
        filled = re.findall(r"\{([^{}]*)\}", token.string) if token.string[0] == "f" else ()
        lines[first - 1 : last] = [
            f"{lines[first - 1][:start]}{' '.join(filled)}{lines[last - 1][end:]}",
            *[""] * (last - first),
        ]
    return lines


def room(path: Path) -> str:
    """The room of a module."""
    parts = path.relative_to(ROOT).parts
    if parts[0] == "components" or len(parts) == 2:
        return parts[0]
    deep = parts[1] in ("commands", "parts") and len(parts) > 3
    return "/".join(parts[: 3 if deep else 2])


def spoken(pattern: str) -> dict[Path, int]:
    """The modules in whose code a pattern occurs, and on how many lines."""
    found = {path: sum(bool(re.search(pattern, each, re.IGNORECASE)) for each in asked(path)) for path in modules()}
    return {path: count for path, count in found.items() if count}


def circles() -> list[list[str]]:
    """Modules that import each other, directly or through others; lines below ``TYPE_CHECKING`` count."""
    files = [path for path in modules() if path.name != "__init__.py"]
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in files}
    arrows = {name: set(_imported(name, path) & names.keys()) - {name} for name, path in names.items()}
    reached = {name: _reached(name, arrows) for name in arrows}
    found = {frozenset(other for other in reached[name] if name in reached[other]) for name in arrows}
    return sorted(sorted(each) for each in found if len(each) > 1)


def _imported(name: str, path: Path) -> set[str]:
    found: set[str] = set()
    for node in tree.nodes(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = f"{name.rpartition('.')[0]}.{node.module or ''}".strip(".") if node.level else node.module or ""
            found.update(f"{module}.{alias.name}" for alias in node.names)
            found.add(module)
    return found


def _reached(start: str, arrows: dict[str, set[str]]) -> set[str]:
    seen, todo = set[str](), [start]
    while todo:
        for each in arrows[todo.pop()] - seen:
            seen.add(each)
            todo.append(each)
    return seen


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--names", action="store_true", help="list the modules")
    names = parser.parse_args().names
    for title, rows in (("speaks of", FEATURES), ("asks", QUESTIONS)):
        print(f"| {title} | rooms | modules | lines | modules outside its own folder |\n|---|---|---|---|---|")
        for name, pattern in rows.items():
            found = spoken(pattern)
            rooms, own = {room(path) for path in found}, FOLDERS.get(name.split()[0], "")
            outside = sum(room(path) != f"slinky_iac/parts/{own}" for path in found)
            print(f"| {name} | {len(rooms)} | {len(found)} | {sum(found.values())} | {outside} |")
            if names:
                print("\n".join(f"    {path.relative_to(ROOT)} {count}" for path, count in found.items()))
        print()
    for each in circles():
        print(f"circle of {len(each)}: {', '.join(each)}")
    paths = list(modules())
    print(f"{sum(len(each.read_text().splitlines()) for each in paths)} lines in {len(paths)} modules")


if __name__ == "__main__":
    main()
