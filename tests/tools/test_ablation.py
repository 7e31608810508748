# SPDX-License-Identifier: Apache-2.0
"""harness/tools/ablation.py: its definitions follow the code; what it counts, compares and shows."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness" / "tools"))
import ablation  # noqa: E402

SOURCES = ablation.Sources()
RULES = [(subject, name) for subject in ablation.SUBJECTS for name in ablation.definitions(subject).MECHANISMS]


def test_there_are_these_subjects():
    assert ablation.SUBJECTS == ["ccc", "oscar", "path", "prioplus", "sqcc", "swift"]


@pytest.mark.parametrize("subject, name", RULES)
def test_an_edit_s_text_stands_once_in_its_file(subject, name):
    _, edits, owns, _ = ablation.definitions(subject).MECHANISMS[name]
    assert edits
    for file, old, new in edits:
        assert (ablation.CORE / file).read_text(encoding="utf-8").count(old) == 1, f"{file}: {old}"
        assert old != new
    for file, text in ablation.edited(name, edits).items():
        assert text != (ablation.CORE / file).read_text(encoding="utf-8")
    assert sum(SOURCES.count(edits, owns)) > 0


@pytest.mark.parametrize("subject", ablation.SUBJECTS)
def test_cases_have_scenarios_and_figures(subject):
    made = ablation.definitions(subject)
    for case, (scenario, settings, sweep, trials, *algorithms) in made.CASES.items():
        assert (ROOT / "harness" / "scenarios" / f"{scenario}.toml").exists(), case
        assert made.METRICS[scenario]
        assert trials >= 2
    for name, (_, _, _, cases) in made.MECHANISMS.items():
        assert set(cases) <= set(made.CASES), name
    for module in made.MODULES:
        assert module.startswith("delaycc") or (ROOT / "kernel" / f"{module}.c").exists()


def test_each_rule_of_the_path_model_has_the_guards():
    for name, (_, _, _, cases) in ablation.definitions("path").MECHANISMS.items():
        assert cases[-2:] == ["path/clean", "path/together"], name
        assert 3 <= len(cases) <= 5


@pytest.mark.parametrize("subject, entry, fits", [
    ("oscar", "delaycc.ko", True), ("oscar", "tcp_oscar.ko", True), ("oscar", "tcp_ccc.ko", True), ("path", "delaycc.ko", True),
    ("path", "tcp_oscar.ko", True), ("path", "tcp_timely.ko", False), ("path", "linux", True)])
def test_a_rule_s_lab_has_what_fits_its_path_model(subject, entry, fits):
    assert ablation.fits(entry, ablation.definitions(subject)) is fits


CODE = """/* A comment with DCC_OWN. */
#define DCC_OWN 3U
#define DCC_SHARED 4U

static inline int dcc_alone(int a)
{
\t/* Two lines
\t * of comment. */
\treturn a +
\t       DCC_OWN;
}

static inline int dcc_shared(int a)
{
\treturn a + DCC_SHARED; /* code before it */
}

