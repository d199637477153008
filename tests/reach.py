"""`python -m tests.reach > docs/evidence/reach.md`: every field of the custom resources and every key of the chart, with the
way to it here, or the reason why there is none. Made of the two tables that the program itself goes by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from slinky_iac.config.chart.translation import row_of, rows_below
from slinky_iac.config.chart.values import VALUE
from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.operator import raw_fields
from slinky_iac.config.operator.raw_fields import Way
from slinky_iac.config.rules.raw import OWNED
from tests import crds
from tests.stacks import ROOT

LINES = ("1.0", "1.1", "1.2", "1.3")
Ways = dict[str, dict[tuple[str, str], raw_fields.Field | None]]
KINDS = (*raw_fields.KINDS.values(), "Token")
READ_BEFORE = {
    "controller.external", "accounting.external", "slurmKey.create", "jwtKey.create", "loginsets", "partitions",
    "sssd.secretRef", "nodesets.a.podSpec.volumes", "loginsets.a.podSpec.volumes",
    "nodesets.a.slurmd.volumeMounts", "loginsets.a.login.volumeMounts",
}  # fmt: skip
"""Switches and mappings that chart_release reads, and names of sets."""
HEAD = f"""# What of the chart and of the custom resources can be said

Made by `python -m tests.reach` from the two tables that the program itself goes by, `config/operator/raw_fields.py` and
`config/chart/table.py`. A test compares the fields with the CRDs of slurm-operator {", ".join(crds.SERVED)}, the releases
whose CRDs tests can get. The fields of 1.2 (v1.2.1) and 1.3 (main of 20 August 2026) were made from their CRDs by
`lab.crd_table`, and made again on 28 November 2026, equal; tests hold this page to that list, not to those CRDs. The keys
of the chart are a list of names in the tests: those of its values in 1.0.0 to 1.2.1 and of that main. A field is a setting,
or goes through `raw` ([Recipes](../recipes.md#what-has-no-setting-of-its-own)), or is closed, with its reason.
"""
BEFORE = {"fields of 1.2": (112, 58), "chart": (137, 60)}
"""At 43b3dd2a: fields that were reached and weren't; keys of the chart that were carried over, and left out."""


def chart_keys() -> list[str]:
    """Keys of the chart's values, with names of sets as ``a`` and defaults of all sets as those of one."""
    lines = (ROOT / "tests" / "unit" / "chart" / "keys.txt").read_text().splitlines()
    return [_place(line) for line in lines if line and not line.startswith("#")]


def _place(key: str) -> str:
    for word, sets in (("nodesetDefaults", "nodesets.a"), ("loginsetDefaults", "loginsets.a")):
        key = key.replace(word, sets)
    return key.replace("nodesets.slinky", "nodesets.a").replace("loginsets.slinky", "loginsets.a").removesuffix(".KEY")


def chart_ways() -> dict[str, tuple[Way, str]]:
    """Each key of the chart with its way."""
    found: dict[str, tuple[Way, str]] = {}
    for key in chart_keys():
        parts = tuple(key.split("."))
        row = next((row for depth in range(len(parts), 0, -1) if (row := row_of(parts[:depth])) is not None), None)
        below = any(True for _ in rows_below(parts))
        if row is None or key in READ_BEFORE or (below and row.at.endswith("**")):
            found[key] = (Way.SETTING, "")
        elif row.why:
            found[key] = (Way.CLOSED, row.why.replace(VALUE, "NUMBER"))
        else:
            way = Way.RAW if ".raw." in row.setting else Way.SETTING
            found[key] = (way, row.setting.replace("{}", "NAME"))
    return found


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _of_way(ways: Ways, way: Way) -> list[tuple[str, ...]]:
    """Fields that are reached in one way: name, lines of releases, and what the table says of it."""
    found: dict[tuple[str, str], list[str]] = {}
    for line, fields in ways.items():
        for (kind, path), each in fields.items():
            if each is not None and each.way is way:
                found.setdefault((f"`{kind}` `{path}`", each.words), []).append(line)
    return [(name, ", ".join(several), words) for (name, words), several in sorted(found.items())]


def page() -> str:
    """The whole page."""
    ways = {
        line: {(kind, path): raw_fields.field(kind, path) for kind in KINDS for path in raw_fields.leaves(line, kind)}
        for line in LINES
    }
    numbers = {line: Counter(each.way for each in fields.values() if each is not None) for line, fields in ways.items()}
    chart = chart_ways()
    keys = Counter(way for way, _ in chart.values())
    rows = [(f"fields of {line}", *(str(numbers[line][way]) for way in Way)) for line in LINES]
    rows.append(("keys of the chart", *(str(keys[way]) for way in Way)))
    lines = [HEAD, "## Numbers"]
    lines += _table(("", "setting", "raw", "closed"), rows)
    (reached, shut), (key_reached, key_shut) = BEFORE["fields of 1.2"], BEFORE["chart"]
    lines.append(
        f"\nBefore (43b3dd2a), of 1.2 {reached} fields were reached and {shut} closed; of the"
        f"\nchart {key_reached} keys were carried over and {key_shut} were left out."
    )
    lines.append("\n## Fields of custom resources that are closed")
    lines += _table(("Field", "Releases", "Why"), _of_way(ways, Way.CLOSED))
    lines.append("\n## Fields that go through raw")
    lines += _table(
        ("Field", "Releases", "Way"), [(name, releases, f"`{way}`") for name, releases, way in _of_way(ways, Way.RAW)]
    )
    lines.append("\n## Fields of pods, containers and Services that raw doesn't take")
    lines.append(
        f"\nAll others of these types are taken, by the type of Kubernetes {kubernetes_types.RELEASE}, but for values that"
        " take the place of the operator's own, and with slurm-operator 1.0 for what it would lose"
        " ([Recipes](../recipes.md#raw-pieces-by-release-of-slurm-operator))."
    )
    lines += _table(
        ("Type", "Fields", "Taken", "Not taken, and what to use"),
        [
            (
                f"`{kind}`",
                str(len(kubernetes_types.fields(kind))),
                str(len(kubernetes_types.fields(kind) - owned.keys())),
                "; ".join(f"`{name}`: {why}" for name, why in sorted(owned.items())),
            )
            for kind, owned in OWNED.items()
        ],
    )
    lines.append("\n## Keys of the chart that are left out")
    lines += _table(("Key", "Why"), [(f"`{key}`", why) for key, (way, why) in sorted(chart.items()) if way is Way.CLOSED])
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
