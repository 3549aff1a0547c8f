# segq: `make run`, `make test`, `make demo`; `make help` lists the rest.
# Objects live out of tree, one folder per flavour: make FLAVOUR=asan bins
FLAVOUR ?= rel
B := build/$(FLAVOUR)
CC := gcc
JOBS ?= $(shell nproc)
PKGS := libevent libprotobuf-c yaml-0.1 jansson libsodium hiredis zlib
WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Werror
HARDEN := -fstack-protector-strong -fstack-clash-protection -fPIE -Wformat -Wformat-security $(if $(filter x86_64,$(shell uname -m)),-fcf-protection)
# Ranks are popcounts, tokens are shuffled bytes; every x86-64 of the last fifteen years can.
CFLAGS.x86_64 := -mpopcnt -mssse3
CFLAGS.rel := -O2 -g -D_FORTIFY_SOURCE=2
CFLAGS.asan := -DSEGQ_FAILPOINTS -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS.fuzz := -O1 -g -Wno-missing-field-initializers -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
LDFLAGS.rel := -Wl,-z,relro,-z,now
LDFLAGS.asan := -fsanitize=address,undefined
# Tests are linked in half the time by gold, where it is installed (Debian 12: with gcc).
GOLD := $(if $(shell command -v ld.gold),-fuse-ld=gold)
LDFLAGS.fuzz := -fsanitize=fuzzer,address,undefined
ifeq ($(FLAVOUR),fuzz)
CC := clang
endif
CFLAGS := -std=gnu11 $(WARN) $(HARDEN) $(CFLAGS.$(FLAVOUR)) $(CFLAGS.$(shell uname -m)) $(PREFIX_MAP) -I. -I$(B)/gen $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDFLAGS := -pie $(LDFLAGS.$(FLAVOUR))
LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm
# Only the programs that call it are linked with it: it brings many others.
CURL := -Wl,--as-needed $(shell pkg-config --libs libcurl libssl libcrypto 2>/dev/null)

