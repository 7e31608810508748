# SPDX-License-Identifier: Apache-2.0
"""`delaycc completion bash` in a real bash, and `delaycc man`: both follow the command's own help."""

import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")).resolve()
DELAYCC = BUILD / "delaycc"
SCENARIOS = sorted(file.stem for file in (ROOT / "harness" / "scenarios").glob("*.toml"))

pytestmark = pytest.mark.skipif(not DELAYCC.exists(), reason="build/delaycc is not built: run make")


def output_of(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True, **options).stdout


def listed(what):
    return [line.split()[0] for line in output_of(DELAYCC, "list", what).splitlines()]


def help_of(*command):
    return output_of(DELAYCC, *command, "--help")


def subcommands():
    return re.findall(r"^  ([a-z-]+) ", help_of().split("Subcommands:")[1].split("Exit codes:")[0], re.MULTILINE)


def options(*command):
    """Every spelling of every option that help shows."""
    part = help_of(*command).split("Options:")[1].split("Subcommands:")[0].split("Exit codes:")[0]
    return {name for line in re.findall(r"^  (-\S+)", part, re.MULTILINE) for name in line.split(",")}


def completions(*words, folder=None):
    """What bash offers for the last of these words of a command line, taken apart as bash does it."""
    line = shlex.join(map(str, words))
    script = (f'source {shlex.quote(str(BUILD / "delaycc.bash"))}\nCOMP_WORDS=({line})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n'
              '_delaycc\n((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"\ntrue\n')
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, cwd=folder, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture
def lab():
    if subprocess.run([DELAYCC, "list", "algorithms"], capture_output=True).returncode:
        pytest.skip("the lab is not built: run make lab")


def test_the_build_writes_what_the_command_prints():
    assert (BUILD / "delaycc.bash").read_text() == output_of(DELAYCC, "completion", "bash")
    assert (BUILD / "delaycc.1").read_text() == output_of(DELAYCC, "man")


def test_the_first_word_is_a_subcommand_or_an_option_of_the_command():
    assert completions(DELAYCC, "") == subcommands()
    assert completions(DELAYCC, "va") == ["validate"]
    assert set(completions(DELAYCC, "-")) == options()


@pytest.mark.parametrize("command", ["run", "eval", "validate", "workload", "list", "doctor", "man", "completion"])
def test_every_option_that_help_shows_is_offered_and_no_other(command):
    assert set(completions(DELAYCC, command, "-")) == options(command)


def test_scenarios_are_the_names_of_the_list_and_toml_files(tmp_path):
    assert set(SCENARIOS) <= set(completions(DELAYCC, "run", ""))
    assert set(completions(DELAYCC, "eval", "oscar-fig0")) == {name for name in SCENARIOS if name.startswith("oscar-fig0")}
    (tmp_path / "mine.toml").touch()
    (tmp_path / "mine.txt").touch()
    (tmp_path / "my folder").mkdir()
    assert completions(DELAYCC, "validate", "--set", "k=3", "m", folder=tmp_path) == ["mine.toml", "my folder"]


def test_algorithms_complete_also_behind_a_comma_and_an_equals_sign(lab):
    names = listed("algorithms")
    assert completions(DELAYCC, "run", "oscar-fig07", "--cc", "") == names
    assert completions(DELAYCC, "run", "oscar-fig07", "--cc", "cubic,osc") == ["cubic,oscar", "cubic,oscar_paper"]
    assert completions(DELAYCC, "run", "oscar-fig07", "--cc", "=", "cub") == ["cubic"]
    assert completions(DELAYCC, "run", "oscar-fig07", "--cc", "=") == names


def test_both_words_of_compare_are_algorithms_and_the_third_is_not(lab):
    assert completions(DELAYCC, "eval", "--compare", "cub") == ["cubic"]
    assert completions(DELAYCC, "eval", "--compare", "cubic", "oscar_") == ["oscar_paper"]
    assert completions(DELAYCC, "eval", "--compare", "cubic", "oscar", "fct-d") == ["fct-dumbbell"]


def test_metrics_choices_and_folders_complete(tmp_path):
    assert completions(DELAYCC, "eval", "x", "--metric", "") == listed("metrics")
    assert completions(DELAYCC, "eval", "x", "--metric", "drops,goodput") == ["drops,goodput_gbps"]
    assert completions(DELAYCC, "eval", "x", "--estimand", "") == ["mean", "pooled"]
    (tmp_path / "out").mkdir()
    (tmp_path / "old.txt").touch()
    assert completions(DELAYCC, "run", "x", "--out", "o", folder=tmp_path) == ["out"]


