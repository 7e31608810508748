#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing, and says which and why.
# usage: setup.sh [run|test|check|all]   (each set includes the ones before it)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
case ${1:-all} in
run) sets="run" ;;
test) sets="run test" ;;
check | all) sets="run test check" ;;
*)
	echo "setup.sh: unknown set '$1': allowed are run, test, check, all" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
	echo "setup.sh: this is not Debian (no dpkg-query); install what $here/packages.txt lists by hand" >&2
	exit 1
fi

missing=
while read -r package set why; do
	case $package in '' | '#'*) continue ;; esac
	case " $sets " in *" $set "*) ;; *) continue ;; esac
	# shellcheck disable=SC2016 # dpkg-query expands ${Status} itself
	state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
	[ "$state" = "install ok installed" ] && continue
	printf '  %-24s %s\n' "$package" "$why"
	missing="$missing $package"
done <"$here/packages.txt"

if [ -z "$missing" ]; then
	echo "setup: every package of the sets '$sets' is installed"
	exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "setup.sh: the packages above are missing; run 'make setup' as root or install sudo" >&2
		exit 1
	fi
	as_root=sudo
fi

echo "setup: installing the packages above"
# Old package lists make apt ask for versions that the mirror no longer has.
$as_root apt-get update -q
# shellcheck disable=SC2086 # one word per package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
echo "setup: done"
