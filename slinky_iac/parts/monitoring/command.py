"""`python -m slinky_iac monitoring rules|dashboard`: for a Prometheus or a Grafana that takes files."""

from __future__ import annotations

import argparse
import sys
from typing import Final

import yaml

from slinky_iac.parts.monitoring.alerts import alerts, groups
from slinky_iac.parts.monitoring.objects import dashboard

CODES: Final = "exit codes: 0 printed; 2 wrong arguments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "what", metavar="WHAT", choices=("rules", "dashboard"), help="rules: YAML for rule_files; dashboard: JSON to import"
    )


def rules_file() -> str:
    """A file for `rule_files`."""
    return yaml.safe_dump(groups(alerts()), sort_keys=False, width=1000)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    sys.stdout.write(rules_file() if arguments.what == "rules" else dashboard())
    return 0
