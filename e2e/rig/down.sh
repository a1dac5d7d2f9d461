#!/usr/bin/env bash
# Stops the cluster of up.sh and removes everything that it created: processes, mounts, cgroups, network, data.
#
#   down.sh          everything, except the cache of build.sh
#   down.sh --killed only if none of its processes is running, for example after a reboot, which leaves its rules
#   down.sh --keep   everything except the data of etcd, the disks of the nodes and the keys, which up.sh uses again
. "$(dirname "$0")/settings.sh"
. "$rig/processes.sh"
. "$rig/network.sh"
. "$rig/cgroups.sh"
. "$rig/nodes.sh"
. "$rig/controlplane.sh"

[ "$(id -u)" = 0 ] || die "wants root, as up.sh does"
[ "${1:-}" != --killed ] || killed || exit 0
for node in "${nodes[@]}"; do node_kill "$node" & done
wait
for process in kube-controller-manager kube-scheduler cert-manager; do stop $process KILL & done # they do not store anything
for process in kube-apiserver second-kube-apiserver; do stop $process KILL & done # they would wait for watching clients
wait
rm -f "$state/second-apiserver"
kube_proxy_down
stop etcd
network_down
[ "${1:-}" = --keep ] || rm -rf "$state"
say "down"
