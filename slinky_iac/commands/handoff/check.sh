# The functions below look and change nothing. Exit status: 0 nothing wrong, 1 something is. What can't be told is said
# as unknown, and is not "ok". SLINKY_ROOT=/some/tree looks at the files of that tree instead of this host's.
root=${SLINKY_ROOT:-}
wrong=0
only_missing=
[ "${1:-}" = --missing ] && only_missing=1

tell() { # KIND WHAT...: one finding
    local kind=$1
    shift
    # shellcheck disable=SC2034 # the script that this is put into ends with it
    [ "$kind" != bad ] && [ "$kind" != missing ] || wrong=1
    if [ -z "$only_missing" ]; then printf '%-8s %s\n' "$kind" "${*//[[:cntrl:]]/?}"; fi # others' text moves no cursor
}
missing() { # LINE FILE: a line to add
    case "${no_topology:-} $1" in "1 "*" Topology="*)
        tell missing "$1    (add this line to $2, after the units that topology.yaml lacks)"
        return
        ;;
    esac
    if [ -n "$only_missing" ]; then printf '%s\n' "$1"; fi
    tell missing "$1    (add this line to $2)"
}
systemd_runs() { [ -z "$root" ] && [ -d /run/systemd/system ]; }

check_key() { # PATH FINGERPRINT [OWNER]: there, the cluster's own, and readable by the daemon alone, which runs as OWNER
    local path=$root$1 got mode owner
    if [ ! -s "$path" ]; then
        tell bad "$1 is not there: this host can speak to no daemon of the cluster. See \"Keys\" in README.md"
        return
    fi
    mode=$(stat -c %a "$path") owner=$(stat -c %U "$path")
    case $mode in
        600 | 400) tell ok "$1 has mode $mode" ;;
        *) tell bad "$1 has mode $mode; daemons refuse a key that others may read: chmod 600 $1" ;;
    esac
    case $owner in
        slurm | "${3:-root}") tell ok "$1 belongs to $owner" ;;
        root) tell bad "$1 belongs to root; the daemon runs as slurm and can't read it: chown slurm: $1" ;;
        *) tell bad "$1 belongs to $owner; it must be slurm's: chown slurm: $1" ;;
    esac
    got=SHA256:$(openssl dgst -sha256 -binary "$path" | base64 | tr -d '=')
    if [ -z "$2" ]; then
        tell unknown "$1 is $got; compare it with the stack's fingerprint (pulumi stack output)"
    elif [ "$got" = "$2" ]; then
        tell ok "$1 is the cluster's ($got)"
    else
        tell bad "$1 is another key: $got, the cluster's is $2. A line break too many is enough: copy the file byte for byte"
    fi
}

check_folder() { # PATH: only root can change what is between a script of root's and what it writes there
    local why
    if [ ! -d "$root$1" ]; then
        tell bad "$1 is not there: run install.sh"
    elif why=$(trusted "$root$1"); then
        tell ok "$1 and the folders above it are root's alone to change"
    else
        tell bad "$why. Else scripts that root runs there are refused"
    fi
}

check_user() { # UID FIRM: SlurmUser's uid
    local got
    if ! got=$(id -u slurm 2>/dev/null); then
        tell bad "there is no user slurm; make it with uid $1 (groupadd -g $1 slurm; useradd -r -u $1 -g slurm slurm)"
    elif [ "$got" = "$1" ]; then
        tell ok "user slurm has uid $got, as in the cluster's pods"
    elif [ "$2" = firm ]; then
        tell bad "user slurm has uid $got, in the cluster's pods $1; auth/slurm wants one uid on all hosts: usermod -u $1 slurm"
    else
        tell unknown "user slurm has uid $got, in Slinky's images $1; this stack's images are its own: compare with theirs"
    fi
}

