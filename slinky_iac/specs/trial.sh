# Tries slurm.conf, slurmdbd.conf and what stands beside them on daemons of the installed release, which begin with an empty
# state and keys of their own, and are ended as soon as they have read all. Needs bash and GNU sed, timeout and coreutils.
#
# trial FOLDER: the folder holds the files and is changed. It prints one line for each fact:
#   release DAEMON TEXT | left FILE KEY... | verdict DAEMON taken|refused|silent | said DAEMON TEXT
# Its caller has seen to it that nothing of a living daemon is in reach: a network, /run and /etc/hosts of the trial's own.

trial_ctld_port=56817
trial_dbd_port=56819
# What follows from the trial itself: no database, and nodes that have no address here.
trial_no_fault='mysql_real_connect|database must be up|Unable to resolve|_set_node_addrs|_xgetaddrinfo'
trial_user() { sed -n 's/^[[:space:]]*SlurmUser[[:space:]]*=[[:space:]]*\([A-Za-z0-9_.-]*\).*/\1/Ip' "$1" | tail -n 1; }

trial_flat() { # FILE FOLDER DEPTH: the file with those that it includes
    local line name
    while IFS= read -r line || [ -n "$line" ]; do
        if [[ $line =~ ^[[:space:]]*[Ii][Nn][Cc][Ll][Uu][Dd][Ee][[:space:]]+\"?([^[:space:]\"#]+) ]]; then
            name=${BASH_REMATCH[1]}
            [[ $name = /* ]] || name=$2/$name
            [ "$3" -gt 8 ] || [ ! -r "$name" ] || trial_flat "$name" "$2" $(($3 + 1))
        else
            printf '%s\n' "$line"
        fi
    done < "$1"
}

trial_without() { # FILE KEY...: lines of these parameters go; prints those that were there
    local file=$1 key found=()
    shift
    for key in "$@"; do
        if grep -qiE "^[[:space:]]*${key}[[:space:]]*=" "$file"; then
            found+=("$key")
            sed -i -E "/^[[:space:]]*${key}[[:space:]]*=/Id" "$file"
        fi
    done
    printf '%s\n' "${found[@]}"
}

trial_own() { # FILE KEY...: what is the living daemon's own goes without a word: the trial has its own
    trial_without "$@" > /dev/null
}

trial_left() { # FILE KEY...: what the trial can't judge or must not do goes, and is said
    local found
    found=$(trial_without "$@" | tr '\n' ' ')
    [ -z "${found// /}" ] || echo "left ${1##*/} ${found% }"
}

trial_slurm_conf() { # FOLDER: slurm.conf for a slurmctld that reaches no other daemon
    local file=$1/slurm.conf
    trial_flat "$file" "$1" 0 > "$1/.flat" && mv "$1/.flat" "$file"
    # Lines that go on behind a backslash become one, so that each begins with its name.
    sed -i -e ':again' -e '/\\$/{N;s/\\\n/ /;b again' -e '}' "$file"
    trial_own "$file" SlurmctldHost 'SlurmctldHost\[[0-9]+\]' ControlMachine ControlAddr BackupController BackupAddr SlurmctldAddr \
        SlurmctldPort SlurmdPort SlurmctldPidFile StateSaveLocation SlurmctldLogFile SlurmSchedLogFile SlurmSchedLogLevel \
        AuthAltParameters MailProg
    trial_left "$file" SlurmctldPrimaryOnProg SlurmctldPrimaryOffProg ResumeProgram SuspendProgram ResumeFailProgram \
        RebootProgram JobCompType JobCompHost JobCompLoc JobCompPass JobCompPassScript BurstBufferType TLSType TLSParameters
    sed -i -E '/^[[:space:]]*NodeName[[:space:]]*=/I s/[[:space:]](NodeAddr|NodeHostname|BcastAddr|Port)[[:space:]]*=[[:space:]]*[^[:space:]]+//Ig' "$file"
    if grep -qiE '^[[:space:]]*AccountingStorageType[[:space:]]*=[[:space:]]*"?accounting_storage/slurmdbd' "$file"; then
        trial_own "$file" AccountingStorageType AccountingStorageHost AccountingStoragePort AccountingStorageBackupHost \
            AccountingStoragePass AccountingStorageUser
        trial_left "$file" AccountingStorageTRES AccountingStorageEnforce AccountingStorageExternalHost PriorityWeightTRES
        local word
        for word in QOS AllowQos DenyQos TRESBillingWeights TRESWeights; do
            if grep -qiE "[[:space:]]${word}[[:space:]]*=" "$file"; then
                echo "left slurm.conf $word"
                sed -i -E "/^[[:space:]]*(PartitionName|NodeName)[[:space:]]*=/I s/[[:space:]]${word}[[:space:]]*=[[:space:]]*(\"[^\"]*\"|[^[:space:]]+)//Ig" "$file"
            fi
        done
    fi
    printf '%s\n' "SlurmctldHost=$(hostname -s)(127.0.0.1)" "SlurmctldPort=$trial_ctld_port" "SlurmdPort=56818" \
        "SlurmctldPidFile=$1/slurmctld.pid" "StateSaveLocation=$1/state" "MailProg=/bin/true" \
        "AuthAltParameters=jwt_key=$1/jwt.key" >> "$file"
}

trial_hosts() { # FOLDER: names of the nodes of slurm.conf; a slurmctld waits ten seconds for each that has no address
    sed -n 's/^[[:space:]]*NodeName[[:space:]]*=[[:space:]]*\([^[:space:]]*\).*/\1/Ip' "$1/slurm.conf" | grep -vix default |
        while read -r names; do SLURM_CONF=$1/slurm.conf scontrol show hostnames "$names" 2> /dev/null; done
}

trial_slurmdbd_conf() { # FOLDER: slurmdbd.conf for a slurmdbd that reaches no database
    local file=$1/slurmdbd.conf
    trial_own "$file" DbdHost DbdAddr DbdPort DbdBackupHost PidFile LogFile AuthAltParameters StorageHost StorageBackupHost \
        StoragePort StoragePass StoragePassScript StorageUser StorageLoc StorageParameters
    trial_left "$file" TLSType TLSParameters ArchiveScript
    printf '%s\n' "DbdHost=$(hostname -s)" "DbdPort=$trial_dbd_port" "PidFile=$1/slurmdbd.pid" "StorageHost=127.0.0.1" \
        "StoragePort=1" "StoragePass=trial" "StorageUser=trial" "AuthAltParameters=jwt_key=$1/jwt.key" >> "$file"
}

trial_daemon() { # DAEMON FOLDER WORDS SECONDS COMMAND...: WORDS: what it says once it has read all
    local daemon=$1 folder=$2 words=$3 left=$(($4 * 5)) log pid verdict
    shift 4
    log=$(mktemp) || return 1 # not in the folder, which is SlurmUser's: it could lay a link in the way of root
    "$@" > "$log" 2>&1 &
    pid=$!
    while :; do
        if grep -qF -- "$words" "$log"; then
            verdict=taken
            sleep 1 # some plugins are loaded after these words
            kill -0 "$pid" 2> /dev/null || verdict=refused
        elif ! kill -0 "$pid" 2> /dev/null; then
            verdict=refused # but not over a network that it doesn't find here
            ! grep -q '_open_ports' "$log" || verdict=silent
        elif [ "$left" -le 0 ]; then
            verdict=silent
        else
            left=$((left - 1))
            sleep 0.2
            continue
        fi
        break
    done
    kill -KILL "$pid" 2> /dev/null
    wait "$pid" 2> /dev/null
    echo "verdict $daemon $verdict"
    grep -E '(fatal|error): ' "$log" | sed -E -e 's/^\[[^]]*\] //' -e "s#$folder/##g" | grep -vE "$trial_no_fault" |
        uniq | tail -n 20 | cut -c 1-300 | sed "s/^/said $daemon /"
    [ "$verdict" = taken ] || [ -s "$log" ] || echo "said $daemon it printed nothing"
    rm -f "$log"
}

trial() { # FOLDER [DAEMON]: all that have a file there, or one
    local folder=$1 only=${2:-} user as=()
    PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/opt/slurm/sbin
    user=$(trial_user "$folder/slurm.conf")
    trial_slurm_conf "$folder"
    mkdir -p "$folder/state"
    rm -f "$folder"/*.key "$folder"/*.jwks
    for key in slurm.key jwt.key; do
        (umask 077 && head -c 1024 /dev/urandom > "$folder/$key")
    done
    [ ! -e "$folder/slurmdbd.conf" ] || trial_slurmdbd_conf "$folder"
    chmod 600 "$folder"/*.conf
    [ ! -w /etc/hosts ] || trial_hosts "$folder" | sed 's/^/127.0.0.1 /' >> /etc/hosts
    if [ "$(id -u)" = 0 ] && [ -n "$user" ]; then
        chown -R "$user:" "$folder"
        as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups)
    fi
    for daemon in slurmctld slurmdbd; do
        [ -z "$only" ] || [ "$only" = "$daemon" ] || continue
        [ "$daemon" = slurmctld ] || [ -e "$folder/slurmdbd.conf" ] || continue
        if ! command -v "$daemon" > /dev/null; then
            echo "verdict $daemon silent"
            echo "said $daemon is not installed here"
            continue
        fi
        echo "release $daemon $(SLURM_CONF=$folder/slurm.conf "$daemon" -V 2> /dev/null | tail -n 1)"
        if [ "$daemon" = slurmctld ]; then
            trial_daemon slurmctld "$folder" 'Running as primary controller' 80 "${as[@]}" slurmctld -D -v -f "$folder/slurm.conf"
        else
            SLURM_CONF=$folder/slurm.conf trial_daemon slurmdbd "$folder" 'database must be up' 20 "${as[@]}" slurmdbd -D
        fi
    done
}
