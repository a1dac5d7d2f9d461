# make help lists the targets.
GO ?= go
FUZZTIME ?= 1m
FUZZ_GROUPS = 1
FUZZ_GROUP = 0
TOOL = $(GO) tool -modfile=tools/go.mod

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-15s %s\n", $$1, $$2}'

run: ## serve on this machine at https://127.0.0.1:8443, with a generated certificate and an example policy
	$(GO) run . serve --dev

request: ## send a Pod, an Ingress and a Service to the server of "make run"
	@examples/request.sh

# e2e, equivalence and the programs of the rig need Kubernetes packages. They share one build list and one set of compiler flags,
# so Go compiles each package once. They run without the race detector, because it would check these tests but not the server,
# which is a separate process.
RIG = CGO_ENABLED=0 GOWORK=$(CURDIR)/e2e/go.work GOFLAGS="$$($(GO) env GOFLAGS) -trimpath -gcflags=all=-dwarf=false"

test: SHORT = 1
test: test-unit test-plugin test-bench test-calls ## run the tests of the server, the plugin and the benchmarks with the race detector, and the short calls suite

test-all: test-unit test-plugin test-bench test-equivalence test-calls test-kit test-chart test-traces ## run every test that does not need a cluster

quick: ## check gofmt, and run the tests affected by changes since main, without the race detector
	@tools/quick.sh

test-unit: ## run the server's unit tests
	$(GO) test -race -vet=off ./...

test-equivalence: ## evaluate the output of evergate export with the API server's code; OBJECTS=20000 for many objects
	cd offline/export/equivalence && $(RIG) $(GO) test -vet=off -count=1 -timeout 60m ./... $(if $(OBJECTS),-objects $(OBJECTS))

# The packages of the end-to-end tests that have unit tests.
PARTS = ./internal/controlplane ./internal/load ./internal/process ./internal/registry ./internal/report

test-plugin: ## run the plugin's unit tests
	cd cmd/kubectl-evergate && $(GO) test -race -vet=off ./...

test-bench: ## run the unit tests of the benchmarks
	cd tools/bench && $(GO) test -race -vet=off ./...

test-calls: ## test the built server with kube-apiserver's webhook client during rollouts, renewals, overload and attacks; SHORT=1 for a part
	cd e2e && $(RIG) $(GO) test -vet=off -count=1 -timeout 60m $(if $(SHORT),-short) $(if $(VERBOSE),-v) ./calls/... $(PARTS)

test-kit: ## render kustomize/, apply it to a real API server if "make rig" has built one, and test alerts if "make promtool" has run
	cd e2e && $(RIG) $(GO) test -vet=off -count=1 -timeout 30m ./kit/...

test-objects: ## create generated objects on a real API server with the exported policies ("make rig"); OBJECTS=1000 of each kind
	cd e2e && EVERGATE_E2E_REQUIRED=1 EVERGATE_E2E_OBJECTS=$(or $(OBJECTS),200) $(RIG) $(GO) test -vet=off -count=1 -timeout 30m -v -run '^TestExportedObjects$$' ./kit

test-traces: ## test traces with collectors in every state, and in a real Jaeger if "make jaeger" has built one
	cd e2e && $(RIG) $(GO) test -vet=off -count=1 -timeout 30m $(if $(VERBOSE),-v) ./internal/traces/...

# The versions of Kubernetes in tools/rig/versions.
VERSIONS = 1.34 1.35 1.36

matrix: ## build the API server of each older Kubernetes version, and run the tests of kustomize/ and export on it; VERSIONS=1.36 for one
	@for version in $(VERSIONS); do \
	  echo "== Kubernetes $$version" && bin=$$(e2e/rig/build.sh $$version) && (cd e2e && EVERGATE_E2E_BIN=$$bin EVERGATE_E2E_REQUIRED=1 $(RIG) \
	    $(GO) test -vet=off -count=1 -timeout 30m $(if $(VERBOSE),-v) ./kit) || exit 1; \
	done

