# SPDX-License-Identifier: Apache-2.0
"""The page says which line rate and base RTT were in force, who set them, and what --set said."""

import copy

import pytest

import synthetic

pytestmark = pytest.mark.ci


def test_the_page_shows_settings_in_force_and_what_was_set(render, browser):
    data = copy.deepcopy(synthetic.microburst(("oscar", "cubic")))
    both = [{"name": "base_rtt_ns", "source": "automatic", "hosts": 2},
            {"name": "line_rate_mbps", "source": "bench", "hosts": 2, "value": "40000 to 100000"}]
    data["settings"] = {"oscar": both, "cubic": [both[0], {**both[1], "source": "scenario", "value": "10000"}]}
    data["set"] = {"measure.duration_us": "500", **{name: "1" for name in data["parameters"]}}
    browser.open(render(data, "settings"))
    rows = browser.js("return [...document.querySelectorAll('#parameters-list div')].map("
                      "(d) => [d.querySelector('dt').textContent, d.querySelector('dd').textContent])")
    shown = rows[len(data["parameters"]):]
    assert shown == [["--set measure.duration_us", "500"],
                     ["base_rtt_ns (cubic, oscar)", "automatic"],
                     ["line_rate_mbps (cubic)", "10000, from the scenario"],
                     ["line_rate_mbps (oscar)", "40000 to 100000, from the bench"]]
