# make help lists what there is.
GO ?= go
FUZZTIME ?= 1m
TOOL = $(GO) tool -modfile=tools/go.mod

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-15s %s\n", $$1, $$2}'

run: ## serve on this machine: https://127.0.0.1:8443, its own certificate, an example policy
	$(GO) run . serve --dev

request: ## ask the server that "make run" started about a Pod, an Ingress and a Service
	@examples/request.sh

# e2e, interop and the programs of the rig need Kubernetes' own packages. One build list and one set of compiler flags for all of
# them let Go compile each package once. They do without the race detector: it would watch these tests and not the server, which
# is a process of its own.
RIG = CGO_ENABLED=0 GOWORK=$(CURDIR)/e2e/go.work GOFLAGS="$$($(GO) env GOFLAGS) -trimpath -gcflags=all=-dwarf=false"

test: SHORT = 1
test: test-unit test-plugin test-calls ## the tests of the server and the plugin, with the race detector, and the short calls suite

test-all: test-unit test-plugin test-interop test-calls test-kit test-traces ## every test that needs no cluster

quick: ## gofmt, and the tests of what differs from main and of what imports it, without the race detector
	@tools/quick.sh

test-unit: ## the server's unit tests
	$(GO) test -race -vet=off ./...

test-interop: ## what evergate export writes, evaluated by the API server's own code; OBJECTS=20000 for many objects
	cd interop && $(RIG) $(GO) test -vet=off -count=1 -timeout 60m ./... $(if $(OBJECTS),-objects $(OBJECTS))

# Parts of the end-to-end tests that have tests of their own.
PARTS = ./internal/controlplane ./internal/load ./internal/process ./internal/registry ./internal/report

test-plugin: ## the plugin's unit tests
	cd cmd/kubectl-evergate && $(GO) test -race -vet=off ./...

test-calls: ## the built server against kube-apiserver's own webhook client, rolled, renewed, overloaded, attacked; SHORT=1 for a part
	cd e2e && $(RIG) $(GO) test -vet=off -count=1 -timeout 60m $(if $(SHORT),-short) $(if $(VERBOSE),-v) ./calls/... $(PARTS)

test-kit: ## kustomize/ rendered, and on a real API server where "make rig" has built one; alerts, where "make promtool" has
	cd e2e && $(RIG) $(GO) test -vet=off -count=1 -timeout 30m ./kit/...

test-traces: ## collectors in every state; reviews in a real Jaeger, where "make jaeger" has built one
	cd e2e && $(RIG) $(GO) test -vet=off -count=1 -timeout 30m $(if $(VERBOSE),-v) ./internal/traces/...

compat: ## the kit on the Kubernetes of e2e/rig/compat, a minor version older; not part of the gate
	bin=$$(e2e/rig/build.sh compat) && cd e2e && EVERGATE_E2E_BIN=$$bin EVERGATE_E2E_REQUIRED=1 $(RIG) \
	  $(GO) test -vet=off -count=1 -timeout 30m ./kit

nightly: ## what the gate leaves out, into e2e/nightly.md: hours; PART=incidents for one part
	e2e/nightly.sh $(PART)

alerts: promtool ## the alerts of the kit, by promtool
	cd e2e && EVERGATE_E2E_REQUIRED=1 $(RIG) $(GO) test -vet=off -count=1 -run 'Alert|Runbooks|MetricsExist|Dashboard|Clusters' ./kit

rig: ## etcd, kube-apiserver and kubectl for test-kit, into a cache outside of the tree: minutes the first time
	e2e/rig/build.sh

jaeger: ## Jaeger for test-traces, likewise
	e2e/jaeger/build.sh

promtool: ## promtool for alerts, likewise
	e2e/promtool/build.sh

registry: ## the private registry of e2e/rig/registry for test-calls and the incidents, likewise
	e2e/rig/build.sh registry

apiserver: ## run them on this machine until Ctrl-C, to try the kit out
	cd e2e && $(RIG) $(GO) run ./cmd/controlplane

