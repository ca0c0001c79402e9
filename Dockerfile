# The module and what runs it. docker compose builds the stages "program" and "envoy"; by hand:
#
#   docker build --target module  -t routelimit-wasm .   # plugin.wasm alone, as Istio and Envoy Gateway fetch it; see make image
#   docker build --target program -t routelimit .        # the operator's program
#   docker build --target envoy   -t routelimit-envoy .  # an Envoy with the module and envoy.yaml

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build

FROM scratch AS module
COPY --from=build /src/build/routelimit.wasm /plugin.wasm

FROM gcr.io/distroless/static-debian12:nonroot AS program
COPY --from=build /src/build/routelimit /routelimit
USER 65532:65532
ENTRYPOINT ["/routelimit"]

FROM envoyproxy/envoy:distroless-v1.40.0 AS envoy
# envoy.yaml names the module build/routelimit.wasm, from the folder where Envoy is started.
WORKDIR /etc/routelimit
COPY --from=build /src/build/routelimit.wasm build/routelimit.wasm
COPY envoy.yaml deploy/compose/envoy-cluster.yaml ./
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/envoy"]
CMD ["-c", "envoy.yaml", "--log-level", "info", "--disable-hot-restart"]
