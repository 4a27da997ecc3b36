# SPDX-License-Identifier: Apache-2.0
"""The answers of tests/mount/hub: caches and local directories of huggingface_hub 2.4.

hub/README.md says what the keys of an answer mean.
"""

import errno
import hashlib
import json
import os
import pathlib

import pytest

from conftest import BIN, error_of, run

CTXFS = BIN / "ctxfs"
HUB = pathlib.Path(__file__).parent / "hub"
NAMES = sorted(path.stem for path in HUB.glob("*.json"))
TYPES = ("datasets", "spaces", "kernels")


class Case:
    """A cache or a local directory, unpacked, and its answers."""

    def __init__(self, name: str, directory: pathlib.Path):
        self.name = name
        self.answers = json.loads((HUB / f"{name}.json").read_text())
        done = run("tar", "--no-same-owner", "-C", directory, "-xf", HUB / f"{name}.tar")
        assert done.returncode == 0, done.stderr
        self.source = directory / self.answers["source"]

    def get(self, key: str):
        return self.answers.get(key, {})

    def stored(self, path: str) -> pathlib.Path:
        """The file of the cache that a mount shows at `path`, TYPE/ORG/NAME/COMMIT/FILE."""
        if self.answers["source"] == "model":
            return self.source / path
        kind = "models"
        if path.startswith(TYPES):
            kind, _, path = path.partition("/")
        organisation, name, revision, below = path.split("/", 3)
        repository = self.source / f"{kind}--{organisation}--{name}"
        if len(revision) != 40:
            revision = (repository / "refs" / revision).read_text().strip()
        return repository / "snapshots" / revision / below

    def check(self, *options, source=None) -> tuple[int, list]:
        done = run(CTXFS, "check", "--json", *options, source or self.source)
        assert not done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def case(request, tmp_path):
    return Case(request.param, tmp_path)


def cases(*keys):
    """Of the cases that have one of the keys, or of all."""
    names = [name for name in NAMES
             if not keys or {*keys} & json.loads((HUB / f"{name}.json").read_text()).keys()]
    assert names
    return pytest.mark.parametrize("case", names, indirect=True)


def facts(data: bytes) -> dict:
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def behind(path: str) -> tuple[str, str]:
    """The container, and the path in it."""
    container, found, inner = path.partition("~dir/")
    assert found
    return container, inner


@cases()
def test_41_1_a_mount_shows_every_answer(case, mount):
    point = mount(case.source).point
    for path, names in case.get("list").items():
        shown = set(os.listdir(point / path))
        if path == "" and case.answers["source"] == "hub":
            assert shown >= {*names} and "blobs" not in shown
        else:
            assert shown - {*case.get("may_list")} == {*names}, path
    for path, wanted in {**case.get("files"), **case.get("inside")}.items():
        assert facts((point / path).read_bytes()) == wanted, path
        assert os.stat(point / path).st_size == wanted["size"], path
    for path in case.get("eio"):
        assert error_of((point / path).read_bytes) == errno.EIO, path
    for path, target in case.get("links").items():
        assert os.readlink(point / path) == target
    for path in case.get("absent"):
        assert not os.path.lexists(point / path), path


@cases("inside")
def test_41_1_a_model_is_whole_by_its_path_alone(case, mount):
    points = {}
    for path, wanted in case.get("inside").items():
        container, inner = behind(path)
        if container not in points:
            points[container] = mount(case.stored(container), "flat").root
        assert facts((points[container] / inner).read_bytes()) == wanted, path
    for path in case.get("eio"):
        container, inner = behind(path)
        assert error_of((points[container] / inner).read_bytes) == errno.EIO, path


@cases("inside")
def test_41_1_commands_read_the_same(case, tmp_path):
    """cat by the path of a file alone, by that of its snapshot and by names of the cache,
    and extract of a snapshot."""
    for path, wanted in [*case.get("inside").items()][:2]:
        container, inner = behind(path)
        stored = case.stored(container)
        for name in (f"{stored}//{inner}", f"{stored.parent}//{stored.name}~dir/{inner}",
                     f"{case.source}//{path}"):
            done = run(CTXFS, "cat", name)
            assert facts(done.stdout) == wanted, (name, done.stderr)
    if case.get("unlawful"):
        return
    folders = sorted({case.stored(behind(path)[0]).parent for path in case.get("inside")})
    for number, source in enumerate(folders):
        out = tmp_path / f"out{number}"
        done = run(CTXFS, "extract", source, out)
        assert done.returncode == 0, done.stderr
        below = {case.stored(path): wanted for path, wanted in case.get("files").items()
                 if case.stored(path).is_relative_to(source)}
        assert below
        for path, wanted in below.items():
            assert facts((out / path.relative_to(source)).read_bytes()) == wanted, path


