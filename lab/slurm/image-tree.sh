#!/bin/sh
# Makes the image's tree: image-tree.sh LOWER ENTRYPOINT WORK OUT "PACKAGE..." PACK...
#
# Runs in a mount namespace of its own. Over the hosts' root file system LOWER it takes away what containers don't
# need (the PACKAGEs, dpkg patterns in one word), puts ENTRYPOINT in, checks that what is left still runs, and ends
# as `PACK... TREE OUT`, which makes the archive.
set -euf  # no file is meant by the patterns of packages
lower=$1 entrypoint=$2 work=$3 out=$4 packages=$5
shift 5
mount -t tmpfs tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay -o "lowerdir=$lower,upperdir=$work/upper,workdir=$work/work" image "$work/root"
root=$work/root
install -m 755 "$entrypoint" "$root/usr/local/bin/slurm-entrypoint"

# shellcheck disable=SC2086  # a list
chroot "$root" sh -s -- $packages <<'END'
set -eu
dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' "$@" | sed -n 's/^installed //p' > /tmp/unwanted
xargs dpkg-query -L < /tmp/unwanted | sort -u > /tmp/theirs
dpkg-query -W -f '${binary:Package}\n' | grep -vxFf /tmp/unwanted | xargs dpkg-query -L | sort -u > /tmp/others
comm -23 /tmp/theirs /tmp/others | while read -r path; do
    if [ -L "$path" ] || [ -f "$path" ]; then rm -f "$path"; fi
done
rm -rf /var/lib/dpkg /var/lib/apt /var/lib/mariadb /var/lib/mysql /var/cache/* /var/log/*.log /etc/mysql /etc/apt \
    /usr/share/doc /usr/share/man /usr/share/locale /usr/share/zoneinfo /usr/share/perl* /usr/share/bash-completion \
    /usr/share/mariadb /usr/lib/*-linux-gnu/perl* /usr/lib/*-linux-gnu/gconv /usr/lib/systemd \
    /usr/share/debconf /usr/share/info /usr/share/zsh /usr/share/gcc /etc/systemd /tmp/*
# The operator's scripts are run by `sh` and written for bash (initconf.sh: `function main()`).
ln -sf bash /usr/bin/sh
END

for program in slurmctld slurmd; do chroot "$root" "$program" -V; done
chroot "$root" slurmrestd -d list 2>&1 | grep -F v0.0.44
chroot "$root" sh -c 'function f() { id slurm && id alice; }; f'
for program in slurmdbd sackd scontrol srun sbatch tini sshd find xargs sha256sum setpriv ssh-keygen getent mkfifo; do
    chroot "$root" sh -c "command -v $program"
done
chroot "$root" sh -c 'ldd /usr/sbin/s* /usr/bin/s[abcdhqr]* /usr/lib/*-linux-gnu/slurm*/*.so /usr/bin/curl' > "$work/ldd" || true  # scripts
if ! grep -q libslurmfull "$work/ldd" || grep 'not found' "$work/ldd"; then
    echo "libraries are missing in the image" >&2
    exit 1
fi
exec "$@" "$root" "$out"
