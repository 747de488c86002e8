# Everything a person needs is here: `make help` lists it.

SHELL := /bin/bash
BIN   := build/bin
GO    := go

# Without gRPC's traces of requests, which nobody reads here, a program is a third to a half smaller: their templates
# make the linker keep every exported method.
export GOFLAGS := $(strip $(GOFLAGS) -tags=grpcnotrace)

BUF_VERSION  := v1.65.0
LINT_VERSION := v2.15.0
FUMPT_VERSION := v0.12.0
OAPI_VERSION := v2.8.2
VULN_VERSION := v1.9.0
SBOM_VERSION := v1.9.0

# What is released. Its version is that of the tag that leads to the commit, else stands for the commit. The same
# commit makes the same bytes: paths and times of this machine are in none of them.
PROGRAMS := ./cmd/hamadryad ./cmd/hamadryad-laboratory ./cmd/hamadryad-isolate ./cmd/hamadryad-streaming ./plugins/...
VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || git show -s --date=format:%Y%m%d%H%M%S --format=v0.0.0-%cd-%h 2>/dev/null || echo v0.0.0)
RELEASE = -trimpath -pgo=$(PROFILE) -ldflags '-s -w -X github.com/hamadryad/hamadryad/internal/buildinfo.stamp=$(VERSION)'
# The compiler is told what is busy in a manager and a launcher under load, by a profile that "make profile" records; it
# is off or a file. With it the first build takes two minutes more of two processors, so "make build" goes without.
PROFILE ?= deploy/release/cpu.pgo
PLATFORMS ?= linux/amd64 linux/arm64
OUT ?= build
IMAGE ?= hamadryad:$(subst +,-,$(VERSION))

.DEFAULT_GOAL := help
.PHONY: help build deb container release run test race lint vuln stress suspensions machine walk faults kills past screenshots idle policies fuzz day hfsp formats profile optimized bench rivals experiments table scale gen api verify clean deps jars

help: ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

build: ## all programs, into build/bin
	$(GO) build -o $(BIN)/ ./cmd/... ./plugins/... ./examples/...

run: build ## count the words of the Go source tree on a local cluster
	@rm -rf build/run
	$(BIN)/hamadryad local --launchers 4 --slots 2 --data build/run/cluster -- \
		$(BIN)/wordcount-bytes --top 10 --letters "$$($(GO) env GOROOT)/src/**/*.go" build/run/out
	@printf '%s\n' '' 'All counts are in build/run/out. To look further, start a cluster that stays:' \
		'  $(BIN)/hamadryad local --launchers 4 --slots 2' \
		'and, in another shell, with the "export" line that it prints:' \
		"  $(BIN)/wordcount-bytes $$($(GO) env GOROOT)/src/'**/*.go' /tmp/words" \
		'  $(BIN)/hamadryad jobs --all; $(BIN)/hamadryad status job-1 --attempts   # what ran where, and why a job waits' \
		'  $(BIN)/hamadryad policy; $(BIN)/hamadryad launchers                     # shares and queues; machines' \
		'  and the pages at the address that it names'

deb: ## a Debian package, into build/deb; its programs know users of directories such as LDAP
	rm -rf $(OUT)/deb
	$(GO) build $(RELEASE) -o $(OUT)/deb/programs/ $(PROGRAMS)
	$(OUT)/deb/programs/hamadryad man $(OUT)/deb/man && $(OUT)/deb/programs/hamadryad-laboratory man $(OUT)/deb/man
	SOURCE_DATE_EPOCH=$$(git show -s --format=%ct) deploy/debian/build $(VERSION) $(OUT)/deb/programs $(OUT)/deb/man $(OUT)/deb

container: ## a container image of static programs and nothing else, by buildah: IMAGE=name
	rm -rf $(OUT)/container
	CGO_ENABLED=0 $(GO) build $(RELEASE) -o $(OUT)/container/programs/ $(PROGRAMS)
	mkdir -p -m 1777 $(OUT)/container/folders/tmp && mkdir -p $(OUT)/container/folders/var/lib/hamadryad
	buildah build --isolation chroot --timestamp $$(git show -s --format=%ct) --tag $(IMAGE) --file deploy/container/Containerfile $(OUT)/container

