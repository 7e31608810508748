# SPDX-License-Identifier: Apache-2.0
"""The modules build for the Debian kernels that dkms.conf admits, by each release's own compiler, without a warning,
and for a machine of 32 bits and for a big-endian one."""

import pathlib
import re

import pytest

import owned

pytestmark = pytest.mark.ci

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = HERE.parent.parent / "kernel"
SKIPPED = 77
SERIES = ("6.1", "6.12", "7.2", "7.3")
MODULES = {"delaycc", "delaycc_count"} | {file.stem for file in KERNEL.glob("tcp_*.c")}


@pytest.mark.ci
@pytest.mark.parametrize("series", [*SERIES, "6.1-armhf", "6.1-s390x"])
def test_every_module_builds(series, tmp_path):
    # modpost fails for what the kernel does not have, such as a division of 64 bits on a machine of 32.
    done = owned.run([HERE / "build.sh", series, tmp_path / "out"], limit_s=3600, stalled_s=1800)
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith(series.split("-")[0] + ".")
    assert "warning:" not in done.stderr, done.stderr[-3000:]
    assert {file.stem for file in (tmp_path / "out").glob("*.ko")} == MODULES


def test_dkms_builds_from_the_first_to_the_last_of_them_and_for_no_other():
    exclusive = re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"$', (KERNEL / "dkms.conf").read_text(), re.MULTILINE)[1]
    releases = ["6.1.0-56-amd64", "6.6.1", "6.12.95+deb12-amd64", "6.18.44", "7.2.12+deb13-amd64", "7.3.4+deb13-amd64"]
    others = ["5.15.0-1-amd64", "6.0.0-6-amd64", "7.4.0-amd64", "7.30.1", "8.0.1", "10.1.0"]
    admitted = [release for release in releases + others if re.search(exclusive, release)]
    assert admitted == releases
    assert all(any(release.startswith(series + ".") for release in releases) for series in SERIES)
