#!/usr/bin/env bash
# test.sh: checks dist/release, which make release-dry has built, and builds it again in a clone to compare the bytes. As root and with
# buildah, it also builds the images and compares their binaries with the archives. Needs jq and unzip.
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=$(git rev-parse HEAD)
# The nightly run writes its reports while it runs.
git diff --quiet HEAD -- . ':!e2e/nightly.md' ':!e2e/report.md' ':!e2e/report-long.md' || { echo 'commit your changes first: a release is built from a commit' >&2; exit 1; }
work=$(mktemp -d)
# The layers of buildah are below this directory. The cluster of e2e/rig is in another one.
export EVERGATE_E2E_STATE=/var/tmp/evergate-release
trap 'rm -rf "$work" "$EVERGATE_E2E_STATE"' EXIT

die() { echo "release: $*" >&2; exit 1; }
version=v$(jq -r .version dist/release/metadata.json)
[ "$(jq -r .commit dist/release/metadata.json)" = "$commit" ] || die "dist/release is not of $commit: run make release-dry"
programs=(evergate kubectl-evergate)
platforms=(linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64 windows_arm64)

# archive PROGRAM PLATFORM: the name of its archive
archive() {
  local ending=tar.gz
  [[ $2 == windows* ]] && ending=zip
  echo "$1_${version#v}_$2.$ending"
}

echo "files of $version"
chart=$(sed -n 's/^version: //p' charts/evergate/Chart.yaml)
{
  for program in "${programs[@]}"; do
    for platform in "${platforms[@]}"; do
      name=$(archive "$program" "$platform")
      printf '%s\n' "$name" "$name.spdx.json" "$name.cdx.json"
    done
  done
  printf '%s\n' install-fail-open.yaml install-fail-closed.yaml kustomize.tar.gz "evergate-$chart.tgz" evergate.openvex.json
} | sort > "$work/want"
diff "$work/want" <(awk '{ print $2 }' dist/release/checksums.txt | sort) || die 'checksums.txt does not list the files of a release'
(cd dist/release && sha256sum --check --quiet checksums.txt)

echo 'binaries and SBOMs'
for program in "${programs[@]}"; do
  for platform in "${platforms[@]}"; do
    name=$(archive "$program" "$platform")
    mkdir "$work/$name"
    case $name in
      *.zip) unzip -q "dist/release/$name" -d "$work/$name" ;;
      *) tar -xzf "dist/release/$name" -C "$work/$name" ;;
    esac
    binary=$work/$name/$program
    [ -e "$binary" ] || binary=$binary.exe
    go version -m "$binary" > "$work/modules"
    for setting in CGO_ENABLED=0 "GOOS=${platform%_*}" "GOARCH=${platform#*_}"; do
      grep -q "build[[:space:]]$setting\$" "$work/modules" || die "$name is not built with $setting"
    done
    for constant in "$version" "$commit"; do
      grep -q "$constant" "$binary" || die "$name does not contain $constant"
    done
    # The binary records no version of our modules, which are not downloaded.
    awk -v version="$version" '$1 == "dep" || $1 == "mod" { print $2 "@" ($2 ~ "^github.com/evergate/evergate" ? version : $3) }' \
      "$work/modules" | sort -u > "$work/deps"
    [ -s "$work/deps" ] || die "$name contains no modules"
    jq -r '.components[] | .name + "@" + (.version // "")' "dist/release/$name.cdx.json" | sort -u > "$work/cdx"
    jq -r '.packages[] | .name + "@" + (.versionInfo // "")' "dist/release/$name.spdx.json" | sort -u > "$work/spdx"
    for format in cdx spdx; do
      missing=$(comm -23 "$work/deps" "$work/$format")
      [ -z "$missing" ] || die "$name.$format.json does not list"$'\n'"$missing"
    done
  done
