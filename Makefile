# `make help` lists the targets. Each needs Go alone; `make setup` brings the rest.

# The shader compiler that `make generate` fetches goes before the system's.
export PATH := $(CURDIR)/build/glslc/bin:$(PATH)

GO       ?= go
GENERATOR := $(wildcard gen/main.go)
# Packages whose golden files `make golden` rewrites: those whose tests know the flag -update.
GOLDEN   := $(shell grep -rlE 'internal/golden"|flag[.]Bool.."update"' --include='*_test.go' gen runtime tools \
	2>/dev/null | xargs -r -n1 dirname | sort -u)
# What `make drivers-test` runs on each driver: the device layer and the kernels against their references.
DRIVER_TESTS ?= ./runtime/gpu/... $(wildcard ./tools/optest)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: setup
setup: ## install what is missing: C compiler, Vulkan loader, Mesa's CPU driver if no device answers
	$(GO) run ./tools/setup

.PHONY: build
build: ## bin/vulcast; `make bin/llama` makes the program of one architecture, `make programs` all of them
	@mkdir -p bin
	$(GO) build -o bin/ ./tools/vulcast

bin/%: FORCE
	@mkdir -p bin
	$(GO) build -o $@ ./generated/$*/cmd/$*

.PHONY: programs
programs: build ## bin/ARCH for every architecture
	$(GO) build -o bin/ $(wildcard ./generated/*/cmd/*)

.PHONY: FORCE
FORCE:

.PHONY: demo
demo: setup build ## train a small model on this machine and let it write
	$(if $(wildcard tools/demo/*.go),$(GO) run ./tools/demo,@echo "demo: tools/demo is empty")

.PHONY: test
test: setup lint ## everything: lint, then all tests
	$(GO) test -timeout 30m ./...

.PHONY: check
check: lint ## lint and the fast tests; under three minutes
	$(GO) test -short -timeout 5m ./...

.PHONY: lint
lint: size ## gofmt, go vet, staticcheck, line budgets, and that the generated tree is current
	@unformatted=$$(gofmt -l gen generated runtime shaders tools); \
	if [ -n "$$unformatted" ]; then echo "gofmt -w these files:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(if $(GENERATOR),$(GO) run ./gen -check,@echo "gen -check: gen/main.go is not there")

.PHONY: size
size: ## lines by package; fails where a file or function is over its budget
	$(GO) run ./tools/size

.PHONY: generate
generate: ## find or fetch a shader compiler, then write generated/ from specs/ and shaders/
	$(GO) run ./tools/glslc fetch
	$(GO) generate ./...

.PHONY: golden
golden: ## rewrite the golden files of tests; review the diff like code
	$(if $(GOLDEN),$(GO) test $(addprefix ./,$(GOLDEN)) -update,@echo "golden: no test has the flag -update")

.PHONY: drivers-test
drivers-test: ## run the GPU tests on three CPU drivers: Mesa of this release, the newest Mesa, SwiftShader
	$(GO) run ./tools/drivers all
	$(GO) test -count=1 -timeout 30m -exec $(CURDIR)/build/drivers/run-lavapipe $(DRIVER_TESTS)
	$(GO) test -count=1 -timeout 30m -exec $(CURDIR)/build/drivers/run-mesa-new $(DRIVER_TESTS)
	$(GO) test -count=1 -timeout 30m -exec $(CURDIR)/build/drivers/run-swiftshader $(DRIVER_TESTS)

.PHONY: clean
clean: ## remove what the targets above made, fetched tools included
	rm -rf bin build demo
