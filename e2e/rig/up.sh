#!/usr/bin/env bash
# Starts the cluster from the output of build.sh: control plane and cert-manager on this machine, three nodes in namespaces,
# three zones. Running parts stay as they are, and data that "down.sh --keep" has left is used again.
#
#   e2e/rig/up.sh && export KUBECONFIG=/var/tmp/evergate-e2e/kubeconfig
#
# APISERVER_FLAGS are additional flags for kube-apiserver, until up.sh gets other flags. With APISERVERS=2, there are two API
# servers, and the clients of the incidents call them in turn.
. "$(dirname "$0")/settings.sh"
. "$rig/processes.sh"
. "$rig/keys.sh"
. "$rig/network.sh"
. "$rig/cgroups.sh"
. "$rig/nodes.sh"
. "$rig/controlplane.sh"

[ "$(id -u)" = 0 ] || die "namespaces, cgroups and nftables want root"
for program in runc nft ip nsenter unshare openssl curl; do
  command -v $program >/dev/null || die "$program is missing: apt-get install runc nftables iproute2 util-linux openssl curl"
done
for program in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl containerd cni/bridge cert-manager; do
  [ -x "$bin/$program" ] || die "$program is missing: run e2e/rig/build.sh all"
done
[ -s "$state/images/pause-1.tar" ] || die "the image pause is missing: run e2e/rig/build.sh images"
running kube-proxy || ! nft list table ip kube-proxy >/dev/null 2>&1 || die "another kube-proxy works on this machine (nft list table ip kube-proxy)"

chmod 700 "$state" # keys
[ -z "${APISERVER_FLAGS+set}" ] || echo "$APISERVER_FLAGS" >"$state/apiserver-flags"
make_keys
network_up
for node in "${nodes[@]}"; do
  node_network_up "$node"
  node_files "$node"
done
say "network, keys, configuration"

now=$(date +%s)
etcd_up
# shellcheck disable=SC2119 # its flags differ from the flags of this script, which does not have any
apiserver_up
declare -A since # the earliest time of the last heartbeat; for a node that was already running, a short time ago
for node in "${nodes[@]}"; do
  since[$node]=$now
  ! running "$node" || since[$node]=$((now - 15))
  node_start "$node"
done
until_ok 120 "the API server" apiserver_is_ready
say "the API server is ready"
if [ "${APISERVERS:-1}" = 1 ]; then
  stop second-kube-apiserver KILL
  rm -f "$state/second-apiserver"
else
  second_apiserver_up
  until_ok 120 "the second API server" apiserver_is_ready "$second_api"
  echo "$second_api" >"$state/second-apiserver"
  say "the second API server is ready"
fi

controllers_up
kube_proxy_up
cert_manager_up
say "controllers, cert-manager, kube-proxy of this machine"

for node in "${nodes[@]}"; do until_ok 180 "$node to be Ready" is_ready "$node" "${since[$node]}"; done
until_ok 60 "the service account of a namespace" as_admin get serviceaccount default
say "three nodes are Ready: export KUBECONFIG=$kubeconfig"