check_version() { # PROGRAM RELEASE [COMMAND]: COMMAND is asked where the program doesn't tell (sackd)
    local got by=${3:-$1}
    if [ -n "$root" ]; then
        tell unknown "the release of $1: only files are looked at"
        return
    elif [ ! -x "$1" ]; then
        tell bad "$1 is not there; install Slurm $2's package of it"
        return
    fi
    got=$(timeout 20 "$by" -V 2>/dev/null | sed -n 's/^[^0-9]*\([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p')
    if [ -z "$got" ]; then
        tell unknown "$by doesn't tell its release now; the cluster's is $2"
    elif [ "$got" = "$2" ]; then
        tell ok "$1 is of Slurm $got, as the cluster"
    elif [ "$(printf '%s\n%s\n' "$got" "$2" | sort -V | tail -n 1)" = "$got" ]; then
        tell bad "$1 is of Slurm $got, newer than the cluster's $2: slurmctld refuses it. Install $2"
    else
        tell unknown "$1 is of Slurm $got, older than the cluster's $2; Slurm serves daemons up to two releases older"
    fi
}

check_tcp() { # HOST PORT WHAT
    # shellcheck disable=SC2016 # the inner bash expands it
    if timeout 5 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>/dev/null; then
        tell ok "$3 takes connections at $1:$2"
    else
        tell bad "$3 can't be reached at $1:$2: name, route, firewall or daemon. Try: getent hosts $1"
    fi
}

check_name() { # NAME: resolves here
    if getent hosts "$1" >/dev/null; then
        tell ok "$1 has an address here"
    else
        tell bad "$1 has no address here; Slurm uses this name. Give it one in DNS or /etc/hosts, see README.md"
    fi
}

check_file() { # PATH: a file of the hand-off is in its place
    if [ -e "$root$1" ]; then tell ok "$1 is in place"; else tell bad "$1 is not in place: run install.sh"; fi
}

check_absent() { # PATH WHY
    if [ -e "$root$1" ]; then tell bad "$1 is there: $2"; else tell ok "$1 is not there, as it should be"; fi
}

check_unit() { # SERVICE WORDS: what systemd would start
    if ! systemd_runs; then
        tell unknown "systemd does not run here, so it is not known what $1 would start; start it with $2"
    elif systemctl show -p ExecStart --value "$1" | grep -qF -- "$2"; then
        tell ok "$1 starts with $2"
    else
        tell bad "$1 does not start with $2: another drop-in wins, or systemctl daemon-reload is due. See: systemctl cat $1"
    fi
}

users_of() { # SERVICE: uids that its daemon may have. Any user can call a program so, and fake its command line
    local found=0 user other=
    if [ "$1" = slurmrestd ]; then other=nobody; fi
    for user in slurm $other "$(systemd_runs && systemctl show -p User --value "$1" 2>/dev/null)"; do
        if [ -n "$user" ] && user=$(id -u -- "$user" 2>/dev/null); then found=$found,$user; fi
    done
    printf '%s' "$found"
}

check_running() { # NAME [WORDS]: the daemon runs, by its absolute path, and with WORDS in its command line
    local pid first
    if [ -n "$root" ]; then
        tell unknown "whether $1 runs: only files are looked at"
        return
    elif ! pid=$(pgrep -o -x --ns $$ --nslist pid -u "$(users_of "$1")" "$1"); then # not a container's, nor any user's
        tell bad "$1 does not run here"
        return
    elif [ -n "${2:-}" ] && ! tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF -- " $2 "; then
        tell bad "$1 runs without $2, since before its unit was placed: systemctl restart $1"
        return
    fi
    first=$(tr '\0' '\n' <"/proc/$pid/cmdline" | head -n 1)
    case $first in
        /*) tell ok "$1 runs as process $pid" ;;
        *) tell bad "$1 runs as \"$first\", not by its absolute path: it will end at the next scontrol reconfigure" ;;
    esac
}

check_registered() { # the node that slurmctld has under this host's name
    local state
    state=$(timeout 30 scontrol show node "$(hostname -s)" 2>/dev/null | sed -n 's/.*State=\([^ ]*\).*/\1/p')
    case $state in
        '') tell bad "slurmctld knows no node $(hostname -s): add its NodeName= line (role slurmctld), scontrol reconfigure" ;;
        *DOWN* | *NOT_RESPONDING* | *UNKNOWN* | *FUTURE* | *\** | *INVAL*)
            tell bad "slurmctld has $(hostname -s) as $state; see: scontrol show node $(hostname -s), journalctl -u slurmd"
            ;;
        *) tell ok "slurmctld has $(hostname -s) as $state" ;;
    esac
}

