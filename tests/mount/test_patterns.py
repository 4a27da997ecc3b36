# SPDX-License-Identifier: Apache-2.0
"""Patterns in the PATH of SOURCE//PATH, and what a PATH was meant to be."""

import json
import os
import shutil
import signal
import subprocess
import time
import zipfile

import pytest

from conftest import BIN, GOLDEN, run
from shard import build, entry

CTXFS = BIN / "ctxfs"
LLAMA = GOLDEN / "safetensors" / "llama.safetensors"


def lines(*arguments, **options) -> list[str]:
    done = run(CTXFS, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


@pytest.fixture(name="models")
def _models(tmp_path):
    """A directory of containers and other files, in no order."""
    top = tmp_path / "models"
    for name in ("b/two.gguf", "a/one.gguf", "a/other.safetensors", "a/.hidden.gguf"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(LLAMA if name.endswith("safetensors") else GOLDEN / "gguf/plain.gguf", path)
    (top / "a" / "notes.txt").write_text("text")
    return top


@pytest.fixture(name="odd")
def _odd(tmp_path):
    """A container with names that look like patterns."""
    path = tmp_path / "odd.shard"
    path.write_bytes(build([entry("layers[0]", b"literal"), entry("layers0", b"matched"),
                            entry("star*", b"star"), entry("starred", b"other")]))
    return path


# ---- What matches

def test_43_7_ls_lists_what_matches_a_pattern():
    expected = [f"tensors/{name}" for name in lines("ls", f"{LLAMA}//tensors") if "q_proj" in name]
    assert len(expected) == 2
    assert lines("ls", f"{LLAMA}//tensors/*q_proj*") == expected
    assert lines("ls", f"{LLAMA}//t*/*layers.[01]*q_pro?.weight") == expected
    listed = json.loads(run(CTXFS, "ls", "--json", f"{LLAMA}//tensors/*q_proj*").stdout)
    assert [one["path"] for one in listed] == expected


def test_43_7_a_pattern_is_of_one_name(models):
    assert lines("ls", f"{models}//*") == ["a/", "b/"]
    assert lines("ls", f"{models}//*/*.gguf") == ["a/one.gguf", "b/two.gguf"]
    assert lines("ls", f"{models}//*/.*.gguf") == ["a/.hidden.gguf"]
    assert lines("ls", "-R", f"{models}//[ab]") == [
        "a/", "a/.hidden.gguf", "a/notes.txt", "a/one.gguf", "a/other.safetensors",
        "b/", "b/two.gguf"]


def test_43_7_a_name_that_exists_is_no_pattern(odd):
    assert run(CTXFS, "cat", f"{odd}//layers[0]").stdout == b"literal"
    assert run(CTXFS, "cat", f"{odd}//star*").stdout == b"star"
    assert run(CTXFS, "cat", f"{odd}//layers?").stdout == b"matched"
    assert run(CTXFS, "cat", f"{odd}//star[a-z]*").stdout == b"other"


def test_43_7_cat_writes_all_that_matches(models):
    plain = (GOLDEN / "gguf/plain.gguf").read_bytes()
    assert run(CTXFS, "cat", f"{models}//*/*.gguf").stdout == plain * 2


def test_43_7_extract_writes_what_matches_below_the_part_without_a_pattern(models, tmp_path):
    assert run(CTXFS, "extract", f"{LLAMA}//tensors/*q_proj*", tmp_path / "q").returncode == 0
    assert sorted(os.listdir(tmp_path / "q")) == [
        f"model.layers.{i}.self_attn.q_proj.weight" for i in (0, 1)]
    done = run(CTXFS, "extract", f"{models}//?/*.gguf", tmp_path / "g")
    assert done.returncode == 0, done.stderr
    found = {str(path.relative_to(tmp_path / "g")) for path in (tmp_path / "g").rglob("*.gguf")}
    assert found == {"a/one.gguf", "b/two.gguf"}
    assert (tmp_path / "g/a/one.gguf").read_bytes() == (GOLDEN / "gguf/plain.gguf").read_bytes()


@pytest.mark.parametrize("command", ("info", "check", "digest"))
def test_43_7_commands_of_containers_take_those_that_match(command, models):
    done = run(CTXFS, command, "--json", f"{models}//*/*.gguf")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    key = "path" if command == "digest" else "source"
    tops = {one[key].removeprefix(f"{models}//")[:10] for one in found}
    assert tops == {"a/one.gguf", "b/two.gguf"}


@pytest.mark.parametrize("command", ("ls", "cat", "info"))
def test_43_7_a_pattern_that_matches_nothing_is_an_error(command, models):
    done = run(CTXFS, command, f"{models}//a/*.bin")
    assert done.returncode == 2
    assert b"a/*.bin': no name matches the pattern" in done.stderr
    target = models.parent / "out"
    assert run(CTXFS, "extract", f"{models}//a/*.bin", target).returncode == 2
    assert not target.exists()


def test_43_7_a_name_is_matched_without_control_of_the_terminal(tmp_path):
    path = tmp_path / "hostile.shard"
    path.write_bytes(build([entry("a\x1b[31m\nb", b"x")]))
    assert lines("ls", f"{path}//a*") == [r"a\x1b[31m\x0ab"]
    done = run(CTXFS, "ls", f"{path}//a\x1b[31m?c")
    assert b"\x1b" not in done.stderr and done.returncode == 2


# ---- A million names

@pytest.fixture(name="large", scope="module")
def _large(tmp_path_factory):
    """A container with 300,000 names."""
    path = tmp_path_factory.mktemp("large") / "large.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(300_000):
            archive.writestr(f"d/member{i:07}", b"")
    return path


def test_43_7_a_pattern_over_many_names_takes_no_memory_of_its_own(large):
    def peak(operand) -> tuple[int, int]:
        script = ("import resource, subprocess, sys; "
                  "out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True).stdout; "
                  "print(out.count(b'\\n'), "
                  "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = run("/usr/bin/python3", "-c", script, CTXFS, "ls", operand)
        count, kib = map(int, done.stdout.split())
        return count, kib
    listed, plain = peak(f"{large}//d")
    matched, globbed = peak(f"{large}//*/member*")
    assert listed == matched == 300_000
    assert globbed < plain + (16 << 10)


def test_43_7_a_pattern_over_many_names_is_interrupted_at_once(large):
    with subprocess.Popen([CTXFS, "ls", f"{large}//*/*[!0-9]*[!0-9]*[!0-9]x"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) in (-signal.SIGINT, 2)


# ---- What was meant

MISSPELT = (
    ("tensers", "tensors"),
    ("tensors/model.norm.wieght", "tensors/model.norm.weight"),
    ("tensors/model.nor", "tensors/model.norm.weight"),
    ("tensers/model.norm.weight", "tensors/model.norm.weight"),
)


@pytest.mark.parametrize("typed, meant", MISSPELT)
def test_43_7_a_name_that_does_not_exist_has_a_suggestion(typed, meant):
    for command in ("ls", "cat", "info", "check", "digest"):
        done = run(CTXFS, command, f"{LLAMA}//{typed}")
        assert done.returncode == 2
        assert f"no such file or directory (did you mean '{meant}'?)" in \
            (done.stdout + done.stderr).decode()


def test_43_7_a_suggestion_is_a_near_name_alone(large, tmp_path):
    done = run(CTXFS, "cat", f"{LLAMA}//nothing/like/it")
    assert done.stderr.endswith(b": no such file or directory\n")
    done = run(CTXFS, "extract", f"{LLAMA}//tensers", tmp_path / "out")
    assert b"did you mean 'tensors'?" in done.stderr and not (tmp_path / "out").exists()
    done = run(CTXFS, "diff", f"{LLAMA}//tensers", LLAMA)
    assert b"did you mean 'tensors'?" in done.stderr
    for command in ("ls", "cat"):
        assert b"did you mean 'views'?" in run(CTXFS, command, f"{LLAMA}//view").stderr
    # Of many names, the first ones are looked at.
    done = run(CTXFS, "cat", f"{large}//d/mmeber0000007")
    assert b"did you mean 'd/member0000007'?" in done.stderr
    done = run(CTXFS, "cat", f"{large}//d/mmeber0299999")
    assert b"did you mean 'd/member0" in done.stderr


def test_43_7_a_source_that_does_not_exist_has_a_suggestion(models):
    done = run(CTXFS, "ls", models / "a" / "one.guff")
    assert done.returncode == 2
    assert f"no such file or directory (did you mean '{models}/a/one.gguf'?)" in done.stderr.decode()
