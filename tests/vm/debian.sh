# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Debian's packages for other kernels than this machine's, for the scripts kernel.sh, build.sh
# and qemu.sh: which suites have them, and an apt that reads these alone.  This machine's apt
# is left as it is.
#
# Who includes this has skip(), for what cannot be had here.

arch=

# The suites of a kernel series, the newest last; none: this machine's own.
suites_of() # SERIES
{
	case $1 in
	6.1) ;;
	6.12) echo bookworm-backports ;;
	7.2 | 7.3) echo trixie trixie-backports ;;
	*)
		echo "tests/vm: $1: there are 6.1, 6.12, 7.2, 7.3" >&2
		return 1
		;;
	esac
}

# From now on apt-get reads these suites, of the mirror that this machine uses; for another
# architecture, too, if $arch names one.
use_suites() # SUITE...
{
	lists=${XDG_CACHE_HOME:-$HOME/.cache}/delaycc/headers/apt-$(echo "$*" | sed 's/.* //')${arch:+-$arch}
	mkdir -p "$lists/lists/partial" "$lists/archives/partial" "$lists/none"
	: >"$lists/status"
	# shellcheck disable=SC2016 # apt-get expands them
	mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		sed -n 's/^Debian \(.*\/debian\/*\)$/\1/p' | head -n 1)
	for suite; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} $suite main"
	done >"$lists/sources.list"
	cat >"$lists/apt.conf" <<EOF
Dir::State "$lists";
Dir::State::status "$lists/status";
Dir::Cache "$lists";
Dir::Etc::sourcelist "$lists/sources.list";
Dir::Etc::sourceparts "$lists/none";
Dir::Etc::preferencesparts "$lists/none";
Acquire::Languages "none";
APT::Sandbox::User "";
APT::Architectures { "$(dpkg --print-architecture)"; "${arch:-$(dpkg --print-architecture)}"; };
EOF
	export APT_CONFIG="$lists/apt.conf"
	apt-get -qq update >&2 || skip "apt-get update of $* failed: no network?"
}

# What a package needs from the suites in use, with all that this needs in turn, goes into a folder that exists.
download_with_all_it_needs() # FOLDER SUITE PACKAGE...
{
	folder=$1
	suite=$2
	shift 2
	apt-get -qq -y --no-install-recommends --download-only -o Debug::NoLocking=1 \
		-o Dir::Cache::archives="$folder" -o APT::Default-Release="$suite" install "$@" >&2
}
