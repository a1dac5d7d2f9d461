#!/usr/bin/env bash
# Builds what the tests that need a real API server run on: etcd, kube-apiserver and kubectl, from Go modules alone, at the
# versions of go.mod. Prints the directory that they are in: a cache outside of the tree, of a directory per version.
#
#   e2e/rig/build.sh            5 to 15 minutes of two cores the first time, then nothing
#
# EVERGATE_E2E_CACHE is another place for the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

kubernetes=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
etcd=$(go list -m -f '{{.Version}}' go.etcd.io/etcd/server/v3)
bin=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}/kubernetes-$kubernetes-etcd-$etcd

# kube-apiserver reads its version from variables that the linker sets; a version of 0.0.0 would switch features off.
version=k8s.io/component-base/version
minor=${kubernetes#v1.} minor=${minor%%.*}
stamp="-X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=$minor -X $version.gitTreeState=clean"

build() { # build NAME PACKAGE: under another name first, so that a binary that is there is a whole one
  [ -x "$bin/$1" ] && return
  mkdir -p "$bin"
  CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $stamp" -o "$bin/.$1" "$2" >&2
  mv "$bin/.$1" "$bin/$1"
}

build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kubectl k8s.io/kubernetes/cmd/kubectl
echo "$bin"
