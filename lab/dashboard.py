"""`python -m lab.dashboard`: writes slinky_iac/parts/monitoring/dashboard.json by Grafana's foundation SDK.

You need the SDK only to change the dashboard (requirements/dashboard.txt pins it): a stack reads the JSON file, so users
don't install it. tests/faults/test_monitoring.py builds the file again, compares the two, and sends every panel's query to a
real Prometheus.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    LegendDisplayMode,
    LegendPlacement,
    StackingMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    Threshold,
    ThresholdsMode,
    VariableRefresh,
)

FILE: Final = Path(__file__).resolve().parents[1] / "slinky_iac" / "parts" / "monitoring" / "dashboard.json"
SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
OWN: Final = 'stack=~"$stack"'
GREEN, YELLOW, RED = "green", "yellow", "red"


def query(expr: str, legend: str, ref: str = "A") -> prometheus.Dataquery:
    """One query of a panel."""
    return prometheus.Dataquery().expr(expr).legend_format(legend).ref_id(ref)


def steps(*pairs: tuple[float | None, str]) -> dashboard.ThresholdsConfig:
    """Colours from these values on."""
    marks = [Threshold(value=value, color=colour) for value, colour in pairs]
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(marks)


def number(
    title: str, about: str, *queries: prometheus.Dataquery, unit: str, marks: dashboard.ThresholdsConfig
) -> stat.Panel:
    """A panel of single numbers."""
    panel = stat.Panel().title(title).description(about).datasource(SOURCE).unit(unit).thresholds(marks)
    panel = panel.color_mode(BigValueColorMode.BACKGROUND).reduce_options(newest()).height(4).span(6)
    return _asking(panel, queries)


def lines(
    title: str, about: str, *queries: prometheus.Dataquery, unit: str = "short", stacked: bool = False
) -> timeseries.Panel:
    """A panel of lines over time."""
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
    legend = legend.show_legend(show_legend=True)  # the SDK writes false where this isn't said
    panel = timeseries.Panel().title(title).description(about).datasource(SOURCE).unit(unit).min(0).legend(legend)
    panel = panel.height(8).span(12).line_width(1).fill_opacity(20 if stacked else 0)
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL))
    return _asking(panel, queries)


def bars(
    title: str, about: str, *queries: prometheus.Dataquery, unit: str, marks: dashboard.ThresholdsConfig
) -> bargauge.Panel:
    """A bar for each series."""
    panel = bargauge.Panel().title(title).description(about).datasource(SOURCE).unit(unit).thresholds(marks).min(0)
    panel = panel.reduce_options(newest()).orientation(VizOrientation.HORIZONTAL).show_unfilled(show_unfilled=True)
    return _asking(panel.height(8).span(12), queries)


def newest() -> common.ReduceDataOptions:
    """Of each series its last value."""
    return common.ReduceDataOptions().calcs(["lastNotNull"])


def _asking(panel, queries):  # type: ignore[no-untyped-def]
    for each in queries:
        panel = panel.with_target(each)
    return panel


def build() -> dashboard.Dashboard:
    """The dashboard: what the stack says above, what slurmctld says below."""
    seen = dashboard.QueryVariable("stack").label("Stack").datasource(SOURCE).multi(multi=True).include_all(include_all=True)
    seen = seen.query("label_values(slinky_status_time_seconds, stack)").refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    made = (
        dashboard.Dashboard("Slurm on Kubernetes and metal")
        .uid("slinky-iac")
        .tags(["slurm", "slinky-iac"])
        .description("Of slinky-iac: docs/monitoring.md says where each number is from.")
        .readonly()
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .refresh("1m")
        .time("now-6h", "now")
        .timezone("utc")
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
        .with_variable(seen)
    )
    return _slurm(_stack(made))


def _stack(made: dashboard.Dashboard) -> dashboard.Dashboard:
    up = steps((None, RED), (1, GREEN))
    short = steps((None, RED), (0, GREEN))
    bad = steps((None, GREEN), (1, RED))
    return (
        made.with_row(dashboard.Row("What the stack says"))
        .with_panel(
            number(
                "Endpoints", "1: it answers", query(f"slinky_endpoint_up{{{OWN}}}", "{{endpoint}}"), unit="short", marks=up
            )
        )
        .with_panel(
            number(
                "Registered above wanted",
                "Below zero: a NodeSet is short of nodes.",
                query(f"slinky_nodeset_registered{{{OWN}}} - slinky_nodeset_wanted{{{OWN}}}", "{{nodeset}}"),
                unit="short",
                marks=short,
            )
        )
        .with_panel(
            number(
                "Registered wrongly",
                "Nodes whose CPUs, memory or GRES are not what slurmctld expects.",
                query(f"slinky_nodes_invalid{{{OWN}}}", "{{group}}"),
                unit="short",
                marks=bad,
            )
        )
        .with_panel(
            number(
                "Age of this status",
                "Above half an hour nothing in this row can be trusted.",
                query(f"time() - slinky_status_time_seconds{{{OWN}}}", "{{stack}}"),
                unit="s",
                marks=steps((None, GREEN), (600, YELLOW), (1800, RED)),
            )
        )
        .with_panel(
            lines(
                "Drained nodes by owner",
                "Whose drain it is, from its reason.",
                query(f"sum by (owner) (slinky_drain_nodes{{{OWN}}}) or on () vector(0)", "{{owner}}"),
                stacked=True,
            )
        )
        .with_panel(
            lines(
                "Oldest drain and deadline",
                "A drain of this stack above its deadline waits for a person.",
                query(
                    f'max by (group) (slinky_drain_age_seconds{{{OWN}, owner="this stack"}}) or on () vector(0)', "{{group}}"
                ),
                query(f"max by (group) (slinky_drain_deadline_seconds{{{OWN}}})", "deadline of {{group}}", "B"),
                unit="s",
            )
        )
        .with_panel(
            lines(
                "What gates wait for",
                "Nodes that this stack has drained and jobs still hold, and those jobs.",
                query(f"slinky_gate_wait_nodes{{{OWN}}}", "nodes of {{nodeset}}"),
                query(f"slinky_gate_wait_jobs{{{OWN}}}", "jobs on {{nodeset}}", "B"),
            )
        )
        .with_panel(
            bars(
                "Age of keys",
                "`slinky keys rotate` replaces one while jobs run.",
                query(f"slinky_key_age_seconds{{{OWN}}}", "{{key}}"),
                unit="s",
                marks=steps((None, GREEN), (300 * 86_400, YELLOW), (365 * 86_400, RED)),
            )
        )
    )


def _slurm(made: dashboard.Dashboard) -> dashboard.Dashboard:
    states = ("alloc", "mixed", "idle", "completing", "drained", "draining", "down", "noresp", "invalid_reg")
    return (
        made.with_row(dashboard.Row("What slurmctld says"))
        .with_panel(
            lines(
                "Nodes by state",
                "A node may be in several.",
                *(query(f"max(slurm_nodes_{each})", each, chr(65 + at)) for at, each in enumerate(states)),
            )
        )
        .with_panel(
            lines(
                "Jobs by partition",
                "Running, and waiting.",
                query("max by (partition) (slurm_partition_jobs_running)", "running in {{partition}}"),
                query("max by (partition) (slurm_partition_jobs_pending)", "waiting for {{partition}}", "B"),
            )
        )
        .with_panel(
            lines(
                "CPUs by partition",
                "Allocated, and all.",
                query("max by (partition) (slurm_partition_nodes_cpus_alloc)", "allocated in {{partition}}"),
                query("max by (partition) (slurm_partition_cpus)", "of {{partition}}", "B"),
            )
        )
        .with_panel(
            lines(
                "Scheduler",
                "Length of its last cycle and of the last backfill, in microseconds; what waits for slurmdbd.",
                query("max(slurm_schedule_cycle_last)", "cycle"),
                query("max(slurm_bf_cycle_last)", "backfill", "B"),
                query("max(slurm_slurmdbd_queue_size)", "for slurmdbd", "C"),
            )
        )
    )


def text() -> str:
    """The JSON, with keys in order: the same for the same SDK."""
    return JSONEncoder(sort_keys=True, indent=2).encode(build().build()) + "\n"


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        print(text(), end="")
    else:
        FILE.write_text(text())
