#!/usr/bin/env bash
# Process 1 of a node, in its namespaces: mounts the node's directories, then keeps containerd, kubelet and kube-proxy running.
# When it is killed, the kernel ends everything on the node.
#
#   node-init.sh NODE IP ZONE        (called by nodes.sh)
. "$(dirname "$0")/settings.sh"
. "$rig/cgroups.sh"
. "$rig/nodes.sh"
keys=$state/keys
node=$1 ip=$2 zone=$3 disk=$state/nodes/$1

mount --make-rprivate /
on_host=$(for controller in "${controllers[@]}"; do [ -z "$(hierarchy "$controller")" ] || echo "$controller"; done)
mount -t proc proc /proc
mount -t sysfs sysfs /sys
if [ -z "$on_host" ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  # A cgroup of version 2 with processes in it cannot pass controllers on to its children, but kubelet needs this. These
  # processes therefore move into one of the children. nodes.sh moves the process outside of the namespaces.
  mkdir -p /sys/fs/cgroup/init
  echo $$ >/sys/fs/cgroup/init/cgroup.procs
else
  mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
  for controller in $on_host; do
    mkdir "/sys/fs/cgroup/${controller#name=}"
    mount -t cgroup -o "${controller/#name=/none,name=}" cgroup "/sys/fs/cgroup/${controller#name=}"
  done
fi
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/lock /run/netns
mount --bind "$disk/lib" /var/lib
mount --bind "$disk/log" /var/log
mount --make-rshared / # so that containers see the mounts that are made for them
hostname "$node"

keep() { # keep NAME COMMAND...: starts it again whenever it ends
  local log=/var/log/$1.log
  shift
  while true; do
    "$@" >>"$log" 2>&1 || true
    echo "--- ended, and is started again" >>"$log"
    sleep 1
  done
}

keep containerd containerd --config "$disk/config/containerd.toml" --log-level warn &
until ctr version >/dev/null 2>&1; do sleep 0.1; done
for archive in "$state"/images/*.tar; do
  done=$(imported "$node" "$archive")
  [ "$archive" -nt "$done" ] || continue
  ctr --namespace k8s.io images import --platform "linux/$(dpkg --print-architecture)" "$archive" >>/var/log/import.log 2>&1 && touch -r "$archive" "$done"
done
keep kubelet kubelet --config "$disk/config/kubelet.yaml" --kubeconfig "$keys/$node.kubeconfig" --cert-dir /var/lib/kubelet/pki \
  --hostname-override "$node" --node-ip "$ip" --node-labels "topology.kubernetes.io/zone=$zone,topology.kubernetes.io/region=here" &
# The kernel's table of connections belongs to the machine, so its sizes are not changed.
keep kube-proxy kube-proxy --kubeconfig "$keys/kube-proxy.kubeconfig" --hostname-override "$node" --proxy-mode nftables --cluster-cidr "$pods" \
  --healthz-bind-address "$ip:10256" --metrics-bind-address 127.0.0.1:10249 \
  --conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0 &
wait