check_ping() { # slurmctld answers this host's own, authenticated question
    local said
    if said=$(timeout 30 scontrol ping 2>&1) && printf '%s' "$said" | grep -q 'is UP'; then
        tell ok "scontrol ping: slurmctld is UP"
    else
        tell bad "scontrol ping says no slurmctld is up (configuration or reach): $(printf '%s' "$said" | head -n 2 | tr '\n' ' ')"
    fi
    if said=$(timeout 30 sinfo -h -o %P 2>&1) && [ -n "$said" ]; then
        tell ok "sinfo lists $(printf '%s\n' "$said" | wc -l) partitions: slurmctld takes this host's key"
    else
        tell bad "sinfo got no answer (key or clock): $(printf '%s' "$said" | head -n 2 | tr '\n' ' ')"
    fi
}

check_clock() {
    if ! systemd_runs; then
        tell unknown "clock: systemd does not run here, so it is not known whether it is synchronised; credentials of auth/slurm live for minutes"
    elif [ "$(timedatectl show -p NTPSynchronized --value 2>/dev/null)" = yes ]; then
        tell ok "the clock is synchronised"
    else
        tell unknown "systemd doesn't know the clock as synchronised; credentials are refused when clocks differ. Run chrony"
    fi
}

conf_read() { # FILE [DEPTH]: without comments, continued lines joined, with what it includes
    local file=$root$1 line name depth=${2:-0}
    if [ ! -f "$file" ] || [ ! -r "$file" ] || [ "$depth" -gt 8 ]; then return 0; fi # one that includes itself never ends
    sed -e ':a' -e '/\\$/N; s/\\\n/ /; ta' -e 's/#.*//' -e 's/[[:space:]]*$//' "$file" | while IFS= read -r line || [ -n "$line" ]; do
        case ${line,,} in
            '') ;;
            include[[:space:]]*)
                name=${line##*[[:space:]]}
                case $name in /*) ;; *) name=${1%/*}/$name ;; esac
                conf_read "$name" $((depth + 1))
                ;;
            *) printf '%s\n' "$line" ;;
        esac
    done
}

conf_file=
conf_text=
load_conf() { # FILE: conf_text is what it says, read once
    [ "$1" = "$conf_file" ] || conf_text=$(conf_read "$1")
    conf_file=$1
}

same_host() { # NAME NAME: both have an address in common
    [ -n "$(comm -12 <(getent ahosts "$1" | cut -d ' ' -f 1 | sort -u) <(getent ahosts "$2" | cut -d ' ' -f 1 | sort -u))" ]
}

conf_value() { # KEY: its value in the file that is loaded; the last one counts, as in Slurm
    awk -v key="${1,,}" '{ at = index($0, "=") } at { name = tolower(substr($0, 1, at - 1))
        gsub(/[[:space:]]/, "", name); if (name == key) { found = substr($0, at + 1); gsub(/^[[:space:]]+|"/, "", found) } }
        END { print found }' <<<"$conf_text"
}

bare() { # VALUE: names of plugins of it without their kind, which Slurm takes off or adds (auth.c, cred.c)
    sed -E 's#(^|,)(auth|cred)/#\1#g' <<<"${1,,}"
}

check_parameter() { # FILE KEY VALUE [list|least]
    local got want select
    load_conf "$1"
    got=$(conf_value "$2")
    select=$(conf_value SelectType)
    if [ "$2" = MaxNodeCount ] && [ "${select:-select/cons_tres}" != select/cons_tres ]; then
        tell bad "$1 has SelectType=$select: slurmctld refuses MaxNodeCount beside it, and pods can't register without; a change of SelectType loses all jobs"
        return
    fi
    if [ -z "$got" ]; then
        missing "$2=$3" "$1"
        return
    fi
    if [ "${4:-}" != list ]; then
        if [ "${got,,}" = "${3,,}" ] || { [ "${2#*Type}" != "$2" ] && [ "$(bare "$got")" = "$(bare "$3")" ]; } ||
            { [ "${4:-}" = least ] && [ "$got" -ge "$3" ] 2>/dev/null; }; then
            tell ok "$2=$got"
        elif [ "${2%Host}" != "$2" ] && same_host "$got" "$3"; then
            tell ok "$2=$got, which is $3 in the stack"
        else
            want=
            if [ "${2%Host}" != "$2" ]; then want=", or another name of this host: from here $got has no address of it"; fi
            tell bad "$1 has $2=$got; the stack needs $2=$3$want"
        fi
        return
    fi
    for want in ${3//,/ }; do
        case ,$(bare "$got"), in
            *,"$(bare "$want")",*) tell ok "$2 has $want" ;;
            *) tell bad "$1 has $2=$got; add ,$want to it" ;;
        esac
    done
}

check_power_saving() { # FILE NODESET...: slurmctld powers down no idle pod (power_save.c)
    local nodeset taken=
    load_conf "$1"
    shift
    case $(conf_value SuspendTime | tr '[:upper:]' '[:lower:]') in
        '' | -1 | none | infinite) ;;
        *) [ -z "$(conf_value SuspendProgram)" ] || [ -z "$(conf_value ResumeProgram)" ] || taken=$* ;;
    esac
    if [ -z "$taken" ]; then
        tell ok "power saving is off"
        return
    fi
    case ,$(conf_value SuspendExcStates | tr '[:upper:]' '[:lower:]'), in *,dynamic_norm,*) taken= ;; esac
    for nodeset in $taken; do
        case ,$(conf_value SuspendExcParts),$(conf_value SuspendExcNodes), in *,"$nodeset",*) continue ;; esac
        tell bad "SuspendProgram and SuspendTime power down idle pods of $taken as any node, and they are DOWN while their pods run on: add SuspendExcStates=DYNAMIC_NORM, with what SuspendExcStates has already"
        return
    done
    tell ok "power saving leaves pods out"
}

alt_parameters() { # what AuthAltParameters says: the last line counts, and no other
    sed -n 's/^[[:space:]]*AuthAltParameters[[:space:]]*=[[:space:]]*"\{0,1\}\([^"[:space:]]*\).*/\1/Ip' <<<"$conf_text" | tail -n 1
}

