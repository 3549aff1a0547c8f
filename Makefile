# segq: make run, make test, make demo; `make help` lists the rest.
# Objects live out of tree, one folder per flavour: make FLAVOUR=asan.
FLAVOUR ?= rel
B := build/$(FLAVOUR)
CC := gcc
PKGS := libevent libprotobuf-c yaml-0.1 jansson libsodium
WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Werror
HARDEN := -fstack-protector-strong -fPIE -Wformat -Wformat-security
CFLAGS.rel := -O2 -g -D_FORTIFY_SOURCE=2
CFLAGS.asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS.rel := -Wl,-z,relro,-z,now
LDFLAGS.asan := -fsanitize=address,undefined
CFLAGS := -std=gnu11 $(WARN) $(HARDEN) $(CFLAGS.$(FLAVOUR)) -I. -I$(B)/gen $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDFLAGS := -pie $(LDFLAGS.$(FLAVOUR))
LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm

PROTOS := $(wildcard proto/*.proto)
GEN_C := $(PROTOS:proto/%.proto=$(B)/gen/proto/%.pb-c.c)
GEN_H := $(GEN_C:.c=.h)
COMMON_C := $(wildcard common/*.c)
ROUTER_C := $(filter-out router/main.c router/rt_cluster.c,$(wildcard router/*.c))
SEGMENT_C := $(filter-out segment/main.c segment/seg_cluster.c,$(wildcard segment/*.c))
QUEUEMNG_C := $(filter-out queuemng/main.c queuemng/segqctl.c,$(wildcard queuemng/*.c))
PROGRAMS := router segment queuemng rt_cluster seg_cluster segqctl

o = $(patsubst %.c,$(B)/obj/%.o,$(1))
bins: $(PROGRAMS:%=$(B)/bin/%)

$(B)/gen/proto/%.pb-c.c $(B)/gen/proto/%.pb-c.h: proto/%.proto
	@mkdir -p $(B)/gen
	protoc-c --c_out=$(B)/gen $<
$(B)/obj/%.o: %.c | $(GEN_H)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/obj/gen/%.o: $(B)/gen/proto/%.pb-c.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -w -c -o $@ $<
$(B)/libsegq.a: $(call o,$(COMMON_C)) $(PROTOS:proto/%.proto=$(B)/obj/gen/%.o)
	rm -f $@; ar rcs $@ $^

link = $(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/bin/router: $(call o,router/main.c $(ROUTER_C)) $(B)/libsegq.a
$(B)/bin/segment: $(call o,segment/main.c $(SEGMENT_C)) $(B)/libsegq.a
$(B)/bin/queuemng: $(call o,queuemng/main.c $(QUEUEMNG_C)) $(B)/libsegq.a
$(B)/bin/segqctl: $(call o,queuemng/segqctl.c) $(B)/libsegq.a
$(B)/bin/rt_cluster: $(call o,router/rt_cluster.c) $(B)/libsegq.a
$(B)/bin/seg_cluster: $(call o,segment/seg_cluster.c) $(B)/libsegq.a
$(PROGRAMS:%=$(B)/bin/%):
	@mkdir -p $(@D)
	$(link)

# One test program per tests/unit/test_X.c; it links every core (no program's main).
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
TESTLIB_C := $(wildcard tests/lib/*.c)
$(B)/libcores.a: $(call o,$(ROUTER_C) $(SEGMENT_C) $(QUEUEMNG_C))
	rm -f $@; ar rcs $@ $^
$(B)/unit/%: $(B)/obj/tests/unit/%.o $(B)/libcores.a $(B)/libsegq.a
	@mkdir -p $(@D)
	$(link) -lcriterion

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
.PHONY: bins
.SECONDARY:
