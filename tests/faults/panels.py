"""The dashboard drawn from a Prometheus' answers, in its own order and grid: a picture where there is no Grafana."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

COLOURS = ("#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0", "#508642")
COLUMN, ROW = 46, 36
STYLE = """body{background:#111217;color:#ccccdc;font:12px Helvetica,Arial,sans-serif;margin:8px}
.p{position:absolute;background:#181b1f;border:1px solid #2c3235;box-sizing:border-box;padding:6px 8px;overflow:hidden}
.t{font-weight:bold;margin-bottom:4px}.n{font-size:15px;padding:3px 8px;margin:2px 4px 2px 0;display:inline-block;
border-radius:2px;color:#111}.l{display:inline-block;margin-right:10px;font-size:11px}.r{position:absolute;font-size:14px}"""

Ask = Callable[[str], Sequence[Mapping[str, Any]]]
"""Series of one expression over the time shown: ``metric`` and ``values``."""


def legend(target: Mapping[str, Any], metric: Mapping[str, str]) -> str:
    """The name of a series, by the panel's own pattern."""
    text = str(target["legendFormat"])
    for key, value in metric.items():
        text = text.replace(f"{{{{{key}}}}}", value)
    return re.sub(r"\{\{\w+\}\}", "none", text)


def series(panel: Mapping[str, Any], ask: Ask) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Each series of a panel: name and points."""
    for target in panel["targets"]:
        for found in ask(str(target["expr"]).replace("$stack", ".*")):
            points = [(float(at), float(value)) for at, value in found["values"]]
            yield legend(target, found["metric"]), points


def page(dashboard: Mapping[str, Any], ask: Ask) -> str:
    """The whole page."""
    parts = [f"<style>{STYLE}</style><h3>{html.escape(dashboard['title'])}</h3>"]
    bottom = 0
    for panel in dashboard["panels"]:
        grid = panel["gridPos"]
        top = 40 + grid["y"] * ROW
        bottom = max(bottom, top + grid["h"] * ROW)
        where = (
            f"left:{8 + grid['x'] * COLUMN}px;top:{top}px;width:{grid['w'] * COLUMN - 6}px;height:{grid['h'] * ROW - 6}px"
        )
        if panel["type"] == "row":
            parts.append(f'<div class="r" style="{where}">&#9662; {html.escape(panel["title"])}</div>')
            continue
        own = list(series(panel, ask))
        body = _lines(own, grid) if panel["type"] == "timeseries" else _numbers(panel, own)
        parts.append(f'<div class="p" style="{where}"><div class="t">{html.escape(panel["title"])}</div>{body}</div>')
    return "".join(parts)


def _numbers(panel: Mapping[str, Any], own: Sequence[tuple[str, list[tuple[float, float]]]]) -> str:
    defaults = panel["fieldConfig"]["defaults"]
    steps = defaults["thresholds"]["steps"]
    shown = []
    for name, points in own:
        value = points[-1][1]
        colour = [step["color"] for step in steps if step["value"] is None or value >= step["value"]][-1]
        text = f"{value:.0f} s" if defaults.get("unit") == "s" else f"{value:g}"
        shade = {"green": "#73bf69", "red": "#f2495c", "yellow": "#fade2a"}[colour]
        shown.append(f'<span class="n" style="background:{shade}">{html.escape(name)} <b>{text}</b></span>')
    return "".join(shown)


def _lines(own: Sequence[tuple[str, list[tuple[float, float]]]], grid: Mapping[str, int]) -> str:
    width, height = grid["w"] * COLUMN - 70, grid["h"] * ROW - 84
    times = [at for _, points in own for at, _ in points]
    values = [value for _, points in own for _, value in points]
    first, last, most = min(times), max(times), max([*values, 1])
    drawn = [f'<text x="2" y="10" fill="#888" font-size="10">{most:g}</text>',
             f'<text x="2" y="{height}" fill="#888" font-size="10">0</text>']  # fmt: skip
    names = []
    for number, (name, points) in enumerate(own):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(
            f"{40 + (at - first) / max(last - first, 1) * width:.1f},{height - value / most * (height - 8):.1f}"
            for at, value in points
        )
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        names.append(f'<span class="l"><span style="color:{colour}">&#9644;</span> {html.escape(name)}</span>')
    return f'<svg width="{width + 44}" height="{height + 4}">{"".join(drawn)}</svg><div>{"".join(names)}</div>'
