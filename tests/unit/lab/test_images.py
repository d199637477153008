"""Image archives: what containerd reads from them, made whole or not at all."""

import hashlib
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from lab.errors import LabError
from lab.images import (
    DATABASES,
    UNUSED_S,
    Image,
    Start,
    digest_of,
    pack_files,
    pack_over,
    pack_rootfs,
    plant,
    seed_key,
    unused,
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"#!/bin/sh\n")
    return path


def member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as tar:
        content = tar.extractfile(name)
        assert content is not None
        return content.read()


def manifest(archive: Path) -> Any:
    return json.loads(member(archive, "manifest.json"))[0]


def test_archive_names_its_image_and_its_config_by_digest(tmp_path: Path, program: Path) -> None:
    image = pack_files({"manager": program}, "slinky-lab/x:1", tmp_path / "x.tar")
    described = manifest(image.archive)
    assert described["RepoTags"] == ["slinky-lab/x:1"]
    config = member(image.archive, described["Config"])
    assert described["Config"] == f"{hashlib.sha256(config).hexdigest()}.json"


def test_config_holds_the_digest_of_the_layer_that_is_in_the_archive(tmp_path: Path, program: Path) -> None:
    image = pack_files({"manager": program}, "slinky-lab/x:1", tmp_path / "x.tar")
    config = json.loads(member(image.archive, manifest(image.archive)["Config"]))
    layer = member(image.archive, "layer.tar")
    assert config["rootfs"] == {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}


def test_start_becomes_the_image_config_and_what_is_not_set_is_left_out(tmp_path: Path, program: Path) -> None:
    start = Start(entrypoint=("/manager",), user="65532:65532")
    image = pack_files({"manager": program}, "slinky-lab/x:1", tmp_path / "x.tar", start=start)
    config = json.loads(member(image.archive, manifest(image.archive)["Config"]))["config"]
    assert config["Entrypoint"] == ["/manager"]
    assert config["User"] == "65532:65532"
    assert "Cmd" not in config


def test_layer_has_executable_files_their_folders_and_links_all_owned_by_root(tmp_path: Path, program: Path) -> None:
    image = pack_files({"bin/busybox": program}, "b:1", tmp_path / "b.tar", links={"bin/sh": "busybox"})
    layer = tmp_path / "layer.tar"
    layer.write_bytes(member(image.archive, "layer.tar"))
    with tarfile.open(layer) as tar:
        members = {each.name: each for each in tar}
    assert members["bin"].isdir()
    assert members["tmp"].mode == 0o1777
    assert members["bin/busybox"].mode == 0o755
    assert (members["bin/sh"].type, members["bin/sh"].linkname) == (tarfile.SYMTYPE, "busybox")
    assert {each.uid for each in members.values()} == {0}


def test_packing_leaves_nothing_but_the_archive_and_keeps_one_that_is_there(tmp_path: Path, program: Path) -> None:
    folder = tmp_path / "images"
    pack_files({"p": program}, "p:1", folder / "p.tar")
    assert [path.name for path in folder.iterdir()] == ["p.tar"]
    (folder / "p.tar").write_bytes(b"kept")
    pack_files({"p": program}, "p:1", folder / "p.tar")
    assert (folder / "p.tar").read_bytes() == b"kept"


def test_same_content_gives_the_same_archive(tmp_path: Path, program: Path) -> None:
    one = pack_files({"p": program}, "p:1", tmp_path / "one.tar")
    two = pack_files({"p": program}, "p:1", tmp_path / "two.tar")
    assert one.archive.read_bytes() == two.archive.read_bytes()


def test_digest_changes_with_content_and_with_words(program: Path) -> None:
    before = digest_of([program], "1")
    assert digest_of([program], "2") != before
    program.write_bytes(b"other")
    assert digest_of([program], "1") != before


