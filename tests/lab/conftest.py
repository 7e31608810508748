# SPDX-License-Identifier: Apache-2.0
import pytest

import outside


@pytest.fixture
def lab(request):
    """lab("function", args..., seed=N): run a function of the test's own file inside the lab."""
    def run(function, *args, **options):
        return outside.boot(function, *args, script=request.path, **options)[0]
    return run
