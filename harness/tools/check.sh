#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Style and static checks: clang-format, checkpatch, sparse, clang-tidy, shellcheck, flake8, ESLint, licence lines, documentation
# links, versions, claims of scenarios.
# usage: check.sh BUILD_DIR     Runs every check, then fails if any of them found something.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:?usage: check.sh BUILD_DIR}
build=$(cd "$build" && pwd)
cd "$top" || exit 1
failed=()

run() { # NAME COMMAND...
	local name=$1
	shift
	printf '== %s\n' "$name"
	if ! "$@"; then
		failed+=("$name")
	fi
}

mapfile -t cxx < <(git ls-files 'harness/*.cc' 'harness/*.h' ':!harness/backend/lab/kernel' \
	'user/*.cc' 'user/*.h' 'tests/*.cc' 'tests/*.h')
# tests/vm has programs of user space; all other C of the tests is modules.
mapfile -t user_c < <(git ls-files 'tests/vm/*.c')
mapfile -t kernel_c < <(git ls-files 'kernel/*.c' 'kernel/*.h' 'harness/backend/lab/kernel/*.c' \
	'harness/backend/lab/kernel/*.h' 'bpf/*.c' 'bpf/*.h' 'tests/bench/*.c' 'tests/lab/*.c' 'tests/replay/*.c' 'tests/smp/faulty/*.c')
mapfile -t shell < <(git ls-files '*.sh' '.ci/run')

check_format() {
	clang-format --dry-run -Werror "${cxx[@]}" "${user_c[@]}"
}

# checkpatch comes from the kernel source that the lab is built from.
checkpatch_dir=$build/checkpatch
fetch_checkpatch() {
	[ -f "$checkpatch_dir/.done" ] && return 0
	local tarball=(/usr/src/linux-source-6.*.tar.xz)
	if [ ! -f "${tarball[0]}" ]; then
		echo "check.sh: no /usr/src/linux-source-6.*.tar.xz: run 'make setup'" >&2
		return 1
	fi
	mkdir -p "$checkpatch_dir"
	tar -xf "${tarball[0]}" -C "$checkpatch_dir" --strip-components=2 --wildcards --occurrence=1 \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch' &&
		touch "$checkpatch_dir/.done"
}

check_patch() {
	fetch_checkpatch || return 1
	local file ok=0 ignore
	for file in "${kernel_c[@]}"; do
		# The kernel's own struct Qdisc; FILE_PATH_CHANGES speaks of patches, not of files; a macro
		# that takes the name of a field uses it twice.
		ignore=CAMELCASE,FILE_PATH_CHANGES,MACRO_ARG_REUSE
		# Programs' settings and maps are globals that their loader writes and reads, functions that the
		# verifier looks at one by one have no prototype elsewhere, and types are made by macros.
		[[ $file == bpf/* || $file == *.bpf.c ]] &&
			ignore+=,AVOID_EXTERNS,VOLATILE,GLOBAL_INITIALISERS,PREFER_DEFINED_ATTRIBUTE_MACRO,COMPLEX_MACRO,REPEATED_WORD,SPACING,LONG_LINE_STRING
		# A core's list of parameters is one macro, and what is made of it takes the names of fields.
		[[ $file == kernel/core/* ]] && ignore+=,COMPLEX_MACRO,MACRO_ARG_PRECEDENCE
		# TRACE_EVENT() is written as the kernel writes it, which checkpatch does not like.
		[[ $file == *_trace.h ]] && ignore+=,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
		perl "$checkpatch_dir/checkpatch.pl" --no-tree --strict --terse --quiet --show-types \
			--ignore "$ignore" -f "$file" | grep -v '^total: 0 errors, 0 warnings, 0 checks'
		[ "${PIPESTATUS[0]}" -eq 0 ] || ok=1
	done
	return $ok
}

check_sparse() {
	local out
	out=$(make -s -C "$top" modules-sparse 2>&1) || {
		echo "$out"
		return 1
	}
	out=$(grep -E '(warning|error):' <<<"$out" | grep -v '^/usr/' || true)
	[ -z "$out" ] || {
		echo "$out"
		return 1
	}
}

check_tidy() {
	local units
	mapfile -t units < <(git ls-files 'harness/*.cc' 'user/*.cc')
	# Each source by itself, which nothing is compiled for.
	cmake -S . -B "$build/tidy" -DDELAYCC_UNITY=OFF >/dev/null || return 1
	harness/tools/tidy.py "$build/tidy" "${units[@]}"
}

check_user_c() {
	local file ok=0
	for file in "${user_c[@]}"; do
		clang -fsyntax-only -std=gnu11 -O2 -Wall -Wextra -Wshadow -Werror "$file" || ok=1
	done
	return $ok
}

check_python() {
	git ls-files -z '*.py' | xargs -0 flake8 --jobs 2
}

check_scripts() {
	local eslint=harness/tools/eslint
	if [ ! -x $eslint/node_modules/.bin/eslint ]; then
		echo "check.sh: ESLint is not installed: run 'make setup'" >&2
		return 1
	fi
	$eslint/node_modules/.bin/eslint --config $eslint/eslint.config.js 'harness/report/**/*.js'
}

check_spdx() {
	local missing
	missing=$(git ls-files '*.c' '*.h' '*.cc' '*.py' '*.sh' '*.toml' 'Makefile' '*CMakeLists.txt' '.ci/run' |
		xargs grep -L 'SPDX-License-Identifier' || true)
	[ -z "$missing" ] || {
		echo "no SPDX-License-Identifier in:"
		echo "$missing"
		return 1
	}
}

run clang-format check_format
run "licence lines" check_spdx
run "documentation links" harness/tools/check_docs.py
run "budget of make test" harness/tools/durations.py check
run versions harness/tools/check_version.py
run "rooms of harness/" harness/tools/rooms.py
run "scenarios' claims" harness/tools/check_claims.py
run shellcheck shellcheck -x -P "$top" "${shell[@]}"
run flake8 check_python
run ESLint check_scripts
run "clang -Wall" check_user_c
run checkpatch check_patch
run sparse check_sparse
run clang-tidy check_tidy

if [ ${#failed[@]} -ne 0 ]; then
	printf 'check: FAILED: %s\n' "${failed[*]}" >&2
	exit 1
fi
echo "check: all passed"
