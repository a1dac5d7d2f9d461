#!/usr/bin/env bash
# files.sh IMAGE: writes the files of a release that GoReleaser does not build into build/release: the manifests with IMAGE,
# which is a name with a digest, kustomize/ as an archive, and the notes from CHANGELOG.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
image=${1:?write the image with its digest: ghcr.io/evergate/evergate@sha256:…}
[[ $image =~ ^(.+)@(sha256:[0-9a-f]{64})$ ]] || { echo "$image has no digest: write name@sha256:…" >&2; exit 1; }
name=${BASH_REMATCH[1]} digest=${BASH_REMATCH[2]}
out=build/release
rm -rf "$out"
mkdir -p "$out/overlay"

for overlay in fail-open fail-closed; do
  cat > "$out/overlay/kustomization.yaml" <<EOF
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../../kustomize/overlays/$overlay]
images:
- {name: ghcr.io/evergate/evergate, newName: $name, digest: $digest}
EOF
  GOWORK=off go run sigs.k8s.io/kustomize/kustomize/v5@v5.7.1 build "$out/overlay" > "$out/install-$overlay.yaml"
  grep -q "image: $image" "$out/install-$overlay.yaml" || { echo "$overlay does not run $image" >&2; exit 1; }
done
rm -r "$out/overlay"

# The same commit gives the same bytes.
git archive --format=tar --prefix=kustomize/ HEAD:kustomize | gzip -9n > "$out/kustomize.tar.gz"

# The section of the tag, or of the unreleased changes if the commit has no tag.
tag=$(git describe --tags --exact-match 2>/dev/null || echo Unreleased)
awk -v heading="## ${tag#v}" '/^## / { inside = index($0, heading) == 1; next } inside' CHANGELOG.md > "$out/notes.md"
[ -s "$out/notes.md" ] || { echo "CHANGELOG.md has no section for $tag" >&2; exit 1; }
