"""Look for a secret in every file under a folder, in every form that it could have there."""

import base64
import gzip
import re
import urllib.parse
import zlib
from collections.abc import Iterator
from pathlib import Path

BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{24,}={0,2}")
URL_SAFE = bytes.maketrans(b"-_", b"+/")


def encodings(secret: str | bytes) -> dict[str, bytes]:
    """The forms in which a value may be in a file: by name. A key of random bytes has the same forms as a text."""
    raw = secret.encode() if isinstance(secret, str) else secret
    once = base64.b64encode(raw)
    forms = {
        "raw": raw,
        "base64": once.rstrip(b"="),
        "url-safe base64": base64.urlsafe_b64encode(raw).rstrip(b"="),
        "base64 of base64": base64.b64encode(once).rstrip(b"="),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        "url": urllib.parse.quote(secret, safe="").encode(),
        "JSON": raw.decode("latin-1").encode("unicode_escape").replace(b'"', b'\\"'),
    }
    return {name: form for name, form in forms.items() if name == "raw" or form != raw}


def contents(file: Path) -> Iterator[bytes]:
    """What a file holds: as it is, unzipped when it is gzip, and the base64 strings in it decoded (pickled providers)."""
    data = file.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = _unzip(data)
    yield data
    for found in BASE64.finditer(data):
        word = found[0].rstrip(b"=").translate(URL_SAFE)
        word = word[: len(word) - (len(word) % 4 == 1)]  # a length that no encoder makes: a path, say
        yield base64.b64decode(word + b"=" * (-len(word) % 4))


def _unzip(data: bytes) -> bytes:
    """Also of a file that is still being written: as much as there is."""
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return zlib.decompressobj(wbits=31).decompress(data)


def find(secret: str | bytes, *folders: Path) -> list[str]:
    """`FILE: FORM` for every place that holds the secret. Symlinks are not followed. Never the secret itself."""
    if len(secret) < 6:
        raise ValueError(f"a secret of {len(secret)} characters would be found by chance; 6 are needed")
    forms = encodings(secret)
    files = [file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file() and not file.is_symlink()]
    if not files:
        raise ValueError(f"no file under {', '.join(map(str, folders))}: nothing was searched")
    return [
        f"{file}: {name}"
        for file in files
        for name, form in forms.items()
        if any(form in content for content in contents(file))
    ]
