#!/usr/bin/env bash
# Builds the helm for the tests of the chart from Go modules, in the version of go.mod, and prints its directory. The
# directory is in the cache of e2e/rig/build.sh, with one directory per version.
#
#   charts/test/build.sh        takes about 3 minutes of one core the first time
#
# EVERGATE_E2E_CACHE is another place for the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export GOWORK=off

version=$(go list -m -f '{{.Version}}' helm.sh/helm/v4)
bin=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}/helm-$version

if [ ! -x "$bin/helm" ]; then
  mkdir -p "$bin"
  # The file gets its final name last. A binary with this name is therefore complete.
  CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags '-s -w' -o "$bin/.helm" helm.sh/helm/v4/cmd/helm >&2
  mv "$bin/.helm" "$bin/helm"
fi
echo "$bin"
