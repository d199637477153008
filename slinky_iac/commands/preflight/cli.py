"""`slinky preflight`: arguments, asking, comparing, printing; and an exit code for CI."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from slinky_iac.commands import stack_config, verify_state
from slinky_iac.commands.output import FOUND, INTERRUPTED, add_json, terminal, waiting_line
from slinky_iac.commands.preflight.ask import Scope, ask, ask_host, require_host
from slinky_iac.commands.preflight.report import WIDTH, as_json, as_text, summary
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import ProjectError, StateError
from slinky_iac.kube.wire import Clock
from slinky_iac.preflight.check import Check, Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import Facts

CODES = (
    "exit codes: 0 no problem found (a check that could not be made counts as no problem); 1 it could not be run; 2 wrong"
    " arguments; 6 problems (with --strict: or warnings); 130 interrupted"
)
Configured = Callable[..., Values]
"""A stack's settings, decrypted ``with_keys``."""
Look = Callable[..., tuple[str, ...]]
"""At the state, for foreign code."""
_FILE: Final = "--config names a file, whose keys are encrypted, and no stack; run `preflight --stack`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    stack_config.add_source(parser, "stack; by default the selected one. It need not be up yet")
    add_json(parser)
    parser.add_argument("--all", action="store_true", help="print every check in full, those that are fine too")
    parser.add_argument("--strict", action="store_true", help="let warnings count as problems")
    parser.add_argument(
        "--pod-namespace",
        metavar="NAMESPACE",
        help="make the short-lived pods there: a namespace without Secrets, for an account that may not read the cluster's",
    )
    parser.add_argument(
        "--via",
        metavar="COMMAND",
        help="command that runs a shell on slurmctld's host, such as 'ssh root@{host} sh -s': answers before the first `up`"
        " what slurmrestd answers later; it reads and changes nothing",
    )
    parser.add_argument(
        "--try",
        dest="trial",
        action="store_true",
        help="let slurmctld and slurmdbd of the stack's images read the files that they would get, in short-lived pods that"
        " reach no living daemon; they say what they refuse",
    )
    less = parser.add_mutually_exclusive_group()
    less.add_argument("--no-pod", action="store_true", help="make no short-lived pod: nothing is tried from inside")
    less.add_argument("--from-here-only", action="store_true", help="only try connections from here: no key, no pod")


def run(
    arguments: argparse.Namespace,
    configured: Configured = stack_config.configured,
    asked: Callable[..., Facts] = ask,
    look: Look = verify_state.look,
) -> int:
    """Ask and tell. Raises what reading the configuration raises; returns the exit code."""
    if arguments.config:
        values = stack_config.configured_file(Path(arguments.config))
        keys_trouble = _FILE if values.config.key_source.configured else ""
    else:
        values, keys_trouble = _values(arguments.stack, configured, with_keys=not arguments.from_here_only)
    if arguments.via:
        if arguments.from_here_only:
            raise ProjectError("--from-here-only and --via contradict each other: --via asks hosts. Leave one of them out")
        require_host(values.config, arguments.via)
    if arguments.trial and (arguments.no_pod or arguments.from_here_only):
        raise ProjectError(
            "--try makes a short-lived pod, and --no-pod and --from-here-only make none. Leave --try out, or the other"
        )
    scope = Scope(
        trial=arguments.trial,
        pod=not (arguments.no_pod or arguments.from_here_only),
        daemons=not arguments.from_here_only,
        pod_namespace=arguments.pod_namespace,
    )
    now, later = "preflight: asking", ""
    if scope.pod:
        now = "preflight: connecting from here and from a short-lived pod, then querying Slurm"
        later = "the pod's image may still be downloading"
    try:
        with _ending_in_order(), waiting_line(sys.stderr, now, later=later):
            facts = asked(values, scope, env=os.environ, keys_trouble=keys_trouble)
            if arguments.via:
                facts = ask_host(facts, values.config, arguments.via, clock=Clock())
    except KeyboardInterrupt:
        print(f"preflight: interrupted{'; it left no short-lived pod' if scope.pod else ''}", file=sys.stderr)
        return INTERRUPTED
    if not arguments.from_here_only:
        foreign, trouble = (None, _FILE) if arguments.config else _state(arguments.stack, look)
        facts = replace(facts, foreign=foreign, foreign_trouble=trouble)
    outcomes = checks(values.config, facts, from_here_only=arguments.from_here_only)
    cluster = values.config.cluster.name
    if arguments.json:
        sys.stdout.write(as_json(arguments.stack or "", cluster, outcomes))
    else:
        colour, width = terminal(WIDTH)
        text = as_text(cluster, outcomes, colour=colour, width=width)
        sys.stdout.write(text if arguments.all else summary(cluster, outcomes, facts, colour=colour, width=width))
    return exit_code(outcomes, strict=arguments.strict)


def exit_code(outcomes: tuple[Check, ...], *, strict: bool) -> int:
    """6 where something doesn't fit, unless it is acknowledged; unknown isn't fine, and isn't a problem either."""
    bad = {Verdict.PROBLEM, Verdict.WARNING} if strict else {Verdict.PROBLEM}
    return FOUND if any(check.verdict in bad and not check.reason for check in outcomes) else 0


def _values(stack: str | None, configured: Configured, *, with_keys: bool) -> tuple[Values, str]:
    """The configuration and, where its keys can't be decrypted, why: all else can be looked at without them."""
    if not with_keys:
        return configured(stack), ""
    try:
        return configured(stack, with_keys=True), ""
    except StateError as error:
        values = configured(stack)
        return values, str(error) if values.config.in_configuration else ""


def _state(stack: str | None, look: Look) -> tuple[tuple[str, ...] | None, str]:
    """Foreign code in the state, or why that isn't known. Without the passphrase only what isn't encrypted is judged."""
    trouble = ""
    for decrypted in (True, False):
        try:
            findings = look(stack, decrypted=decrypted)
        except StateError as error:
            trouble = trouble or str(error)
        else:
            known = decrypted or bool(findings)
            return (findings, "") if known else (None, f"what is encrypted was not compared: {trouble}")
    return None, trouble


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM ends like Ctrl-C does, so that the short-lived pod is deleted: a CI job that is cancelled gets one."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
