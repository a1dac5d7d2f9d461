#!/usr/bin/env bash
# Builds the GitOps controllers for make test-gitops from Go modules, in the versions of their go.mod, and prints their
# directories. Each directory also has manifests/ with the CRDs and default settings of the controller. The
# directories are in the cache of e2e/rig/build.sh, with one directory per version.
#
#   e2e/gitops/build.sh kustomize-controller    the controller of Flux: takes about 5 minutes of one core the first time
#   e2e/gitops/build.sh argocd                  the processes of Argo CD that apply an Application: takes as long
#
# EVERGATE_E2E_CACHE is another place for the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export GOWORK=off CGO_ENABLED=0 # e2e/go.work does not list these modules

# build PROGRAM MODULE PACKAGE MANIFEST...: builds the package, and copies manifests from the module.
build() {
  local version dir bin
  version=$(go -C "$1" list -m -f '{{.Version}}' "$2")
  dir=$(go -C "$1" list -m -f '{{.Dir}}' "$2")
  bin=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}/$1-$version
  mkdir -p "$bin/manifests"
  go -C "$1" build -trimpath -gcflags=all=-dwarf=false -ldflags '-s -w' -o "$bin/$1" "$3" >&2
  (cd "$dir" && install -m 644 "${@:4}" "$bin/manifests")
  echo "$bin"
}

for program in "$@"; do
  case $program in
    kustomize-controller)
      build "$program" github.com/fluxcd/kustomize-controller github.com/fluxcd/kustomize-controller \
        config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml
      ;;
    argocd)
      build "$program" github.com/argoproj/argo-cd/v3 . manifests/crds/{application,appproject}-crd.yaml \
        manifests/base/config/argocd-{cm,secret}.yaml
      ;;
    *) echo "build.sh: unknown program $program" >&2 && exit 1 ;;
  esac
done
