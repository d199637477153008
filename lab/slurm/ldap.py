"""The image `slinky-lab/slurm-ldap:26.05`: the lab's Slurm image with sssd and slapd in one more layer, for users of a
directory.

Slinky's slurmd and login images start sssd beside their daemon where /etc/sssd/sssd.conf is. This one does, too.
"""

from lab.images import Image, Start
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
    start = Start(entrypoint=("tini", "-g", "--", f"/{ENTRY}"))
    return slurm_image.over(LAYER, ("usr", "etc", "var/lib/sss", "var/log/sssd"), IMAGE, start=start, say=say)
