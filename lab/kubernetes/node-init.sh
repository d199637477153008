#!/bin/sh
# First process of one Kubernetes node: node-init.sh NAME ADDRESS FOLDER
#
# Runs as root in new mount, uts, net and pid namespaces (lab/kubernetes/machine.py starts it through unshare). The node
# sees the machine's file system, but with its own /run, logs, kubelet folder and CNI cache, so that nodes do not meet
# and every mount of every pod goes when the node's last process does. Writes "PID START" as the machine sees this
# process to FOLDER/pid, then waits, reaping what containers leave (container shims are its children).
set -eu
name=$1 address=$2 folder=$3

# The machine's /proc is still mounted here, so it tells the pid (and start time) that the machine sees.
read -r stat < /proc/self/stat
pid=${stat%% *}
rest=${stat##*) }
start=$(echo "$rest" | cut -d' ' -f20)

# kubelet and containerd hand mounts to each other: shared inside, private towards the machine (unshare did that).
mount --make-rshared /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/lock /var/lib/kubelet /var/lib/cni "$folder/kubelet" "$folder/log/pods" "$folder/log/containers"
mount --bind "$folder/kubelet" /var/lib/kubelet
mount --bind "$folder/log" /var/log
mount -t tmpfs -o mode=755 cni /var/lib/cni
printf '127.0.0.1 localhost\n%s %s\n' "$address" "$name" > "$folder/etc-hosts"
mount --bind "$folder/etc-hosts" /etc/hosts
hostname "$name"
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward

echo "$pid $start" > "$folder/pid.new"
mv "$folder/pid.new" "$folder/pid"
trap 'exit 0' TERM
while :; do
    sleep 3600 &
    wait $!
done
