#!/usr/bin/env bash
# test.sh: checks dist/, which make release-dry has built, and builds it again to compare the bytes.
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=$(git rev-parse HEAD)

echo 'checksums'
(cd dist && sha256sum --check --quiet checksums.txt)

echo 'binaries'
found=0
for binary in dist/*/evergate dist/*/evergate.exe dist/*/kubectl-evergate dist/*/kubectl-evergate.exe; do
  [ -e "$binary" ] || continue
  found=$((found + 1))
  go version -m "$binary" | grep -q 'CGO_ENABLED=0' || { echo "$binary is built with cgo" >&2; exit 1; }
  case $binary in
  *kubectl*) ;;
  *) grep -q "$commit" "$binary" || { echo "$binary is not of $commit" >&2; exit 1; } ;;
  esac
done
((found == 12)) || { echo "$found binaries, want evergate and kubectl-evergate for three systems on two architectures" >&2; exit 1; }
dist/evergate_linux_amd64_v1/evergate version | grep -q "${commit:0:7}"

echo 'manifests'
for overlay in fail-open fail-closed; do
  dist/evergate_linux_amd64_v1/evergate preflight -f "build/release/install-$overlay.yaml" --fail-on error
done

echo 'a second build'
before=$(cd dist && sha256sum ./*.tar.gz ./*.zip)
make release-dry >/dev/null 2>&1
diff <(echo "$before") <(cd dist && sha256sum ./*.tar.gz ./*.zip)
echo 'all is as it should be'
