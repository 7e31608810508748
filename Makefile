# SPDX-License-Identifier: Apache-2.0
#
# The front door.  `make run` and `make test` are all that most people need;
# both install what is missing, build, and work from a fresh clone.

SHELL := /bin/bash
.DELETE_ON_ERROR:

BUILD := $(shell harness/tools/build_folder.sh)
$(if $(BUILD),,$(error no folder to build in))
LAB := $(BUILD)/lab
KDIR ?= /lib/modules/$(shell uname -r)/build
JOBS ?= $(shell nproc)
PYTEST := /usr/bin/python3 -m pytest -q
# The tests of a file share labs, modules and a browser: they stay in one process.
PARALLEL := -n $(JOBS) --dist loadfile
SCENARIO ?= oscar-fig07
OUT ?= $(BUILD)/results/$(SCENARIO)
KERNEL ?= $(or $(DELAYCC_VM_KERNEL),6.1)
QEMU ?= $(DELAYCC_VM_QEMU)
export DELAYCC_BUILD := $(BUILD)

.DEFAULT_GOAL := all

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

##### Building

.PHONY: setup setup-lab setup-run setup-test
setup: ## install every Debian package that building, testing and checking need
	@harness/tools/setup.sh all
setup-lab:
	@harness/tools/setup.sh lab
setup-run:
	@harness/tools/setup.sh run
setup-test:
	@harness/tools/setup.sh test

.PHONY: all
all: tools lab ## build everything: the command, the tests, the lab

$(BUILD)/CMakeCache.txt:
	@cmake -S . -B $(BUILD) -DDELAYCC_TESTS=$(if $(wildcard /usr/include/gtest/gtest.h),ON,OFF) >$(BUILD).cmake.log 2>&1 || \
	  { cat $(BUILD).cmake.log >&2; rm -f $(BUILD).cmake.log; exit 1; }; rm -f $(BUILD).cmake.log

.PHONY: tools
tools: $(BUILD)/CMakeCache.txt ## build the C++ part: build/delaycc and the tests
	@cmake --build $(BUILD) -j$(JOBS) -- --no-print-directory

# What `make run` needs of it, without waiting for the tests.
.PHONY: command
command: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS) --target delaycc delaycc-runner delaycc-host-runner -- --no-print-directory

.PHONY: modules
modules: ## build the kernel modules (KDIR=/lib/modules/.../build)
	@$(MAKE) --no-print-directory -C kernel KDIR=$(KDIR)