nightly: ## run the tests that the gate leaves out and write e2e/nightly.md, which takes hours; PART=incidents for one part
	e2e/nightly.sh $(PART)

alerts: promtool ## test the alerts with promtool
	cd e2e && EVERGATE_E2E_REQUIRED=1 $(RIG) $(GO) test -vet=off -count=1 -run 'Alert|Runbooks|MetricsExist|Dashboard|Clusters' ./kit

rig: ## build etcd, kube-apiserver and kubectl for test-kit into a cache outside the repository; takes minutes the first time
	e2e/rig/build.sh

jaeger: ## build Jaeger for test-traces into the same cache
	e2e/rig/build.sh jaeger

promtool: ## build promtool for alerts into the same cache
	e2e/rig/build.sh promtool

test-chart: ## compare the Helm chart with the manifests, with Helm and kustomize as libraries
	cd charts/test && $(HELM) $(GO) test -vet=off -count=1 .

# The flags of the rig, with the versions that Helm needs.
HELM = CGO_ENABLED=0 GOWORK=off GOFLAGS="$$($(GO) env GOFLAGS) -trimpath -gcflags=all=-dwarf=false"

test-helm: helm ## install and upgrade the Helm chart with helm on a real API server ("make rig")
	cd e2e && EVERGATE_E2E_HELM=1 EVERGATE_E2E_REQUIRED=1 $(RIG) $(GO) test -vet=off -count=1 -run Helm -v ./kit

helm: ## build helm for test-helm into the same cache
	e2e/rig/build.sh helm

test-gitops: kustomize-controller argocd ## apply the examples for Argo CD and Flux with their controllers on a real API server ("make rig")
	cd e2e && EVERGATE_E2E_GITOPS=1 EVERGATE_E2E_REQUIRED=1 $(RIG) $(GO) test -vet=off -count=1 -run '^Test(ArgoCD|Flux)$$' -v ./kit

kustomize-controller argocd: ## build the controller of Flux or Argo CD for test-gitops into the same cache
	e2e/rig/build.sh $@

registry: ## build the private registry of tools/rig/registry for test-calls and the incidents into the same cache
	e2e/rig/build.sh registry

apiserver: ## run an API server on this machine until Ctrl-C, to try out the manifests
	cd e2e && $(RIG) $(GO) run ./cmd/controlplane

e2e-up: ## start a real cluster on this machine, as root: three nodes, cert-manager, this tree's image; see e2e/README.md
	e2e/rig/down.sh --killed
	e2e/rig/build.sh all
	e2e/rig/image.sh build . e2e
	e2e/rig/up.sh

# The options of make e2e. Set them on the command line. These lines ignore environment variables with the same names.
RUN =
SHORT =

REPORT = report.md

# The packages run one after the other, because they share the cluster. A run of all incidents writes the report.
INCIDENTS = cd e2e && $(KNOWN) EVERGATE_E2E_REQUIRED=1 EVERGATE_E2E_REPORT=$(if $(RUN)$(SHORT),,$(CURDIR)/e2e/$(REPORT)) \
  $(RIG) $(GO) test -vet=off -count=1 -p 1 -v $(if $(SHORT),-short) $(if $(RUN),-run '$(PATTERN)') ./internal/cluster ./incidents

PATTERN = ^Test$(subst /,$$/,$(patsubst Test%,%,$(RUN)))$$
# go test accepts a pattern that matches no test.
KNOWN = $(if $(RUN),tests=$$($(RIG) $(GO) test -list '$(firstword $(subst /, ,$(PATTERN)))' ./internal/cluster ./incidents) || { echo "$$tests"; exit 1; }; \
  echo "$$tests" | grep -q '^Test' || { echo "there is no test of $(RUN)"; exit 1; };)

e2e: ## run the incidents on that cluster; RUN=I6 for one, SHORT=1 for the incidents of the gate, E2E_CLUSTER=existing for the cluster of KUBECONFIG
	$(INCIDENTS) -timeout 150m

