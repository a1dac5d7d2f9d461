#!/usr/bin/env bash
# Builds the programs for tests on a real API server and a real cluster, only from Go modules, at the versions in the go.mod files
# here. Prints the directory of each part. These are caches outside the repository, one directory for each version.
#
#   e2e/rig/build.sh            etcd, kube-apiserver and kubectl: 5 to 15 minutes of two cores the first time, no time later
#   e2e/rig/build.sh all        also the programs for a cluster: about six more minutes of two cores
#   e2e/rig/build.sh PART...    control (the default), node, runtime, cert-manager, registry, images; 1.36 or another directory of
#                               versions/, which is control at that version of Kubernetes
#
# EVERGATE_E2E_CACHE is another place for the caches. GOFLAGS=-p=1 holds it back on a machine that others use.
. "$(dirname "$0")/settings.sh"
cache=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}
cd "$rig"

version() { (cd "$rig/$1" && go list -m -f '{{.Version}}' "$2"); } # version DIR MODULE

# Under another name first, so an existing binary is always complete. The linker strips the data for debuggers
# (-s -w) anyway, and not creating it saves a tenth of the compiler's time.
build() { # build DIR FILE PACKAGE [FLAG...]
  [ -x "$2" ] && return
  local new
  new=$(dirname "$2")/.$(basename "$2")
  mkdir -p "$(dirname "$2")"
  (cd "$rig/$1" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false "${@:4}" -o "$new" "$3" >&2)
  mv "$new" "$2"
  say "built $(basename "$2")"
}

link() { # link DIR...: for the scripts of the cluster, in one place
  mkdir -p "$bin"
  ln -sfn "$@" "$bin/"
}

kubernetes() { # kubernetes DIR NAME...: at the versions of the go.mod in DIR
  local pins=$1 release etcd dir stamp minor name
  shift
  release=$(version "$pins" k8s.io/kubernetes)
  etcd=$(version "$pins" go.etcd.io/etcd/server/v3)
  dir=$cache/kubernetes-$release-etcd-$etcd
  # The programs read their version from variables that the linker sets; a version of 0.0.0 would switch features off.
  stamp=k8s.io/component-base/version minor=${release#v1.}
  stamp="-X $stamp.gitVersion=$release -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean"
  for name; do
    case $name in
      etcd) build "$pins" "$dir/etcd" go.etcd.io/etcd/server/v3 -ldflags '-s -w' ;;
      *) build "$pins" "$dir/$name" "k8s.io/kubernetes/cmd/$name" -ldflags "-s -w $stamp" ;;
    esac
  done
  echo "$dir"
}

runtime() {
  local containerd=github.com/containerd/containerd/v2 plugins=github.com/containernetworking/plugins release dir name
  release=$(version runtime $containerd)
  dir=$cache/containerd-$release-cni-$(version runtime $plugins)
  for name in containerd containerd-shim-runc-v2 ctr; do
    build runtime "$dir/$name" $containerd/cmd/$name -tags no_btrfs,no_devmapper,no_zfs -ldflags "-s -w -X $containerd/version.Version=${release#v}"
  done
  for name in main/bridge main/loopback ipam/host-local meta/portmap; do
    build runtime "$dir/cni/${name#*/}" $plugins/plugins/$name -ldflags '-s -w'
  done
  link "$dir"/{containerd,containerd-shim-runc-v2,ctr,cni}
  echo "$dir"
}

cert_manager() {
  local module=github.com/cert-manager/cert-manager dir
  # With the checksum of our files in it, so a change to them is built too.
  dir=$cache/cert-manager-$(version cert-manager $module)-$(cat cert-manager/main.go cert-manager/go.sum | sha256sum | head -c 8)
  build cert-manager "$dir/cert-manager" . -ldflags '-s -w'
  mkdir -p "$dir/crds"
  cp "$(cd cert-manager && go list -m -f '{{.Dir}}' $module)"/deploy/crds/cert-manager.io_{certificaterequests,certificates,clusterissuers,issuers}.yaml "$dir/crds/"
  chmod -R u+w "$dir/crds" # modules are read-only
  link "$dir"/{cert-manager,crds}
  echo "$dir"
}

registry() {
  local dir
  dir=$cache/registry-$(version registry github.com/distribution/distribution/v3)
  build registry "$dir/registry" . -ldflags '-s -w'
  echo "$dir"
}

part() {
  case $1 in
    control) kubernetes . etcd kube-apiserver kubectl ;;
    1.*) (export GOWORK=off && kubernetes "versions/$1" etcd kube-apiserver kubectl) ;; # e2e/go.work has the newest version
    node)
      local dir
      dir=$(kubernetes . etcd kube-apiserver kubectl kube-controller-manager kube-scheduler kubelet kube-proxy)
      link "$dir"/*
      echo "$dir"
      ;;
    runtime) runtime ;;
    cert-manager) cert_manager ;;
    registry) registry ;;
    images) "$rig/image.sh" pause ;;
    *) die "unknown part $1" ;;
  esac
}

case ${1:-control} in
  all) set -- node runtime cert-manager registry images ;;
esac
for part in "${@:-control}"; do part "$part"; done