# The lab's folder: the kernel and the modules built for it.
# $(call lab_modules,FLAVOUR): build/FLAVOUR gets the modules beside the kernel.
define lab_modules
@mkdir -p $(BUILD)/$(1) $(BUILD)/modules/dccport-$(1)
@for f in Kbuild sch_dccport.c dccport.h; do ln -sfn "$(CURDIR)/harness/backend/lab/kernel/$$f" $(BUILD)/modules/dccport-$(1)/$$f; done
@$(MAKE) -s --no-print-directory -C $(BUILD)/$(1)-kernel ARCH=um M=$(BUILD)/modules/dccport-$(1) modules
@$(MAKE) -s --no-print-directory -C kernel KDIR=$(BUILD)/$(1)-kernel ARCH=um TAG=$(1)
@ln -sfn $(BUILD)/$(1)-kernel/linux $(BUILD)/$(1)/linux
@for m in $(BUILD)/modules/$(1)/*.ko $(BUILD)/modules/dccport-$(1)/*.ko; do ln -sfn $$m $(BUILD)/$(1)/; done
endef

.PHONY: lab
lab: ## build the lab kernel and the modules for it (build/lab)
	@harness/backend/lab/kernel/build.sh --out $(BUILD)/lab-kernel
	$(call lab_modules,lab)

.PHONY: lab-debug
lab-debug: ## the same with KASAN, UBSAN, lockdep, kmemleak (build/lab-debug)
	@harness/backend/lab/kernel/build.sh --debug --out $(BUILD)/lab-debug-kernel
	$(call lab_modules,lab-debug)

##### Running

# The lab kernel takes longest, so it begins as soon as its own packages are there.
.PHONY: run
run: setup-lab ## the main job: OSCAR against Linux's algorithms in a microburst
	@trap 'kill $$lab; wait $$lab; exit 130' INT TERM; \
	$(MAKE) --no-print-directory lab & lab=$$!; \
	$(MAKE) --no-print-directory setup-run && $(MAKE) --no-print-directory command; status=$$?; \
	wait $$lab && exit $$status
	@$(BUILD)/delaycc run $(SCENARIO) --out $(OUT) $(ARGS)

.PHONY: doctor
doctor: command ## what this machine can do
	@$(BUILD)/delaycc doctor

##### Installing

PREFIX ?= /usr/local
override DESTDIR := $(if $(DESTDIR),$(shell realpath -ms "$(DESTDIR)"))
$(if $(word 2,$(DESTDIR)),$(error DESTDIR="$(DESTDIR)": the kernel's build installs into no folder with a space))
INSTALL := BUILD=$(BUILD) PREFIX="$(PREFIX)" DESTDIR=$(DESTDIR) packaging/install.sh

.PHONY: install install-tools install-modules install-lab uninstall
install: install-tools install-modules ## the command into PREFIX (/usr/local) and the modules for KDIR, below DESTDIR

install-tools: $(BUILD)/CMakeCache.txt ## the command alone, with scenarios, BPF objects, manual page and completion
	@cmake $(BUILD) >/dev/null && cmake --build $(BUILD) -j$(JOBS) --target installable -- --no-print-directory
	@$(INSTALL) tools

install-modules: ## the modules for KDIR alone, into updates/delaycc; runs depmod unless DESTDIR is given
	@$(MAKE) --no-print-directory -C kernel KDIR=$(KDIR) DESTDIR=$(DESTDIR) install

install-lab: lab ## the lab for an installed command
	@$(INSTALL) lab

uninstall: ## remove what the four above installed
	@$(INSTALL) uninstall

.PHONY: dkms dkms-remove
dkms: ## the modules by DKMS, rebuilt for each new kernel (KERNEL=RELEASE)
	@packaging/dkms.sh install
dkms-remove: ## remove them again
	@packaging/dkms.sh remove

.PHONY: deb
deb: ## the Debian packages delaycc-dkms and delaycc-tools (build/deb)
	@packaging/deb.sh $(BUILD)/deb

##### Testing

# The quick tests need at most 8 minutes on two processors after the build: harness/tools/durations.py
# holds them to that.  What pytest.mark.ci marks is in test-rest.
QUICK := tests/lab tests/vm tests/report tests/tools

.PHONY: test
test: test-build ## the quick tests: cores, BPF, lab, report page, the modules in Debian's kernel under QEMU (8 minutes after the build)
	@harness/tools/durations.py run ctest $(MAKE) --no-print-directory unit-test UNIT="-LE ci"
	$(PYTEST) $(PARALLEL) -m "not alone and not ci" $(QUICK)
	$(PYTEST) -m "alone and not ci" tests/report tests/bpf

.PHONY: test-all
test-all: test test-rest ## the quick tests, then all others (an hour; the first time half an hour more for the kernels of tests/smp)
	@$(MAKE) --no-print-directory smp-test SMP_SECONDS=30

.PHONY: test-rest
test-rest: test-build
	-@$(MAKE) --no-print-directory packetdrill-scripts
	@$(MAKE) --no-print-directory unit-test UNIT="-L ci"
	DELAYCC_QUICK=1 $(PYTEST) $(PARALLEL) -m "ci and not alone" $(QUICK)
	$(PYTEST) -m "alone and ci" tests/report tests/bpf

# With the tests, if `make run` has configured without them.
.PHONY: test-build
test-build: setup-test
	@cmake -S . -B $(BUILD) -DDELAYCC_TESTS=ON >/dev/null
	@$(MAKE) --no-print-directory tools lab

.PHONY: unit-test
unit-test: tools ## the C++ tests: core (also with sanitizers and fuzzed) and harness
	cd $(BUILD) && ctest --output-on-failure -j$(JOBS) --progress $(UNIT)

.PHONY: fresh-test
fresh-test: setup-test ## the README's two commands on a Debian 12 that has nothing, as root and as a user with sudo (FRESH="--help")
	@harness/tools/fresh.sh $(FRESH)

.PHONY: durations
durations: ## write what each file of tests needs, by the last `make test-all`, into docs/develop/tests.md
	@harness/tools/durations.py table --page

.PHONY: fuzz
fuzz: tools ## the fuzzers for long: FUZZ="--executions 100M --keep" (harness/tools/fuzz.py --help)
	harness/tools/fuzz.py $(FUZZ) $(BUILD)

.PHONY: core-test
core-test: $(BUILD)/CMakeCache.txt ## the cores alone: unit tests and reference models, in seconds
	@cmake --build $(BUILD) -j$(JOBS) --target core_tests -- --no-print-directory
	@seq 0 $$(($(JOBS) - 1)) | GTEST_TOTAL_SHARDS=$(JOBS) xargs -P $(JOBS) -I @ \
	  env GTEST_SHARD_INDEX=@ $(BUILD)/core_tests --gtest_brief=1

.PHONY: sanitize
sanitize: ## all of the C++ code and its tests with ASan and UBSan
	@cmake -S . -B $(BUILD)/sanitize -DDELAYCC_SANITIZE=ON >/dev/null
	@cmake --build $(BUILD)/sanitize -j$(JOBS) -- --no-print-directory
	cd $(BUILD)/sanitize && ctest --output-on-failure -j$(JOBS) --progress

.PHONY: lab-test
lab-test: command lab ## the lab kernel, the port, the modules and whole experiments in it
	$(PYTEST) $(PARALLEL) tests/lab

.PHONY: packetdrill-scripts
packetdrill-scripts: ## fetch the kernel's own tests of TCP (167 MB once), which lab-test and test-all run
	@tests/lab/packetdrill.sh

.PHONY: debug-test
debug-test: lab-debug ## the port, probes and the modules under stress with KASAN, UBSAN, lockdep, kmemleak
	DELAYCC_LAB=$(BUILD)/lab-debug DELAYCC_MODULES=$(BUILD)/modules/lab-debug \
	  $(PYTEST) $(PARALLEL) tests/lab/test_module_stress.py tests/lab/test_count.py tests/lab/test_lab.py tests/lab/test_port.py \
	  tests/lab/test_probe.py tests/lab/test_base_rtt.py tests/lab/test_routes.py

.PHONY: report-test
report-test: tools ## the report page in headless Chromium
	$(PYTEST) tests/report

.PHONY: bpf-test
bpf-test: tools ## the BPF programs on the running kernel
	$(PYTEST) tests/bpf

# 6.1, which is the default, 6.12, 7.2 or 7.3; QEMU=trixie takes the QEMU of that Debian.
.PHONY: vm-test
vm-test: setup-test tools ## the modules in Debian's stock kernel under QEMU, more of them than `make test` (KERNEL=6.12, QEMU=trixie)
	DELAYCC_VM_KERNEL=$(KERNEL) DELAYCC_VM_QEMU=$(QEMU) $(PYTEST) tests/vm

.PHONY: harm-table
harm-table: ## what each algorithm gets where no sysctl is set, beside cubic and bbr (docs/research/does-no-harm.md)
	/usr/bin/python3 tests/vm/harm.py --jobs $(JOBS) --page $(ARGS)

.PHONY: bpf-table
bpf-table: tools ## what a BPF program costs on Debian's kernels and this one, and what a device's stamps change (docs/operate/bpf.md)
	/usr/bin/python3 tests/vm/bpf_table.py

.PHONY: host-table
host-table: command lab ## the backend host beside the lab: in virtual time, and in Debian's kernel under QEMU (docs/research/host.md)
	/usr/bin/python3 tests/vm/backend_table.py

# An hour of the machines' clock with all algorithms, and one with cubic.
SOAK ?= --minutes 60
.PHONY: soak
soak: setup-test ## real programs for long, on four processors, while algorithms change; goes on where it was (SOAK="--minutes 60 --jobs 2")
	/usr/bin/python3 tests/vm/soak.py $(SOAK)

.PHONY: soak-test
soak-test: ## a short soak: one machine, two to three minutes of processor time
	DELAYCC_SOAK=1 $(PYTEST) tests/vm/test_soak.py

.PHONY: mininet-vm-test
mininet-vm-test: setup-test ## our Mininet scripts with netem and htb on Debian's stock kernel under QEMU (two minutes; KERNEL=, QEMU=)
	DELAYCC_MININET_VM=1 DELAYCC_VM_KERNEL=$(KERNEL) DELAYCC_VM_QEMU=$(QEMU) $(PYTEST) tests/vm/test_mininet_vm.py

.PHONY: smp-kernel
smp-kernel: ## build and cache the debug kernels with several processors (for make smp-test)
	@tests/smp/kernel/build.sh kasan
	@tests/smp/kernel/build.sh kcsan

# For so long trouble is made on each of the two machines.
SMP_SECONDS ?= 600
.PHONY: smp-test
smp-test: smp-kernel ## the modules on four processors under KASAN, lockdep, kmemleak, and KCSAN (SMP_SECONDS=600)
	DELAYCC_SMP_SECONDS=$(SMP_SECONDS) $(PYTEST) tests/smp; status=$$?; cat $(BUILD)/smp/*/table.txt; exit $$status

