"""The image `slinky-lab/slurm-ldap:26.05`: the lab's Slurm image with sssd and slapd in one more layer, for users of a
directory.

Slinky's slurmd and login images start sssd beside their daemon where /etc/sssd/sssd.conf is. This one does, too.
"""

import hashlib

from lab import images, paths
from lab.images import Image
from lab.slurm import image as slurm_image
from lab.slurm import rootfs
from lab.slurm.layers import Layer
from lab.slurm.rootfs import Say

IMAGE = "slinky-lab/slurm-ldap:26.05"
ENTRY = "usr/local/bin/with-sssd"
_WITH_SSSD = """#!/bin/sh
if [ -s /etc/sssd/sssd.conf ]; then
    install -d -m 755 /var/lib/sss /var/lib/sss/db /var/lib/sss/mc /var/lib/sss/pipes /var/lib/sss/pipes/private \\
        /var/lib/sss/pubconf /var/log/sssd
    /usr/sbin/sssd -i --logger=stderr &
fi
exec /usr/local/bin/slurm-entrypoint "$@"
"""
FINISH = f"""chroot "$root" sssd --version
chroot "$root" slapd -VV 2>&1 | head -n 1
cat > "$root/{ENTRY}" <<'END'
{_WITH_SSSD}END
chmod 755 "$root/{ENTRY}"
sed -i -E 's/^(passwd|group):.*/\\1: files sss/' "$root/etc/nsswitch.conf"
"""
LAYER = Layer("ldap", ("sssd-ldap", "libnss-sss", "libpam-sss", "slapd", "ldap-utils", "openssh-client"), FINISH)


def image(*, say: Say = rootfs.tell) -> Image:
    """The image, made if it is not in CACHE."""
    base, upper = slurm_image.ensure(say=say), LAYER.ensure(say=say)
    key = hashlib.sha256(f"{base.archive.name} {LAYER.key()}".encode()).hexdigest()[:12]
    folder = paths.CACHE / "images"
    start = images.Start(entrypoint=("tini", "-g", "--", f"/{ENTRY}"))
    with rootfs.alone(folder / "slurm.lock"):
        parts = ("usr", "etc", "var/lib/sss", "var/log/sssd")
        return images.pack_over(base, upper, parts, IMAGE, folder / f"slurm-ldap-{key}.tar", start=start)
