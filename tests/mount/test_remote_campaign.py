# SPDX-License-Identifier: Apache-2.0
"""Faults of servers at random: no byte is wrong, and nobody waits for ever.

CTXFS_REMOTE_FAULTS is how many there are, of all kinds together; CTXFS_REMOTE_SEED chooses
other ones than those of last time.
"""

import concurrent.futures
import errno
import os
import random
import time

import pytest

from remote import (  # noqa: F401  fixtures
    FINAL,
    NEEDS_URLS,
    PASSING,
    fixture_ctxfs,
    fixture_faults,
    fixture_mounted,
    longest_request,
    tensors,
    values,
)

FAULTS = int(os.environ.get("CTXFS_REMOTE_FAULTS", "120"))
SEED = int(os.environ.get("CTXFS_REMOTE_SEED", "30"))
SIZE = 192 << 10
COUNT = 240  # tensors of an object
READERS = 8
TIMEOUT = 2
# A request of the kernel waits no longer than the timeout and this: threads of a machine that
# does other things as well run late. One of a kind that stalls would take two minutes.
SLACK = 1
# The most requests of the kernel one after the other, by the bytes of a read: read-ahead of a
# granule, and when that fails, its repetition. The daemon gives a repetition what is left of the
# time only if it comes within a quarter of a second, which a busy machine does not promise. What
# one request may take is seen in the daemon's own figure (LONGEST).
REQUESTS = {4096: 2, SIZE: 4}

# Of all reads so far, by their bytes, and the longest request of each mount, as it says.
WAITS: dict[int, list[float]] = {4096: [], SIZE: []}
LONGEST: list[float] = []

pytestmark = NEEDS_URLS


@pytest.fixture(name="chaos")
def fixture_chaos(faults):
    print(f"CTXFS_REMOTE_SEED={SEED} CTXFS_REMOTE_FAULTS={FAULTS}")
    faults.random = random.Random(SEED)
    yield faults
    longest = {size: f"{len(waits)} reads, the longest of {max(waits, default=0):.1f} s"
               for size, waits in WAITS.items()}
    print(dict(faults.faults), longest, f"the longest request {max(LONGEST, default=0)} s")


def read_part(path, number: int, places: random.Random) -> bool:
    """Reads some of a tensor; whether there was no error. No wrong byte and no long wait."""
    at, size = places.choice(((0, SIZE), (places.randrange(SIZE - 4096), 4096)))
    start = time.monotonic()
    try:
        with open(path, "rb", buffering=0) as file:
            data = os.pread(file.fileno(), size, at)
        # A read of which the kernel has some pages only is short.
        assert data and data == values(number, SIZE)[at : at + len(data)], (number, at, size)
        return len(data) == min(size, SIZE - at)
    except OSError as error:
        assert error.errno == errno.EIO, error
        return False
    finally:
        WAITS[size].append(time.monotonic() - start)
        assert WAITS[size][-1] < REQUESTS[size] * (TIMEOUT + SLACK), (number, at, size)


def read_all(root, chance: int) -> list[bool]:
    """Reads of every tensor by several readers, in random order."""
    numbers = list(range(COUNT))
    random.Random(chance).shuffle(numbers)
    with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(
            lambda n: read_part(root / "tensors" / f"t{n}", n, random.Random(chance + n)), numbers))


def test_30_6_faults_at_random_give_no_wrong_byte(chaos, mounted):
    done: list[bool] = []
    while sum(chaos.faults.values()) < FAULTS:
        name = f"m{len(done)}.safetensors"  # which no cache knows
        chaos.objects[name] = tensors(COUNT, SIZE)
        chaos.share = 0
        root = mounted(chaos.url("chaos", name), CTXFS_REMOTE_TIMEOUT=str(TIMEOUT))
        chaos.share = 0.5
        done += read_all(root, SEED + len(done))
        # What failed is tried again at the next read. One that joins a fetch
        # which began amid the faults may still get the error of that.
        chaos.share = 0
        read_all(root, SEED + len(done))
        assert all(read_all(root, SEED + len(done)))
        LONGEST.append(longest_request(root))
        assert LONGEST[-1] < TIMEOUT + SLACK
    assert any(done) and not all(done)
    assert max(LONGEST) > TIMEOUT / 2, "no server was waited for"
    assert set(chaos.faults) == set(PASSING), "some were not tried"


def test_30_2_objects_that_change_at_random_give_no_wrong_byte(chaos, ctxfs):
    chaos.kinds = (*FINAL, *FINAL, "reset", "cut", "busy")
    body = tensors(4, 3 << 20)
    right = b"".join(values(i, 3 << 20) for i in range(4))
    runs = failed = 0
    while sum(chaos.faults[kind] for kind in FINAL) < max(10, FAULTS // 20):
        runs += 1
        name = f"c{runs}.safetensors"  # the first answer for each is right
        chaos.objects = {name: body}
        chaos.share = chaos.random.choice((0.02, 0.1, 0.3))
        done = ctxfs("cat", *[chaos.url("chaos", name) + f"//tensors/t{i}" for i in range(4)],
                     CTXFS_CACHE_DIR="/nowhere", CTXFS_REMOTE_TIMEOUT=str(TIMEOUT))
        if done.returncode == 0:
            assert done.stdout == right
            continue
        failed += 1
        assert done.returncode == 2 and b"changed on the server" in done.stderr, done.stderr
        left = done.stdout
        for number in range(4):  # each is there up to where it failed
            whole = values(number, 3 << 20)
            same = os.path.commonprefix([left, whole])
            left = left[len(same):]
        assert not left
    assert failed
