#!/usr/bin/env bash
# vex.sh NAME@DIGEST: prints an OpenVEX document for an image, about the known vulnerabilities in its modules. It contains
# whether the server calls the vulnerable code and, from tools/vuln/accepted.txt, what ends the vulnerability. The same commit
# and image give the same bytes. Needs jq.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOWORK=off CGO_ENABLED=0 GOOS=linux
name=${1%@*} digest=${1#*@}
module=$(go mod download -modfile=tools/vuln/go.mod -json golang.org/x/vulndb | jq -r .Dir)

bin/govulncheck -format openvex -db "file://$module/data/osv" -tags grpcnotrace,nethttpomithttp2 . |
  jq --rawfile accepted tools/vuln/accepted.txt --arg id "https://github.com/evergate/evergate/commit/$(git rev-parse HEAD)#vex" \
    --arg created "$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)" \
    --arg product "pkg:oci/${name##*/}@${digest/:/%3A}?repository_url=$name" '
      ([$accepted | split("\n")[] | split(" ") | {(.[0] // ""): (.[2:] | join(" "))}] | add) as $action |
      ."@id" = $id | .author = "Evergate maintainers" | .timestamp = $created |
      .statements = (.statements // [] | map(.products[0] = {"@id": $product, subcomponents: (.products[0].subcomponents // [] | sort_by(."@id"))} |
        if .status == "affected" then .action_statement = $action[.vulnerability.name] else . end) | sort_by(.vulnerability.name))'