@cases("unlawful")
def test_41_1_no_bytes_come_from_outside_of_the_cache(case, mount, tmp_path):
    point = mount(case.source).point
    top = os.path.realpath(case.source)
    outside = 0
    for path in case.get("unlawful"):
        stored = os.path.realpath(case.stored(path))
        if stored.startswith(top + "/") and os.path.isfile(stored):
            continue  # as in any mirror
        outside += 1
        with pytest.raises(OSError):
            (point / path).read_bytes()
        assert run(CTXFS, "cat", f"{case.source}//{path}").returncode != 0
    assert outside
    index = next(path for path in case.get("files") if path.endswith(".index.json"))
    info = json.loads((point / f"{index}~dir" / ".ctxfs" / "info.json").read_text())
    for path in case.get("unlawful"):
        [said] = [text for text in info["warnings"] if pathlib.Path(path).name in text]
        assert "leads out" in said


def outcomes(case, answer: dict, found: tuple[int, list]) -> None:
    code, reports = found
    allowed = answer["exit"] if isinstance(answer["exit"], list) else [answer["exit"]]
    damaged = {pathlib.Path(one["source"]).name for one in reports
               if one["outcome"] == "damaged"}
    assert code in allowed, reports
    assert damaged >= {*answer.get("damaged", [])}, reports
    if code == 0:
        assert not damaged
    sources = [one["source"] for one in reports]
    assert len(sources) == len(set(sources))
    stores = (f"{case.source}/blobs/", "/.locks/", "/.no_exist/", ".incomplete", ".metadata")
    assert not [source for source in sources if any(part in source for part in stores)]


@cases("check")
def test_41_1_check_finds_what_is_damaged(case):
    outcomes(case, case.answers["check"], case.check())


@cases("digests")
def test_41_1_check_compares_the_published_digests(case):
    code, reports = case.check("--sha256=auto")
    if "sha256_auto" in case.answers:
        outcomes(case, case.answers["sha256_auto"], (code, reports))
    compared = {one["file"]: one for report in reports for one in report.get("digests", [])}
    for path, wanted in case.answers["digests"].items():
        one = compared[str(case.source / path)]
        assert one["kind"] == wanted["kind"] and one["expected"] == wanted["expected"], path
        assert (one["found"] == one["expected"]) == wanted["match"], path
        origin = case.answers.get("digest_from")
        if origin:
            assert one["from"].endswith("/" + origin)
        elif case.answers["source"] == "hub":
            assert one["from"] == "the name of its blob"


@cases("not_downloaded")
def test_41_1_files_that_were_never_downloaded_are_told(case):
    wanted = case.answers["not_downloaded"]
    code, reports = case.check()
    said = [text for report in reports for text in report["warnings"]]
    assert code == 0 and said == [f"'{path}' was never downloaded" for path in wanted]
    plain = run(CTXFS, "check", case.source)
    assert plain.returncode == 0
    assert f"note: '{wanted[0]}' was never downloaded".encode() in plain.stdout
    code, reports = case.check("--missing")
    faults = [fault for report in reports for fault in report["faults"]]
    assert code == 1 and [fault["path"] for fault in faults] == wanted
    assert all(fault["kind"] == "missing" for fault in faults)


@cases("tree_size")
def test_41_1_a_file_of_another_size_is_damaged(case):
    wanted = case.answers["tree_size"]
    for options in ([], ["--sha256=auto"]):
        _, reports = case.check(*options)
        [report] = [one for one in reports if one["source"].endswith("/" + wanted["path"])]
        reasons = [fault["reason"] for fault in report["faults"]]
        start = f"{wanted['found']} bytes, expected {wanted['expected']} as in "
        assert [text for text in reasons if text.startswith(start)], reasons


