"""Run one Pulumi program against a resource monitor: what the language host starts for each Run.

Exit codes are the protocol with the host: 0 done; 32 an error that has been shown already (the host answers "bail");
1 `pulumi.RunError` or a failure of the runner itself.
"""

import argparse
import asyncio
import logging
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pulumi
import pulumi.runtime

from lab.standins import BAIL


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The runner's command line."""
    parser = argparse.ArgumentParser(prog="pulumi-language-python-exec", description="Run a Pulumi program in Python.")
    for flag in ("project", "root_directory", "stack", "pwd", "monitor", "engine", "tracing", "organization"):
        parser.add_argument(f"--{flag}")
    parser.add_argument("--parallel", type=int, default=0)
    parser.add_argument("--dry_run", choices=("true", "false"), default="false")
    parser.add_argument("program")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    return parser.parse_args(argv)


def traceback_of_program(error: BaseException, entry: Path) -> str:
    """The traceback from the program's first frame on: the frames of runner and SDK above it say nothing to its author."""
    frames = traceback.extract_tb(error.__traceback__)
    main = {entry.resolve(), (entry / "__main__.py").resolve()}
    first = next((n for n, frame in enumerate(frames) if Path(frame.filename).resolve() in main), 0)
    return "".join(traceback.format_exception(error, limit=first - len(frames)))


def has_program(entry: Path) -> bool:
    """Whether there is anything to run: a file, or a folder with `__main__.py`."""
    return entry.is_file() or (entry / "__main__.py").is_file()


def configure(args: argparse.Namespace) -> None:
    """Hand stack configuration and the addresses of engine and monitor to the SDK."""
    pulumi.runtime.set_all_config(pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env())
    pulumi.runtime.configure(
        pulumi.runtime.Settings(
            monitor=args.monitor,
            engine=args.engine,
            project=args.project,
            stack=args.stack,
            parallel=args.parallel,
            dry_run=args.dry_run == "true",
            organization=args.organization,
            root_directory=args.root_directory,
        )
    )


def run(program: str, parallel: int) -> int:
    """Run the program in an event loop of its own, sized as the official runner sizes it; the exit code."""
    entry = Path(program).absolute()
    if not has_program(entry):
        pulumi.log.error(f"no Python program at {entry}: neither a file nor a folder with __main__.py")
        return BAIL
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    executor = ThreadPoolExecutor(max_workers=4 * max(parallel, 1))
    loop.set_default_executor(executor)
    # A program that stops early leaves futures unobserved; asyncio's complaints about them would bury its one error.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: _execute(program)))
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return 1
    except Exception as error:
        pulumi.log.error(f"Program failed with an unhandled exception:\n{traceback_of_program(error, entry)}")
        return BAIL
    finally:
        executor.shutdown(wait=True)
        loop.close()
    return 0


def _execute(program: str) -> None:
    runpy.run_path(program, run_name="__main__")


def main(argv: Sequence[str]) -> None:
    """Run, and exit with the code that the host understands."""
    args = parse(argv)
    configure(args)
    sys.argv = [args.program, *args.args]
    if args.pwd:
        os.chdir(args.pwd)
    code = run(args.program, args.parallel)
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)
