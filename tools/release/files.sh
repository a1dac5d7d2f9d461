#!/usr/bin/env bash
# files.sh IMAGE: writes the files of a release that GoReleaser does not build into build/release: the manifests with IMAGE,
# which is a name with a digest, kustomize/ as an archive, the Helm chart with IMAGE, its OpenVEX document, and the notes with
# the changes from CHANGELOG.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
image=${1:?write the image with its digest: ghcr.io/evergate/evergate@sha256:…}
[[ $image =~ ^(.+)@(sha256:[0-9a-f]{64})$ ]] || { echo "$image has no digest: write name@sha256:…" >&2; exit 1; }
name=${BASH_REMATCH[1]} digest=${BASH_REMATCH[2]}
out=build/release
rm -rf "$out"
mkdir -p "$out/overlay"

for overlay in fail-open fail-closed; do
  cat > "$out/overlay/kustomization.yaml" <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../../kustomize/overlays/$overlay]
images:
- {name: ghcr.io/evergate/evergate, newName: $name, digest: $digest}
YAML
  bin/kustomize build "$out/overlay" > "$out/install-$overlay.yaml"
  grep -q "image: $image" "$out/install-$overlay.yaml" || { echo "$overlay does not run $image" >&2; exit 1; }
done

# pack DIRECTORY FILE: archives a directory of the commit, in which the chart has the image. The bytes depend only on both.
pack() {
  git archive HEAD "$1" | tar -x -C "$out/overlay"
  [ "$1" = kustomize ] || sed -i "s|^  repository: .*|  repository: $name|; s|^  digest: .*|  digest: $digest|" "$out/overlay/$1/values.yaml"
  tar -C "$out/overlay/$(dirname "$1")" --format=gnu --sort=name --mtime="@$(git log -1 --format=%ct)" \
    --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -c "$(basename "$1")" | gzip -9n > "$2"
}
pack kustomize "$out/kustomize.tar.gz"
chart=$(git show HEAD:charts/evergate/Chart.yaml | sed -n 's/^version: //p')
pack charts/evergate "$out/evergate-$chart.tgz" # the name and the layout of helm package
rm -r "$out/overlay"

# The section of the tag, or of the unreleased changes if the commit has no tag.
tag=$(git describe --tags --exact-match 2>/dev/null || echo Unreleased)
[[ $tag == Unreleased || $tag == "v$chart" ]] || { echo "the version of charts/evergate is $chart, and the tag is $tag" >&2; exit 1; }
# The first version has no earlier version, so nothing has changed for its users.
awk -v heading="## ${tag#v}" '/^## / { inside = index($0, heading) == 1; next }
  /^### / { changed = first && /Changed/ } inside && /^This is the first version/ { first = 1 } inside && !changed' CHANGELOG.md > "$out/changes.md"
[ -s "$out/changes.md" ] || { echo "CHANGELOG.md has no section for $tag" >&2; exit 1; }
[ "$tag" != Unreleased ] || tag=v$chart # the notes of make release-dry are the notes of the next version
site=https://github.com/evergate/evergate
{
  cat <<MARKDOWN
## Install

Read [the requirements and all steps]($site/blob/$tag/docs/runbooks/install.md) first. Then use one of these commands:

\`\`\`sh
kubectl apply -f $site/releases/download/$tag/install-fail-open.yaml
helm install evergate oci://ghcr.io/evergate/evergate/charts/evergate --version $chart \\
  --namespace evergate-system --create-namespace
\`\`\`

## Verify

\`\`\`sh
cosign verify $image \\
  --certificate-identity $site/.github/workflows/publish.yaml@refs/tags/$tag \\
  --certificate-oidc-issuer https://token.actions.githubusercontent.com
\`\`\`

[Verify a release]($site/blob/$tag/docs/verify.md) has the commands for the files, the chart and the SBOMs.

## Changes

MARKDOWN
  sed -E "s|\]\(([^):#][^):]*)\)|]($site/blob/$tag/\1)|g" "$out/changes.md"
} > "$out/notes.md"
rm "$out/changes.md"
tools/release/vex.sh "$image" > "$out/evergate.openvex.json"
