#!/bin/bash
# Entry point of slinky-lab/slurm (behind `tini -g --`): one image for every container that slurm-operator makes.
#
# The operator (1.0 to 1.2, internal/builder) gives no `command` to its main containers, so the role is read from
# what it does give; custom resources need only `image`:
#   login       environment SACKD_OPTIONS
#   slurmrestd  environment SLURM_JWT=daemon
#   slurmd      argument --conf-server (quoted for a shell: --conf 'Features=…')
#   slurmdbd    /etc/slurm/slurmdbd.conf
#   slurmctld   /etc/slurm/slurm.conf
# The side containers (logfile, reconfigure, initconf) bring a `command` and never come here.
# SLURM_ROLE overrides all of it. With anything else the arguments are a command.
set -eu

# Daemons are started by absolute path: sackd re-executes itself by the path it was given when slurmctld sends a new
# configuration, and dies if it is not one.
program() { command -v "$1"; }

role() {
    if [ -n "${SLURM_ROLE:-}" ]; then echo "$SLURM_ROLE"
    elif [ -n "${SACKD_OPTIONS:-}" ]; then echo login
    elif [ "${SLURM_JWT:-}" = daemon ]; then echo slurmrestd
    elif [[ " $* " == *" --conf-server "* ]]; then echo slurmd
    elif [ $# -gt 0 ] && command -v "$1" >/dev/null; then echo command
    elif [ -e /etc/slurm/slurmdbd.conf ]; then echo slurmdbd
    elif [ -e /etc/slurm/slurm.conf ]; then echo slurmctld
    else echo unknown
    fi
}

login() {
    mkdir -p /run/slurm /run/sshd
    chown slurm:slurm /run/slurm
    # shellcheck disable=SC2086  # the operator joins the options with spaces
    setpriv --reuid=slurm --regid=slurm --clear-groups "$(program sackd)" -D $SACKD_OPTIONS &
    [ -e /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -A
    /usr/sbin/sshd -D -e &
    wait -n || true
    echo "slurm-entrypoint: sackd or sshd ended, so the login container ends" >&2
    exit 1
}

# The operator's log sidecar reads a FIFO and ends at end of file, and its next run makes the FIFO anew; a daemon that
# closes its log for a moment (scontrol reconfigure) would then wait for ever on the removed one. So somebody else holds it
# open, and takes up every new one.
hold_log() {
    local log=/var/log/slurm/$1.log fd='' never
    exec {never}<> <(:) # a pipe that stays empty: `read -t` waits on it without a process, which `sleep` would be, twice a second
    while kill -0 $$ 2>/dev/null; do # $$ is the daemon: it takes this shell's place
        if [ -p "$log" ] && ! { [ -n "$fd" ] && [ "$log" -ef "/proc/self/fd/$fd" ]; }; then
            exec {fd}<>"$log"
        fi
        read -r -t 0.5 -u "$never" || true
    done
}

case $(role "$@") in
    login) login ;;
    slurmrestd) exec "$(program slurmrestd)" "$@" ;;
    slurmd)
        mkdir -p /run/slurm /var/spool/slurmd
        hold_log slurmd </dev/null >/dev/null 2>&1 &
        eval exec "$(program slurmd)" -D "$@"
        ;;
    slurmdbd) exec "$(program slurmdbd)" -D "$@" ;;
    slurmctld)
        hold_log slurmctld </dev/null >/dev/null 2>&1 &
        exec "$(program slurmctld)" -D "$@"
        ;;
    command) exec "$@" ;;
    *)
        echo "slurm-entrypoint: can't tell what to be from the environment, /etc/slurm and arguments '$*';" \
            "set SLURM_ROLE to slurmctld, slurmd, slurmdbd, slurmrestd or login" >&2
        exit 64
        ;;
esac
