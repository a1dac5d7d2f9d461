# syntax=docker/dockerfile:1
#
# docker build -t evergate .                       for this machine
# docker buildx build --platform linux/amd64,linux/arm64 …  for others: Go cross-compiles, nothing is emulated
#
# The binary depends on the sources, on the Go version and on the arguments, and on nothing else: two builds of a
# commit give the same bytes. The image does too with SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) and
# --output type=image,rewrite-timestamp=true (docker), or --timestamp (buildah).

# The Go of go.mod. It is an argument so that a builder from a mirror, or one of your own, can be named.
ARG BUILDER=docker.io/library/golang:1.26.8

FROM --platform=$BUILDPLATFORM ${BUILDER} AS build
WORKDIR /src
# CGO_ENABLED=0: static, so that it runs on nothing at all. GOTOOLCHAIN=local: the builder's Go or none, never a download.
# GOFLAGS: no paths of this machine, and no version control, which stands in the arguments below.
ENV CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS="-trimpath -buildvcs=false"
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION="" COMMIT="" DATE=""
RUN GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -o /out/evergate -ldflags "-s -w -buildid= \
    -X github.com/evergate/evergate/cmd.version=${VERSION} \
    -X github.com/evergate/evergate/cmd.commit=${COMMIT} \
    -X github.com/evergate/evergate/cmd.date=${DATE}" .

# Nothing but the binary: no shell, no package to be patched, no certificates of others, since it asks nobody.
FROM scratch
ARG VERSION="" COMMIT="" DATE=""
LABEL org.opencontainers.image.title="Evergate" \
      org.opencontainers.image.description="Kubernetes admission webhook: images from private mirrors, Ingress and Service rules" \
      org.opencontainers.image.url="https://github.com/evergate/evergate" \
      org.opencontainers.image.source="https://github.com/evergate/evergate" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${DATE}"
COPY --from=build /out/evergate /evergate
# A number, since there is no /etc/passwd and kubelet wants to see that it is not root (runAsNonRoot). As in the kit.
USER 65532:65532
# The serving port and the ops port.
EXPOSE 10250 8080
ENTRYPOINT ["/evergate"]
CMD ["serve"]
