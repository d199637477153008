"""A real Prometheus computes the demand of a NodeSet as this program does, and nothing without one of the series."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

from lab import apt
from slinky_iac.node_demand import METRICS, NODES, OF_CLUSTER, Demand, query
from tests.faults.prepare import PROMETHEUS

STEP = 4
LEAST = Demand(alloc=1, idle=1, nodes=2, pending=2, narrow=1, wide=1)


def series(name: str, partition: str) -> str:
    return METRICS[name] + ("" if name in OF_CLUSTER else f'{{partition="{partition}"}}')


def scraped(name: str, partition: str) -> str:
    """As a scrape stores it, with labels of its own."""
    own = 'instance="ctl",job="slurm"'
    return f"{METRICS[name]}{{{own}}}" if name in OF_CLUSTER else f'{METRICS[name]}{{partition="{partition}",{own}}}'


def sample(chance: random.Random) -> Demand:
    alloc, mixed, idle, pending = (chance.randint(0, 60) for _ in range(4))
    wide = chance.randint(1, 400) if pending else 0
    return Demand(
        alloc=alloc,
        mixed=mixed,
        idle=idle,
        completing=chance.randint(0, idle),
        drained=chance.randint(0, idle),
        nodes=alloc + mixed + idle,
        pending=pending,
        held=chance.randint(0, pending),
        suspended=chance.randint(0, 2),
        narrow=chance.randint(0, wide),
        wide=wide,
    )


def case(seen: Demand, missing: str = "") -> dict[str, Any]:
    others = [{"series": scraped(name, "cpu"), "values": "77"} for name in METRICS if name not in OF_CLUSTER]
    given = [{"series": scraped(name, "gpu"), "values": str(getattr(seen, name))} for name in METRICS if name != missing]
    answer = [] if missing else [{"labels": "{}", "value": seen.wanted(STEP)}]
    text = query(STEP, {name: f"max({series(name, 'gpu')})" for name in METRICS})
    asked = {"expr": text, "eval_time": "0m", "exp_samples": answer}
    return {"name": missing or repr(seen), "interval": "1m", "input_series": [*given, *others], "promql_expr_test": [asked]}


def test_prometheus_computes_the_demand_and_has_no_answer_without_one_of_its_series(tmp_path: Path) -> None:
    apt.ensure(PROMETHEUS)
    chance = random.Random(20261127)
    cases = [case(sample(chance)) for _ in range(150)] + [case(LEAST, name) for name in METRICS if name != NODES]
    (tmp_path / "test.yaml").write_text(json.dumps({"evaluation_interval": "1m", "tests": cases}))
    done = subprocess.run(
        ["promtool", "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