static inline int dcc_law(int a)
{
\tif (a > 1 && a < 5) {
\t\ta = dcc_alone(a);
\t\ta = dcc_shared(a);
\t}
\tif (a > 2 || dcc_shared(a) ||
\t    a > DCC_SHARED)
\t\treturn 0;
\ta -= 1;
\treturn a;
}
"""


@pytest.fixture(name="sources")
def a_core(tmp_path):
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "law.h").write_text(CODE, encoding="utf-8")
    return ablation.Sources(tmp_path)


@pytest.mark.parametrize("old, owns, counted", [
    ("\ta -= 1;", [], (1, 0)),
    # The statement, and what nothing else uses: dcc_alone() and its constant.
    ("if (a > 1 && a < 5) {", [], (4 + 5, 1)),
    ("if (a > 2 ||", [], (3, 0)),
    # A part of a condition: its line alone.
    ("a > DCC_SHARED", [], (1, 0)),
    ("#define DCC_SHARED 4U", [], (0, 1)),
    ("\ta -= 1;", ["dcc_shared"], (4, 0)),
    ("\ta -= 1;", ["dcc_shared", "DCC_SHARED"], (4, 1)),
    ("\ta -= 1;", [("some/law.h", "if (a > 2", "return 0;")], (3, 0)),
])
def test_lines_and_constants_are_counted(sources, old, owns, counted):
    assert sources.count([("some/law.h", old, "")], owns) == counted


def test_a_name_that_is_gone_is_said(sources):
    with pytest.raises(KeyError, match="no function, struct or constant dcc_gone"):
        sources.count([], ["dcc_gone"])


def test_text_that_is_gone_or_stands_twice_ends_it(tmp_path):
    (tmp_path / "law.h").write_text(CODE, encoding="utf-8")
    assert "a -= 2;" in ablation.edited("some", [("law.h", "a -= 1;", "a -= 2;")], tmp_path)["law.h"]
    for old, times in (("a -= 3;", 0), ("dcc_shared(a)", 2)):
        with pytest.raises(SystemExit, match=f"some: kernel/core/law.h has not once, but {times} times"):
            ablation.edited("some", [("law.h", old, "")], tmp_path)


def key(metric, algorithm="oscar", case="held-out/some"):
    return (case, "", algorithm, metric)


def test_what_is_beyond_its_interval_is_found():
    default = {key("utilisation"): {0: 0.90, 1: 0.92, 2: 0.94}, key("jain"): {0: 0.9, 1: 0.9, 2: 0.9}, key("recover_us"): {0: 10, 1: 20, 2: 30}}
    values = {key("utilisation"): {0: 0.80, 1: 0.83, 2: 0.83}, key("jain"): {0: 0.9, 1: 0.9, 2: 0.9}, key("recover_us"): {0: 15, 1: 15, 2: 33}}
    found, compared, moved = ablation.compare(default, values, 0.01)
    assert (compared, moved) == (3, 2)
    # Differences -.10, -.09, -.11: mean -.10, deviation .01, and so .01 * 4.303 / sqrt(3); t = 17.3 has a chance of .0033, below .05 / 2.
    (figure, with_it, without, mean, half, sure), = found
    assert figure == key("utilisation") and sure
    assert (with_it, without, mean, half) == pytest.approx((0.92, 0.82, -0.10, 0.0248), abs=1e-4)
    assert not ablation.compare(default, values, 0.2)[0]


def test_trials_that_one_side_has_not_do_not_count():
    default = {key("jain"): {0: 0.9, 1: 0.9, 2: 0.9}}
    assert ablation.compare(default, {key("jain"): {1: 0.5}}, 0) == ([], 0, 0)
    # One that is the same to the digit was compared, and not run on.
    assert ablation.compare(default, {key("jain"): {1: 0.9}}, 0) == ([], 1, 0)
    found, compared, _ = ablation.compare(default, {key("jain"): {1: 0.5, 2: 0.5, 3: 0}}, 0)
    assert compared == 1 and found[0][1:] == pytest.approx((0.9, 0.5, -0.4, 0, True))


@pytest.mark.parametrize("values, least, most", [([1, 2, 3], 0.073, 0.075), ([0, 0, 0], 1, 1), ([2, 2, 2], 0, 0), ([1, -1], 1, 1),
                                                 ([9, 10, 11, 10], 1.4e-4, 1.6e-4)])
def test_chances_are_student_s(values, least, most):
    assert least <= ablation.chance(values) <= most + 1e-9


def test_among_many_figures_some_are_beyond_their_interval_by_chance():
    assert ablation.holm([0.04]) == 0.04
    assert ablation.holm([0.04, 0.5, 0.9]) == -1
    assert ablation.holm([0.5, 0.01, 0.024]) == 0.024


def test_a_row_is_a_figure_and_the_surest_come_first():
    found = [(key("queue_mean_bytes"), 100_000, 250_000, 150_000, 9000, False), (key("utilisation"), 0.9, 0.8, -0.1, 0.01, True),
             (key("recover_us", "swift"), 10, 11, 1, 0.5, False)]
    made = ablation.rows("rule", (3, 1), (found, 20, 8), 2, {"held-out/some": {"ccc": (1, 4)}})
    assert made == [
        ["rule", "3", "1", "some ccc: trials that failed", "", "1 of 4", ""],
        ["", "", "", "some oscar: utilisation", "0.900", "0.800", "-0.100 ± 0.010*"],
        ["", "", "", "some oscar: queue_mean_bytes", "100", "250 KB", "+150 ± 9.000"],
        ["", "", "", "and 1 more of 20", "", "", ""]]
    # Another algorithm's same figure comes behind other figures.
    found[1:2] = [(key("utilisation", name), 0.9, 0.9 - by, -by, 0.01, True) for name, by in (("swift", 0.2), ("oscar", 0.3))]
    made = ablation.rows("rule", (3, 1), (found, 20, 8), 4)
    assert [row[3] for row in made] == [
        "some oscar: utilisation", "some oscar: queue_mean_bytes", "some swift: recover_us", "some swift: utilisation"]
    assert ablation.rows("rule", (3, 1), ([], 20, 8), 2) == [["rule", "3", "1", "none of 20 (8 differ in some trial)", "", "", ""]]


def test_the_rows_of_other_rules_stay_and_have_the_order_of_the_definitions():
    def table(*rows):
        return ablation.page.table(ablation.HEAD, [[*row, *[""] * (len(ablation.HEAD) - 2)] for row in rows])

    shown = table(("b", "old"), ("", "second row"), ("c", "stays"), ("", "its second"), ("x+y", "stays"))
    assert ablation.merge(table(("b", "new"), ("a", "new")), shown, ["a", "b", "c"]) == \
        table(("a", "new"), ("b", "new"), ("c", "stays"), ("", "its second"), ("x+y", "stays"))


def test_an_algorithm_that_a_rule_does_not_change_is_run_no_further(monkeypatch):
    asked = []

    def ran(_folder, _case, _subject, _options, algorithms, trials):
        asked.append((list(algorithms), trials))
        return {("", name, "jain"): {trial: 0.5 if name == "ccc" else 0.9 for trial in range(trials)} for name in algorithms}

    monkeypatch.setattr(ablation, "run", ran)
    subject = type("Subject", (), {"CASES": {"held-out/some": ("held-out/some", [], False, 3)}, "ALGORITHMS": ["oscar", "ccc"]})
    options = type("Options", (), {"trials": None, "times": 2})
    default = {key("jain", name): dict.fromkeys(range(6), 0.9) for name in ("oscar", "ccc")}
    values = ablation.measure(None, "held-out/some", subject, options, default)
    assert asked == [(["oscar", "ccc"], 1), (["ccc"], 6)]
    assert len(values[key("jain", "ccc")]) == 6 and len(values[key("jain", "oscar")]) == 1


def test_an_algorithm_whose_first_trial_failed_is_run_on():
    default = {key("jain"): {0: 0.9}, key("utilisation"): {0: 0.9}}
    same = {key("jain")[1:]: {0: 0.9}, key("utilisation")[1:]: {0: 0.9}}
    assert ablation.unmoved(same, default, "held-out/some", "oscar")
    assert not ablation.unmoved({}, default, "held-out/some", "oscar")
    assert not ablation.unmoved({key("jain")[1:]: {0: 0.9}}, default, "held-out/some", "oscar")


def test_a_run_goes_on_where_trials_failed_and_notes_them(monkeypatch, tmp_path):
    subject = type("Subject", (), {"CASES": {"held-out/some": ("held-out/some", [], False, 4)}, "METRICS": {"held-out/some": ["jain"]}})
    options = type("Options", (), {"until": float("inf"), "case": None, "seed": "1"})
    said = ["failed twice: ccc trial 2: the runner failed: ...", "it is not"]

    def ended(command, **_):
        (tmp_path / "held-out-some").mkdir(exist_ok=True)
        ablation.sqlite3.connect(tmp_path / "held-out-some" / "results.sqlite").executescript(
            "create table if not exists trials (id, parameters, algorithm, number, seed); create table if not exists metrics (trial, name, value);")
        return ablation.subprocess.CompletedProcess(command, 1, said[0])

    monkeypatch.setattr(ablation.subprocess, "run", ended)
    ablation.run(tmp_path, "held-out/some", subject, options, ["oscar", "ccc"], 4)
    assert ablation.failures(tmp_path) == {"held-out/some": {"ccc": [1, 4]}}
    del said[0]
    with pytest.raises(SystemExit, match="exit code 1\nit is not"):
        ablation.run(tmp_path, "held-out/some", subject, options, ["ccc"], 4)


def test_rules_go_together():
    what, edits, owns, cases = ablation.together("noise-cap+noise-turn", ablation.definitions("path"))
    assert what == "together" and len(edits) == 2 and not owns
    assert cases == [f"path/{name}" for name in ("receiver", "clean", "together", "gamma", "two-values")]
    with pytest.raises(SystemExit, match='no rule "none"'):
        ablation.together("none", ablation.definitions("path"))


def test_the_page_has_each_subject_s_place():
    for subject in ablation.SUBJECTS:
        assert ablation.page.Page(ablation.PAGE).get(subject, ablation.MAKER)