e2e-up: ## a real cluster on this machine, as root: three nodes, cert-manager, this tree's image; see e2e/README.md
	e2e/rig/down.sh --killed
	e2e/rig/build.sh all
	e2e/rig/image.sh build . e2e
	e2e/rig/up.sh

# What make e2e runs. Set on its command line only: the environment may have such variables by chance.
RUN =
SHORT =

REPORT = report.md

# One package after the other, since they share the cluster. A run of all of them writes the report.
INCIDENTS = cd e2e && $(KNOWN) EVERGATE_E2E_REQUIRED=1 EVERGATE_E2E_REPORT=$(if $(RUN)$(SHORT),,$(CURDIR)/e2e/$(REPORT)) \
  $(RIG) $(GO) test -vet=off -count=1 -p 1 -v $(if $(SHORT),-short) $(if $(RUN),-run '$(PATTERN)') ./internal/cluster ./incidents

PATTERN = ^Test$(subst /,$$/,$(patsubst Test%,%,$(RUN)))$$
# go test accepts a pattern that matches no test.
KNOWN = $(if $(RUN),tests=$$($(RIG) $(GO) test -list '$(firstword $(subst /, ,$(PATTERN)))' ./internal/cluster ./incidents) || { echo "$$tests"; exit 1; }; \
  echo "$$tests" | grep -q '^Test' || { echo "there is no test of $(RUN)"; exit 1; };)

e2e: ## the incidents, on that cluster; RUN=I6 for one, SHORT=1 for those of the gate, E2E_CLUSTER=existing on the one of KUBECONFIG
	$(INCIDENTS) -timeout 90m

e2e-long: export EVERGATE_E2E_LONG = 1
e2e-long: REPORT = report-long.md
e2e-long: ## the same at full length: hours
	$(INCIDENTS) -timeout 8h

bench-apiserver: ## how long a Pod takes through the API server of that cluster: webhooks, native policies, both; prints tables
	cd e2e && EVERGATE_E2E_REQUIRED=1 EVERGATE_E2E_LATENCY=1 $(RIG) $(GO) test -count=1 -v -run '^TestLatency$$' -timeout 60m ./incidents

e2e-down: ## stop that cluster and remove all that it made
	e2e/rig/down.sh

check: format lint test ## every check that a change must pass

format: ## every Go file is gofmt-ed
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "not gofmt-ed:"; echo "$$files"; exit 1; }

lint: lint-server lint-e2e ## the linters of .golangci.yml, of which go vet is one, for all modules; shellcheck where it is installed

# With the flags of the tests, so that dependencies are compiled once.
lint-server: bin/golangci-lint ## the same for the server and the plugin
	GOFLAGS="$$($(GO) env GOFLAGS) -race" bin/golangci-lint run ./...
	cd cmd/kubectl-evergate && GOFLAGS="$$($(GO) env GOFLAGS) -race" ../../bin/golangci-lint run ./...
	@! command -v shellcheck >/dev/null || shellcheck .ci/run $$(git ls-files '*.sh')

lint-e2e: bin/golangci-lint ## the same for e2e and interop
	cd e2e && $(RIG) ../bin/golangci-lint run ./...
	cd interop && $(RIG) ../bin/golangci-lint run ./...

bin/golangci-lint: # again for each toolchain; go build knows whether it is up to date
	$(RIG) GOWORK=off $(GO) build -modfile=tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bench: ## what a review costs, against a bare TLS server; the figures go into docs/performance.md
	$(GO) run ./bench -write docs/performance.md

# Measures one row of so many: 4 for a quick look.
ROWS = 1

worst: ## the cost of the costliest reviews: fails where one is above its bounds; ROWS=4 for a quarter of them
	$(GO) run ./bench -worst $(ROWS)

# How many Pods the dump has.
PODS = 1000000

bench-plan: ## evergate plan over a dump of a million Pods, piped: fails where it is too slow or takes too much memory
	$(GO) run ./bench -plan $(PODS)

profile: ## CPU and allocation profiles of each kind of review under load, into dist/profiles
	$(GO) run ./bench -profile dist/profiles

