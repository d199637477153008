export LC_ALL=C
out=/dev/termination-log
try() {
    found=$(timeout "$LIMIT" getent ahosts "$1" 2>/dev/null | { read -r first _ && echo "$first"; })
    said=$(timeout "$LIMIT" bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>&1)
    code=$?
    said=${said##*: }
    printf 'try %s %s %s %s\n' "$1" "$2" "$code" "${found:--} ${said%%$'\n'*}" >>"$out"
}
metrics() {
    said=$(timeout "$LIMIT" bash -c '
        exec 3<>"/dev/tcp/$0/$1" && printf "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" "$2" "$0" >&3 || exit
        read -r _ code _ <&3
        found=0
        while read -r line <&3; do
            case $line in slurm_partition_nodes_alloc{*) found=$((found + 1)) ;; esac
        done
        echo "$code $found"
    ' "$1" "$2" "$3" 2>/dev/null)
    printf 'metrics %s\n' "${said:-0 0}" >>"$out"
}
{
    echo "date $(date +%s)"
    echo "uid $(id -u slurm 2>/dev/null)"
    echo "slurmd $(slurmd -V 2>/dev/null)"
} >"$out"
[ -z "$METRICS" ] || metrics $METRICS &
while [ $# -gt 1 ]; do
    try "$1" "$2" &
    shift 2
done
wait