jwt_path() { # the JWT key's place by the file that is loaded; empty where it names none
    alt_parameters | tr ',' '\n' | sed -n 's/^jwt_key=//p' | tail -n 1
}

check_jwt_file() { # FILE KEY FINGERPRINT OWNER: check_key, of the place that FILE names in jwt_key=, else of KEY
    local path
    load_conf "$1"
    path=$(jwt_path)
    check_key "${path:-$2}" "$3" "$4"
}

check_jwt_key() { # FILE KEY [LINE]: AuthAltParameters names the JWT key; where there is no such line, LINE is to be added
    local line path
    load_conf "$1"
    line=$(alt_parameters)
    path=$(jwt_path)
    if [ -z "$line" ] && [ "${1##*/}" = slurm.conf ] && [ -e "$root$(conf_value StateSaveLocation)/jwt_hs256.key" ]; then
        tell unknown "slurmctld reads its JWT key from $(conf_value StateSaveLocation)/jwt_hs256.key, its default place: look whether it is the same key as $2, and name it (AuthAltParameters=jwt_key=FILE)"
    elif [ -z "$line" ]; then
        missing "AuthAltParameters=${3:-jwt_key=$2}" "$1"
    elif [ -z "$path" ]; then # a second line would put the first out of force, with all that it forbids
        tell bad "$1 has AuthAltParameters=$line; add ,jwt_key=$2 to it, else tokens signed with the JWT key are refused"
    elif [ "$path" = "$2" ]; then
        tell ok "AuthAltParameters names $path"
    else
        tell ok "AuthAltParameters names $path, not the hand-off's place $2: keep it there, and have jwt_key= once"
    fi
}

