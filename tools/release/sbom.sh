#!/usr/bin/env bash
# sbom.sh FORMAT ARTIFACT DOCUMENT VERSION: writes the SBOM of an archive in a format of syft. The same archive gives the same bytes,
# because the identifier is a hash of the archive, and the time is the time of the commit.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
format=$1 artifact=$2 document=$3 version=$4

hash=$(sha256sum "$artifact" | head -c 32)
# A UUID of version 8, which has free contents (RFC 9562).
uuid=${hash:0:8}-${hash:8:4}-8${hash:13:3}-8${hash:17:3}-${hash:20:12}
created=$(TZ=UTC git -C "$root" log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)

# The other catalogers find nothing in an archive of a Go program, and the catalogers of RPM packages need SQLite.
SYFT_CHECK_FOR_APP_UPDATE=false "$root/bin/syft" scan "file:$artifact" --quiet \
  --override-default-catalogers go-module-binary-cataloger --output "$format=$document"
any='[0-9a-f-]{36}"'
# Binaries do not record the version of our modules.
sed -E -i "s/(\"version(Info)?\": ?\")UNKNOWN\"/\\1$version\"/g
  s/(\"serialNumber\": ?\"urn:uuid:)$any/\\1$uuid\"/
  s/(\"documentNamespace\": ?\"[^\"]*-)$any/\\1$uuid\"/
  s/(\"(timestamp|created)\": ?\")[^\"]*/\\1$created/" "$document"
if ! grep -q "$uuid" "$document" || ! grep -q "$created" "$document"; then
  echo "sbom.sh: syft wrote another format than expected: $document" >&2
  exit 1
fi
