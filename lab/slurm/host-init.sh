#!/bin/sh
# First process of one outside host: host-init.sh NAME LOWER FOLDER [SOURCE TARGET]...
#
# Runs as root in new mount, uts, net and pid namespaces (lab/slurm/hosts.py starts it through unshare). Makes the
# host's root: the shared root file system LOWER below, this host's own disk FOLDER/disk on top, each SOURCE bound
# on TARGET. Then it writes "PID START" as the machine sees this process to FOLDER/pid and becomes the host's tini.
# Every mount is private to the host and goes when its last process does.
set -eu
name=$1 lower=$2 folder=$3
shift 3
root=$folder/root

# The machine's /proc is still mounted here, so it tells the pid (and start time) that the machine sees.
read -r stat < /proc/self/stat
pid=${stat%% *}
rest=${stat##*) }
start=$(echo "$rest" | cut -d' ' -f20)

mkdir -p "$folder/disk" "$folder/work" "$root"
mount -t overlay -o "lowerdir=$lower,upperdir=$folder/disk,workdir=$folder/work" host "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount -t tmpfs -o mode=755 dev "$root/dev"
while read -r device major minor; do mknod -m 666 "$root/dev/$device" c "$major" "$minor"; done <<'END'
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
END
ln -s /proc/self/fd "$root/dev/fd"
for stream in 0stdin 1stdout 2stderr; do ln -s "/proc/self/fd/${stream%%std*}" "$root/dev/${stream#?}"; done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 pts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
while [ $# -gt 1 ]; do
    if [ -d "$1" ]; then mkdir -p "$root$2"; else rm -f "$root$2"; : > "$root$2"; fi
    mount --bind "$1" "$root$2"
    shift 2
done
hostname "$name"
ip link set lo up
chroot "$root" sh -c '
    for folder in slurmctld slurmdbd slurmrestd; do install -d -o slurm -g slurm -m 755 /run/$folder; done
    install -d -m 755 /run/sshd
    install -d -o mysql -g mysql -m 755 /run/mariadbd
    ln -s mariadbd /run/mysqld'

echo "$pid $start" > "$folder/pid.new"
mv "$folder/pid.new" "$folder/pid"
[ -n "${HOST_CGROUP:-}" ] || exec chroot "$root" tini -- sleep infinity

# A host that boots systemd: in a cgroup tree of its own, up to basic.target (packages would start daemons beyond it).
# It gets a real root instead of a chroot's, or it could give no service a mount namespace.
mkdir -p "$HOST_CGROUP"
echo 0 > "$HOST_CGROUP/cgroup.procs"
: > "$root/etc/machine-id"
echo "$name" > "$root/etc/hostname"
exec unshare --cgroup sh -c '
    mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
    mount --bind "$1/proc/sys" "$1/proc/sys"
    mount -o remount,bind,ro "$1/proc/sys" # the machine keeps its kernel parameters
    cd "$1"
    mkdir -p run/machine
    pivot_root . run/machine
    exec chroot . env -i container=lab "$2" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        /usr/lib/systemd/systemd --unit=basic.target --log-target=null --show-status=0
' init "$root" "SLINKY_LAB_PROCESS=${SLINKY_LAB_PROCESS:-}"