def test_41_1_a_missing_entry_of_the_store_is_named(tmp_path, mount):
    case = Case("shared_missing", tmp_path)
    reason = "its blob is not in the store of the cache"
    _, reports = case.check()
    told = {pathlib.Path(one["source"]).name: one for one in reports}
    shard = told["model-00002-of-00002.safetensors"]
    assert shard["outcome"] == "unchecked" and shard["faults"][0]["reason"] == reason
    index = told["model.safetensors.index.json"]
    assert any(reason in fault["reason"] for fault in index["faults"])
    [snapshot] = case.source.glob("models--*/snapshots/*")
    alone = run(CTXFS, "check", snapshot / "model-00002-of-00002.safetensors")
    assert alone.returncode == 2 and reason.encode() in alone.stdout
    warnings = mount(snapshot / "model.safetensors.index.json", "flat").warnings()
    assert any(reason in text for text in warnings)
    code, reports = case.check("--missing")
    faults = [(fault["path"], fault["reason"]) for report in reports
              for fault in report["faults"]]
    assert ("model-00002-of-00002.safetensors", "has no blob") in faults


def test_41_1_a_store_entry_is_examined_once_and_for_each_digest(tmp_path):
    """Two repositories share entries; a third one gives an entry another digest."""
    case = Case("shared_two_repos", tmp_path)
    _, before = case.check("--sha256=auto")
    sources = [one["source"] for one in before]
    assert len([source for source in sources if source.endswith("1-of-00002.safetensors")]) == 1
    repository = case.source / "models--third--tiny"
    blob = repository / "blobs" / ("d" * 64)
    entry = next(path for path in (case.source / "blobs").glob("??/*") if len(path.name) == 64)
    link = repository / "snapshots" / ("c" * 40) / "model.safetensors"
    for path, target in ((blob, f"../../blobs/{entry.parent.name}/{entry.name}"),
                         (link, f"../../blobs/{blob.name}")):
        path.parent.mkdir(parents=True)
        path.symlink_to(target)
    code, reports = case.check("--sha256=auto")
    [third] = [one for one in reports if one["source"] == str(link)]
    assert code == 1 and third["outcome"] == "damaged"
    assert third["digests"][0]["expected"] == blob.name
    assert len(reports) == len(before) + 1


def test_41_1_empty_files_that_say_what_is_absent_are_no_models(tmp_path):
    case = Case("leftovers", tmp_path)
    [repository] = case.source.glob("models--*")
    [commit] = (repository / "snapshots").iterdir()
    for path in (repository / ".no_exist" / commit.name / "model.safetensors",
                 repository / "refs" / "v1.gguf", case.source / ".locks" / "a.safetensors"):
        path.write_bytes(b"")
    outcomes(case, {"exit": 0}, case.check())


def test_41_1_links_of_the_store_have_one_form(tmp_path):
    """Every other text of a blob's link is refused, for that file alone."""
    case = Case("shared_sharded", tmp_path)
    [repository] = case.source.glob("models--*")
    [snapshot] = (repository / "snapshots").iterdir()
    index, shard = snapshot / "model.safetensors.index.json", snapshot / "model-00002-of-00002.safetensors"
    blob = repository / "blobs" / os.path.basename(os.readlink(shard))
    text = os.readlink(blob)
    entry = os.path.basename(text)
    (case.source / "blobs" / "loose").write_bytes((blob).read_bytes())

    def tensor(source=index):
        return run(CTXFS, "cat", f"{source}//tensors/layers.1.q_proj.weight")

    assert len(tensor().stdout) == 512
    for other in (str(case.source / text[6:]), "./" + text, f"../../blobs//{entry[:2]}/{entry}",
                  f"../../blobs/{entry[:2]}/./{entry}", f"../../blobs/{entry[:2]}/{entry}/",
                  f"../../../hub/blobs/{entry[:2]}/{entry}", "../../blobs/loose",
                  f"../../blobs/{entry[:2]}/../{entry[:2]}/{entry}"):
        blob.unlink()
        blob.symlink_to(other)
        done = tensor()
        assert done.returncode != 0 and not done.stdout, other
        assert b"leads out" in done.stderr, (other, done.stderr)
    blob.unlink()
    blob.symlink_to(text)
    # A directory on the way that is a link.
    for folder in (case.source / "blobs" / entry[:2], case.source / "blobs"):
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "moved")
        done = tensor()
        assert done.returncode != 0 and not done.stdout
        folder.unlink()
        (tmp_path / "moved").rename(folder)
    assert len(tensor().stdout) == 512
    # A folder that is no repository's.
    repository.rename(case.source / "model-acme")
    assert tensor(case.source / "model-acme" / index.relative_to(repository)).returncode != 0


