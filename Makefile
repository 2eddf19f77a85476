# Everything a contributor runs. `make` lists it. A target works from a fresh clone: what it needs beyond Go is installed
# by scripts/deps. Settings: ARGS for serve, FUZZTIME, SOAKTIME (seconds), BENCHARGS, TESTARGS.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Steps share the machine's cores and some measure time, so `make -j` runs them one by one too.
.NOTPARALLEL:

GO       ?= go
MODULES  := $(patsubst %/go.mod,%,$(wildcard go.mod bench/go.mod test/go.mod))
MODULES  := $(patsubst go.mod,.,$(MODULES))
COMMIT   := $(shell git rev-parse --short HEAD 2>/dev/null)
LDFLAGS  := -s -w $(if $(COMMIT),-X main.commit=$(COMMIT))
BUILD    := $(GO) build -buildvcs=false -trimpath -ldflags '$(LDFLAGS)'
GOFILES  := find . -name '*.go' -not -path './.bin/*' -not -path '*/node_modules/*' -print0
FUZZTIME ?= 10s
SOAKTIME ?= 600
# Two packages at a time: more only makes tests that measure time wait for each other.
PARALLEL := -p 2 -timeout 5m

each_module = for module in $(MODULES); do echo "$(1) ($$module)"; (cd "$$module" && $(2)); done

.PHONY: help serve build deps test fmt format lint vet unit race invariants fuzz fuzz-short blackbox modules soak bench bench-redis test-arch clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

serve: build ## build and start a server on 127.0.0.1:6379 (ARGS="--http :9121")
	@exec bin/larder serve $(ARGS)

build: ## build bin/larder
	@mkdir -p bin
	$(BUILD) -o bin/larder ./cmd/larder

deps: ## install what the tests need and this machine lacks
	@scripts/deps

test: deps fmt vet lint unit invariants race fuzz-short test-arch modules blackbox ## everything that must pass, in under 15 minutes on two cores

fmt: deps ## fail when gofumpt would change a file
	@wrong="$$($(GOFILES) | xargs -0 .bin/gofumpt -l)"; if [ -n "$$wrong" ]; then echo "not formatted (make format):"; echo "$$wrong"; exit 1; fi

format: deps ## let gofumpt rewrite every file
	@$(GOFILES) | xargs -0 .bin/gofumpt -w

vet: ## go vet over every module, with each build tag of the root
	@$(call each_module,vet,$(GO) vet ./...)
	@$(GO) vet -tags invariants ./...

lint: deps ## golangci-lint over every module
	@$(call each_module,lint,"$(CURDIR)/.bin/golangci-lint" run --config "$(CURDIR)/.golangci.yml" ./...)

unit: ## the tests beside the code
	$(GO) test $(PARALLEL) $(TESTARGS) ./...

invariants: ## the same with internal checks and poisoned memory
	$(GO) test $(PARALLEL) -short -tags invariants $(TESTARGS) ./...

race: ## the same under the race detector, with memory on the Go heap so that it sees every access
	$(GO) test $(PARALLEL) -short -race $(TESTARGS) ./...

fuzz: ## every fuzz target for FUZZTIME
	@scripts/fuzz $(FUZZTIME)

fuzz-short: ## every fuzz target for a few seconds
	@scripts/fuzz 5s

test-arch: ## build and vet for arm64 and macOS; vet for FreeBSD and Windows; vet the engine and the protocol for a big-endian machine
	@for target in linux/arm64 darwin/arm64; do \
		echo "build and vet $$target"; export GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0; \
		$(GO) vet ./... && $(GO) build -buildvcs=false -o /dev/null ./cmd/larder; \
	done
	@for target in freebsd/amd64 windows/amd64; do \
		echo "vet $$target"; GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 $(GO) vet ./...; \
	done
	@echo "vet linux/s390x"; GOOS=linux GOARCH=s390x $(GO) vet . ./internal/index ./internal/memory ./internal/store ./internal/command ./internal/wire

modules: ## build the modules of their own, with their benchmarks
	@for module in $(filter-out .,$(MODULES)); do echo "build ($$module)"; (cd "$$module" && $(GO) build ./... && $(GO) test -run '^$$' ./... >/dev/null); done

blackbox: deps build ## drive the real binary with redis-cli, redis-benchmark and the clients of Go and Node
	cd test && LARDER_BINARY="$(CURDIR)/bin/larder" $(GO) test -p 1 -count 1 $(TESTARGS) ./...

soak: deps ## repeat random, stress, fuzz and black-box tests for SOAKTIME seconds
	@scripts/soak $(SOAKTIME)

bench: ## Get and Set against other caches for Go, then the cost of a garbage collection (BENCHARGS='-size 600 -g 1')
	cd bench && $(GO) run ./cmd/ratio $(BENCHARGS)
	cd bench && $(GO) run ./cmd/garbage

bench-redis: deps build ## redis-benchmark against Larder and redis-server in turn (BENCHARGS='-scale 0.1')
	cd bench && $(GO) run ./cmd/redisbench -larder "$(CURDIR)/bin/larder" $(BENCHARGS)

clean: ## remove what was built, keep the tools
	rm -rf bin