def test_a_store_that_another_lab_has_used_today_stays(tmp_path: Path) -> None:
    for name, age in (("fresh", 60), ("old", UNUSED_S + 60), ("old.part", UNUSED_S + 60)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    assert unused(tmp_path, 1_000_000) == [tmp_path / "old"]


def test_seed_key_does_not_depend_on_order_but_on_every_archive() -> None:
    a, b = Image("a:1", Path("a-1.tar")), Image("b:1", Path("b-1.tar"))
    assert seed_key([a, b]) == seed_key([b, a])
    assert seed_key([a, b]) != seed_key([a])
    assert seed_key([a, b]) != seed_key([a, Image("b:1", Path("b-2.tar"))])


def test_planted_store_shares_layers_but_never_the_databases(tmp_path: Path) -> None:
    source, store = tmp_path / "seed", tmp_path / "node" / "store"
    for name in (*DATABASES, "layers/file"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("content")
    plant(source, store)
    assert (store / "layers/file").samefile(source / "layers/file")
    for name in DATABASES:
        assert not (store / name).samefile(source / name)
        assert (store / name).read_text() == "content"


def test_plant_replaces_what_a_killed_one_left(tmp_path: Path) -> None:
    source, store = tmp_path / "seed", tmp_path / "store"
    for name in DATABASES:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("content")
    (tmp_path / "store.part" / "rubbish").mkdir(parents=True)
    plant(source, store)
    assert not (store / "rubbish").exists()


def test_packed_folder_leaves_out_what_is_excluded_and_the_machines_own_folders(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("usr/bin/srun", "proc/1", "run/lock", "etc/passwd"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    image = pack_rootfs(root, "r:1", tmp_path / "r.tar", exclude=("./run/*",))
    layer = tmp_path / "layer.tar"
    layer.write_bytes(member(image.archive, "layer.tar"))
    with tarfile.open(layer) as tar:
        names = set(tar.getnames())
    assert {"./usr/bin/srun", "./etc/passwd", "./proc"} <= names
    assert not {"./proc/1", "./run/lock"} & names


def test_folder_that_is_not_there_is_named_and_leaves_no_archive(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="nowhere"):
        pack_rootfs(tmp_path / "nowhere", "r:1", tmp_path / "out" / "r.tar")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.fixture
def over(tmp_path: Path, program: Path) -> tuple[Image, Image]:
    """An image, and one with a layer more."""
    base = pack_files({"bin/one": program}, "base:1", tmp_path / "base.tar", start=Start(entrypoint=("/bin/one",)))
    for name in ("usr/sbin/munged", "etc/munge/munge.key"):
        (tmp_path / "upper" / name).parent.mkdir(parents=True)
        (tmp_path / "upper" / name).write_text("x")
    return base, pack_over(base, tmp_path / "upper", ("usr",), "more:1", tmp_path / "more.tar")


def test_an_image_over_another_has_its_very_layer_so_that_stores_share_it(over: tuple[Image, Image]) -> None:
    base, more = (json.loads(member(each.archive, manifest(each.archive)["Config"])) for each in over)
    layers = [member(over[1].archive, name) for name in manifest(over[1].archive)["Layers"]]
    assert more["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    assert more["rootfs"]["diff_ids"][:1] == base["rootfs"]["diff_ids"]
    assert more["config"] == base["config"]


def test_an_image_over_another_starts_what_it_is_told(over: tuple[Image, Image], tmp_path: Path) -> None:
    start = Start(entrypoint=("/sbin/tini",), env=("PATH=/opt/bin",))
    told = pack_over(over[0], tmp_path / "upper", ("usr",), "told:1", tmp_path / "told.tar", start=start)
    config = json.loads(member(told.archive, manifest(told.archive)["Config"]))["config"]
    assert config == {"Env": ["PATH=/opt/bin"], "Entrypoint": ["/sbin/tini"]}


def test_an_image_over_another_has_the_parts_that_were_asked_for_and_no_more(
    over: tuple[Image, Image], tmp_path: Path
) -> None:
    layer = tmp_path / "layer.tar"
    layer.write_bytes(member(over[1].archive, manifest(over[1].archive)["Layers"][1]))
    with tarfile.open(layer) as tar:
        assert tar.getnames() == ["usr", "usr/sbin", "usr/sbin/munged"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
