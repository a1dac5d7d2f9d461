# shellcheck shell=bash disable=SC2154
# A node is one tree of processes (containerd, kubelet, kube-proxy and the Pods) in separate namespaces, with a separate
# disk in $state/nodes. To be sourced after settings.sh, processes.sh, network.sh and cgroups.sh.

node_files() { # node_files NODE: the configuration of its programs
  local disk=$state/nodes/$1
  mkdir -p "$disk/lib/kubelet" "$disk/lib/containerd" "$disk/log/containers" "$disk/config/cni"
  # $bin may change between two starts, so the files are written again each time.
  cat >"$disk/config/containerd.toml" <<EOF
version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
# Features that this machine may lack, and that nodes do not need.
disabled_plugins = ["io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "$(registries "$1")"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "evergate.e2e/pause:1"
[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true # its profiles are the machine's, not the node's
  restrict_oom_score_adj = true # otherwise it fails if this machine is a container
  tolerate_missing_hugetlb_controller = true
  disable_hugetlb_controller = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["$bin/cni"]
    conf_dir = "$disk/config/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "$(command -v runc)"
      SystemdCgroup = false
EOF
  cat >"$disk/config/cni/10-pods.conflist" <<EOF
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "$(node_pods "$1")"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
  cat >"$disk/config/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $(node_ip "$1")
healthzBindAddress: 127.0.0.1
tlsCertFile: $keys/$1.crt
tlsPrivateKeyFile: $keys/$1.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $keys/cluster.crt}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false # there is no iptables
clusterDNS: [${services%.*.*}.0.10] # nothing answers there (README.md), but without an address kubelet reports an error for every Pod
resolvConf: ""
evictionHard: {memory.available: 100Mi} # the disk belongs to the machine, so its fullness must not evict Pods
imageGCHighThresholdPercent: 100 # an image that was removed could not be pulled again
maxPods: 100
EOF
}

node_start() { # node_start NODE: process 1 of it is node-init.sh
  ! running "$1" || return 0
  cgroups_make "$1"
  # The process enters its cgroups first, so the new cgroup namespace starts there.
  # shellcheck disable=SC2016 # the inner shell expands
  start "$1" bash -c 'for dir in $1; do echo $$ >"$dir/cgroup.procs" || exit; done; shift; exec "$@"' enter "$(cgroups_of "$1" | tr '\n' ' ')" \
    nsenter --net="/run/netns/$(netns "$1")" unshare --mount --uts --ipc --cgroup --pid --fork --kill-child=KILL \
    "$rig/node-init.sh" "$1" "$(node_ip "$1")" "$(zone "$1")"
  ! is_v2 || leave_cgroup "$1"
}

# The process that waits for process 1 leaves the node's cgroup, once that has begun in it: see node-init.sh.
leave_cgroup() { # leave_cgroup NODE
  local pid
  read -r pid _ <"$state/run/$1"
  until_ok 10 "process 1 of $1" grep -q . "/proc/$pid/task/$pid/children"
  mkdir -p "$unified/eg-rig/outside"
  echo "$pid" >"$unified/eg-rig/outside/cgroup.procs"
}

node_kill() { # node_kill NODE: kills all its processes together, like a power cut
  thaw "$1" # frozen processes do not die
  stop "$1" KILL
  cgroups_remove "$1"
}

node_run() { # node_run NODE COMMAND...: in the namespaces of the node's process 1, the only child of the process that was started
  local node=$1 pid
  shift
  running "$node" || die "$node is off"
  read -r pid _ <"$state/run/$node"
  read -r pid _ <"/proc/$pid/task/$pid/children" || [ -n "$pid" ] || die "$node is ending" # the file ends without a newline
  nsenter --target "$pid" --mount --uts --ipc --net --pid --cgroup -- "$@"
}

# registries NODE: the directory that its containerd reads at each pull to reach a registry, with a directory for each registry
registries() { echo "$state/nodes/$1/config/certs.d"; }

node_registry() { # node_registry NODE HOST URL CA: images of HOST are pulled from URL, whose certificate is signed by the file CA
  local dir
  dir=$(registries "$1")/$2
  mkdir -p "$dir"
  cp "$4" "$dir/ca.crt"
  printf 'server = "%s"\nca = "%s"\n' "$3" "$dir/ca.crt" >"$dir/hosts.toml.new"
  mv "$dir/hosts.toml.new" "$dir/hosts.toml" # atomically
}

node_no_registry() { rm -rf "$(registries "$1")/${2:?}"; } # node_no_registry NODE HOST

node_import() { # node_import NODE ARCHIVE: an image
  node_run "$1" "$bin/ctr" --namespace k8s.io images import --platform "linux/$(dpkg --print-architecture)" "$2" >/dev/null
  touch -r "$2" "$(imported "$1" "$2")"
}
# imported NODE ARCHIVE: a file of the archive's time, once the archive is on the node
imported() { echo "$state/nodes/$1/config/$(basename "$2").imported"; }

# The control plane still reports a node as Ready for a while after it has gone, so this checks that kubelet has renewed its
# lease, which it does every ten seconds.
is_ready() { # is_ready NODE SINCE: the lease is younger than SINCE, in seconds since 1970
  local renewed
  renewed=$(as_admin get lease --namespace kube-node-lease "$1" --output 'jsonpath={.spec.renewTime}')
  [ "$(date -d "$renewed" +%s)" -ge "$2" ] || return
  [ "$(as_admin get node "$1" --output 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = True ] || return
  # The control plane takes the taint away a moment later, and until then no Pod comes to the node.
  ! as_admin get node "$1" --output 'jsonpath={.spec.taints[*].key}' | grep -q 'node.kubernetes.io/\(unreachable\|not-ready\)'
}
