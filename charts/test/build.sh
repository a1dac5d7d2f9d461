#!/usr/bin/env bash
# Builds the helm that the chart is tested with, from Go modules alone, at the version of go.mod. Prints the directory that
# it is in: the cache of e2e/rig/build.sh, of a directory per version.
#
#   charts/test/build.sh        some 3 minutes of one core the first time, then nothing
#
# EVERGATE_E2E_CACHE is another place for the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export GOWORK=off

version=$(go list -m -f '{{.Version}}' helm.sh/helm/v4)
bin=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}/helm-$version

if [ ! -x "$bin/helm" ]; then
  mkdir -p "$bin"
  # Under another name first, so that a binary that is there is a whole one.
  CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags '-s -w' -o "$bin/.helm" helm.sh/helm/v4/cmd/helm >&2
  mv "$bin/.helm" "$bin/helm"
fi
echo "$bin"