def test_41_1_commands_have_the_names_of_repositories(tmp_path):
    case = Case("shared_two_repos", tmp_path)
    shard = "model-00001-of-00002.safetensors"
    info = run(CTXFS, "info", "--json", case.source)
    assert info.returncode == 0 and info.stdout.count(b"snapshots") > 0
    digest = run(CTXFS, "digest", case.source)
    assert digest.returncode == 0 and b"snapshots/" in digest.stdout
    page = tmp_path / "page.html"
    report = run(CTXFS, "report", "--paths", "-o", page, case.source)
    assert report.returncode == 0, report.stderr
    same = run(CTXFS, "diff", f"{case.source}//acme/tiny/main/{shard}",
               f"{case.source}//fork-of-acme/tiny/main/{shard}")
    assert same.returncode == 0, same.stderr
    listed = run(CTXFS, "ls", "-R", case.source)
    assert listed.returncode == 0
    for text in (info.stdout, digest.stdout, page.read_bytes(), listed.stdout):
        assert shard.encode() in text
        for entry in (case.source / "blobs").glob("??/*"):
            assert entry.name.encode() not in text


def test_41_1_a_snapshot_behind_a_link_out_is_outside(tmp_path):
    """Links of a cache count only in directories of the SOURCE."""
    case = Case("shared_sharded", tmp_path)
    [snapshot] = case.source.glob("models--*/snapshots/*")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "link").symlink_to(snapshot)
    for name in ("config.json", "model-00001-of-00002.safetensors"):
        done = run(CTXFS, "extract", f"{tmp_path}/source//link/{name}", tmp_path / "out")
        assert done.returncode != 0
        assert done.stderr.endswith(b": leads out of the SOURCE\n"), done.stderr
    assert not (tmp_path / "out").exists() or not [*(tmp_path / "out").iterdir()]


def test_41_1_the_commit_that_metadata_name_counts(tmp_path):
    """Of several lists of a local directory; without metadata, the only one."""
    case = Case("local_dir", tmp_path)
    cache = case.source / ".cache" / "huggingface"
    [tree] = (cache / "trees").iterdir()
    other = json.loads(tree.read_text())
    for entry in other["files"].values():
        entry["size"] += 1
    (cache / "trees" / ("e" * 40 + ".json")).write_text(json.dumps(other))
    assert case.check()[0] == 0
    for path in (cache / "download").glob("*.metadata"):
        commit, _, rest = path.read_text().split("\n", 2)
        path.write_text("\n".join((commit, 'W/"no digest"', rest)))
    code, reports = case.check("--sha256=auto")
    assert code == 0
    assert all(one["from"] == str(tree) for report in reports for one in report["digests"])
    for path in (cache / "download").glob("*.metadata"):
        path.write_text(path.read_text().replace(tree.stem, "e" * 40))
    assert case.check()[0] == 1


@pytest.mark.parametrize("text", [
    "", "{", "[]", "7", '{"format_version": 1}', '{"format_version": 1, "files": []}',
    '{"format_version": "1", "files": {"config.json": {"size": 1, "blob_id": "%s"}}}' % ("a" * 40),
    '{"format_version": 1, "files": {"config.json": {"size": 1}}}',
    '{"format_version": 1, "files": {"config.json": {"size": -1, "blob_id": "%s"}}}' % ("a" * 40),
    '{"format_version": 1, "files": {"config.json": {"size": 1, "blob_id": "%s"}}} x' % ("a" * 40),
    "[" * 100_000,
], ids=range(11))
def test_41_1_a_list_that_is_none_is_ignored(tmp_path, text):
    case = Case("no_links", tmp_path)
    [tree] = case.source.glob("models--*/trees/*")
    tree.write_text(text)
    code, reports = case.check()
    assert code == 0 and not [text for one in reports for text in one["warnings"]]
    code, reports = case.check("--sha256=auto")
    assert code == 2 and not [one for one in reports if "digests" in one]


def test_41_1_paths_of_a_list_are_never_opened(tmp_path):
    case = Case("no_links", tmp_path)
    (tmp_path / "secret").write_text("secret")
    [tree] = case.source.glob("models--*/trees/*")
    listed = json.loads(tree.read_text())
    hostile = ["../../../../secret", str(tmp_path / "secret"), "", ".", "..", "a/../config.json", "a\0b"]
    for path in hostile:
        listed["files"][path] = {"size": 1, "blob_id": "a" * 40}
    tree.write_text(json.dumps(listed))
    code, reports = case.check("--sha256=auto")
    assert code == 0
    said = [text for one in reports for text in one["warnings"]]
    assert len(said) == len(hostile)
    assert all(text.endswith("was never downloaded") for text in said)