e2e-long: export EVERGATE_E2E_LONG = 1
e2e-long: REPORT = report-long.md
e2e-long: ## run the incidents at full length, which takes hours
	$(INCIDENTS) -timeout 8h

e2e-apiservers: export APISERVERS = 2
e2e-apiservers: RUN = I(1|2|6|8)
e2e-apiservers: e2e-up ## start that cluster with two API servers, and run the incidents of rollouts, lost nodes and renewals with both
	$(INCIDENTS) -timeout 60m

e2e-down: ## stop that cluster and remove everything that it created
	e2e/rig/down.sh

check: format sizes lint test ## run every check that a change must pass

sizes: ## check the sizes of the parts against tools/house/ceilings.txt
	@tools/house/house.sh sizes

house: ## print the sizes of the parts, and how much of our code one review of a Pod runs
	@tools/house/house.sh

format: ## check that every Go file is formatted with gofmt
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "not gofmt-ed:"; echo "$$files"; exit 1; }

lint: lint-prose lint-server lint-e2e ## check the language, run the linters of .golangci.yml (including go vet) on all modules, and shellcheck if it is installed

lint-prose: ## check the language of pages and comments; the rules are in docs/prose_test.go
	$(GO) test -vet=off -count=1 -run '^TestProse' ./docs

# This uses the flags of the tests, so dependencies are compiled once.
lint-server: bin/golangci-lint ## run the linters on the server, the plugin and the benchmarks
	GOFLAGS="$$($(GO) env GOFLAGS) -race" bin/golangci-lint run ./...
	cd cmd/kubectl-evergate && GOFLAGS="$$($(GO) env GOFLAGS) -race" ../../bin/golangci-lint run ./...
	cd tools/bench && GOFLAGS="$$($(GO) env GOFLAGS) -race" ../../bin/golangci-lint run ./...
	@! command -v shellcheck >/dev/null || shellcheck .ci/run $$(git ls-files '*.sh')
	$(MAKE) lint-workflows

lint-e2e: bin/golangci-lint ## run the linters on e2e and equivalence
	cd e2e && $(RIG) ../bin/golangci-lint run ./...
	cd offline/export/equivalence && $(RIG) ../../../bin/golangci-lint run ./...

bin/golangci-lint: # always runs go build, which checks whether the binary is up to date for this toolchain
	$(RIG) GOWORK=off $(GO) build -modfile=tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bench-peer: ## measure the cost of Pods next to a webhook that uses controller-runtime, and write docs/performance.md
	$(GO) run -C tools/bench . -write peer

bench: ## measure the cost of a review against a bare TLS server, and write docs/performance.md
	$(GO) run -C tools/bench . -write cost

# make worst measures one of so many rows: with ROWS=10, the rows of the parts 0 to 9.
ROWS = 1
ROWS_PART = 0

worst: ## measure the costliest reviews, and fail if a review exceeds its limits; ROWS=4 for a quarter of them
	$(GO) run -C tools/bench . -rows $(ROWS) -part $(ROWS_PART) worst

bench-plan: ## run evergate plan on a dump of a million Pods, and fail if it is too slow or needs too much memory
	$(GO) test -C tools/bench -run '^$$' -bench Plan -benchtime 1x -timeout 1h

bench-stages: ## measure decoding, deciding and encoding against the stored baseline
	mkdir -p dist && $(COMPILED) $(GO) test -run '^$$' -bench '$(STAGES)' -benchtime 100x -benchmem -count 6 $(STAGE_PACKAGES) > dist/stages.txt
	$(TOOL) benchstat tools/bench/baseline.txt dist/stages.txt; rm -f dist/stages.txt

# The benchmarks of the stages of a review, for allocs and bench-stages.
STAGES = ^Benchmark(Decode|EvaluatePod|EvaluateService|RewritePod|Encode|Review)$$
STAGE_PACKAGES = ./review ./policy ./handlers

