"""Container images without a builder or a registry: packed from folders and files, put into every node's store.

An image is a docker archive (manifest.json, a config, one layer), which containerd imports. What goes in is decided by
the archive's file name, which carries a digest of the contents: an archive that is there is right.

Importing unpacks, and the Slurm image is big. So all archives are imported once into a store that is kept in CACHE
(`seed`), and each node starts with a copy of it whose layers are hard links: containerd never writes into a layer that
is committed, and overlayfs copies a file before it changes it.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from lab import paths, supervise
from lab.errors import LabError

NAMESPACE = "k8s.io"
"""containerd's namespace of everything that Kubernetes runs."""
DATABASES = ("io.containerd.metadata.v1.bolt/meta.db", "io.containerd.snapshotter.v1.overlayfs/metadata.db")
SEED_PROCESS = "image-store"
UNUSED_S = 24 * 3600
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Image:
    """An image's full name (`slinky-lab/slurmd:26.05`) and its archive, named after a digest of the contents."""

    name: str
    archive: Path


@dataclass(frozen=True)
class Start:
    """What a container of the image runs unless a pod says otherwise; `user` as in an image config ("65532:65532")."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    env: tuple[str, ...] = (PATH,)


def pack_rootfs(root: Path, name: str, out: Path, *, start: Start | None = None, exclude: Sequence[str] = ()) -> Image:
    """Pack folder `root` as an image. `exclude` are tar patterns relative to it (`./proc/*`). Owners are kept.

    Writes `out` at the end of it, all or nothing; does nothing if `out` exists. Raises LabError if tar fails.
    """
    if out.exists():
        return Image(name, out)
    out.parent.mkdir(parents=True, exist_ok=True)
    layer = out.with_name(f".{out.name}.layer")
    patterns = [f"--exclude={pattern}" for pattern in ("./proc/*", "./sys/*", "./dev/*", *exclude)]
    done = subprocess.run(
        ["tar", "--one-file-system", "--numeric-owner", "--sort=name", *patterns, "-cf", str(layer), "-C", str(root), "."],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        layer.unlink(missing_ok=True)
        raise LabError(f"image {name}: packing {root} failed: {done.stderr.strip()[-500:]}")
    return _archive(layer, name, out, start or Start())


def pack_files(
    files: Mapping[str, Path], name: str, out: Path, *, start: Start | None = None, links: Mapping[str, str] | None = None
) -> Image:
    """Pack single files (`{"bin/busybox": Path(…)}`, mode 755, owner root) and symbolic links as an image."""
    if out.exists():
        return Image(name, out)
    out.parent.mkdir(parents=True, exist_ok=True)
    layer = out.with_name(f".{out.name}.layer")
    with tarfile.open(layer, "w") as tar:
        for folder in sorted({str(parent) for target in (*files, *(links or {})) for parent in Path(target).parents}):
            if folder != ".":
                _add(tar, folder, kind=tarfile.DIRTYPE)
        _add(tar, "tmp", kind=tarfile.DIRTYPE, mode=0o1777)
        for target, source in sorted(files.items()):
            with source.open("rb") as content:
                _add(tar, target, size=source.stat().st_size, content=content)
        for target, to in sorted((links or {}).items()):
            _add(tar, target, kind=tarfile.SYMTYPE, to=to)
    return _archive(layer, name, out, start or Start())


def pack_over(base: Image, folder: Path, parts: Sequence[str], name: str, out: Path, *, start: Start | None = None) -> Image:
    """Pack `base` with one more layer: the `parts` of `folder`, owners kept. Where a store has `base` unpacked, its layers
    are shared. It starts what `base` starts, unless told what.

    Writes `out` at the end of it, all or nothing; does nothing if `out` exists. Raises LabError if tar fails.
    """
    if out.exists():
        return Image(name, out)
    layer = out.with_name(f".{out.name}.layer")
    argv = ["tar", "--numeric-owner", "--sort=name", "-cf", str(layer), "-C", str(folder), *parts]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        layer.unlink(missing_ok=True)
        raise LabError(f"image {name}: packing {folder} failed: {done.stderr.strip()[-500:]}")
    with _opened(base) as (source, layers, config):
        config["config"] = config["config"] if start is None else _settings(start)
        with layer.open("rb") as content:
            config["rootfs"]["diff_ids"].append(f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}")
        added = f"layer-{len(layers) + 1}.tar"
        with _new_archive(out, name, config, (*layers, added)) as tar:
            _copy(source, layers, tar)
            with layer.open("rb") as content:
                _add(tar, added, size=layer.stat().st_size, content=content, mode=0o644)
    layer.unlink()
    return Image(name, out)


def named(base: Image, name: str, out: Path) -> Image:
    """`base` under another name: the same config and layers, so a store that has `base` unpacked has this one, too.

    Writes `out` at the end of it, all or nothing; does nothing if `out` exists.
    """
    if out.exists():
        return Image(name, out)
    with _opened(base) as (source, layers, config), _new_archive(out, name, config, layers) as tar:
        _copy(source, layers, tar)
    return Image(name, out)


def digest_of(files: Iterable[Path], *words: str) -> str:
    """Twelve hex digits that change with the content of any file or with any word; for archive names."""
    digest = hashlib.sha256("\0".join(words).encode())
    for file in files:
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:12]


def seed_key(images: Sequence[Image]) -> str:
    """Twelve hex digits, the same for the same set of images."""
    lines = sorted(f"{image.name} {image.archive.name}" for image in images)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def seed(images: Sequence[Image]) -> Path:
    """A containerd store with all of `images` unpacked, in CACHE; made if it is not there. Those that no lab has used for
    a day are removed: another lab, with another operator, may be copying its own at this moment."""
    folder = paths.CACHE / "image-store"
    ready = folder / seed_key(images)
    if ready.is_dir():
        os.utime(ready)
        return ready
    part = ready.with_suffix(".part")
    supervise.stop(SEED_PROCESS)
    shutil.rmtree(part, ignore_errors=True)
    (part / "store").mkdir(parents=True)
    socket, config = part / "sock", part / "config.toml"
    config.write_text(
        f'version = 2\nroot = "{part / "store"}"\nstate = "{part / "state"}"\n'
        f'disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]\n'
        f'[grpc]\n  address = "{socket}"\n'
    )
    seal = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    supervise.start(SEED_PROCESS, [*seal, "containerd", "--config", str(config)])
    try:
        supervise.await_true("the image store answers", lambda: answers(socket), 20, log=SEED_PROCESS)
        for image in images:
            import_into(socket, image)
    finally:
        supervise.stop(SEED_PROCESS)
    for old in unused(folder, time.time()):
        shutil.rmtree(old)
    (part / "store").rename(ready)
    shutil.rmtree(part)
    return ready


def unused(folder: Path, now: float) -> list[Path]:
    """Stores that no lab has used for a day. ``now``: seconds since the epoch."""
    return [each for each in sorted(folder.iterdir()) if now - each.stat().st_mtime > UNUSED_S and each.suffix != ".part"]


def plant(source: Path, store: Path) -> None:
    """Make `store` a copy of a seed, all or nothing: layers as hard links where the file system allows, else copied."""
    part = store.with_name(f"{store.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    if subprocess.run(["cp", "-al", str(source), str(part)], capture_output=True, check=False).returncode:
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(part)], check=True)
    for name in DATABASES:  # these are written to
        fresh = part / f"{name}.new"
        shutil.copy2(source / name, fresh)
        fresh.replace(part / name)
    part.rename(store)


def import_into(socket: Path, image: Image) -> None:
    """Import one archive into the containerd behind `socket` and unpack it. Raises LabError with what ctr said."""
    argv = ["ctr", "--address", str(socket), "--namespace", NAMESPACE, "images", "import", str(image.archive)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"image {image.name} could not be imported from {image.archive}: {done.stderr.strip()[-500:]}")


def answers(socket: Path) -> bool:
    """Does the containerd behind `socket` answer?"""
    argv = ["ctr", "--address", str(socket), "--connect-timeout", "1s", "version"]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _archive(layer: Path, name: str, out: Path, start: Start) -> Image:
    """Turn a layer (a tar file, which is consumed) into a docker archive."""
    with layer.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    config = {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine],
        "os": "linux",
        "config": _settings(start),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    with _new_archive(out, name, config, ("layer.tar",)) as tar, layer.open("rb") as content:
        _add(tar, "layer.tar", size=layer.stat().st_size, content=content, mode=0o644)
    layer.unlink()
    return Image(name, out)


def _settings(start: Start) -> dict[str, Any]:
    """The part of an image's config that says what is started."""
    settings = {"Env": start.env, "Entrypoint": start.entrypoint, "Cmd": start.command, "User": start.user}
    return {key: value for key, value in settings.items() if value}


