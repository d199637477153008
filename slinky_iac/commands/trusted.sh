trusted() { # FOLDER: only root may change it and every folder above it; else say who may, and what to do
    local at sticky other
    at=$(cd -P -- "$1" && pwd -P) || return 1
    sticky= # where anybody may add a name, and only its owner take it away: good above, but not where root writes
    while :; do
        other=$(find "$at" -maxdepth 0 \( ! -uid 0 ! -uid "$(id -u)" -o -perm -002 $sticky \
            -o -perm -020 ! -gid 0 $sticky \) \
            -printf '%p belongs to %u:%g and has mode %m, so others than root may change it') ||
            other="it is not known who may change $at"
        if [ -n "$other" ]; then
            printf '%s. Run: chown root: %s; chmod go-w %s\n' "$other" "$at" "$at"
            return 1
        fi
        [ "$at" != / ] || return 0
        sticky='! -perm -1000'
        at=${at%/*}
        at=${at:-/}
    done
}
