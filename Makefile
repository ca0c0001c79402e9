# routelimit. `make help` lists the targets.

GO      ?= go
WASM    := build/routelimit.wasm
PROGRAM := build/routelimit
OVERLAY := build/overlay/overlay.json

# How large a function the profile may have inlined: more makes the module larger and saves hardly a call (docs/performance.md).
INLINING := -d=pgoinlinebudget=400

HELD    := module/built/routelimit.wasm.gz

SOURCES := $(shell find accesslog answer bootstrap bridge cmd described filter host-test imported limit live module plainfmt policy policytest render replay resp servers shim simulate standalone stored top -name '*.go' -not -name '*_test.go' -o -name '*.lua' -o -name '*.tmpl' -o -path 'live/page.*' 2>/dev/null) filter/default.pgo go.mod go.sum

# What vet shall read as it reads fmt.Sprintf.
PRINTF  := -printf.funcs=Sprintf,Errorf,Fail,fail

.DEFAULT_GOAL := help

## run: start Redis, a demo upstream and Envoy with envoy.yaml; Ctrl-C ends them; ARGS='--config policy.json' sets flags
.PHONY: run
run: build
	@$(PROGRAM) run $(ARGS)

## test: all tests, on a real Envoy, a real Redis and a real Cluster
.PHONY: test
test: build
	$(GO) vet $(PRINTF) ./...
	GOOS=wasip1 GOARCH=wasm $(GO) vet $(PRINTF) ./shim/... ./filter/...
	$(GO) test -timeout 30m ./...
	$(GO) vet -C deploy/tools ./...
	$(GO) test -C deploy/tools -timeout 15m -count 1 ./...

## test-page: the pages of the program in a headless Chromium, which CHROMIUM= names or which is on PATH
.PHONY: test-page
test-page: build
	$(GO) vet -tags browser ./browser
	$(GO) test -count 1 -tags browser ./browser

## test-matrix: the integration tests on every Envoy that can be fetched, and a table of what came of them
.PHONY: test-matrix
test-matrix: build
	$(GO) run ./integration/matrix

## test-servers: count under trouble on every Redis and Valkey that can be fetched, and on the one that REDIS= names
.PHONY: test-servers
test-servers: build
	$(GO) test -timeout 30m -count 1 -v ./integration/counting -all

## chaos: five minutes of faults under load, in an order by chance; SEED= and FOR= choose another one and another time
.PHONY: chaos
chaos: build
	$(GO) test -timeout 2h -count 1 -v ./integration/chaos -seed $(or $(SEED),0) -for $(or $(FOR),5m)

## soak: ten minutes of requests of a million callers and more, with Envoy's memory over time
.PHONY: soak
soak: build
	$(GO) test -timeout 2h -count 1 -v ./integration/soak -callers 1000000 -for $(or $(FOR),10m)

## build: the module and the program, into build/
.PHONY: build
build: wasm $(PROGRAM)

## wasm: the module alone
.PHONY: wasm
wasm: $(WASM) $(HELD)

$(WASM): $(SOURCES) $(OVERLAY)
	GOOS=wasip1 GOARCH=wasm $(GO) build -trimpath -overlay $(OVERLAY) -buildmode=c-shared -gcflags=all=$(INLINING) -ldflags='-s -w' -o $@ ./filter

# The program holds the module, to run it without Envoy.
$(HELD): $(WASM)
	gzip -9 -n -c $< > $@

$(PROGRAM): $(SOURCES) $(HELD)
	$(GO) build -trimpath -ldflags='-s -w' -o $@ ./cmd/routelimit

# The two files of Go's runtime that the module replaces, derived from the Go in use.
$(OVERLAY): shim/overlay/main.go go.mod
	$(GO) run ./shim/overlay -out $(@D)

# What a release or an image is called: the tag, or the commit and how far from a tag it is.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

## image: the module as OCI images, into build/image; PUSH=registry.example/routelimit:1.0 sends them there
.PHONY: image
image: wasm
	$(GO) run -C deploy/tools ./cmd/image -version '$(VERSION)' -push '$(PUSH)'

## release: all files of a release, into build/release
.PHONY: release
release: wasm
	$(GO) run -C deploy/tools ./cmd/release -version '$(VERSION)'

## release-twice: build the committed state in two folders, and compare the releases byte by byte
.PHONY: release-twice
release-twice:
	rm -rf build/twice
	for i in one two; do git clone -q . build/twice/$$i && $(MAKE) -C build/twice/$$i release VERSION='$(VERSION)' || exit 1; done
	diff -r build/twice/one/build/release build/twice/two/build/release && echo the same twice
	rm -rf build/twice

## bench: measure side by side, in a quarter of an hour; RATELIMIT_BIN=path adds envoyproxy/ratelimit, ARGS= sets flags
.PHONY: bench
bench: build
	$(GO) run ./bench -json build/bench.json -svg build/bench.svg $(ARGS)

## bench-quick: the same in two minutes, with fewer loads and rounds
.PHONY: bench-quick
bench-quick: build
	$(GO) run ./bench -rounds 2 -seconds 1 -warmup 1 -connections 1,8,64 -rates "" -identities hot $(ARGS)

## scaling: measure the cost as routes, identities, Envoys and the like grow, in ten minutes, with a plot of each in build/scaling
.PHONY: scaling
scaling: build
	mkdir -p build/scaling
	$(GO) run ./bench/scaling -json build/scaling.json -svg build/scaling $(ARGS)

## startup: measure the start, the memory of workers and updates of the policy under load, in three minutes
.PHONY: startup
startup: build
	$(GO) run ./bench/startup -json build/startup.json $(ARGS)

## profile: count anew which calls a request makes, for the compiler to inline
.PHONY: profile
profile: $(OVERLAY)
	$(GO) run ./filter/profile

## overshoot: measure how many more requests than a limit allows get through; RATELIMIT_BIN=path adds envoyproxy/ratelimit
.PHONY: overshoot
overshoot: build
	$(GO) run ./bench -overshoot -seconds 3

## sidebyside: an imported policy against envoyproxy/ratelimit itself, which RATELIMIT_BIN= names, on two Envoys
.PHONY: sidebyside
sidebyside: build
	$(GO) run ./integration/sidebyside

## clean: remove what was built
.PHONY: clean
clean:
	rm -rf build $(HELD)

## help: this list
.PHONY: help
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "make %-13s %s\n", $$1, $$2 }'
