"""Files that settings name, read whole where they are small."""

from __future__ import annotations

from pathlib import Path


def read(file: Path, most: int, instead: str) -> bytes:
    """Raises ValueError, which quotes nothing; ``instead``: what to do about a file of over ``most`` bytes."""
    try:
        with file.open("rb") as opened:
            content = opened.read(most + 1)
    except OSError as fault:
        raise ValueError(f"can't be read: {fault.strerror}; give a path relative to Pulumi.yaml") from None
    if len(content) > most:
        raise ValueError(f"has more than {most} bytes, {instead}")
    return content
