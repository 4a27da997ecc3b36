# SPDX-License-Identifier: Apache-2.0
"""Threads, processes, signals, and what is used after it was closed."""

import concurrent.futures
import gc
import multiprocessing
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
import zipfile
import zlib

import numpy as np
import pytest

import ctxfs

PATH = "action/ctrl"
NAME = "signal/mat_i16"


def write_zip_of_zeros(path, megabytes: int) -> None:
    """Its only member takes long to decode. Each MiB of it is deflated alike."""
    chunk, crc, size = bytes(1 << 20), 0, megabytes << 20
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    each = deflate.compress(chunk) + deflate.flush(zlib.Z_FULL_FLUSH)
    for _ in range(megabytes):
        crc = zlib.crc32(chunk, crc)
    data = each * megabytes + zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    name = b"zeros.bin"
    fields = (struct.pack("<HHHHH", 20, 0, zipfile.ZIP_DEFLATED, 0, 0x21)
              + struct.pack("<IIIHH", crc, len(data), size, len(name), 0))
    local = b"PK\x03\x04" + fields + name
    central = b"PK\x01\x02" + struct.pack("<H", 20) + fields + bytes(14) + name
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central),
                                      len(local) + len(data), 0)
    path.write_bytes(local + data + central + end)


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A container with a file of 1 GiB, which is decoded at each read: the cache is smaller."""
    path = tmp_path_factory.mktemp("slow") / "slow.zip"
    write_zip_of_zeros(path, 1024)
    return path


def test_threads_share_a_container(episode):
    with ctxfs.open(episode) as c:
        expected = {name: c.arrays[name] for name in c.arrays}

        def read_all(_) -> bool:
            arrays = c.arrays
            return all(np.array_equal(arrays[name].view(np.uint8), expected[name].view(np.uint8))
                       and c[PATH].read() == expected[PATH].tobytes() for name in expected)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert all(pool.map(read_all, range(64)))


def test_other_threads_run_while_one_reads(slow):
    """The GIL is released: a thread counts while the other decodes."""
    counted, done = 0, threading.Event()
    with ctxfs.open(slow) as c:
        entry = c["zeros.bin"]

        def read():
            entry.pread(1, entry.size - 1)
            done.set()

        reader = threading.Thread(target=read)
        reader.start()
        while not done.is_set():
            counted += 1
            time.sleep(0.001)
        reader.join()
    assert counted > 10


def test_nothing_is_used_after_a_close(episode):
    c = ctxfs.open(episode)
    entry, arrays, array = c[PATH], c.arrays, c.arrays[NAME]
    lazy = arrays.lazy[NAME]
    assert lazy[0].shape == (2, 3)
    unread = arrays.lazy[PATH]
    c.close()
    c.close()
    assert c.closed and "closed" in repr(c) and array.sum() is not None
    for use in (entry.read, entry.verify, lambda: entry.dtype, lambda: entry.size, lambda: lazy[0],
                lambda: unread[0], lambda: arrays[NAME], lambda: c[PATH], lambda: list(c),
                lambda: c.arrays, lambda: c.info, c.check, lambda: c.stat(""), c.__enter__,
                lambda: pickle.dumps(c)):
        with pytest.raises(ValueError):
            use()
    entry.close()


def test_a_container_may_be_closed_while_others_read(episode):
    for _ in range(20):
        c = ctxfs.open(episode)
        started = threading.Barrier(5)

        def read() -> str:
            started.wait()
            try:
                while True:
                    arrays = c.arrays
                    assert arrays[NAME].shape == (8, 2, 3) and c[PATH].size == 64
            except ValueError as error:
                return str(error)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(read) for _ in range(4)]
            started.wait()
            c.close()
            assert {reader.result() for reader in readers} == {"the container is closed"}


def test_closing_ends_a_long_read(slow):
    c = ctxfs.open(slow)
    entry = c["zeros.bin"]
    failed = []

    def read():
        started.set()
        try:
            while True:
                entry.pread(1, entry.size - 1)
        except ValueError as error:
            failed.append(str(error))

    started = threading.Event()
    reader = threading.Thread(target=read)
    reader.start()
    started.wait()
    time.sleep(0.05)
    c.close()
    reader.join()
    assert failed == ["the container is closed"]


def test_objects_keep_what_they_need(episode):
    arrays = ctxfs.open(episode).arrays
    entry = ctxfs.open(episode)[PATH]
    lazy = ctxfs.open(episode).arrays.lazy[NAME]
    gc.collect()
    assert arrays[NAME].shape == (8, 2, 3) and len(entry.read()) == 64 and lazy[0].shape == (2, 3)


def test_descriptors_are_closed(episode):
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    for _ in range(50):
        c = ctxfs.open(episode)
        entry = c[PATH]
        c.close()
        assert descriptors() == before and entry is not None
    c = ctxfs.open(episode)
    entry = c[PATH]
    del c, entry
    gc.collect()
    assert descriptors() == before


def read_in_child(c, entry, lazy, queue) -> None:
    queue.put((entry.tell(), entry.read(), lazy[1].tolist(), c.arrays[NAME].tolist(), c.source))


@pytest.mark.parametrize("method", ("fork", "spawn"))
def test_processes_open_it_anew(method, episode):
    context = multiprocessing.get_context(method)
    with ctxfs.open(episode) as c:
        entry, lazy, queue = c[PATH], c.arrays.lazy[NAME], context.Queue()
        entry.seek(8)
        child = context.Process(target=read_in_child, args=(c, entry, lazy, queue))
        child.start()
        told = queue.get(timeout=60)
        child.join()
        whole = c.arrays[NAME]
        assert told == (8, entry.read(), whole[1].tolist(), whole.tolist(), str(episode))
    assert child.exitcode == 0


def test_a_fork_while_threads_read_is_safe(episode):
    """The child has none of the threads that may hold locks of the library."""
    c = ctxfs.open(episode, cache_bytes=1)
    stop = threading.Event()

    def read():
        while not stop.is_set():
            c.arrays[NAME]

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                os._exit(0 if c.arrays[NAME].shape == (8, 2, 3) and len(c[PATH].read()) == 64
                         else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for reader in readers:
            reader.join()
        c.close()


def test_handles_are_pickled_as_their_places(episode):
    with ctxfs.open(episode, salvage=True, cache_bytes=1 << 20) as c:
        entry = c[PATH]
        entry.seek(60)
        again, lazy, arrays = pickle.loads(pickle.dumps((entry, c.arrays.lazy[NAME], c.arrays)))
        assert again.tell() == 60 and again.read() == entry.read()
        np.testing.assert_array_equal(lazy[...], c.arrays[NAME])
        assert list(arrays) == list(c.arrays)
        assert pickle.loads(pickle.dumps(c))._options == c._options


# Prints once it reads; leaves by KeyboardInterrupt.
INTERRUPTED = """
import sys, time
import ctxfs
entry = ctxfs.open(sys.argv[1])["zeros.bin"]
print("reading", flush=True)
try:
    while True:  # the file is decoded each time: it is larger than the cache
        entry.verify()
        entry.pread(1, entry.size - 1)
