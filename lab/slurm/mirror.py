"""Which Debian mirror this machine uses, read from its own apt configuration.

Formats: sources.list(5), one-line style (`deb [options] URI suite component…`) and deb822 style (`*.sources`).
Nothing is guessed: a machine without a Debian entry for its own release gets a LabError that says where it looked.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError

APT = Path("/etc/apt")
OS_RELEASE = Path("/etc/os-release")


@dataclass(frozen=True)
class Source:
    """One archive: its address, one suite of it, its components."""

    uri: str
    suite: str
    components: tuple[str, ...]


def parse_one_line(text: str) -> Iterator[Source]:
    """Sources of a sources.list. Lines that are not `deb` lines are passed over."""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words or words[0] != "deb":
            continue
        rest = words[1:]
        if rest and rest[0].startswith("["):
            while rest and not rest.pop(0).endswith("]"):
                pass
        if len(rest) >= 2:
            yield Source(rest[0], rest[1], tuple(rest[2:]))


def parse_deb822(text: str) -> Iterator[Source]:
    """Sources of a `*.sources` file: every URI of a stanza with every suite of it."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in "\n".join(lines).split("\n\n"):
        fields: dict[str, str] = {}
        key = ""
        for line in stanza.splitlines():
            if line[:1].isspace():
                fields[key] = f"{fields.get(key, '')} {line.strip()}"
            elif ":" in line:
                key, _, value = line.partition(":")
                key = key.strip().lower()
                fields[key] = value.strip()
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
            continue
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                yield Source(uri, suite, tuple(fields.get("components", "").split()))


def choose(sources: Iterable[Source], codename: str) -> str | None:
    """The address that serves `codename` itself (not its updates or security) with component main, else None."""
    for source in sources:
        if source.suite == codename and "main" in source.components and source.uri.startswith("http"):
            return source.uri.rstrip("/")
    return None


def read(apt: Path = APT, os_release: Path = OS_RELEASE) -> str:
    """The Debian mirror of this machine. Raises LabError when its apt configuration names none."""
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    sources: list[Source] = []
    for file in files:
        if file.suffix == ".sources":
            sources += parse_deb822(file.read_text())
        elif file.suffix == ".list" and file.exists():
            sources += parse_one_line(file.read_text())
    release = dict(line.split("=", 1) for line in os_release.read_text().splitlines() if "=" in line)
    codename = release.get("VERSION_CODENAME", "").strip('"')
    uri = choose(sources, codename)
    if uri is None:
        raise LabError(
            f"no Debian mirror: none of the {len(sources)} sources in {apt} serves {codename or 'this release'} main "
            "over http(s); the lab takes Slurm 26.05 from Debian sid through that mirror, so add the line for Debian"
        )
    return uri
