"""Get the tools: from PATH in the right version, as an official release where it can be fetched, else built with Go.

What is fetched or built lies in CACHE/tools/<name>-<key>, where the key is a digest of lock files and flags. It gets
there by one rename, so what is there is whole. One build at a time: two at once only slow each other down.
"""

import json
import os
import platform
import shutil
import subprocess
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from lab import go, locks, paths
from lab.errors import LabError
from lab.tools import TOOLS, Tool

Say = Callable[[str], None]
REACH_SECONDS = 5.0
FETCH_SECONDS = 600.0
PROGRESS_SECONDS = 20.0


def ensure(tools: Sequence[Tool] = TOOLS, *, say: Say = print) -> dict[str, Path]:
    """Every program of `tools` by its name. Says up front what has to be built and how long that takes."""
    found: dict[str, Path] = {}
    absent = []
    for tool in tools:
        here = _on_path(tool) or _in_cache(tool)
        if here is None:
            absent.append(tool)
        found |= here or {}
    if absent:
        with locks.alone("tools", lambda: say("tools: somebody else is building them; waiting")):
            found |= _obtain(absent, say)
    return found


def _obtain(absent: Sequence[Tool], say: Say) -> dict[str, Path]:
    found: dict[str, Path] = {}
    to_build = []
    for tool in absent:
        here = _in_cache(tool) or _fetched(tool, say)
        if here is None:
            to_build.append(tool)
        found |= here or {}
    if to_build:
        minutes = sum(tool.minutes for tool in to_build)
        names = ", ".join(f"{tool.name} {tool.version} ({tool.minutes} min)" for tool in to_build)
        say(
            f"tools: no official release could be fetched of {names}; they are built with Go, once, into "
            f"{paths.CACHE / 'tools'}: about {minutes} min of CPU time, {max(1, minutes // (os.cpu_count() or 1))} min here"
        )
    for tool in to_build:
        found |= _built(tool, say)
    return found


def _folder(tool: Tool) -> Path:
    return paths.CACHE / "tools" / f"{tool.name}-{tool.key()}"


def _programs(tool: Tool, folder: Path) -> dict[str, Path]:
    return {program: folder / program for program in tool.programs}


def _in_cache(tool: Tool) -> dict[str, Path] | None:
    return _programs(tool, _folder(tool)) if _folder(tool).is_dir() else None


def _on_path(tool: Tool) -> dict[str, Path] | None:
    """All of the tool's programs from PATH, if each says that it is the wanted version."""
    found: dict[str, Path] = {}
    for program in tool.programs if tool.asked else ():
        path = shutil.which(program)
        if path is None:
            return None
        ours = Path(path).parent == _folder(tool)  # named after all that decides what is in it: no need to ask
        if not ours and not says_version(path, tool.asked, tool.version):
            return None
        found[program] = Path(path)
    return found or None


def says_version(program: str, arguments: Sequence[str], version: str) -> bool:
    """Does the program's answer hold exactly this version as a word, with or without a `v` or a `name-` before it?"""
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    words = (done.stdout + " " + done.stderr).replace("CoreDNS-", "").split()
    return version in {word.removeprefix("v").rstrip(",") for word in words}


# -- official releases -----------------------------------------------------------------------------------------------


def _fetched(tool: Tool, say: Say) -> dict[str, Path] | None:
    """The official release, None if there is none or it can't be reached within REACH_SECONDS."""
    if tool.release is None:
        return None
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    part = _fresh(tool)
    try:
        for program in tool.programs:
            url = tool.release.url.format(arch=arch, x64=arch.replace("amd64", "x64"), program=program)
            fetch(url, part, program)
    except (OSError, tarfile.TarError) as error:
        reason = getattr(error, "reason", error)
        say(f"{tool.name} {tool.version}: the official release can't be fetched ({reason})")
        shutil.rmtree(part)
        return None
    if not all((part / program).exists() for program in tool.programs):
        raise LabError(f"{tool.name}: the release at {tool.release.url} has not all of {', '.join(tool.programs)}")
    part.rename(_folder(tool))
    say(f"{tool.name} {tool.version}: official release")
    return _programs(tool, _folder(tool))


