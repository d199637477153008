#!/bin/bash
# Make this host a @role of the Slurm cluster @cluster. Run it as root; it says what it does, and can be repeated.
# Made by `slinky handoff`.
set -euf
umask 022 # folders that are made on the way are root's alone to change, and all may look into them
case $0 in */*) CDPATH='' cd -- "${0%/*}/" ;; esac
lacking=0
changed=0
unfinished=@unfinished # there from the first changed file to the daemon's restart; empty: this starts none
conf=@conf # the daemon's own file, which may name another place of the JWT key; empty: it has none

if [ ! -w /etc/ ]; then
    echo "run this as root: it places files in /etc. Nothing was placed and nothing started" >&2
    exit 1
fi
if open=$(find . ! -type l -perm -002 -print -quit) && [ -n "$open" ]; then
    printf 'anybody may change %q in %q, and root would place it. Copy the hand-off to a folder that is root'"'"'s alone to change.
Nothing was placed and nothing started\n' "$open" "$PWD" >&2
    exit 1
fi

@trusted
begin() { # the mark that something changes; made and never followed, for it may be a link of an earlier time
    if [ -n "$unfinished" ]; then
        rm -f "$unfinished"
        (set -C && : >"$unfinished")
    fi
}
put() { # FILE MODE OWNER: a file of files/ goes to its place
    place "files/$1" "/$1" "$3" "$2"
}
put_beside() { # FILE MODE OWNER: as put, but an admin's own file stays: its first line is another
    if [ -s "/$1" ] && [ "$(head -n 1 "/$1")" != "$(head -n 1 "files/$1")" ]; then
        echo "kept      /$1, which is your own: compare it with files/$1"
        return
    fi
    put "$1" "$2" "$3"
}
place() { # SOURCE TARGET OWNER MODE
    if cmp -s "$1" "$2" && [ "$(stat -c '%a %U' "$2")" = "$4 $3" ]; then
        echo "unchanged $2"
        return
    fi
    mkdir -p "${2%/*}"
    begin
    (
        from=$PWD/$1
        enter "${2%/*}"
        install -T -o "$3" -g "$3" -m "$4" "$from" "${2##*/}"
        mv -fT "${2##*/}" "$2"
    )
    changed=1
    echo "installed $2"
}
elsewhere() { # NAME: the daemon's own file names another place of this key, and the key is there
    local there
    if [ "$1" != jwt_hs256.key ] || [ -z "$conf" ]; then return 1; fi
    there=$(sed -n 's/^[[:space:]]*AuthAltParameters[[:space:]]*=[^#]*jwt_key=\([^",#[:space:]]*\).*/\1/Ip' "$conf" 2>/dev/null | tail -n 1)
    if [ ! -s "$there" ]; then return 1; fi
    echo "kept      $there, which $conf names in jwt_key="
}
key() { # NAME PLACE OWNER MODE ADVICE
    if [ -e "keys/$1" ]; then
        place "keys/$1" "$2" "$3" "$4"
    elif [ ! -s "$2" ] && ! elsewhere "$1"; then
        lacking=1
        echo "lacking   $2: $5" >&2
    fi
}
over() { # SOURCE TARGET: for what no rename replaces: a link, or a container's file, which is a bind mount
    # One write of at least the old length: cut short at any time, one of the two texts is there, with blank lines at most.
    local size before
    size=$(wc -c <"$1")
    before=$(wc -c <"$2")
    while [ "$size" -lt "$before" ]; do
        echo >>"$1"
        before=$((before - 1))
    done
    dd if="$1" of="$2" bs=1M conv=notrunc status=none
    truncate -s "$size" "$2"
}
hosts_line() { # ADDRESS NAMES: in /etc/hosts, once
    if grep -qxF "$1 $2" /etc/hosts; then
        echo "unchanged /etc/hosts: $1 $2"
    else
        (
            enter /etc
            cp -p /etc/hosts new # a line with the same names and an older address would win: it goes
            awk -v new="$2" '{ old = $0; sub(/^[^#[:space:]]+[[:space:]]+/, "", old) } old != new' /etc/hosts >new
            printf '%s %s\n' "$1" "$2" >>new
            if [ -L /etc/hosts ] || ! mv -fT new /etc/hosts 2>/dev/null; then over new /etc/hosts; fi
        )
        echo "added to /etc/hosts: $1 $2"
    fi
}
start() { # SERVICE: start it, or restart it where a file changed
    if [ ! -d /run/systemd/system ]; then
        echo "systemd does not run here: start $1 yourself, as ExecStart= of its unit says"
        rm -f "$unfinished"
        exit 0
    fi
    systemctl daemon-reload
    systemctl enable "$1"
    # A run that was cut short may have placed files and not restarted: to this one they are unchanged.
    if [ "$changed" = 1 ] || [ -e "$unfinished" ]; then systemctl restart "$1"; else systemctl start "$1"; fi
    rm -f "$unfinished"
    for _ in 1 2 3 4 5 6 7 8 9 10; do # slurmctld hears of it within seconds
        if @check >/dev/null; then break; fi
        sleep 2
    done
}
edit() { # FILE [--edit]: a file of the admin's gets the lines that it lacks, where that is asked for
    if [ ! -e "$1" ]; then
        echo "there is no $1: set the daemon up first, this adds to its file" >&2
        exit 1
    fi
    if added=$(@check --missing) || [ -z "$added" ]; then return; fi
    if [ "${2:-}" != --edit ]; then
        printf 'these lines are missing in %s; add them, or run this with --edit:\n%s\n' "$1" "$added" >&2
        exit 1
    fi
    if [ -L "$1" ]; then
        echo "$1 is a link to $(readlink "$1"): add the lines there yourself, then run this again" >&2
        printf '%s\n' "$added"
        exit 1
    fi
    (
        enter "${1%/*}"
        cp -p "$1" old
        cp -p "$1" new
        if [ -n "$(tail -c 1 new)" ]; then echo >>new; fi
        printf '# by slinky-iac handoff\n%s\n' "$added" >>new
        mv -fT old "$1.before-slinky-iac"
        mv -fT new "$1"
    )
    echo "added to $1 (as it was: $1.before-slinky-iac):"
    printf '%s\n' "$added"
    if printf '%s\n' "$added" | grep -qE '^(@restarts)='; then
        echo "next: systemctl restart @service, which reads some of these lines at its start only; jobs run on. Then @check"
    else
        echo "next: scontrol reconfigure; then @check"
    fi
    exit 0
}

mkdir -p @slurm
if ! why=$(trusted @slurm); then
    echo "$why. Nothing was placed and nothing started. Then run this again" >&2
    exit 1
fi
@keys
if [ "$lacking" = 1 ]; then # before all else: what is placed now would count as unchanged then, and nothing be restarted
    echo "nothing else was placed and nothing started: run this again when the key is in its place" >&2
    exit 1
fi
@puts
@last
@check # no exec: the trap
