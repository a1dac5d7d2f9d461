#!/usr/bin/env bash
# Trouble for a node.
#
#   node.sh cut NODE              every packet to and from it is dropped silently; "heal" ends it
#   node.sh freeze NODE           every process on it stops, while the kernel still completes TCP handshakes; "thaw" ends it
#   node.sh off NODE              all packets are dropped, and every process on it is killed immediately; "on" starts it again
#   node.sh ready NODE            waits until kubelet reports that it is Ready
#   node.sh exec NODE COMMAND...  runs a command in its namespaces; ctr and kubectl are in the PATH
#   node.sh status [NODE]         is it off, cut, frozen?
. "$(dirname "$0")/settings.sh"
. "$rig/processes.sh"
. "$rig/keys.sh"
. "$rig/network.sh"
. "$rig/cgroups.sh"
. "$rig/nodes.sh"

status() {
  local is=on
  running "$1" || is=off
  ! is_cut "$1" || is+=', cut'
  ! is_frozen "$1" || is+=', frozen'
  echo "$1: $is"
}

[ $# -ge 2 ] || [ "${1:-}" = status ] || die "$(sed -n 's/^#   //p' "$0")"
action=$1 node=${2:-}
[ -z "$node" ] || number "$node" >/dev/null
now=$(date +%s)
case $action in
  cut) cut_off "$node" ;;
  heal) heal "$node" ;;
  freeze) freeze "$node" ;;
  thaw) thaw "$node" ;;
  off)
    cut_off "$node" # first, so dying processes cannot close their connections
    node_kill "$node"
    ip -n "$(netns "$node")" link del cni0 2>/dev/null || true # the network devices of Pods are already gone
    ;;
  on)
    node_network_up "$node"
    node_start "$node"
    heal "$node"
    until_ok 120 "$node to be Ready" is_ready "$node" "$now"
    ;;
  ready) until_ok 120 "$node to be Ready" is_ready "$node" $((now - 15)) ;;
  exec) node_run "$node" "${@:3}" ;;
  status) for node in ${node:-"${nodes[@]}"}; do status "$node"; done ;;
  *) die "unknown action $action" ;;
esac
