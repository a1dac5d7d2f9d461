# shellcheck shell=bash disable=SC2034 # settings are for the scripts that source this
# Names, addresses and places of the rig, and the few functions that all its scripts use. To be sourced.
set -euo pipefail
shopt -s inherit_errexit # a command that fails within $(...) ends the script too
rig=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# All files are below one directory. It is not in /run or /var/lib, because nodes have separate ones.
state=${EVERGATE_E2E_STATE:-/var/tmp/evergate-e2e}
case $state in /run/* | /var/lib/*) echo "EVERGATE_E2E_STATE: nodes cannot see $state" >&2 && exit 1 ;; esac
bin=$state/bin # links to the output of build.sh
kubeconfig=$state/kubeconfig
export PATH=$bin:$PATH
export CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=true # otherwise each call of ctr prints a warning about cgroups

# The nodes: one letter, one number, one zone each.
nodes=(node-a node-b node-c)
number() { case $1 in node-a) echo 1 ;; node-b) echo 2 ;; node-c) echo 3 ;; *) die "no such node: $1 (there are ${nodes[*]})" ;; esac; }
zone() { echo "zone-${1#node-}"; }

# Networks that a laptop, a cloud and a container engine are unlikely to use.
host_ip=172.29.251.1 # of this machine on the bridge, the router of the nodes
node_ip() { echo "172.29.251.1$(number "$1")"; }
pods=10.251.0.0/16
node_pods() { echo "10.251.$(number "$1").0/24"; }
services=10.252.0.0/16
first_service=10.252.0.1 # the Service of the API server
bridge=eg0
netns() { echo "eg-$1"; } # also the name of the bridge's end of the node's cable
api=https://$host_ip:6443
second_api=https://$host_ip:6444 # of the second API server, if there is one
etcd=http://127.0.0.1:12379

started=$(date +%s%N)
say() { printf '%5d.%ds  %s\n' $((($(date +%s%N) - started) / 1000000000)) $((($(date +%s%N) - started) / 100000000 % 10)) "$*" >&2; }
die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}
as_admin() { "$bin/kubectl" --kubeconfig "$kubeconfig" "$@"; }

until_ok() { # until_ok SECONDS WHAT COMMAND...: again and again until the command succeeds
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || die "waited in vain for $what; see the logs in $state/log"
    sleep 0.2
  done
}
