#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Debian packages delaycc-dkms and delaycc-tools, and has lintian look at them.
#
#   deb.sh DIR [OPTION...]    packages to DIR; options go to dpkg-buildpackage (--build=all: delaycc-dkms alone)
#
# The packages are built from a copy of the source tree, so that nothing is left in it. Their version is that of
# VERSION; 1.2.3-dev becomes 1.2.3~dev, which is before 1.2.3.
set -euo pipefail
# dpkg-deb wants folders that all users may read.
umask 022
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$(realpath -m "${1:?usage: deb.sh DIR [OPTION...]}")
shift
version=$(cat "$top/VERSION")
tree=$out/delaycc

for program in dpkg-buildpackage dh dh_dkms lintian; do
	command -v $program >/dev/null || {
		echo "packaging/deb.sh: no program $program: install the Debian packages dpkg-dev, debhelper, dh-dkms and lintian" >&2
		exit 1
	}
done

# Files of git where this is a git tree of its own; an unpacked archive has nothing else but build/.
list() {
	if [ -e "$top/.git" ]; then
		git -C "$top" ls-files -z
	else
		(cd "$top" && find . -path ./build -prune -o ! -type d -print0)
	fi
}

mkdir -p "$out"
rm -rf "$tree"
rm -f "$out"/delaycc[-_]*.{deb,changes,buildinfo}
mkdir "$tree"
list | tar -C "$top" --null --files-from=- -c | tar -C "$tree" -x
mv "$tree/packaging/debian" "$tree/debian"
# The time of the commit, so that the same commit gives the same packages.
time=$(git -C "$top" log -1 --format=%cD 2>/dev/null || date -R -r "$top/VERSION")
maintainer=$(sed -n 's/^Maintainer: //p' "$tree/debian/control")
cat >"$tree/debian/changelog" <<EOF
delaycc (${version/-/\~}) unstable; urgency=medium

  * CHANGELOG.md says what has changed.

 -- $maintainer  $time
EOF

# In braces, so that bash has read all of it before it starts: the file may change (git pull) meanwhile.
{
	cd "$tree"
	# Signs nothing and builds no source package.
	dpkg-buildpackage --no-sign "${@:---build=binary}"
	cd "$out"
	rm -rf "$tree"
	lintian --allow-root --fail-on=error,warning --tag-display-limit=0 ./*.changes
	echo "lintian: nothing to complain of"
	printf '%s\n' "$out"/*.deb
	exit
}
