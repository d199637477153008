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
        case $(ls -ld -- "$at" || echo unknown) in
            d?????????+* | unknown) # the mode shows an ACL's mask in the place of the group's rights
                printf '%s has an ACL, so others than root may change it (getfacl %s). Run: setfacl -b %s\n' "$at" "$at" "$at"
                return 1
                ;;
        esac
        [ "$at" != / ] || return 0
        sticky='! -perm -1000'
        at=${at%/*}
        at=${at:-/}
    done
}
enter() { # FOLDER: in a subshell; the working folder becomes a new one in FOLDER, this user's alone, and goes at the end
    # A file is made, filled and given away in there under names that no other user can reach, then renamed to its place: a
    # rename follows no link. Those of runs that were cut short go.
    find "$1" -maxdepth 1 -name '.slinky-iac.??????' -exec rm -rf -- {} +
    made=$(mktemp -d "$1/.slinky-iac.XXXXXX") || return 1
    trap 'cd / && rm -rf -- "$made"' EXIT
    cd -P -- "$made" || return 1
    # Who may write in FOLDER all the same could have put another folder in its place.
    [ -n "$(find . -maxdepth 0 -uid "$(id -u)" ! -perm /077 -empty)" ]
}
