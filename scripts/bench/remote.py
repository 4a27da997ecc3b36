# SPDX-License-Identifier: Apache-2.0
"""Measures containers on a web server: nginx on the loopback, near and 20 ms away.

    scripts/bench.py remote [--build DIR] [--scratch DIR] [--rounds N] [--mib N] [--only NAME]

What is moved is counted from nginx's log. Speeds are ratios of medians in one run, with
cold caches of ctxfs and rclone, the server's files in the page cache. Needs nginx, curl
and rclone (scripts/install.sh test peers). The 20 ms are a proxy that all programs share.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from . import lib
from .results import RUN

sys.path.append(str(lib.ROOT / "tests" / "support"))

import large_files  # noqa: E402
from fault_server import FaultServer  # noqa: E402
from slow_link import slow_link  # noqa: E402

MIB = 1 << 20
TENSOR = 16 * MIB
HUGE_TENSORS = 256  # 4 GiB
READS = 200
READERS = 32
ROUND_TRIP = 0.02
STREAMS = 8  # of curl
BEST = "of the better of curl with 8 ranges and rclone cat"
PER_BYTE = "bytes moved per byte"
KEYS, PAGE = 20_000, 1000  # of a bucket

CONFIG = """
daemon off;
worker_processes 2;
{user}
pid {top}/pid;
error_log {top}/error.log;
events {{ }}
http {{
  sendfile on;
  autoindex on;
  log_format plain '$status $body_bytes_sent "$http_range" $uri';
  access_log {top}/access.log plain;
  client_body_temp_path {top}/t1; proxy_temp_path {top}/t2; fastcgi_temp_path {top}/t3;
  uwsgi_temp_path {top}/t4; scgi_temp_path {top}/t5;
  keepalive_requests 1000000;
  map $args $page {{ ~continuation-token=(?<token>[0-9]+) $token; default 0; }}
  server {{
    listen 127.0.0.1:{port} backlog=512;
    root {top}/www;
    location = /bucket {{ rewrite ^ /pages/$page break; }}
  }}
}}
"""


class Server:
    """An nginx, and what it sent."""

    def __init__(self, top: pathlib.Path):
        self.top = top
        self.www = top / "www"
        self.www.mkdir(parents=True, exist_ok=True)
        self.port = 18765

    @contextlib.contextmanager
    def running(self) -> Iterator["Server"]:
        user = "user root;" if os.geteuid() == 0 else ""
        config = self.top / "nginx.conf"
        config.write_text(CONFIG.format(top=self.top, port=self.port, user=user))
        server = subprocess.Popen(["/usr/sbin/nginx", "-c", config, "-p", self.top],
                                  stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            yield self
        finally:
            server.terminate()
            server.wait()

    def forget(self) -> None:
        (self.top / "access.log").write_text("")

    def requests(self) -> int:
        return len((self.top / "access.log").read_text().splitlines())

    def moved(self) -> int:
        lines = (self.top / "access.log").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines)


def make_model(path: pathlib.Path, count: int, size: int, *, full: bool) -> None:
    """A safetensors file; not `full`: its values are zeros that take no room."""
    if path.exists():
        return
    head = {f"t{i}": {"dtype": "U8", "shape": [size], "data_offsets": [i * size, (i + 1) * size]}
            for i in range(count)}
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        if full:
            for i in range(count):
                file.write(random.Random(i).randbytes(size))
        else:
            file.truncate(file.tell() + count * size)


@dataclasses.dataclass
class Bench:
    """The programs, on a server that is near or far."""

    place: str
    build: pathlib.Path
    scratch: pathlib.Path
    server: Server
    port: int
    rounds: int
    mib: int
    colds: int = 0  # cold caches so far

    def add(self, row: str, values: list[float], unit: str, aim: float | None = None) -> None:
        RUN.add(f"{self.place}: {row}", values, unit, aim)

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def environment(self, cache: str = "") -> dict[str, str]:
        """With an empty cache, or the one of this name as it was left."""
        # A new one each time: ext4 looks for room more slowly after many files are removed.
        self.colds += not cache
        directory = self.scratch / "caches" / (cache or f"cold{self.colds}-{self.port}")
        return os.environ | {"CTXFS_CACHE_DIR": str(directory)}

    def make_room(self) -> None:
        """Writes a file as large as four models, and removes it and cold caches.

        The host gives a virtual machine a page of memory when the page is first used, which is
        slow. Afterwards the machine has these pages, so what is measured next does not wait for
        the host. With caches that are kept, each round would use pages that are new."""
        room = self.scratch / "room"
        with open(room, "wb") as file:
            for _ in range(self.mib * 4):
                file.write(bytes(MIB))
        room.unlink()
        for cache in (self.scratch / "caches").glob("cold*"):
            # A mount that has ended may still write to it.
            shutil.rmtree(cache, ignore_errors=True)

    def cat(self, *words: str, cache: str = "") -> float:
        return timed([self.build / "ctxfs", "cat", *words], self.environment(cache))

    def rclone(self, *words: str) -> list[str]:
        return ["rclone", "--config", "/dev/null", "--http-url", self.url(""), *words]

    @contextlib.contextmanager
    def mounted(self, name: str, cache: str = "") -> Iterator[pathlib.Path]:
        point = self.scratch / "mnt"
        point.mkdir(exist_ok=True)
        source = self.url(name)
        subprocess.run([self.build / "mount.ctxfs", source, point], check=True,
                       env=self.environment(cache))
        try:
            yield point / name / "tensors"
        finally:
            subprocess.run(["umount", "-l", point], check=True)

    @contextlib.contextmanager
    def rclone_mounted(self, *options: str) -> Iterator[pathlib.Path]:
        point = self.scratch / "rclone"
        point.mkdir(exist_ok=True)
        self.colds += 1
        cache = str(self.scratch / "caches" / f"rclone{self.colds}-{self.port}")
        command = self.rclone("mount", ":http:", str(point), "--read-only", "--cache-dir", cache)
        process = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)
        try:
            lib.wait_until(lambda: lib.is_mounted(point))
            yield point
        finally:
            subprocess.run(["umount", "-l", point], check=True)
            process.wait()


def timed(command: list, environment: dict[str, str] | None = None) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def curl_ranges(url: str, size: int, target: str) -> float:
    """Seconds that curl takes for equal ranges at a time; {} in `target` is the number."""
    step = -(-size // STREAMS)
    # One curl for each range: curl --parallel has one thread for all.
    start = time.perf_counter()
    running = [subprocess.Popen(["curl", "-s", "-f", "-o", target.format(i), "-r",
                                 f"{i * step}-{min((i + 1) * step, size) - 1}", url])
               for i in range(STREAMS)]
    if any(process.wait() for process in running):
        raise RuntimeError("curl failed")
    return time.perf_counter() - start


def ratio(part: list[float], whole: list[float]) -> list[float]:
    """How fast the first is, as a part of the second, by round."""
    return [b / a for a, b in zip(part, whole, strict=True)]


def one_tensor(bench: Bench) -> None:
    name = "huge.safetensors"
    make_model(bench.server.www / name, HUGE_TENSORS, TENSOR, full=False)
    bench.server.forget()
    bench.cat(f"{bench.url(name)}//tensors/t77")
    bench.add("`ctxfs cat` of a tensor", [bench.server.moved() / TENSOR], PER_BYTE)
    bench.add("`ctxfs cat` of a tensor, requests", [bench.server.requests()], "requests")
    with bench.mounted(name) as tensors:
        bench.server.forget()
        ours = timed(["cat", tensors / "t78"])
        bench.add("a tensor of a mount", [bench.server.moved() / TENSOR], PER_BYTE)
    with bench.rclone_mounted() as point:
        bench.server.forget()
        theirs = timed(["dd", f"if={point / name}", "bs=1M", "skip=1248", "count=16", "status=none"])
    bench.add("a tensor of `rclone mount`", [bench.server.moved() / TENSOR], PER_BYTE)
    bench.add("a tensor of a mount, speed", ratio([ours], [theirs]), "of rclone mount")


def whole_model(bench: Bench) -> None:
    name = f"whole-{bench.mib}.safetensors"
    path = bench.server.www / name
    make_model(path, bench.mib // 16, TENSOR, full=True)
    lib.warm(path)
    size = path.stat().st_size
    url = bench.url(name)
    times: dict[str, list[float]] = {}
    files = [f"{url}//tensors/t{i}" for i in range(bench.mib // 16)]
    for _ in range(bench.rounds):
        for what, measure in (
                ("cat", lambda: bench.cat(*files)),
                ("uncached", lambda: timed([bench.build / "ctxfs", "cat", *files],
                                           os.environ | {"CTXFS_CACHE_DIR": "", "HOME": "",
                                                         "XDG_CACHE_HOME": ""})),
                ("curl", lambda: curl_ranges(url, size, "/dev/null")),
                ("curl to files", lambda: curl_ranges(url, size, str(bench.scratch / "part{}"))),
                ("one curl", lambda: timed(["curl", "-s", "-f", "-o", "/dev/null", url])),
                ("rclone", lambda: timed(bench.rclone("cat", f":http:{name}"))),
        ):
            bench.make_room()
            times.setdefault(what, []).append(measure())
        bench.make_room()
        with bench.mounted(name) as tensors:
            times.setdefault("mount", []).append(
                timed(["cat", *[tensors / f"t{i}" for i in range(bench.mib // 16)]]))
        bench.make_room()
        with bench.rclone_mounted() as point:
            times.setdefault("rclone mount", []).append(timed(["cat", point / name]))
    best = [min(pair) for pair in zip(times["curl"], times["rclone"], strict=True)]
    for what, own, other, unit, aim in (
            ("`ctxfs cat`", "cat", best, BEST, 0.8),
            ("`ctxfs cat` without a cache directory", "uncached", best, BEST, None),
            ("`ctxfs cat`, beside ranges to files", "cat", times["curl to files"],
             "of curl with 8 ranges that writes files", None),
            ("`ctxfs cat`, beside one curl", "cat", times["one curl"], "of one curl", None),
            ("`ctxfs cat`, beside rclone", "cat", times["rclone"], "of rclone cat", None),
            ("mount, beside rclone", "mount", times["rclone mount"], "of rclone mount", 1),
            ("mount", "mount", best, BEST, None)):
        bench.add(f"a whole model, {what}", ratio(times[own], other), unit, aim)
    for what, seconds in times.items():
        bench.add(f"a whole model, seconds of {what}", seconds, "s")


def from_cache(bench: Bench) -> None:
    name = f"whole-{bench.mib}.safetensors"
    path = bench.server.www / name
    make_model(path, bench.mib // 16, TENSOR, full=True)
    files = [f"//tensors/t{i}" for i in range(bench.mib // 16)]
    shutil.rmtree(bench.scratch / "caches" / "kept", ignore_errors=True)
    bench.cat(*[bench.url(name) + file for file in files], cache="kept")
    cached, local, cached_mount, local_mount = [], [], [], []
    for _ in range(bench.rounds):
        bench.server.forget()
        cached.append(bench.cat(*[bench.url(name) + file for file in files], cache="kept"))
        local.append(bench.cat(*[str(path) + file for file in files]))
        with bench.mounted(name, cache="kept") as tensors:
            cached_mount.append(timed(["cat", *[tensors / f.split("/")[-1] for f in files]]))
        with lib.mounted(bench.build, path, bench.scratch / "mnt"):
            tensors = next((bench.scratch / "mnt").rglob("tensors"))
            local_mount.append(timed(["cat", *[tensors / f.split("/")[-1] for f in files]]))
    bench.add("from the cache, `ctxfs cat`", ratio(cached, local), "of a local container")
    bench.add("from the cache, mount", ratio(cached_mount, local_mount), "of a local container")
    bench.add("from the cache, moved", [bench.server.moved()], "bytes")


def many_readers(bench: Bench) -> None:
    name = "huge.safetensors"
    make_model(bench.server.www / name, HUGE_TENSORS, TENSOR, full=False)
    with bench.mounted(name) as tensors:
        bench.server.forget()
        readers = [threading.Thread(target=timed, args=(["cat", tensors / "t5"],))
                   for _ in range(16)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        bench.add("16 readers of a tensor", [bench.server.moved() / TENSOR], PER_BYTE)


def readers_apart(bench: Bench) -> None:
    """Each reads another tensor; beside curl for the same bytes."""
    name = "huge.safetensors"
    make_model(bench.server.www / name, HUGE_TENSORS, TENSOR, full=False)
    ours, theirs, requests = [], [], []
    for _ in range(bench.rounds):
        bench.make_room()
        theirs.append(curl_ranges(bench.url(name), READERS * TENSOR, "/dev/null"))
        bench.make_room()
        with bench.mounted(name) as tensors:
            bench.server.forget()
            start = time.perf_counter()
            readers = [subprocess.Popen(["cat", tensors / f"t{i}"], stdout=subprocess.DEVNULL)
                       for i in range(READERS)]
            if any(reader.wait() for reader in readers):
                raise RuntimeError("a reader failed")
            ours.append(time.perf_counter() - start)
            requests.append(bench.server.requests())
    what = f"{READERS} readers of a tensor each"
    bench.add(what, ratio(ours, theirs), "of curl with 8 ranges", 0.5)
    bench.add(f"{what}, seconds", ours, "s")
    bench.add(f"{what}, requests", requests, "requests")
    bench.add(f"{what}, seconds of curl", theirs, "s")


def random_reads(path: pathlib.Path, start: int, size: int) -> float:
    chance = random.Random(30)
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        begin = time.perf_counter()
        for _ in range(READS):
            at = start + chance.randrange(size - 4096)
            if len(os.pread(file.fileno(), 4096, at)) != 4096:
                raise RuntimeError("a read was short")
        return time.perf_counter() - begin


def random_places(bench: Bench) -> None:
    name = "one.safetensors"
    size = 4096 * MIB
    make_model(bench.server.www / name, 1, size, full=False)
    asked = READS * 4096
    with bench.mounted(name) as tensors:
        bench.server.forget()
        ours = random_reads(tensors / "t0", 0, size)
        bench.add(f"{READS} reads of 4 KiB", [bench.server.moved() / asked], PER_BYTE)
    for options in ((), ("--vfs-cache-mode", "full")):
        with bench.rclone_mounted(*options) as point:
            bench.server.forget()
            theirs = random_reads(point / name, 200, size)
        shown = " ".join(("rclone mount", *options))
        bench.add(f"{READS} reads of 4 KiB, `{shown}`", [bench.server.moved() / asked], PER_BYTE)
        bench.add(f"{READS} reads of 4 KiB, speed, beside `{shown}`", ratio([ours], [theirs]),
                  "of rclone mount")


def page_of_keys(number: int) -> str:
    """A page of ListObjectsV2."""
    chance = random.Random(number)
    last = (number + 1) * PAGE >= KEYS
    token = "" if last else f"<NextContinuationToken>{number + 1}</NextContinuationToken>"
    objects = "".join(
        f"<Contents><Key>a-document-with-a-name-{number * PAGE + i:06}.json</Key>"
        "<LastModified>2024-05-06T07:08:09.000Z</LastModified>"
        f"<ETag>&quot;{chance.getrandbits(128):032x}&quot;</ETag><Size>{i}</Size>"
        "<StorageClass>STANDARD</StorageClass></Contents>" for i in range(PAGE))
    return (f"<ListBucketResult><IsTruncated>{'false' if last else 'true'}</IsTruncated>"
            f"<KeyCount>{PAGE}</KeyCount>{token}{objects}</ListBucketResult>")


def listing(bench: Bench) -> None:
    """Beside curl, which fetches the same pages one after another over one connection."""
    pages = bench.server.www / "pages"
    pages.mkdir(exist_ok=True)
    for number in range(KEYS // PAGE):
        (pages / str(number)).write_text(page_of_keys(number))
    urls = [bench.url(f"bucket?continuation-token={i}") for i in range(KEYS // PAGE)]
    keys = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    ours, again, theirs = [], [], []
    for _ in range(bench.rounds):
        theirs.append(timed(["curl", "-s", "-f", *urls]))
        cold = bench.environment() | {"AWS_ENDPOINT_URL": bench.url("")}
        variables = keys | {name: cold[name] for name in ("CTXFS_CACHE_DIR", "AWS_ENDPOINT_URL")}
        command = [bench.build / "ctxfs", "ls", "s3://bucket/"]
        ours.append(timed(command, variables))
        again.append(timed([*command, "--offline"], variables))
    bench.add(f"`ctxfs ls` of {KEYS:,} keys", ratio(ours, theirs), "of curl for the pages")
    for what, seconds in (("curl", theirs), ("`ctxfs ls`", ours),
                          ("`ctxfs ls --offline`", again)):
        bench.add(f"{KEYS:,} keys, seconds of {what}", seconds, "s")


def first_ls(bench: Bench) -> None:
    """By a server that counts: a request is one later than all that were answered."""
    files = {path.name: path.read_bytes()
             for path in large_files.largest(lib.ROOT / "golden").values()} | large_files.made()
    with FaultServer().running() as far:
        far.delay = ROUND_TRIP
        for name, data in files.items():
            far.objects, far.answered, far.seen = {name: data}, 0, []
            done = subprocess.run([bench.build / "ctxfs", "ls", far.url("far", name)], check=False,
                                  capture_output=True, env=bench.environment())
            if done.returncode == 0:
                what = f"first `ls` of {name} ({len(data) >> 10} KiB)"
                bench.add(what, [far.answered], "round trips")
                bench.add(f"{what}, requests", [len(far.seen)], "requests")


ALL: dict[str, Callable[[Bench], None]] = {
    "tensor": one_tensor, "whole": whole_model, "cache": from_cache, "readers": many_readers,
    "apart": readers_apart, "random": random_places, "listing": listing, "ls": first_ls}


def main() -> None:
    options = lib.options_of(__doc__, 5)
    options.add_argument("--mib", type=int, default=1024, help="of the whole model")
    options.add_argument("--only", choices=ALL, action="append")
    options.add_argument("--near", action="store_true", help="not over 20 ms")
    given = options.parse_args()
    build, scratch = lib.build_of(given.build), lib.scratch_folder(given.scratch)
    # Those of another run would not be cold.
    shutil.rmtree(scratch / "caches", ignore_errors=True)
    with Server(scratch).running() as server, contextlib.ExitStack() as stack:
        places = [("loopback", server.port)]
        if not given.near:
            places.append(("20 ms away", stack.enter_context(slow_link(server.port, ROUND_TRIP))))
        for place, port in places:
            bench = Bench(place, build, scratch, server, port, given.rounds, given.mib)
            for name in given.only or ALL:
                if name != "ls" or port == server.port:
                    ALL[name](bench)

