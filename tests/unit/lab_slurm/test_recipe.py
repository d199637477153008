"""Caches are keyed by all that decides their content, and by nothing else."""

from dataclasses import replace

from lab.slurm import image, needs, rootfs
from lab.slurm.rootfs import RECIPE, User


def test_the_same_recipe_has_the_same_key_and_another_has_another() -> None:
    assert RECIPE.key() == rootfs.Recipe().key()
    others = (
        replace(RECIPE, suite="trixie"),
        replace(RECIPE, packages=(*RECIPE.packages, "vim")),
        replace(RECIPE, users=(User("eve", 2009),)),
        replace(RECIPE, edition=RECIPE.edition + 1),
    )
    assert len({RECIPE.key(), *(other.key() for other in others)}) == 1 + len(others)


def test_an_image_changes_with_the_root_file_system_it_is_made_from() -> None:
    assert image.key(RECIPE) != image.key(replace(RECIPE, edition=RECIPE.edition + 1))


def test_user_slurm_is_made_before_debian_s_packages_could_make_it() -> None:
    script = rootfs.install_script(RECIPE)
    assert script.index(f"useradd -u {needs.SLURM_UID}") < script.index("apt-get install")


def test_every_user_has_the_uid_that_slurm_will_carry_across_hosts() -> None:
    script = rootfs.install_script(RECIPE)
    for user in RECIPE.users:
        assert f"useradd -m -u {user.uid} -s /bin/bash {user.name}\n" in script
