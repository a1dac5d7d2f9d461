# The image of Evergate: one static binary and nothing else. docs/building.md has the commands.

# What it is built with: the Go of go.mod. Releases name it by digest, since a tag can be moved.
ARG GO_IMAGE=docker.io/library/golang:1.26.8-alpine

# On the platform of the machine that builds, for the platform of the one that will run it: Go needs no emulation for that.
FROM --platform=$BUILDPLATFORM $GO_IMAGE AS build
WORKDIR /src

# The Go of the image and no other that go.mod might ask to download; no C, hence no libc to be found at run time.
ENV GOTOOLCHAIN=local CGO_ENABLED=0

# Before the sources: as long as these two stay the same, so does the layer with what they name.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
ARG REVISION
# Seconds since 1970, of the commit: every time of day in the image is this one.
ARG SOURCE_DATE_EPOCH=0
# The same sources, Go and arguments give the same bytes: no paths of this machine, no build ID, and no state of a repository,
# which is not here; version and commit are given instead. The time of the file is one of the bytes of its layer. The tags leave
# out of gRPC the pages that it would show of itself, which nobody serves, 5 MB, and of net/http its HTTP/2, which nobody speaks
# here, 0.5 MB: a server that cannot speak it cannot lose a connection of it.
RUN created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ) && \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -tags grpcnotrace,nethttpomithttp2 -o /out/evergate -ldflags "-s -w -buildid= \
      -X github.com/evergate/evergate/cmd.version=$VERSION \
      -X github.com/evergate/evergate/cmd.commit=$REVISION \
      -X github.com/evergate/evergate/cmd.date=$created" . && \
    touch -d "@$SOURCE_DATE_EPOCH" /out/evergate

# From nothing: no shell, no package that has to be patched. CA certificates are not needed either: a process that serves calls
# nobody but itself, with the CA of its own certificate, and a collector of spans, whose CA is a file that a variable names. Nor
# are time zones: all times are in UTC.
FROM scratch
COPY --from=build /out/evergate /evergate

# By number, since there is no /etc/passwd; runAsNonRoot can be checked by a number only. The kit runs it as the same.
USER 65532:65532

# Reviews, over HTTPS; metrics, over HTTP.
EXPOSE 10250 8080

# No HEALTHCHECK: Kubernetes ignores it, and the kubelet's probes ask /readyz and /livez.
ENTRYPOINT ["/evergate"]

# Last, since they change with each commit.
ARG VERSION=devel
ARG REVISION
ARG CREATED
LABEL org.opencontainers.image.title="Evergate" \
      org.opencontainers.image.description="Kubernetes admission webhook that rewrites images and validates Ingresses and Services" \
      org.opencontainers.image.source="https://github.com/evergate/evergate" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION \
      org.opencontainers.image.created=$CREATED
