#!/usr/bin/env bash
# Images for the nodes, which only pull from the registry of a test (registry.sh). Built or loaded images are kept as an archive
# and imported by every node. A node that is off imports them when it starts.
#
#   image.sh build SOURCE TAG         the product, by the Dockerfile of SOURCE, as evergate.e2e/evergate:TAG;
#                                     SOURCE is a directory, or a commit of this repository;
#                                     EVERGATE_E2E_ARCH is another architecture, such as arm64
#   image.sh binary NAME:TAG FILE     of one static binary, its entry point
#   image.sh load ARCHIVE             that docker save, or buildah push to docker-archive: or oci-archive:, has written
#   image.sh pause                    the image that each Pod of the cluster needs
. "$(dirname "$0")/settings.sh"
. "$rig/processes.sh"
. "$rig/nodes.sh"
archives=$state/images
command -v buildah >/dev/null || die "buildah is missing: apt-get install buildah busybox-static"
mkdir -p "$archives" "$state/buildah" "$state/log"
work=$(mktemp -d "$state/buildah/work.XXXXXX")
trap 'rm -rf "$work"' EXIT

# These flags need neither a daemon nor overlay mounts nor namespaces, so this also works if the machine is a container.
images() { BUILDAH_ISOLATION=chroot buildah --root "$state/buildah/root" --runroot "$state/buildah/run" --storage-driver vfs "$@"; }
logged() { "$@" >>"$state/log/images.log" 2>&1 || die "failed: $*; the end of $state/log/images.log:"$'\n'"$(tail -n 20 "$state/log/images.log")"; }
build_image() { logged images build --pull-never "$@"; }

on_nodes() { # on_nodes COMMAND...: for each node that is on, its name added
  local node
  for node in "${nodes[@]}"; do
    ! running "$node" || "$@" "$node"
  done
}

import() { # import ARCHIVE NODE
  until_ok 60 "containerd of $2" node_run "$2" "$bin/ctr" version
  node_import "$2" "$1"
}

# The build environment of the Dockerfile: a shell, and the Go of this machine, which is mounted because it is a thousand times larger.
# Its programs are for this machine. Its platform is the one of the image, because buildah 1.28 only finds such images here.
platform=linux/${EVERGATE_E2E_ARCH:-$(dpkg --print-architecture)}
builder=localhost/builder-${platform#*/}:1
make_builder() {
  ! images inspect --type image "$builder" >/dev/null 2>&1 || return 0
  [ -x /bin/busybox ] || die "busybox is missing: apt-get install busybox-static"
  mkdir -p "$work/go/bin" "$work/go/etc/ssl/certs" "$work/go/tmp" "$work/go/root"
  chmod 1777 "$work/go/tmp"
  cp /bin/busybox "$work/go/bin/"
  chroot "$work/go" /bin/busybox --install -s /bin
  cp -L /etc/ssl/certs/ca-certificates.crt "$work/go/etc/ssl/certs/"
  cp /etc/passwd "$work/go/etc/passwd"
  cat >"$work/go/Dockerfile" <<EOF
FROM scratch
COPY . /
ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOCACHE=/cache GOPROXY=$(go env GOPROXY) GOSUMDB=$(go env GOSUMDB) GONOSUMDB=$(go env GONOSUMDB)
EOF
  build_image --platform "$platform" --tag "$builder" "$work/go"
}

build() { # build SOURCE TAG
  local source=$1 revision='' time=0
  if ! [ -d "$source" ]; then
    git -C "$rig" rev-parse --quiet --verify "$1^{commit}" >/dev/null || die "$1 is neither a directory nor a commit"
    source=$work/source
    mkdir "$source"
    git -C "$(git -C "$rig" rev-parse --show-toplevel)" archive "$1" | tar -x -C "$source"
    revision=$(git -C "$rig" rev-parse "$1") time=$(git -C "$rig" log -1 --format=%ct "$1")
  elif git -C "$source" rev-parse HEAD >/dev/null 2>&1; then
    revision=$(git -C "$source" rev-parse HEAD) time=$(git -C "$source" log -1 --format=%ct)
  fi
  make_builder
  # The caches of this machine save minutes and do not change the result, because Go verifies their contents.
  build_image --platform "$platform" --timestamp "$time" \
    --volume "$(go env GOROOT):/usr/local/go:ro" --volume "$(go env GOMODCACHE):/go/pkg/mod" --volume "$(go env GOCACHE):/cache" \
    --build-arg GO_IMAGE="$builder" --build-arg VERSION="$2" --build-arg REVISION="$revision" \
    --build-arg SOURCE_DATE_EPOCH="$time" --build-arg CREATED="$(date -u -d "@$time" +%Y-%m-%dT%H:%M:%SZ)" \
    --tag "evergate.e2e/evergate:$2" "$source"
  archive "evergate.e2e/evergate:$2" "evergate-$2"
  # The name that kubelet uses for the image of a container. Tests use it to check which image a Pod runs.
  images inspect --type image --format '{{.FromImageID}}' "evergate.e2e/evergate:$2" >"$archives/evergate-$2.id"
}

binary() { # binary NAME:TAG FILE
  install -D -m 755 "$2" "$work/image/$(basename "$2")"
  cat >"$work/image/Dockerfile" <<EOF
FROM scratch
COPY $(basename "$2") /
USER 65532:65532
ENTRYPOINT ["/$(basename "$2")"]
EOF
  build_image --timestamp 0 --tag "$1" "$work/image"
  local file=${1##*/}
  archive "$1" "${file/:/-}"
}

archive() { # archive NAME:TAG FILE: out of buildah, into the archives and onto the nodes
  rm -f "$work/archive.tar"
  logged images push "$1" "docker-archive:$work/archive.tar:$1"
  take "$work/archive.tar" "$2"
}

take() { # take ARCHIVE FILE
  mv "$1" "$archives/$2.tar" # atomically
  on_nodes import "$archives/$2.tar"
  say "$2 is on the nodes, or will be when they start"
}

pause() {
  [ ! "$archives/pause-1.tar" -nt "$rig/pause/main.go" ] || return 0
  (cd "$rig" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$work/pause" ./pause)
  binary evergate.e2e/pause:1 "$work/pause"
}

load() { # load ARCHIVE
  cp "$1" "$work/archive.tar"
  take "$work/archive.tar" "$(basename "$1" .tar)"
}

[ $# -gt 0 ] || die "$(sed -n 's/^#   //p' "$0")"
case $1/$# in
  build/3) build "$2" "$3" ;;
  binary/3) binary "$2" "$3" ;;
  load/2) load "$2" ;;
  pause/1) pause ;;
  *) die "$(sed -n 's/^#   //p' "$0")" ;;
esac