def fetch(url: str, folder: Path, program: str) -> None:
    """Put the file at `url`, or every file of the tar archive there, into `folder`, without its path, executable.

    Raises OSError when the server can't be reached or stays silent for REACH_SECONDS, or takes FETCH_SECONDS in all.
    """
    begun = monotonic()
    download = folder / ".download"
    with urllib.request.urlopen(url, timeout=REACH_SECONDS) as answer, download.open("wb") as out:
        while block := answer.read(1 << 20):
            out.write(block)
            if monotonic() - begun > FETCH_SECONDS:
                raise TimeoutError(f"{url} took longer than {FETCH_SECONDS:.0f} s")
    if url.endswith((".tar.gz", ".tgz")):
        with tarfile.open(download) as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() else None
                if content is not None:
                    with (folder / Path(member.name).name).open("wb") as out:
                        shutil.copyfileobj(content, out)
        download.unlink()
    else:
        download.rename(folder / program)
    for file in folder.iterdir():
        file.chmod(0o755)


# -- builds ----------------------------------------------------------------------------------------------------------


def _built(tool: Tool, say: Say) -> dict[str, Path]:
    compiler = go.ensure(say=say)
    part = _fresh(tool)
    source = part / "src"
    shutil.copytree(tool.lock, source)
    _trim(tool, source, compiler)
    _embed(tool, source, compiler)
    argv = [
        "setpriv", "--pdeathsig", "KILL", "nice", str(compiler), "build", "-v", "-buildvcs=false", "-mod=readonly",
        "-ldflags", tool.ldflags, "-o", f"{part}/", *tool.packages,
    ]  # fmt: skip
    env = go.environment({} if tool.cgo else {"CGO_ENABLED": "0"})
    begun = monotonic()
    say(f"{tool.name} {tool.version}: building (about {tool.minutes} min of CPU time when nothing is cached)")
    with subprocess.Popen(argv, cwd=source, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as build:
        lines: list[str] = []
        done = threading.Event()
        watch = threading.Thread(target=_tell_progress, args=(tool.name, lines, done, say), daemon=True)
        watch.start()
        lines.extend(line.rstrip() for line in build.stdout or ())
        done.set()
        watch.join()
    if build.returncode:
        raise LabError(f"{tool.name}: `go build` failed in {source}:\n" + "\n".join(f"  {line}" for line in lines[-15:]))
    shutil.rmtree(source)
    if tool.packages == (".",) and not (part / tool.programs[0]).exists():
        raise LabError(f"{tool.name}: `go build` made no {tool.programs[0]} in {part}")
    part.rename(_folder(tool))
    say(f"{tool.name} {tool.version}: built in {(monotonic() - begun) / 60:.1f} min")
    return _programs(tool, _folder(tool))


def _tell_progress(name: str, lines: list[str], done: threading.Event, say: Say) -> None:
    begun = monotonic()
    while not done.wait(PROGRESS_SECONDS):
        say(f"{name}: {len(lines)} packages fetched or compiled, {(monotonic() - begun) / 60:.1f} min")


def _embed(tool: Tool, source: Path, compiler: Path) -> None:
    """Put the module's own files beside our main, with the version that we give the provider."""
    if tool.module_files is None:
        return
    module, folder, names = tool.module_files
    origin = (source / "module" if tool.trimmed is not None else _module(tool, source, compiler, module)) / folder
    for name in names:
        shutil.copyfile(origin / name, source / name)
    schema = json.loads((source / "schema.json").read_text())
    (source / "schema.json").write_text(json.dumps({**schema, "version": tool.version}))


def _module(tool: Tool, source: Path, compiler: Path, module: str) -> Path:
    argv = [str(compiler), "mod", "download", "-json", module]
    done = subprocess.run(argv, cwd=source, env=go.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{tool.name}: {module} could not be downloaded: {(done.stdout + done.stderr).strip()[-500:]}")
    return Path(json.loads(done.stdout)["Dir"])


def _trim(tool: Tool, source: Path, compiler: Path) -> None:
    """A copy of the module with its files replaced, where go.mod has it."""
    if tool.trimmed is None:
        return
    copy = source / "module"
    shutil.copytree(go.module(tool.trimmed.module, tool.trimmed.version, tool.trimmed.checksum, go=compiler), copy)
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    for name, text in tool.trimmed.files:
        (copy / name).unlink()
        (copy / name).write_text(text)


def _fresh(tool: Tool) -> Path:
    part = _folder(tool).with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    return part
