# Does the running daemon look for slurm.jwks when it is reconfigured?
follows() {
    for process in /proc/[0-9]*; do
        { IFS= read -r name <"$process/comm"; } 2>/dev/null || continue # no process of its own for each
        [ "$name" = "$1" ] || continue
        case $(find "$process" -maxdepth 0 -printf %U 2>/dev/null) in # any user can call a program so
            0 | "$(find slurm.key -maxdepth 0 -printf %U 2>/dev/null || echo none)") ;;
            *) continue ;;
        esac
        [ "$(readlink "$process/ns/pid")" = "$(readlink /proc/self/ns/pid)" ] || continue # a container's
        tr '\0' '\n' < "$process/environ" | grep -q '^SLURM_SACK_JWKS=' && return 0
        tr '\0' '\n' < "$process/cmdline" | grep -q '^--conf-server' && return 1
    done
    [ -f slurm.conf ]
}