except KeyboardInterrupt:
    print("interrupted", entry.pread(1, 0) == bytes(1), flush=True)
"""


def test_a_long_read_can_be_interrupted(slow):
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED, slow], stdout=subprocess.PIPE,
                          text=True) as child:
        assert child.stdout.readline() == "reading\n"
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        try:
            assert child.stdout.readline() == "interrupted True\n"
            assert child.wait(60) == 0
        finally:
            child.kill()


# Prints how much of the time of a whole decode passes until one that is interrupted after a tenth
# of it returns: the best of three.
RETURNS_SOON = """
import signal, sys, time
import ctxfs
def decode(after=0):
    entry = ctxfs.open(sys.argv[1])["zeros.bin"]
    size = entry.size
    signal.setitimer(signal.ITIMER_REAL, after)
    began = time.perf_counter()
    try:
        entry.pread(1, size - 1)
    except KeyboardInterrupt:
        pass
    return time.perf_counter() - began
whole = decode()
signal.signal(signal.SIGALRM, signal.default_int_handler)
print(min(decode(whole / 10) for _ in range(3)) / whole)
"""


def test_an_interrupt_does_not_wait_for_the_end(slow):
    done = subprocess.run([sys.executable, "-c", RETURNS_SOON, slow], capture_output=True,
                          check=True)
    assert 0.05 < float(done.stdout) < 0.5


HANDLER = """
import signal, sys
import ctxfs
c = ctxfs.open(sys.argv[1])
seen = []
def handler(*_):
    try:
        c["zeros.bin"]
    except RuntimeError as error:
        seen.append(str(error))
    else:
        seen.append("between calls")
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
entry = c["zeros.bin"]
while not any("signal handler" in text for text in seen):
    entry.pread(1, entry.size - 1)
signal.setitimer(signal.ITIMER_REAL, 0)
print(entry.pread(1, entry.size - 1) == bytes(1))
"""


def test_a_signal_handler_does_not_wait_for_the_read_it_interrupts(slow):
    done = subprocess.run([sys.executable, "-c", HANDLER, slow], capture_output=True, timeout=120)
    assert done.stdout == b"True\n", done.stderr