release: $(BIN)/cyclonedx-gomod ## archives of static programs with an SBOM and checksums, into build/release: VERSION=v1.2.0 PLATFORMS="linux/amd64 linux/arm64"
	rm -rf $(OUT)/release
	mkdir -p $(OUT)/release/files
	for c in hamadryad hamadryad-laboratory; do CGO_ENABLED=0 $(GO) run $(RELEASE) ./cmd/$$c man $(OUT)/release/man || exit 1; done
	for p in $(PLATFORMS); do \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build $(RELEASE) -o $(OUT)/release/$${p/\//-}/ $(PROGRAMS) && \
		SOURCE_DATE_EPOCH=$$(git show -s --format=%ct) deploy/release/archive $(VERSION) $${p/\//-} $(OUT)/release/$${p/\//-} $(OUT)/release/man $(OUT)/release/files || exit 1; \
	done
	$(BIN)/cyclonedx-gomod mod -json -type application -noserial -output $(OUT)/release/files/hamadryad-$(VERSION).cdx.json
	cd $(OUT)/release/files && sha256sum *.tar.gz *.json > SHA256SUMS

# DEPS are the programs beside Go and bash that tests run, each with the Debian
# package that has it. Those of iproute2 cut links between network namespaces. The
# race detector needs gcc; tests on a real HDFS, and those with Apache's readers of
# file formats, need Maven and a JDK from 11 to 21, those with pyarrow and the policy
# in Python need Python's venv (which is no program), that with the policy in
# TypeScript needs Node.js, those with Kerberos its server,
# and the page of the laboratory's reports is opened in a browser. What is released is
# installed, checked and built into an image by Debian's tools.
DEPS := sort:coreutils find:findutils grep:grep sed:sed setsid:util-linux \
	gzip:gzip bzip2:bzip2 zstd:zstd xz:xz-utils lz4:lz4 awk:gawk python3:python3 \
	node:nodejs npm:npm \
	ip:iproute2 tc:iproute2 ss:iproute2 \
	gcc:build-essential mvn:maven javac:default-jdk-headless \
	pg_lsclusters:postgresql psql:postgresql-client krb5kdc:krb5-kdc kadmin.local:krb5-admin-server kinit:krb5-user \
	chromium-headless-shell:chromium-headless-shell \
	dpkg-deb:dpkg adduser:adduser systemd-analyze:systemd buildah:buildah

deps: ## programs that tests run: installs what is missing, as root with apt-get, or says it
	@PATH=$$PATH:/usr/sbin; \
	missing() { for d in $(DEPS); do command -v $${d%%:*} >/dev/null || echo $$d; done; \
		python3 -c 'import venv, ensurepip' 2>/dev/null || echo venv:python3-venv; }; \
	need=$$(missing | cut -d: -f2); \
	[ -n "$$need" ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing" $$need; \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get update -q && apt-get install -y -q --no-install-recommends $$need; \
	fi; \
	[ -z "$$(missing)" ] || { echo "the tests run programs that are not here; install (program:package):" $$(missing); exit 1; }

jars: deps ## what tests run in Java and Python (a real HDFS, readers of file formats, a policy), into the user's cache folder
	@$(GO) run ./internal/minihdfs/fetch mapreduce/format/testdata/apache mapreduce/format/testdata/others examples/policy-python

# Nobody debugs the hundreds of programs that tests build: linking them without DWARF takes a third less time.
test: export GOFLAGS := $(strip $(GOFLAGS) -ldflags=-w)
test: build jars ## all tests (what CI runs)
	$(GO) vet ./...
	$(GO) test -vet=off ./... -timeout 30m
	cd docs/operations && $(GO) test ./...

race: jars ## all tests under the race detector
	$(GO) test -race ./... -timeout 60m

lint: $(BIN)/golangci-lint ## static checks
	$(BIN)/golangci-lint run ./...

# govulncheck ends with 3 when it found something, and with another code when it could not look.
vuln: $(BIN)/govulncheck ## known vulnerabilities of what we use, by the database at vuln.go.dev (or $GOVULNDB)
	@$(BIN)/govulncheck ./... || { code=$$?; [ $$code = 3 ] || echo "vuln: NOTHING WAS CHECKED: the database of vulnerabilities (https://vuln.go.dev, or GOVULNDB) can't be reached from here, see above"; exit $$code; }

stress: ## one package's tests many times: make stress PKG=./engine/core COUNT=100
	$(GO) test -race -count=$(or $(COUNT),100) $(or $(PKG),./engine/core)

suspensions: deps ## a reduce and a command with children suspended and resumed 50 times each, by freezer and by signals; prints medians
	$(GO) test ./cmd/faults -run TestSuspendAndResume -v -timeout 30m -cycles 50

# What the kernel limits is tested where it may: in a machine of QEMU's with Debian's kernel, which this fetches.
machine: ## limits of workers by cgroup2 against bombs, in a small virtual machine; prints by how much neighbours are slowed in ROUNDS=5
	@$(MAKE) -s deps DEPS="qemu-system-x86_64:qemu-system-x86"
	mkdir -p build/machine
	CGO_ENABLED=0 $(GO) test -c -tags cgroup -ldflags='-s -w' -o build/machine/ ./engine/isolate/cgroup ./engine/launcher
	$(GO) run ./engine/isolate/vmtest -run 'build/machine/cgroup.test -test.v' \
		-run 'build/machine/launcher.test -test.v -test.run TestLimits -test.timeout 30m -rounds $(or $(ROUNDS),5)'

walk: deps ## an administrator's walk on three hosts in namespaces, from the package: kills, upgrades under load, a restored backup: ROUNDS=5
	$(GO) test ./deploy -run TestWalk -v -timeout 300m -rounds $(or $(ROUNDS),5)

faults: deps ## random histories of faults on real processes: 200, or SEEDS=n of them, or the one of SEED=n
	$(GO) test ./cmd/faults/history -run TestHistories -v -timeout 300m -logs $(CURDIR)/build/faults \
		-seed $(or $(SEED),1) -seeds $(or $(SEEDS),$(if $(SEED),1,200))

kills: deps ## managers that charge killed at random moments, with budgets in a file and in a database: 100 with each, or KILLS=n, at the moments of SEED=1; prints figures
	$(GO) test ./cmd/faults -run TestKillsAndBudgets -v -timeout 120m -kills $(or $(KILLS),100) -moments $(or $(SEED),1)

past: deps ## a manager that keeps history killed 50 times at random moments, or KILLS=n, at those of SEED=1: what it has is held against its log
	$(GO) test ./cmd/faults -run TestHistoryOutlivesKills -v -timeout 60m -pastkills $(or $(KILLS),50) -moments $(or $(SEED),1)

screenshots: deps ## the pictures of the pages in docs/pages, of a real load in a real browser
	$(GO) test ./cmd/window -run TestARealLoad -count 1 -pictures $(CURDIR)/docs/pages

fuzz: ## what strangers may say, at random: each decoder that faces a network before it knows who speaks, and what a worker tells its launcher, for an hour, or FUZZTIME=10m; what it finds of interest is kept in build/fuzz, and what it found before lies in testdata/fuzz
	for one in engine/launcher/internal/vetting:FuzzFromWorker engine/channel/store:FuzzStranger engine/channel/tcp:FuzzStranger engine/channel/internal/control:FuzzReader \
		engine/auth/join:FuzzStranger engine/auth:FuzzParseIdentity engine/auth/proof:FuzzHeader engine/auth/oidc:FuzzToken engine/auth/kerberos:FuzzCredential internal/kerberos:FuzzParse; do \
		$(GO) test ./$${one%:*} -run xxx -fuzz $${one#*:} -fuzztime $(or $(FUZZTIME),1h) -test.fuzzcachedir=$(CURDIR)/build/fuzz/$${one%:*} || exit 1; \
	done

day: ## a day of the policy dynamic-priority, against rational numbers and drawn as build/day.svg: make day INTERVALS=4320 SEED=1
	mkdir -p $(BIN)
	$(GO) test ./plugins/dynamicpriority -run TestADay -v -timeout 2h -intervals $(or $(INTERVALS),4320) -seed $(or $(SEED),1) -draw $(CURDIR)/build/day.svg

idle: ## all policies play the kit's random games with each of their settings in turn, and restarts: no slot idles while ready work fits it; 1000 seeds for each, or SEEDS=n, from FROM=seed on
	$(GO) test ./plugins/internal/idle -run TestNoSlotIdles -v -timeout 300m -seeds $(or $(SEEDS),1000) -from $(or $(FROM),1)

policies: ## the policies of the guides and examples, in four languages, play 1000 of the kit's random games, and our six 10,000, each with its own settings and restarts; it goes on where it was interrupted: GAMES=n for both
	$(GO) build -o $(BIN)/ ./cmd/hamadryad ./cmd/hamadryad-laboratory ./examples/...
	policytest/play-policies $(or $(GAMES),1000) $(or $(GAMES),10000)

hfsp: ## the policy hfsp at random: the kit's games with each setting, and the virtual cluster beside the plain one: make hfsp SEEDS=100
	$(GO) test ./plugins/hfsp ./plugins/hfsp/virtual -timeout 300m -seeds $(or $(SEEDS),100)

formats: jars ## types and formats at random, and all codecs against other readers: make formats SEEDS=1000 FROM=1
	$(GO) test ./mapreduce/format -run 'TestFormatsAtRandom|TestParquetCodecsAndEncodings' -v -timeout 6h -seeds=$(or $(SEEDS),1000) -from=$(or $(FROM),1) -whole

profile: build ## records the profile that releases are compiled with, deploy/release/cpu.pgo: two minutes, on a quiet machine
	deploy/release/profile $(BIN) deploy/release/cpu.pgo

# Measured is what is released: of authors' programs, which are built without a profile, nothing is replaced.
optimized: build
	$(GO) build -pgo=$(PROFILE) -o $(BIN)/ $(PROGRAMS)

bench: optimized ## benchmarks; rows go to build/bench.jsonl too
	$(BIN)/hamadryad-bench

rivals: optimized ## Ray, Dask and Spark beside this project, on this machine: no-op tasks, small jobs, word count, sort; installs them into the user's cache folder (1 GB), inputs go to build/bench-data (3 GB)
	$(BIN)/hamadryad-bench -runs $(or $(RUNS),3) rivals

experiments: build ## published experiments on real processes and in virtual time; charts and results go to build/experiments
	$(BIN)/hamadryad-experiment
	$(BIN)/hamadryad simulate --expect --results build/experiments $(filter-out %/six-policies.yaml,$(wildcard laboratory/experiments/*.yaml))

table: build ## our six policies on five workloads in one table, in virtual time: mean sojourn, p95, locality, starvation, waste; a quarter of an hour or more; reports go to build/experiments
	$(BIN)/hamadryad simulate --expect --results build/experiments laboratory/experiments/six-policies.yaml

scale: build ## how fast workloads are played, and in how much memory, to 50,000 launchers; curves go to build/experiments; the day's trace by TRACE=FB-2010_samples_24_times_1hr_0.tsv, profiles to PROFILE=folder
	$(BIN)/hamadryad-experiment --scale $(if $(TRACE),--trace $(TRACE)) $(if $(PROFILE),--cpuprofile $(PROFILE))

gen: $(BIN)/buf $(BIN)/oapi-codegen ## generated code
	$(BIN)/buf generate
	$(BIN)/oapi-codegen -config engine/manager/internal/rest/oapi-codegen.yaml engine/manager/internal/rest/openapi.yaml

api: ## writes the exported names of the public packages to docs/api.txt, which a test compares
	$(GO) test ./internal/lint -run TestExportedNames -count 1 -accept

verify: gen ## regenerate, tidy, format; fails when that changes anything
	$(GO) mod tidy
	$(GO) tool gofumpt -l -w $$(git ls-files '*.go' | grep -v -e '\.pb\.go$$' -e '\.gen\.go$$' -e '/baselines/')
	@git diff --exit-code || { echo "verify: the tree was not generated, tidied or formatted; commit the changes above"; exit 1; }

clean: ## remove build/
	rm -rf build

$(BIN)/buf:
	GOBIN=$(CURDIR)/$(BIN) $(GO) install github.com/bufbuild/buf/cmd/buf@$(BUF_VERSION)

$(BIN)/oapi-codegen:
	GOBIN=$(CURDIR)/$(BIN) $(GO) install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@$(OAPI_VERSION)

$(BIN)/govulncheck:
	GOBIN=$(CURDIR)/$(BIN) $(GO) install golang.org/x/vuln/cmd/govulncheck@$(VULN_VERSION)

$(BIN)/golangci-lint:
	GOBIN=$(CURDIR)/$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

$(BIN)/cyclonedx-gomod:
	GOBIN=$(CURDIR)/$(BIN) $(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(SBOM_VERSION)
