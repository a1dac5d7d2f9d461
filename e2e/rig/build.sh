#!/usr/bin/env bash
# Builds the programs that tests run, only from Go modules, at the versions in the go.mod files below tools/ (helm: charts/test).
# Prints the directory of each part. These are caches outside the repository, one directory for each version.
#
#   e2e/rig/build.sh            etcd, kube-apiserver and kubectl: 5 to 15 minutes of two cores the first time, no time later
#   e2e/rig/build.sh all        also the programs for a cluster: about six more minutes of two cores
#   e2e/rig/build.sh PART...    control (the default), node, runtime, cert-manager, registry, images; promtool, jaeger, helm,
#                               kustomize-controller, argocd: each 3 to 5 minutes of one core; 1.36 or another directory of
#                               tools/rig/versions, which is control at that version of Kubernetes
#
# EVERGATE_E2E_CACHE is another place for the caches. GOFLAGS=-p=1 holds it back on a machine that others use.
. "$(dirname "$0")/settings.sh"
cache=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}
root=$(cd "$rig/../.." && pwd)

# in_module DIR COMMAND...: with the build list of e2e/go.work for tools/rig, or else of the go.mod in DIR.
in_module() {
  local dir=$1 work=off
  [ "$dir" != tools/rig ] || work=$root/e2e/go.work
  shift
  (cd "$root/$dir" && GOWORK=$work CGO_ENABLED=0 "$@")
}
version() { in_module "$1" go list -m -f '{{.Version}}' "$2"; } # version DIR MODULE

# Under another name first, so an existing binary is always complete. The linker strips the data for debuggers
# (-s -w) anyway, and not creating it saves a tenth of the compiler's time.
build() { # build DIR FILE PACKAGE [LINKER-FLAGS [FLAG...]]
  [ -x "$2" ] && return
  local new
  new=$(dirname "$2")/.$(basename "$2")
  mkdir -p "$(dirname "$2")"
  in_module "$1" go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w ${4:-}" "${@:5}" -o "$new" "$3" >&2
  mv "$new" "$2"
  say "built $(basename "$2")"
}

link() { # link FILE...: for the scripts of the cluster, in one place
  mkdir -p "$bin"
  ln -sfn "$@" "$bin/"
}

copy() { # copy DIR MODULE TO FILE...: copies files of a module
  local to=$3 from
  from=$(in_module "$1" go list -m -f '{{.Dir}}' "$2")
  mkdir -p "$to"
  (cd "$from" && install -m 644 "${@:4}" "$to")
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
      etcd) build "$pins" "$dir/etcd" go.etcd.io/etcd/server/v3 ;;
      *) build "$pins" "$dir/$name" "k8s.io/kubernetes/cmd/$name" "$stamp" ;;
    esac
  done
  echo "$dir"
}

runtime() {
  local containerd=github.com/containerd/containerd/v2 plugins=github.com/containernetworking/plugins release dir name
  release=$(version tools/rig $containerd)
  dir=$cache/containerd-$release-cni-$(version tools/rig $plugins)
  for name in containerd containerd-shim-runc-v2 ctr; do
    build tools/rig "$dir/$name" $containerd/cmd/$name "-X $containerd/version.Version=${release#v}" -tags no_btrfs,no_devmapper,no_zfs
  done
  for name in main/bridge main/loopback ipam/host-local meta/portmap; do
    build tools/rig "$dir/cni/${name#*/}" $plugins/plugins/$name
  done
  link "$dir"/{containerd,containerd-shim-runc-v2,ctr,cni}
  echo "$dir"
}

cert_manager() {
  local module=github.com/cert-manager/cert-manager crds=deploy/crds/cert-manager.io dir
  # With the checksum of our file in it, so a change to it is built too.
  dir=$cache/cert-manager-$(version tools/rig $module)-$(sha256sum <"$root/tools/rig/cert-manager/main.go" | head -c 8)
  build tools/rig "$dir/cert-manager" ./cert-manager
  copy tools/rig $module "$dir/crds" ${crds}_{certificaterequests,certificates,clusterissuers,issuers}.yaml
  link "$dir"/{cert-manager,crds}
  echo "$dir"
}

# program NAME DIR MODULE PACKAGE [LINKER-FLAGS [FLAG...]]: a program that tests find by its name.
program() {
  local dir
  dir=$cache/$1-$(version "$2" "$3")
  build "$2" "$dir/$1" "${@:4}"
  echo "$dir"
}

part() {
  local dir jaeger=github.com/jaegertracing/jaeger
  case $1 in
    control) kubernetes tools/rig etcd kube-apiserver kubectl ;;
    1.*) kubernetes "tools/rig/versions/$1" etcd kube-apiserver kubectl ;;
    node)
      dir=$(kubernetes tools/rig etcd kube-apiserver kubectl kube-controller-manager kube-scheduler kubelet kube-proxy)
      link "$dir"/*
      echo "$dir"
      ;;
    runtime) runtime ;;
    cert-manager) cert_manager ;;
    registry) program registry tools/rig github.com/distribution/distribution/v3 ./registry ;;
    images) "$rig/image.sh" pause ;;
    # Service discovery is left out. Tests of rules do not need it, and its cloud libraries are most of the code.
    promtool) program promtool tools/rig github.com/prometheus/prometheus github.com/prometheus/prometheus/cmd/promtool '' -tags remove_all_sd ;;
    # The module does not contain the pages of Jaeger's user interface. It contains the query API, which the tests use.
    jaeger) program jaeger tools/jaeger $jaeger $jaeger/cmd/all-in-one "-X $jaeger/internal/version.latestVersion=$(version tools/jaeger $jaeger)" ;;
    helm) program helm charts/test helm.sh/helm/v4 helm.sh/helm/v4/cmd/helm ;;
    # The GitOps controllers, each with its CRDs and default settings.
    kustomize-controller)
      dir=$(program "$1" tools/"$1" github.com/fluxcd/kustomize-controller github.com/fluxcd/kustomize-controller)
      copy tools/"$1" github.com/fluxcd/kustomize-controller "$dir/manifests" config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml
      echo "$dir"
      ;;
    argocd)
      dir=$(program "$1" tools/"$1" github.com/argoproj/argo-cd/v3 .)
      copy tools/"$1" github.com/argoproj/argo-cd/v3 "$dir/manifests" manifests/crds/{application,appproject}-crd.yaml manifests/base/config/argocd-{cm,secret}.yaml
      echo "$dir"
      ;;
    *) die "unknown part $1" ;;
  esac
}

case ${1:-control} in
  all) set -- node runtime cert-manager registry images ;;
esac
for part in "${@:-control}"; do part "$part"; done