# ---- sources -----------------------------------------------------------------------
PROTOS := $(wildcard proto/*.proto)
GEN_H := $(PROTOS:proto/%.proto=$(B)/gen/proto/%.pb-c.h)
COMMON_C := $(filter-out %/main.c,$(wildcard common/*/*.c))
ROUTER_C := $(filter-out %/main.c,$(wildcard router/*/*.c))
SEGMENT_C := $(filter-out %/main.c,$(wildcard segment/*/*.c))
TASK_C := $(filter-out %/main.c,$(wildcard task/*/*.c))
OUT_C := $(wildcard task/out/*.c) task/calls/verdict.c task/calls/told.c
CTL_C := $(wildcard queuemng/ctl/*.c queuemng/ctl_*/*.c)
DEF_C := $(addprefix queuemng/policy/,def_kind.c queue_def.c budget_def.c addresses.c endpoint_def.c pool_def.c schedule.c) queuemng/access/tokens.c
REHEARSE_C := $(wildcard rehearse/*.c)
QUEUEMNG_C := $(filter-out %/main.c $(CTL_C),$(wildcard queuemng/*/*.c))
# What a rehearsal takes of the processes.
PLAYED_C := queuemng/policy/release.c queuemng/policy/eta_lane.c queuemng/policy/joins.c segment/line/segq.c segment/line/block.c
SWARM_C := $(wildcard tests/bench/swarm/*.c)
PAGE_FILES := $(sort $(wildcard deploy/page/*.html deploy/page/*.css deploy/page/*.js deploy/page/*.json)) clients/js/segq.js clients/js/segq_events.js
DASH_FILES := $(sort $(wildcard deploy/dashboard/*.html deploy/dashboard/*.css deploy/dashboard/*.js))
LOAD_C := $(wildcard tests/bench/load/*.c)
CLUSTERS := rt_cluster seg_cluster task_cluster mng_cluster
PROGRAMS := router segment task queuemng $(CLUSTERS) segqctl

o = $(patsubst %.c,$(B)/obj/%.o,$(1))
link = $(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(CURL)

bins: $(PROGRAMS:%=$(B)/bin/%) $(B)/bin/swarm $(B)/bench/fill $(B)/bench/load $(B)/chaos/shim.so $(B)/chaos/ocean $(B)/dates/wall.so $(B)/deploy/yaml2json programs

$(B)/gen/proto/%.pb-c.c $(B)/gen/proto/%.pb-c.h: proto/%.proto
	@mkdir -p $(B)/gen
	@protoc-c --c_out=$(B)/gen $<
$(B)/obj/gen/%.o: $(B)/gen/proto/%.pb-c.c $(GEN_H)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -w -c -o $@ $<
# The waiting page is a part of the router: its files lie in the program.
$(B)/gen/page_blob.c: deploy/page/embed.sh deploy/page/short.awk $(PAGE_FILES) deploy/page router/page/page.h Makefile
	@mkdir -p $(@D)
	@deploy/page/embed.sh page router/page/page.h $(B)/gen/page $(PAGE_FILES) >$@
# The dashboard is a part of queuemng.
$(B)/gen/dash_blob.c: deploy/page/embed.sh deploy/page/short.awk $(DASH_FILES) deploy/dashboard queuemng/admin/dashboard.h Makefile
	@mkdir -p $(@D)
	@deploy/page/embed.sh dash queuemng/admin/dashboard.h $(B)/gen/dash $(DASH_FILES) >$@
$(B)/obj/gen/%_blob.o: $(B)/gen/%_blob.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -c -o $@ $<
# The release: programs, metrics and packages say what VERSION says.
$(B)/gen/version.h: VERSION
	@mkdir -p $(@D)
	@printf '#define SEGQ_VERSION "%s"\n' "$$(cat VERSION)" >$@
$(B)/obj/%.o: %.c | $(GEN_H) $(B)/gen/version.h
	@mkdir -p $(@D) && echo "  cc $<"
	@$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<
$(CLUSTERS:%=$(B)/obj/common/supervisor/%.o): $(B)/obj/common/supervisor/%.o: common/supervisor/main.c | $(GEN_H) $(B)/gen/version.h
	@mkdir -p $(@D) && echo "  cc $< ($*)"
	@$(CC) $(CFLAGS) -DCLUSTER=$* -MMD -MP -c -o $@ $<
$(B)/libsegq.a: $(call o,$(COMMON_C)) $(PROTOS:proto/%.proto=$(B)/obj/gen/%.o)
	@rm -f $@; ar rcs $@ $^
$(B)/libcores.a: $(call o,$(ROUTER_C) $(SEGMENT_C) $(TASK_C) $(QUEUEMNG_C) $(REHEARSE_C)) $(B)/obj/gen/page_blob.o $(B)/obj/gen/dash_blob.o
	@rm -f $@; ar rcs $@ $^

# ---- programs ----------------------------------------------------------------------
# The client that calls targets asks the services of challenge.verify_url, too.
$(B)/bin/router: $(call o,router/service/main.c $(ROUTER_C) $(OUT_C)) $(B)/obj/gen/page_blob.o $(B)/libsegq.a
$(B)/bin/segment: $(call o,segment/service/main.c $(SEGMENT_C)) $(B)/libsegq.a
$(B)/bin/task: $(call o,task/service/main.c $(TASK_C)) $(B)/libsegq.a
$(B)/bin/queuemng: $(call o,queuemng/service/main.c $(QUEUEMNG_C)) $(B)/obj/gen/dash_blob.o $(B)/libsegq.a
$(B)/bin/segqctl: $(call o,$(CTL_C) $(DEF_C) $(REHEARSE_C) $(PLAYED_C)) $(B)/libsegq.a
$(CLUSTERS:%=$(B)/bin/%): $(B)/bin/%: $(B)/obj/common/supervisor/%.o $(B)/libsegq.a
$(B)/bin/swarm: $(call o,$(SWARM_C)) $(B)/libsegq.a
$(B)/deploy/segqctl.1: $(B)/bin/segqctl
	@mkdir -p $(@D)
	@$< man >$@
# What `make install` needs besides: manual pages, completions, the client as a library.
I := $(B)/install
INSTALLED := $(patsubst %,$(I)/segq-%.8,$(filter-out segqctl,$(PROGRAMS))) $(I)/segqctl.bash $(I)/segqctl.zsh $(I)/segqctl.fish $(I)/libsegq-client.a $(I)/segq-client.pc
$(I)/segq-%.8: $(B)/bin/%
	@mkdir -p $(@D)
	@$< --man >$@
$(I)/segqctl.%: $(B)/bin/segqctl
	@mkdir -p $(@D)
	@$< completion $* >$@
$(I)/segq.o: clients/c/segq.c clients/c/segq.h
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -fPIC -c -o $@ $<
$(I)/libsegq-client.a: $(I)/segq.o
	@rm -f $@; ar rcs $@ $^
$(I)/segq-client.pc: clients/c/segq-client.pc VERSION
	@mkdir -p $(@D)
	@sed "s|@version@|$$(cat VERSION)|" $< >$@
programs: $(PROGRAMS:%=$(B)/bin/%) $(B)/deploy/segqctl.1 $(INSTALLED)
$(PROGRAMS:%=$(B)/bin/%) $(B)/bin/swarm:
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link)

# ---- tests: one program per file ---------------------------------------------------
UNIT_C := $(wildcard tests/unit/*/test_*.c)
UNIT := $(addprefix $(B)/unit/,$(basename $(notdir $(UNIT_C))))
SIM := $(patsubst tests/sim/%.c,$(B)/sim/%,$(wildcard tests/sim/sim_*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
# Without libFuzzer (FLAVOUR=fuzz) a target only reads its corpus.
REPLAY := $(if $(filter-out fuzz,$(FLAVOUR)),$(B)/obj/tests/fuzz/replay.o)
BENCH := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c)) $(B)/bench/load $(B)/bench/bench_jobs $(B)/bench/bench_worker
SWARM_LIB := $(call o,$(filter-out %/main.c,$(SWARM_C)))
LOAD_LIB := $(call o,$(filter-out %/main.c,$(LOAD_C)) tests/bench/swarm/lat.c)
SIM_LIB := $(call o,$(wildcard tests/lib/sim/*.c))
TASKS_LIB := $(call o,$(wildcard tests/lib/tasks/*.c))
tests: $(UNIT) $(SIM) $(FUZZ)
# What a unit test is linked with, besides its own object: all cores, if not said otherwise.
CORES := $(B)/libcores.a $(B)/libsegq.a
# The k-th allocation, or call of the kernel, fails: our own code's, not the libraries'.
WRAP := $(foreach f,malloc calloc realloc reallocarray strdup mmap accept4 recv read send,-Wl,--wrap=$(f))
CTL_LIB := $(call o,$(filter-out %/segqctl.c,$(CTL_C)) $(DEF_C)) $(CORES)
unit_with = $(or $(UNIT_WITH.$(1)),$(if $(filter test_ctl_%,$(1)),$(CTL_LIB)),$(if $(filter test_torture%,$(1)),$(call o,tests/lib/failing.c)) $(CORES))
UNIT_WITH.test_swarm_check := $(SWARM_LIB) $(B)/libsegq.a
UNIT_WITH.test_load := $(LOAD_LIB) $(B)/libsegq.a
# Compiling the tests costs more than running them: they are not optimised, what they test is.
$(B)/obj/tests/unit/%.o: CFLAGS += -O0 -U_FORTIFY_SOURCE
$(B)/obj/tests/unit/queuemng/test_mng_segtab.o: CFLAGS += -O2 # it runs the longest
define unit
$(B)/unit/$(basename $(notdir $(1))): $(call o,$(1)) $(call unit_with,$(basename $(notdir $(1))))
endef
$(foreach c,$(UNIT_C),$(eval $(call unit,$(c))))
$(UNIT) $(SIM) $(FUZZ): LDFLAGS += $(GOLD)
$(UNIT):
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link) $(if $(findstring /test_torture,$@),$(WRAP)) -lhttp_parser -lcriterion
$(B)/sim/sim_budget: $(B)/obj/tests/sim/sim_budget.o $(call o,tests/bench/swarm/wheel.c) $(B)/libcores.a $(B)/libsegq.a
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link) -lcriterion
$(B)/sim/sim_tasks: $(B)/obj/tests/sim/sim_tasks.o $(TASKS_LIB) $(B)/libcores.a $(B)/libsegq.a
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link) -lcriterion
$(B)/sim/%: $(B)/obj/tests/sim/%.o $(SIM_LIB) $(B)/libcores.a $(B)/libsegq.a
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link) -lcriterion
$(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(REPLAY) $(B)/libcores.a $(B)/libsegq.a
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link) -lhttp_parser
$(B)/bench/load: $(call o,tests/bench/load/main.c) $(LOAD_LIB) $(B)/libsegq.a
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link)
$(B)/bench/bench_worker: $(call o,$(wildcard tests/bench/worker/*.c)) $(B)/libsegq.a
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link)
$(B)/bench/bench_jobs: $(call o,$(wildcard tests/bench/jobs/*.c)) $(B)/libsegq.a
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link)
$(B)/bench/%: $(B)/obj/tests/bench/%.o $(B)/libcores.a $(B)/libsegq.a
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link)
$(B)/guard/trace: $(call o,$(wildcard tests/guard/trace*.c)) $(B)/libcores.a $(B)/libsegq.a
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link)
$(B)/guard/count.so: tests/guard/count.c tests/guard/count.h
	@mkdir -p $(@D) && echo "  ld $@"
	@$(CC) -std=gnu11 $(WARN) -O2 -g -fPIC -I. -shared -o $@ $<
$(B)/chaos/shim.so $(B)/dates/wall.so: $(B)/%.so: tests/%.c tests/lib/wall_calls.h
	@mkdir -p $(@D) && echo "  ld $@"
	@$(CC) -std=gnu11 $(WARN) -O2 -g -fPIC -shared -o $@ $<
$(B)/chaos/ocean: $(call o,tests/chaos/ocean.c)
	@mkdir -p $(@D) && echo "  ld $@"
	@$(CC) $(LDFLAGS) -o $@ $^
$(B)/deploy/yaml2json: $(call o,tests/deploy/yaml2json.c)
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link)
$(B)/guard/counts: $(call o,tests/guard/counts.c)
	@mkdir -p $(@D) && echo "  ld $@"
	@$(link)
guards: $(B)/guard/trace $(B)/guard/count.so $(B)/guard/counts
bench-bins: $(BENCH)

# ---- what people type --------------------------------------------------------------
help:
	@sed -n 's/^## //p' Makefile
## make run          install what is missing, build, run a local cluster (Ctrl-C ends it)
run: deps
	$(MAKE) -j$(JOBS) bins
	deploy/run.sh
## make demo         100 000 players against the cluster of `make run`
demo: deps
	$(MAKE) -j$(JOBS) bins
	deploy/demo.sh
## make demo-tasks   a million tasks against the cluster of `make run`, and a kill -9 amid them
demo-tasks: deps
	@deploy/deps.sh tasks
	$(MAKE) -j$(JOBS) bins
	deploy/demo-tasks.sh
## make demo-calls   10 000 calls to a target that bears 300 a second, on a page; make it slow, or fail
demo-calls: deps
	$(MAKE) -j$(JOBS) bins
	deploy/demo-calls.sh
## make demo-gpu     200 tenants before three made-up model servers, on a page; one floods, a server dies
demo-gpu: deps
	$(MAKE) -j$(JOBS) bins
	deploy/demo-gpu.sh
## make demo-regions three regions on this machine, an ocean between them; one goes under (root, or namespaces)
demo-regions: deps-test
	$(MAKE) -j$(JOBS) bins
	@echo 'Three regions on this machine, 80 to 150 ms apart, one way: eu has the manager (m0), a segment node'
	@echo '(s0) and a router (r0), us has s1 and r1, ap has r2. One is away, deaf, gone for ever. A line says each'
	@echo 'thing that is looked at; times of answers want a quiet machine, all else holds on a busy one, too.'
	@bash tests/chaos/F64_regions.sh $(B)/bin || test $$? = 77
## make gate         nginx with a small site behind it, in front of which the room of `make run` is
gate: deps
	@deploy/deps.sh gate
	deploy/gate.sh
## make install      programs, units, samples, manual pages, documents; DESTDIR= PREFIX=/usr/local
install: programs
	@deploy/install.sh install $(B)
## make uninstall    removes what `make install` has put there, but no configuration and no data
uninstall:
	@deploy/install.sh uninstall $(B)
## make dist         build/dist: the tarball, what it is linked with (SPDX), sums
dist: programs
	@deploy/dist.sh build/dist
	@SOURCE_DATE_EPOCH=$$(deploy/dist.sh --epoch) deploy/sbom.py $(B)/bin >build/dist/segq-$$(cat VERSION).spdx.json
	@cd build/dist && sha256sum segq-$$(cat $(CURDIR)/VERSION).* >SHA256SUMS && cat SHA256SUMS
## make deb          build/deb: Debian packages segq, segq-client-dev, segq-doc (DEB_REVISION=1)
deb: deps
	@deploy/deps.sh deb
	deploy/deb.sh build/deb
## make test         install what tests need, build, run units, simulations, checks, 14 stories (10 min)
TIER ?= test
test:
	tests/run.py $(TIER)
## make test-night   every story in both builds, chaos, dates, planted bugs, 100 000 seeds: a night
test-night:
	tests/run.py night
## make check-quick  while you work: build (fuzzers, too), unit tests, layers, 100 seeds (90 s)
check-quick:
	SIM_SEEDS=100 tests/run.py unit layers seeds
## make check        layers, configuration samples, API description (no processes)
check: layers
	$(MAKE) -j$(JOBS) bins
	tests/check.sh
## make fallback     what gates show while no router answers, made of deploy/page anew
fallback:
	deploy/page/fallback.py deploy/nginx deploy/haproxy
## make docs         README and docs/ as a site, with a page to try calls: build/docs/index.html
docs: deps
	@deploy/deps.sh docs
	$(MAKE) -s $(B)/deploy/yaml2json
	$(B)/deploy/yaml2json proto/openapi.yaml >$(B)/openapi.json
	docs/site/make_site.py build/docs $(B)/openapi.json
## make pictures     README's pictures of page and dashboard, taken anew in Debian's Chromium
pictures: deps
	@deploy/deps.sh test e2e
	$(MAKE) -j$(JOBS) bins
	tests/e2e/e2e_pictures.sh $(B)/bin docs/pictures
## make reference    the lists of docs/segqctl.md and docs/api.md, and proto/REFERENCE.md, made anew
reference: bins
	docs/site/reference.py --write $(B)/bin
## make layers       what each room uses; circles of files; every header compiles alone
layers: bins
	tests/layers.py $(B)/obj
## make sim SEEDS=N  the simulation, N seeds on all cores (FIRST=n to start elsewhere)
SEEDS ?= 1000
sim:
	$(MAKE) -j$(JOBS) $(B)/sim/sim_mixed
	SEEDS=$(SEEDS) $(B)/sim/sim_mixed
## make test-clients what clients' languages need (apt-get), their own tests, the table of behaviours
test-clients: deps
	@deploy/deps.sh test clients
	SYS=conformance tests/run.py clients sys
## make chaos        every fault of tests/chaos with real processes, 20 minutes at most
chaos: deps-test
	tests/run.py chaos
## make dates        the tests on other dates and in other time zones, some hours
dates:
	tests/run.py dates
## make mutants      plants every bug of tests/mutants/list.txt: do the tests notice?
mutants: deps-test
	tests/mutants/mutants.py
## make fuzz         every fuzz target for FUZZ_S seconds (60)
FUZZ_S ?= 60
fuzz:
	FUZZ_S=$(FUZZ_S) tests/run.py fuzz
fuzz-bins: $(FUZZ)
## make bench        segq beside its peers, 15 minutes at most; ARGS="--only core", ARGS=--list
bench: deps
	@deploy/deps.sh bench || true # bench.py says which rows cannot be measured without it
	$(MAKE) -j$(JOBS) bins bench-bins
	tests/bench/bench.py --build $(B) $(ARGS)
## make deps         install what the build needs (apt-get)
deps:
	@deploy/deps.sh build
deps-test:
	@deploy/deps.sh build test bench e2e
## make clean        remove build/
clean:
	rm -rf build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
.PHONY: test-clients programs install uninstall dist deb check-quick fallback docs pictures reference bins tests help run demo demo-tasks demo-calls demo-gpu demo-regions gate test test-night check layers sim chaos dates mutants fuzz fuzz-bins guards bench bench-bins deps deps-test clean
.SECONDARY:
.DEFAULT_GOAL := help