# The flags with which the binary is compiled.
COMPILED = CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath -tags=grpcnotrace,nethttpomithttp2"

allocs: ## count the allocations of each stage and of the worst reviews, and fail above tools/bench/baseline.txt or a limit
	@export $(COMPILED); \
	  $(GO) test -run '^(TestWorst|FuzzCost)$$' ./handlers && \
	  $(GO) test -run '^$$' -bench '$(STAGES)' -benchtime 100x -benchmem -count 2 $(STAGE_PACKAGES) | $(GO) run -C tools/bench . allocs

allocs-baseline: ## update the baseline
	$(COMPILED) $(GO) test -run '^$$' -bench '$(STAGES)' -benchtime 100x -benchmem -count 6 $(STAGE_PACKAGES) > tools/bench/baseline.txt

compile-e2e: # compiles the tests of e2e and equivalence, for the gate
	cd e2e && $(RIG) $(GO) list -export -test ./... ../offline/export/equivalence/... >/dev/null

demo-drain: ## replace local replicas under load, with and without the drain, and show the answered and lost calls
	cd e2e && $(RIG) $(GO) test -vet=off -count=1 -v -run '^TestDrainOverTime$$' ./calls

pictures: ## draw the pictures of the documentation from docs/performance.md and docs/pictures/data
	$(GO) run ./docs/pictures

record-pictures: ## record the lost calls of the pictures again, which takes a minute
	cd e2e && EVERGATE_PICTURES=$(CURDIR)/docs/pictures/data $(RIG) $(GO) test -vet=off -count=1 -v -run '^TestDrainOverTime$$' ./calls
	$(GO) run ./docs/pictures

goodput: ## measure the answered reviews at one, two and four times the capacity
	cd e2e && $(RIG) $(GO) test -run '^$$' -bench Goodput -benchtime 1x -v ./calls

# Before Go 1.27, a fuzz target sometimes fails at the end of its time with only "context deadline exceeded"
# (https://go.dev/issue/75804). The target then passes if go test did not save a failing input and all known inputs still pass.
fuzz: ## run the fuzz targets, $(FUZZTIME) each; FUZZ_GROUPS=4 FUZZ_GROUP=0 for a quarter of them
	@out=$$(mktemp); trap 'rm -f "$$out"' EXIT; n=0; \
	  for pkg in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    n=$$((n + 1)); [ $$((n % $(FUZZ_GROUPS))) = $(FUZZ_GROUP) ] || continue; \
	    echo "$$pkg $$f"; \
	    { $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; echo $$? >"$$out.code"; } | tee "$$out"; \
	    code=$$(cat "$$out.code"); rm -f "$$out.code"; [ "$$code" = 0 ] && continue; \
	    grep -qx ' *context deadline exceeded' "$$out" && ! grep -q 'Failing input written' "$$out" && \
	      $(GO) test -count=1 -run "^$$f\$$" $$pkg || exit 1; \
	    echo "$$f: go.dev/issue/75804, no failing input"; \
	  done; done

# The package for mutate.
PACKAGE = internal/limit

# The tool has a separate module, because it needs newer versions of modules than the linter. GOWORK is off, because a go.work
# above its copy of the code would make go test fail, and the tool would count every mutation as noticed.
mutate: ## list small changes to PACKAGE=internal/limit that its tests do not notice; takes seconds for each, not part of the gate
	GOWORK=off $(GO) tool -modfile=tools/mutate/go.mod gremlins unleash --workers 1 --timeout-coefficient 20 \
	  --output-statuses lctv ./$(PACKAGE)

# The site needs Node.js 20 or later and npm.
site/node_modules: site/package-lock.json
	cd site && npm ci --no-fund --no-audit && touch node_modules

