# The Evergate image contains one static binary and nothing else. docs/building.md has the commands.

# The Go toolchain, in the version of go.mod. The digest pins the image, because a tag can be moved.
ARG GO_IMAGE=docker.io/library/golang:1.26.8-alpine@sha256:8ac98ca534ac3f51e1f420a1dd2c15e74c75cfa0f23f3ad27eb5d7236c349a0c

# This stage runs on the platform of the build machine and compiles for the target platform, because Go can cross-compile
# without emulation.
FROM --platform=$BUILDPLATFORM $GO_IMAGE AS build
WORKDIR /src

# Use the Go toolchain in the image, even if go.mod requests another one. Without cgo, the binary does not need libc.
ENV GOTOOLCHAIN=local CGO_ENABLED=0

# These are copied before the sources, so the layer with the modules is cached until one of the two files changes.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
ARG REVISION
# The time of the commit, in seconds since 1970. It is the timestamp of every file in the image.
ARG SOURCE_DATE_EPOCH=0
# The same sources, Go toolchain and arguments give the same bytes. The binary does not contain local paths, a build ID or
# repository state. Version and commit are arguments. The file time is part of the layer, so it is fixed too. The tags
# remove code that Evergate does not use: the debug pages of gRPC (5 MB), and HTTP/2 of net/http (0.5 MB). A server without
# HTTP/2 cannot drop HTTP/2 connections.
RUN created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ) && \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -tags grpcnotrace,nethttpomithttp2 -o /out/evergate -ldflags "-s -w -buildid= \
      -X github.com/evergate/evergate/cmd/internal/cli.version=$VERSION \
      -X github.com/evergate/evergate/cmd/internal/cli.commit=$REVISION \
      -X github.com/evergate/evergate/cmd/internal/cli.date=$created" . && \
    touch -d "@$SOURCE_DATE_EPOCH" /out/evergate

# The image is empty except for the binary, so it does not contain a shell or packages that need patches. It does not need CA
# certificates, because the server calls only itself, with the CA of its certificate, and a trace collector, whose CA file
# is set by a variable. It does not need time zones, because all times are in UTC.
FROM scratch
COPY --from=build /out/evergate /evergate

# The user is a number, because there is no /etc/passwd, and Kubernetes can check runAsNonRoot only for a number. The
# manifests in kustomize/ use the same number.
USER 65532:65532

# Reviews over HTTPS, and metrics over HTTP.
EXPOSE 10250 8080

# There is no HEALTHCHECK, because Kubernetes ignores it and the kubelet probes /readyz and /livez.
ENTRYPOINT ["/evergate"]

# These are last, because they change with each commit.
ARG VERSION=devel
ARG REVISION
ARG CREATED
LABEL org.opencontainers.image.title="Evergate" \
      org.opencontainers.image.description="Kubernetes admission webhook that rewrites Pod images and validates objects against a policy" \
      org.opencontainers.image.source="https://github.com/evergate/evergate" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION \
      org.opencontainers.image.created=$CREATED