check_jwks() { # FILE SET DIGEST KID...: AuthAltParameters names the set of public keys, which is the stack's and no other
    local conf=$1 set=$2 digest=$3 line kid got others
    shift 3
    load_conf "$conf"
    line=$(alt_parameters)
    case ,$line, in
        *",jwks=$set,"*) tell ok "AuthAltParameters names $set" ;;
        ,,) ;; # check_jwt_key says what is missing
        *) tell bad "$conf has AuthAltParameters=$line; add ,jwks=$set to it, else tokens of the stack's RSA key are refused" ;;
    esac
    got=$(cat "$root$set" 2>/dev/null | tr -d '\0') # without line breaks at the end, which pulumi adds
    if [ -z "$digest" ]; then
        tell unknown "whose keys $set holds: the stack's were not known when this was made; make the hand-off again"
        return
    elif [ "$(printf '%s' "$got" | sha256sum | cut -d ' ' -f 1)" = "$digest" ]; then
        tell ok "$set is the stack's, with $# keys"
        return
    fi
    for kid in "$@"; do
        case $got in
            *"\"$kid\""*) ;;
            *) tell bad "$set lacks the key $kid, so its tokens are refused: place the hand-off's file" ;;
        esac
    done
    others=$(grep -o '"n"[[:space:]]*:' <<<"$got" | wc -l)
    others="$others keys, the stack's are $#. The holder of any other can be any user of Slurm"
    tell bad "$set is not the stack's file: it holds $others: place the hand-off's file, then scontrol reconfigure. After a" \
        "rotation of the token key make the hand-off again"
}

check_topology() { # FILE WORDS...: topology.yaml names these topologies and units; without them no Topology= is to be added
    local each text='' lacking=''
    no_topology=1
    if [ -e "$root$1" ]; then
        text=$(sed -E "s/#.*//; s/[\"']//g; s/^[[:space:]-]+//; s/[[:space:]]+$//; s/:[[:space:]]+/: /" "$root$1")
    fi
    for each in "${@:2}"; do
        grep -qxF -- "$each" <<<"$text" || lacking+=", $each"
    done
    if [ -z "$lacking" ]; then
        no_topology=
        tell ok "$1 has the topologies and units of the stack"
    else
        tell bad "$1 lacks ${lacking#, }: slurmctld ends over a Topology= that it doesn't know. Add them before the NodeName= lines"
    fi
}