# The engine of the playground as WebAssembly, and Go's JavaScript that runs it.
site-engine:
	cd site/engine/wasm && CGO_ENABLED=0 GOOS=js GOARCH=wasm GOWORK=off \
	  $(GO) build -trimpath -ldflags '-s -w' -o ../../public/playground/evergate.wasm .
	cp "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" site/public/playground/

site: site/node_modules site-engine ## build the site from docs/ and site/ into dist/site, and check its links; needs npm
	cd site && npm run build && npm run check

site-serve: site/node_modules site-engine ## serve the site on this machine, and reload it on changes
	cd site && npm run serve

site-test: site ## test the built site in headless Chromium (apt-get install chromium), with screenshots in dist/site-screenshots
	cd site && npm test

build: ## build bin/evergate, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -tags grpcnotrace,nethttpomithttp2 -ldflags '-s -w' -o bin/evergate .

plugin: ## build dist/kubectl-evergate, a static binary, and its completion; put both into PATH for kubectl evergate
	cd cmd/kubectl-evergate && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(CURDIR)/dist/kubectl-evergate .
	cp cmd/kubectl-evergate/kubectl_complete-evergate dist/

# A name with a digest. release-dry has no image in a registry, so it writes this name, which does not exist.
IMAGE = ghcr.io/evergate/evergate@sha256:0000000000000000000000000000000000000000000000000000000000000000

RELEASE_TOOLS = github.com/goreleaser/goreleaser/v2 sigs.k8s.io/kustomize/kustomize/v5 oras.land/oras/cmd/oras

# These always run go build, which checks whether the binaries are up to date.
bin/goreleaser bin/kustomize bin/oras:
	$(RIG) GOWORK=off $(GO) build -modfile=tools/release/go.mod -o $@ $(filter %/$(@F) %/$(@F)/v2 %/$(@F)/v5,$(RELEASE_TOOLS))

bin/helm: # pushes the chart
	cd charts/test && $(HELM) $(GO) build -o ../../$@ helm.sh/helm/v4/cmd/helm

bin/syft:
	cd tools/syft && $(RIG) GOWORK=off $(GO) build -o ../../$@ .

# GoReleaser needs the address of a remote, and ignores the commit without one.
REMOTE = GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/evergate/evergate

release-files: bin/kustomize bin/govulncheck ## write the manifests of a release with IMAGE=name@sha256:…, the chart, the VEX and the notes into build/release
	tools/release/files.sh $(IMAGE)

release-dry: release-files bin/goreleaser bin/syft ## build the files of a release into dist/release, without publishing or signing them
	$(REMOTE) bin/goreleaser release --snapshot --clean --skip=sign
	cp build/release/* dist/release/

release-test: release-dry ## check the files of release-dry, and build them again in a clone to compare the bytes
	tools/release/test.sh

vuln: bin/govulncheck ## check the server and the plugin for known vulnerabilities, with the database that tools/vuln/go.mod pins
	tools/vuln/check.sh

bin/govulncheck:
	$(RIG) GOWORK=off $(GO) build -modfile=tools/vuln/go.mod -o $@ golang.org/x/vuln/cmd/govulncheck

lint-workflows: # the workflows of GitHub
	GOWORK=off $(GO) run -modfile=tools/actionlint/go.mod github.com/rhysd/actionlint/cmd/actionlint

.PHONY: lint-prose bench-peer demo-drain pictures record-pictures release-files release-dry release-test lint-workflows help plugin run request quick test test-all test-unit test-plugin test-bench test-equivalence test-calls test-kit test-objects test-traces matrix nightly compile-e2e alerts jaeger promtool registry rig test-chart test-helm helm test-gitops kustomize-controller argocd \
  apiserver e2e-up e2e e2e-long e2e-apiservers e2e-down check format sizes house lint lint-server lint-e2e bench bench-plan worst bench-stages allocs allocs-baseline goodput fuzz mutate site site-engine site-serve site-test build vuln bin/golangci-lint bin/goreleaser bin/kustomize bin/oras bin/helm bin/syft bin/govulncheck
