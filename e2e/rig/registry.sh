#!/usr/bin/env bash
# Registries for the nodes. Without such a registry they do not pull anything, because all images are loaded onto them (image.sh).
#
#   registry.sh add HOST URL CA       on every node: images named HOST/… are pulled from URL, whose certificate the file CA has
#                                     signed. If it requires a login, the login is in a Pod's imagePullSecrets
#   registry.sh remove HOST           removes it; images that were pulled stay
#
# internal/registry runs a registry from the output of build.sh.
. "$(dirname "$0")/settings.sh"
. "$rig/nodes.sh"

case ${1:-}/$# in
  add/4) for node in "${nodes[@]}"; do node_registry "$node" "${@:2}"; done ;;
  remove/2) for node in "${nodes[@]}"; do node_no_registry "$node" "$2"; done ;;
  *) die "$(sed -n 's/^#   //p' "$0")" ;;
esac
