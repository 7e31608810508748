#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the golden trials anew and keeps their records; needed only when the records' format changes.
# Then: DELAYCC_GOLDEN=write build/harness-test --gtest_filter='*Golden*'
set -eu
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for name in groups workload; do
	../../../build/delaycc run "$name.toml" --quiet --keep --out "$out/$name" >"$out/log"
	rm -rf "$name"
	mv "$out/$name/trials"/* "$name"
	rm -f "$name/console.txt" "$name/acks.txt"
done