check_controllers() { # FILE HOST...: its SlurmctldHost lines name these hosts, the primary first
    local file=$1 number=0 said name address host
    local -a lines
    load_conf "$1"
    shift
    mapfile -t lines < <(awk -F= 'tolower($1) ~ /^[[:space:]]*slurmctldhost[[:space:]]*$/ { gsub(/[[:space:]"]/, "", $2); print $2 }' <<<"$conf_text")
    if [ ${#lines[@]} -ne $# ]; then
        tell bad "$file has ${#lines[@]} SlurmctldHost lines (${lines[*]}), and the stack names $# hosts: $*"
        return
    fi
    for host in "$@"; do
        said=${lines[number]} name=${lines[number]%%(*} address=
        case $said in *'('*) address=${said#*'('} address=${address%')'} ;; esac
        if [ "$host" != "$name" ] && [ "$host" != "$address" ] && [ "${host%%.*}" != "$name" ] && ! same_host "$host" "${address:-$name}"; then
            tell bad "$file: SlurmctldHost number $((number + 1)) is $said, and the stack names $host in this place"
            return
        fi
        number=$((number + 1))
    done
    tell ok "$file: SlurmctldHost lines are those of the stack, in their order"
}

check_line() { # FILE LINE: a NodeName=, NodeSet= or PartitionName= line, with at least these words
    local first name kind found word key said
    load_conf "$1"
    first=${2%% *} name=${first#*=} kind=${first%%=*} kind=${kind,,}
    found=$(awk -v first="${first,,}" 'tolower($1) == first' <<<"$conf_text" | tail -n 1)
    if [ -z "$found" ] && [ "$kind" = nodename ] && command -v scontrol >/dev/null; then
        found=$(awk 'tolower($1) ~ /^nodename=/ && /\[|,/ { print substr($1, 10) }' <<<"$conf_text" | while IFS= read -r list; do
            scontrol show hostnames "$list" 2>/dev/null
        done | grep -xF -- "$name" | head -n 1)
        [ -z "$found" ] || tell ok "NodeName=$name is among the lines of several hosts"
        [ -z "$found" ] || return 0
    fi
    if [ -z "$found" ]; then
        missing "$2" "$1"
        return
    fi
    for word in $2; do
        case " ${found,,} " in *" ${word,,} "*) continue ;; esac
        key=${word%%=*}
        said=$(tr -s '[:blank:]' '\n' <<<"$found" | awk -v key="${key,,}" 'index(tolower($0), key "=") == 1' | tail -n 1)
        tell bad "$1: the line of ${2%% *} has ${said:-no ${word%%=*}}; the stack needs $word"
        return
    done
    tell ok "${2%% *}"
}

check_gres() { # FILE LINE: slurmd in pods finds GPUs by the file that slurmctld sends it
    local said
    load_conf "$1"
    said=${conf_text//[[:blank:]]/}
    case ${said,,} in
        *autodetect=off*) tell bad "$1 has AutoDetect=off; slurmd in pods finds no GPU without its line $2" ;;
        *autodetect=* | *name=gpu*) tell ok "$1 names GPUs" ;;
        *) tell bad "$1 names no GPU; slurmd in pods finds none without its line $2, and slurmctld drains the nodes" ;;
    esac
}

check_cgroup() { # FILE: pods have no systemd of their own, and one cgroup.conf holds for all nodes
    local said
    load_conf "$1"
    said=${conf_text//[[:blank:]]/}
    case ${said,,} in
        *ignoresystemd=yes* | *cgroupplugin=disabled*) tell ok "$1 suits pods" ;;
        *) tell unknown "$1 has neither IgnoreSystemd=yes nor CgroupPlugin=disabled; slurmd in pods gets it too and has no systemd" ;;
    esac
}

check_scripts() { # FILE FIRM|LOOSE: pods have the scripts of nodes that slurm.conf names: slurmctld sends those without a folder
    local key value kind=bad why
    load_conf "$1"
    if [ "$2" = loose ]; then kind=unknown; fi
    while IFS='=' read -r key value; do
        case $value in
            '') ;;
            */* | *'*'* | *'?'* | *'['*)
                why="slurmctld sends only a script that is named without a folder, beside slurm.conf. Without it a prolog or epilog drains the pod's node, a TaskProlog ends the task"
                if [ "$2" = loose ]; then why="pods need it from their image or a volume: $why"; else why="pods have no such file: $why"; fi
                tell "$kind" "$key=$value: $why. See: slinky docs outside-hosts 'Prolog and epilog'"
                ;;
            *)
                if [ -f "$root${1%/*}/$value" ]; then
                    tell ok "$key=$value is beside slurm.conf, so pods get it"
                else
                    tell bad "$key=$value is not in ${1%/*}: slurmctld can't send it, so pods have no such file"
                fi
                ;;
        esac
    done < <(awk '{ at = index($0, "=") } at { name = substr($0, 1, at - 1); gsub(/[[:space:]]/, "", name)
        if (tolower(name) ~ /^(task)?(prolog|epilog)$/) { value = substr($0, at + 1); gsub(/^[[:space:]]+|"/, "", value); print name "=" value } }' <<<"$conf_text")
}
