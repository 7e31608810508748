#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing, and says which and why.
# usage: setup.sh [lab|run|test|check|all]   (each set includes the ones before it)
# The set check also needs ESLint, which Debian 12 has too old: npm installs what
# eslint/package-lock.json pins.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
case ${1:-all} in
lab) sets="lab" ;;
run) sets="lab run" ;;
test) sets="lab run test" ;;
check | all) sets="lab run test check" ;;
*)
	echo "setup.sh: unknown set '$1': allowed are lab, run, test, check, all" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
	echo "setup.sh: this is not Debian (no dpkg-query); install what $here/packages.txt lists by hand" >&2
	exit 1
fi

# Names of what is installed, with what it provides: Node.js from elsewhere brings its own npm.
installed=" $(dpkg-query -W -f='${db:Status-Status} ${Package} ${Provides}\n' | sed -n 's/^installed //p' | tr ',\n' '  ') "

missing=
while read -r package set why; do
	case $package in '' | '#'*) continue ;; esac
	case " $sets " in *" $set "*) ;; *) continue ;; esac
	case $installed in *" $package "*) continue ;; esac
	printf '  %-24s %s\n' "$package" "$why"
	missing="$missing $package"
done <"$here/packages.txt"

install_eslint()
{
	case $sets in *check*) ;; *) return 0 ;; esac
	cd "$here/eslint"
	cmp -s package-lock.json node_modules/.installed && return 0
	echo "setup: installing ESLint"
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	cp package-lock.json node_modules/.installed
}

if [ -z "$missing" ]; then
	install_eslint
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
# `make run` installs in two steps.
updated=$here/../../build/.apt-updated
if [ -z "$(find "$updated" -mmin -10 2>/dev/null)" ]; then
	$as_root apt-get update -q
	mkdir -p "${updated%/*}" && : >"$updated"
fi
# shellcheck disable=SC2086 # one word per package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
install_eslint
echo "setup: done"
