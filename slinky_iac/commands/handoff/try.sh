#!/usr/bin/env bash
# Tries slurm.conf of this host, with the lines of the hand-off that it lacks, on a slurmctld of the installed release.
# That slurmctld has an empty state and keys of its own, in namespaces of its own: no network, no /run and no process of the
# living cluster are in reach. Nothing on this host is changed. Run it as root, before you edit slurm.conf:
#
#   try.sh [FOLDER]      FOLDER: where slurm.conf is, by default @slurm
#
# It ends with 0 where slurmctld takes the file, with 6 where it refuses it, and with 1 where it can't be tried.
set -u
@trial
folder=${1:-@slurm}
if [ -z "${SLINKY_TRIAL:-}" ]; then
    [ "$(id -u)" = 0 ] || { echo "try.sh: run it as root: it needs namespaces of its own" >&2; exit 1; }
    [ -r "$folder/slurm.conf" ] || { echo "try.sh: $folder/slurm.conf can't be read" >&2; exit 1; }
    scratch=$(mktemp -d /tmp/slinky-trial.XXXXXX) || exit 1
    trap 'rm -rf "$scratch"' EXIT
    (cd "$folder" && find . -type f ! -name '*.key' ! -name '*.jwks' ! -name '*.pem' ! -name slurmdbd.conf -print0) |
        tar -C "$folder" --null -T - -chf - | tar -C "$scratch" -xf - || exit 1
    check=$(dirname "$0")/files@check
    if [ -r "$check" ]; then
        lines=$(bash "$check" --missing)
        printf '%s\n' "$lines" >> "$scratch/slurm.conf"
        echo "with the lines that slurm.conf lacks:"
        printf '%s\n' "${lines:-(none)}" | sed 's/^/  /'
    fi
    SLINKY_TRIAL=$scratch unshare --mount --net --pid --uts --ipc --fork --kill-child --mount-proc bash "$0" "$folder"
    exit
fi
fail() { echo "try.sh: $1" >&2; exit 1; }
mount -t tmpfs none /run || fail "no /run of its own"
mkdir -p /run/slurmctld || fail "no /run of its own"
chown "$(trial_user "$SLINKY_TRIAL/slurm.conf"):" /run/slurmctld
hostname slinky-trial
echo '127.0.0.1 localhost slinky-trial' > "$SLINKY_TRIAL/hosts"
mount --bind "$SLINKY_TRIAL/hosts" /etc/hosts || fail "no /etc/hosts of its own"
ip link set lo up || fail "no network of its own"
ip address add 192.0.2.1/32 dev lo || fail "no network of its own" # names resolve where an address isn't loopback's
trial "$SLINKY_TRIAL" slurmctld > /run/report
sed -E -e 's/^verdict slurmctld taken$/slurmctld takes the file/' -e 's/^verdict slurmctld refused$/slurmctld REFUSES the file:/' \
    -e 's/^verdict slurmctld silent$/not known: slurmctld did not come to serve in time/' \
    -e 's/^left slurm.conf /not tried, since it needs what lives: /' -e 's/^(said|release) slurmctld /  /' /run/report
grep -q '^verdict slurmctld taken' /run/report && exit 0
grep -q '^verdict slurmctld refused' /run/report && exit 6
exit 1