bench-stages: ## decoding, deciding and encoding, against the stored baseline
	mkdir -p dist && $(COMPILED) $(GO) test -run '^$$' -bench '$(STAGES)' -benchtime 100x -benchmem -count 6 $(STAGE_PACKAGES) > dist/stages.txt
	$(TOOL) benchstat bench/baseline.txt dist/stages.txt; rm -f dist/stages.txt

bench-decoders: ## the scanner against other JSON decoders
	cd bench/decoders && $(GO) test -run '^$$' -bench . -benchmem

# The stages of a review, which allocs and bench-stages measure.
STAGES = ^Benchmark(Decode|JudgePod|JudgeService|RewritePod|Encode|Review)$$
STAGE_PACKAGES = ./review ./policy ./handlers

# As the binary is compiled.
COMPILED = CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath -tags=grpcnotrace,nethttpomithttp2"

allocs: ## allocations of each stage, and of the worst reviews: fails above bench/baseline.txt or a bound
	@export $(COMPILED); \
	  $(GO) test -run '^(TestWorst|FuzzCost)$$' ./handlers && \
	  $(GO) test -run '^$$' -bench '$(STAGES)' -benchtime 100x -benchmem $(STAGE_PACKAGES) | $(GO) run ./bench/allocs bench/baseline.txt

allocs-baseline: ## write the baseline anew
	$(COMPILED) $(GO) test -run '^$$' -bench '$(STAGES)' -benchtime 100x -benchmem -count 6 $(STAGE_PACKAGES) > bench/baseline.txt

compile-e2e: # the tests of e2e and interop, for the gate
	cd e2e && $(RIG) $(GO) list -export -test ./... ../interop/... >/dev/null

goodput: ## reviews answered under one, two and four times the load that can be served
	cd e2e && $(RIG) $(GO) test -run '^$$' -bench Goodput -benchtime 1x -v ./calls

# Until Go 1.27 a fuzz target now and then fails at the end of its time with nothing but "context deadline exceeded"
# (https://go.dev/issue/75804). It passes if no input was saved, which go test would name, and all known inputs still pass.
fuzz: ## every fuzz target, $(FUZZTIME) each
	@out=$$(mktemp); trap 'rm -f "$$out"' EXIT; \
	  for pkg in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; \
	    { $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; echo $$? >"$$out.code"; } | tee "$$out"; \
	    code=$$(cat "$$out.code"); rm -f "$$out.code"; [ "$$code" = 0 ] && continue; \
	    grep -qx ' *context deadline exceeded' "$$out" && ! grep -q 'Failing input written' "$$out" && \
	      $(GO) test -count=1 -run "^$$f\$$" $$pkg || exit 1; \
	    echo "$$f: go.dev/issue/75804, no failing input"; \
	  done; done

# The package that mutate mutates.
PACKAGE = internal/limit

# The tool has a module of its own: it needs newer versions of modules that the linter uses. It would count a mutation
# that makes go test fail for another reason, such as a go.work above its copy, as noticed.
mutate: ## small changes of PACKAGE=internal/limit that its tests do not notice; seconds for each, no part of the gate
	GOWORK=off $(GO) tool -modfile=tools/mutate/go.mod gremlins unleash --workers 1 --timeout-coefficient 20 \
	  --output-statuses lctv ./$(PACKAGE)

build: ## bin/evergate, static
	CGO_ENABLED=0 $(GO) build -trimpath -tags grpcnotrace,nethttpomithttp2 -ldflags '-s -w' -o bin/evergate .

plugin: ## dist/kubectl-evergate, static, and its completion: put them into PATH, and kubectl evergate runs it
	cd cmd/kubectl-evergate && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(CURDIR)/dist/kubectl-evergate .
	cp cmd/kubectl-evergate/kubectl_complete-evergate dist/

.PHONY: help plugin run request quick test test-all test-unit test-plugin test-interop test-calls test-kit test-traces compat nightly compile-e2e alerts jaeger promtool registry rig \
  apiserver e2e-up e2e e2e-long e2e-down check format lint lint-server lint-e2e bench bench-apiserver bench-plan worst profile bench-stages bench-decoders allocs allocs-baseline goodput fuzz mutate build bin/golangci-lint