@pytest.mark.parametrize("value", ["--seed", "--set", "--margin"])
def test_where_nobody_knows_the_value_nothing_is_offered(value):
    assert completions(DELAYCC, "eval", "x", value, "") == []


def test_the_value_of_a_key_is_not_taken_for_a_scenario():
    assert completions(DELAYCC, "run", "--set", "k", "=") == []
    assert completions(DELAYCC, "run", "--set", "k", "=", "os") == []


def test_the_tab_key_completes_in_an_interactive_bash():
    """Bash itself takes the line apart; what it made of it comes back by `echo`, put before the line by control-a."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(PS1="", TERM="dumb", HISTFILE="", INPUTRC="/dev/null")
        os.chdir(ROOT)
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    text = ""
    try:
        os.write(terminal, f"source {BUILD}/delaycc.bash; bind 'set bell-style none'\n".encode())
        os.write(terminal, f"{DELAYCC} eva\tfct-dumb\t--estimand=poo\t--metric drops,goodput\t\001echo IS \n".encode())
        os.write(terminal, b"exit\n")
        while select.select([terminal], [], [], 60)[0]:
            try:
                text += os.read(terminal, 4096).decode()
            except OSError:  # bash has ended
                break
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    assert f"\nIS {DELAYCC} eval fct-dumbbell --estimand=pooled --metric drops,goodput_gbps\r" in text


def test_the_script_has_no_mistakes_that_shellcheck_knows():
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed (Debian: shellcheck)")
    output_of("shellcheck", "--shell=bash", BUILD / "delaycc.bash")


def page():
    """The manual page as text without the ends of lines."""
    if not shutil.which("man"):
        pytest.skip("man is not installed (Debian: man-db)")
    done = subprocess.run(["man", "--warnings=w", "-l", BUILD / "delaycc.1"], capture_output=True, text=True, check=True,
                          env={**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"})
    assert done.stderr == "", "troff's warnings"
    return done.stdout


def test_the_manual_page_formats_without_a_warning_and_has_every_section():
    text = page()
    for section in ("NAME", "SYNOPSIS", "OPTIONS", "SUBCOMMANDS", "EXIT STATUS"):
        assert re.search(f"^{section}$", text, re.MULTILINE)
    assert output_of(DELAYCC, "--version").strip() in text


def test_the_manual_page_has_every_option_with_its_range_and_choices():
    parts = re.split(r"^   (?=\S)", page(), flags=re.MULTILINE)
    by_command = {part.split()[0]: part for part in parts[1:]}
    assert list(by_command) == subcommands()
    for command, part in by_command.items():
        for name in options(command):
            assert re.search(rf"^       (-\w, )?{re.escape(name)}\b", part, re.MULTILINE), (command, name)
    assert re.search(r"--trials INT\n.*\n +Range: 1 to 100000\.", by_command["run"])
    assert "Choices: mean, pooled." in by_command["eval"]
    assert "--compare ALGORITHM ALGORITHM" in by_command["eval"]


def test_the_manual_page_has_the_exit_codes_of_help():
    wanted = [line.split(None, 1) for line in help_of().split("Exit codes:")[1].strip().splitlines()]
    status = page().split("EXIT STATUS")[1]
    for code, meaning in wanted:
        assert re.search(rf"^       {code} +{re.escape(meaning.strip())}$", status, re.MULTILINE), code


@pytest.mark.parametrize("arguments, message", [
    (["completion"], "shell is required"), (["completion", "tcsh"], "tcsh not in {bash}"), (["list", "flows"], "flows not in")])
def test_a_mistake_is_bad_input(arguments, message):
    done = subprocess.run([DELAYCC, *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr


def test_list_has_every_algorithm_with_its_modules_description(lab):
    text = output_of(DELAYCC, "list", "algorithms")
    assert re.search(r"^oscar +OSCAR congestion control$", text, re.MULTILINE)
    assert re.search(r"^patched_timely +TIMELY and patched TIMELY congestion control$", text, re.MULTILINE)
    assert re.search(r"^cubic +of the lab kernel$", text, re.MULTILINE)