.PHONY: deb-test
deb-test: setup-test deb ## the packages in a Debian chroot: install, newer kernel, upgrade, purge (minutes; root)
	$(PYTEST) tests/deb

.PHONY: headline-table
headline-table: command lab ## the tables of Figure 7 in README.md and docs/research/results.md, measured (an hour)
	$(BUILD)/delaycc run oscar-fig07 --sweep --cc oscar,oscar_paper,cubic,bbr,dctcp,vegas,cdg,nv --out $(BUILD)/results/headline
	harness/tools/results_table.py --headline $(BUILD)/results/headline/summary.json

.PHONY: metrics-doc
metrics-doc: $(BUILD)/CMakeCache.txt ## write the tables of docs/research/metrics.md from the metric catalogue
	@cmake --build $(BUILD) -j$(JOBS) --target delaycc-metrics-doc -- --no-print-directory
	$(BUILD)/delaycc-metrics-doc docs/research/metrics.md

.PHONY: bench
bench: tools ## cycles per acknowledgment
	$(BUILD)/bench_cores

.PHONY: check
check: tools ## formatting, checkpatch, sparse, clang-tidy, shellcheck, flake8, ESLint, documentation
	harness/tools/check.sh $(BUILD)

# Sparse reads the modules as Debian's stock kernel compiles them.
.PHONY: modules-sparse
modules-sparse:
	@headers=$$(ls -d /usr/src/linux-headers-6.*-amd64 | sort -V | tail -n 1); \
	$(MAKE) --no-print-directory -C kernel KDIR=$$headers TAG=sparse clean && \
	$(MAKE) --no-print-directory -C kernel KDIR=$$headers TAG=sparse C=2 && \
	mkdir -p $(BUILD)/modules/dccport-sparse && \
	for f in Kbuild sch_dccport.c dccport.h; do ln -sfn "$(CURDIR)/harness/backend/lab/kernel/$$f" $(BUILD)/modules/dccport-sparse/$$f; done && \
	$(MAKE) --no-print-directory -C $$headers M=$(BUILD)/modules/dccport-sparse C=2 modules

.PHONY: in-tree
in-tree: ## put the modules into a kernel tree (TREE=DIR) and build them there with W=1 and sparse
	@$(if $(TREE),,echo "make in-tree: say where: TREE=DIR, a kernel tree" >&2; exit 2)
	@kernel/in-tree/put.sh "$(TREE)"
	@kernel/in-tree/build.sh "$(TREE)" $(BUILD)/in-tree $(JOBS)

.PHONY: in-tree-test
in-tree-test: setup-test ## the modules inside Debian's kernel tree: builds, KUnit suites in User-Mode Linux (minutes)
	$(PYTEST) tests/in_tree

.PHONY: clean
clean: ## remove build/ (lab kernels stay in the cache: ~/.cache/delaycc)
	rm -rf $(BUILD) build