@contextmanager
def _new_archive(out: Path, name: str, config: Mapping[str, Any], layers: Sequence[str]) -> Iterator[tarfile.TarFile]:
    """A docker archive with its manifest and config, to which the caller adds the layers; `out` exists when all is well."""
    packed = json.dumps(config).encode()
    config_name = f"{hashlib.sha256(packed).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": list(layers)}]).encode()
    part = out.with_name(f".{out.name}.part")
    with tarfile.open(part, "w") as tar:
        for member, body in ((config_name, packed), ("manifest.json", manifest)):
            _add(tar, member, size=len(body), content=BytesIO(body), mode=0o644)
        yield tar
    part.replace(out)


@contextmanager
def _opened(image: Image) -> Iterator[tuple[tarfile.TarFile, list[str], dict[str, Any]]]:
    """An image's archive, the names of its layers in it, and its config."""
    with tarfile.open(image.archive) as source:
        described = json.loads(_member(source, "manifest.json").read())[0]
        yield source, described["Layers"], json.loads(_member(source, described["Config"]).read())


def _copy(source: tarfile.TarFile, layers: Iterable[str], tar: tarfile.TarFile) -> None:
    for each in layers:
        tar.addfile(source.getmember(each), _member(source, each))


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    content = archive.extractfile(name)
    if content is None:
        raise LabError(f"{archive.name!r}: {name} isn't a file in it; remove the archive, it is made again")
    return content


def _add(
    tar: tarfile.TarFile,
    name: str,
    *,
    kind: bytes = tarfile.REGTYPE,
    mode: int = 0o755,
    size: int = 0,
    content: IO[bytes] | None = None,
    to: str = "",
) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.size, member.linkname = kind, mode, size, to
    tar.addfile(member, content)
