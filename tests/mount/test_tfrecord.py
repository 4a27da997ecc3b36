# SPDX-License-Identifier: Apache-2.0
"""TFRecord files in mounts, beside what golden/tfrecord.json says of each."""

import hashlib
import json
import os
import shutil
import struct

from conftest import BIN, GOLDEN, run
from remote import GRANULE, NEEDS_URLS, fixture_ctxfs, fixture_web  # noqa: F401  fixtures
from shard import crc32c

FOLDER = GOLDEN / "tfrecord"
CTXFS = BIN / "ctxfs"


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def test_45_2_a_mirror_shows_the_file_and_its_directory_unlisted(mount):
    source = FOLDER / "mirror"
    answer = json.loads((FOLDER / "mirror_train-00000-of-00001.json").read_text())
    root = mount(source).point
    for path, wanted in answer["files"].items():
        data = (root / path).read_bytes()
        assert data == wanted.get("text", "").encode() or (
            hashlib.sha256(data).hexdigest() == wanted["sha256"] and len(data) == wanted["size"])
    for folder, names in answer["dirs"].items():
        assert sorted(os.listdir(root / folder)) == sorted(names), folder


def test_45_2_a_record_file_is_of_its_records(mount, tmp_path):
    (tmp_path / "x.tfrecord").write_bytes(b"".join(record(b"%d" % i) for i in range(5000)))
    root = mount(tmp_path / "x.tfrecord").root
    names = os.listdir(root / "records")
    assert names == [f"{i:06d}" for i in range(5000)]
    usage = os.statvfs(root)
    assert usage.f_files == 5000 and usage.f_blocks * usage.f_frsize >= 18890
    assert (root / "records" / "004999").read_bytes() == b"4999"
    index = json.loads((root / ".ctxfs" / "index.json").read_text())
    assert [one["path"] for one in index] == [f"records/{name}" for name in names]
    assert index[7]["checksum"] == f"crc32c:{crc32c(b'7'):08x}"
    done = run(CTXFS, "check", tmp_path / "x.tfrecord")
    assert b"5000 files" in done.stdout and b"clean" in done.stdout, done
    done = run(CTXFS, "digest", tmp_path / "x.tfrecord")
    assert done.stdout.count(b"records/") == 5000, done


def test_45_2_damage_is_of_its_record_and_noted(mount):
    root = mount(FOLDER / "flip_data.tfrecord").root
    done = run("cat", root / "records" / "000001")
    assert done.returncode == 1 and b"Input/output error" in done.stderr
    assert os.getxattr(root / "records/000001", "user.ctxfs.verified") == b"failed"
    faults = json.loads((root / ".ctxfs/faults.json").read_text())
    assert [one["path"] for one in faults] == ["records/000001"]
    assert os.listdir(root / "views/samples/000001") == []


def test_45_2_info_and_report_say_what_the_samples_are(tmp_path):
    done = run(CTXFS, "info", FOLDER / "images.tfrecord")
    for text in (b"Example", b"feature.image/encoded", b"bytes [1]"):
        assert text in done.stdout, done
    (tmp_path / "dataset_info.json").write_text(json.dumps(
        {"name": "cats", "version": "1.2.0", "splits": [
            {"name": "test", "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"},
            {"name": "train"}]}))
    file = tmp_path / "cats-train.tfrecord-00000-of-00001"
    file.write_bytes((FOLDER / "images.tfrecord").read_bytes())
    done = run(CTXFS, "info", file)
    for text in (b"cats", b"1.2.0", b"train"):
        assert text in done.stdout, done
    done = run(CTXFS, "report", FOLDER / "images.tfrecord", "-o", tmp_path / "r.html")
    assert done.returncode == 0, done
    assert b"robot caption seven" in (tmp_path / "r.html").read_bytes()


@NEEDS_URLS
def test_45_2_a_url_is_read_by_ranges(web, ctxfs):
    shutil.copy(FOLDER / "images.tfrecord", web.www)
    for path in ("records/000001", "views/samples.jsonl",
                 "views/samples/000002/image/encoded.jpg"):
        local = run(CTXFS, "cat", f"{FOLDER / 'images.tfrecord'}//{path}")
        remote = ctxfs("cat", web.url(f"images.tfrecord//{path}"))
        assert remote.returncode == 0, remote.stderr
        assert remote.stdout == local.stdout and local.stdout, path
    assert b"clean" in ctxfs("check", web.url("images.tfrecord")).stdout
    # Opening reads the headers of large records, and the first record.
    (web.www / "large.tfrecord").write_bytes(b"".join(
        record(bytes([i]) * (4 << 20)) for i in range(4)))
    web.forget()
    names = ctxfs("ls", web.url("large.tfrecord//records")).stdout.split()
    assert names == [b"000000", b"000001", b"000002", b"000003"]
    assert web.moved() <= (4 << 20) + 6 * GRANULE