done
here=linux_$(go env GOARCH)
evergate=$work/$(archive evergate "$here")/evergate
"$evergate" version | grep -F "$version, commit $commit"
"$work/$(archive kubectl-evergate "$here")/kubectl-evergate" --version | grep -F "$version, commit $commit"
grep -q "version: $version\$" dist/release/krew/*.yaml || die 'the manifest for krew has another version'

echo 'manifests and chart'
for overlay in fail-open fail-closed; do
  tags=$(grep -E 'image: .*/evergate[@:]' "dist/release/install-$overlay.yaml" | grep -vE '@sha256:[0-9a-f]{64}$') || true
  [ -z "$tags" ] || die "install-$overlay.yaml has images without a digest: $tags"
  "$evergate" preflight -f "dist/release/install-$overlay.yaml" --fail-on error
done
diff <(cd charts/evergate && find . -type f | sed 's|^\.|evergate|' | sort) \
  <(tar -tzf "dist/release/evergate-$chart.tgz" | grep -v '/$' | sort) || die 'the chart has other files than charts/evergate'
image=$(sed -n 's/^ *image: \(.*@sha256:.*\)/\1/p' dist/release/install-fail-open.yaml | sort -u)
tar -xzOf "dist/release/evergate-$chart.tgz" evergate/values.yaml > "$work/values.yaml"
for value in "repository: ${image%@*}" "digest: ${image#*@}"; do
  grep -qx "  $value" "$work/values.yaml" || die "the image in the chart does not have $value, as in install-fail-open.yaml"
done

echo 'release notes and VEX'
if grep -nE '\]\([^)#:]+[)#]' dist/release/notes.md; then die 'the release notes have relative links'; fi
grep -q "^cosign verify $image" dist/release/notes.md || die "the release notes do not verify $image"
jq -e '."@context" == "https://openvex.dev/ns/v0.2.0" and
  all(.statements[]; (.products[0]."@id" | startswith("pkg:oci/evergate@sha256%3A")) and
    (.status == "not_affected" or .status == "affected" and .action_statement != null))' \
  dist/release/evergate.openvex.json >/dev/null || die 'a statement of evergate.openvex.json is not complete'

echo 'a second build, in a clone'
git clone --quiet --no-hardlinks . "$work/clone"
git -C "$work/clone" checkout --quiet "$commit"
cp -r bin "$work/clone/"
make -C "$work/clone" release-dry > "$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; die 'the second build failed'; }
diff dist/release/checksums.txt "$work/clone/dist/release/checksums.txt" || die 'the second build has other bytes'

if [ "$(id -u)" != 0 ] || ! command -v buildah >/dev/null; then
  echo 'the images were not checked, which needs root and buildah'
  exit 0
fi
for arch in amd64 arm64; do
  echo "the image for $arch"
  EVERGATE_E2E_ARCH=$arch e2e/rig/image.sh build . "$version"
  mkdir "$work/$arch"
  tar -xf "$EVERGATE_E2E_STATE/images/evergate-$version.tar" -C "$work/$arch"
  config=$work/$arch/$(jq -r '.[0].Config' "$work/$arch/manifest.json")
  jq -e --arg arch $arch --arg version "$version" --arg commit "$commit" '
    .os == "linux" and .architecture == $arch and .config.User == "65532:65532" and .config.Entrypoint == ["/evergate"] and
    .config.Labels["org.opencontainers.image.version"] == $version and
    .config.Labels["org.opencontainers.image.revision"] == $commit and (.rootfs.diff_ids | length) == 1' "$config" >/dev/null ||
    die "the image for $arch has another configuration: $(cat "$config")"
  mkdir "$work/$arch/root"
  tar -xf "$work/$arch/$(jq -r '.[0].Layers[0]' "$work/$arch/manifest.json")" -C "$work/$arch/root"
  [ "$(find "$work/$arch/root" -type f)" = "$work/$arch/root/evergate" ] || die "the image for $arch contains other files"
  cmp "$work/$arch/root/evergate" "$work/$(archive evergate linux_$arch)/evergate" || die "the image for $arch has another binary"
done
echo 'all checks passed'
