# SPDX-License-Identifier: Apache-2.0
"""Containers of any format as PyTorch's tensors and samples.

    from ctxfs.torch import load_file, samples

    state = load_file("model.gguf")                       # as safetensors.torch.load_file
    loader = torch.utils.data.DataLoader(samples("data/*.tar"), num_workers=2, batch_size=None)
"""

from __future__ import annotations

import errno
import glob
import io
import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ._extras import need

need("torch", "tensors")
import torch  # pylint: disable=wrong-import-position

from ._arrays import LazyArray
from ._container import Container, decoded
from ._errors import Error, IncompleteWarning

RECORDS = "views/samples.jsonl"

# The codes of errors that are a tensor's own.
_DAMAGE = {"corrupt", "checksum", "limit", "locked", "unsupported", "version"}

# Types that numpy or a torch lacks: torch's name, and an integer of as many bits.
_AS_BITS = {
    "bf16": ("bfloat16", np.int16), "f8_e4m3": ("float8_e4m3fn", np.uint8),
    "f8_e5m2": ("float8_e5m2", np.uint8), "f8_e4m3fnuz": ("float8_e4m3fnuz", np.uint8),
    "f8_e5m2fnuz": ("float8_e5m2fnuz", np.uint8), "f8_e8m0": ("float8_e8m0fnu", np.uint8),
    "u16": ("uint16", np.int16), "u32": ("uint32", np.int32), "u64": ("uint64", np.int64),
    "c32": ("complex32", np.int32),
}


def tensor(array: LazyArray) -> torch.Tensor:
    """Reads `c.arrays.lazy[name]` into a tensor of its own memory.

    Its dtype is the container's: bf16 is torch.bfloat16, with or without ml_dtypes. Where this
    torch lacks the type, it is an integer of as many bits; packed elements are bytes, in one
    dimension.
    """
    name, bits = _AS_BITS.get(array.info.dtype, ("", None))
    values = array._read()
    if bits is None:
        return torch.from_numpy(values)
    made = torch.from_numpy(values.view(bits))
    kind = getattr(torch, name, None)
    return made if kind is None else made.view(kind)


def load_file(filename: str | os.PathLike, device: str | int | torch.device = "cpu", *,
              verify: bool = True, partial: bool = False) -> dict[str, torch.Tensor]:
    """The tensors of a container by name, like safetensors.torch.load_file, but of every format
    that ctxfs reads, and verified.

    Args:
        filename: the path of a container.
        device: where the tensors shall be.
        verify: compare checksums before bytes are used.
        partial: leave out what is missing or damaged. Without it, a model of which a shard is
            missing or cut off, or whose index has any other fault, is an Error.
    """
    with Container(filename, verify=verify) as c:
        target = torch.device(device)
        loaded = _readable(c) if partial else _all(c)
        if target.type == "cpu":
            return loaded
        return {name: one.to(target) for name, one in loaded.items()}


def _all(c: Container) -> dict[str, torch.Tensor]:
    """The tensors of a container whose index has no fault, which is known before any is read."""
    faults = c._faults_of("")
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        faults[0].strerror += f"{more}: not all tensors can be loaded, see partial="
        raise faults[0]
    try:
        c._check_complete("")
    except Error as error:
        error.strerror += ": not all tensors can be loaded, see partial="
        raise
    return {name: tensor(lazy) for name, lazy in c.arrays.lazy.items()}


def _readable(c: Container) -> dict[str, torch.Tensor]:
    """The tensors that are not damaged. Another failure may be gone at the next attempt, so it
    leaves none out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IncompleteWarning)
        arrays = c.arrays
    loaded = {}
    for name, lazy in arrays.lazy.items():
        try:
            loaded[name] = tensor(lazy)
        except Error as error:
            if error.code not in _DAMAGE:
                raise
    return loaded


class samples(torch.utils.data.IterableDataset):  # pylint: disable=invalid-name
    """The samples of containers, in their order, for torch.utils.data.DataLoader.

    What a sample is depends on the container:

    * a tar archive, which is one of WebDataset (docs/formats/tar.md): a dict of "__key__", "__url__" (the
      path of the archive) and the bytes of each member by its extension, such as "jpg" and "cls";
    * one with records (`views/samples.jsonl`), such as a SampleShard: the JSON value of each;
    * any other, such as an episode: a single dict of "__key__" (its name without the extension),
      "__url__" and each array as a tensor.

    The workers of a DataLoader, in every process of torch.distributed, share the work: worker w
    of n takes the containers whose number leaves the remainder w or, of fewer containers than
    workers, such samples of each.

    Args:
        sources: the path of a container or of several, or patterns as glob has them.
        map: called with each sample; what it returns takes the place of the sample.
        verify: compare checksums before bytes are used.
    """

    def __init__(self, sources: str | os.PathLike | Iterable[str | os.PathLike], *,
                 map: Callable[[Any], Any] | None = None, verify: bool = True):
        super().__init__()
        given = [sources] if isinstance(sources, (str, os.PathLike)) else sources
        self.sources = [path for source in given for path in _paths_of(os.fspath(source))]
        self._map = map
        self._verify = verify

    def __iter__(self) -> Iterator[Any]:
        worker, workers = _worker()
        shared = len(self.sources) < workers
        for source in self.sources if shared else self.sources[worker::workers]:
            with Container(source, verify=self._verify) as c:
                for sample in _samples_of(c, *(worker, workers) if shared else (0, 1)):
                    yield sample if self._map is None else self._map(sample)


def _paths_of(source: str) -> list[str]:
    if os.path.exists(source) or not glob.has_magic(source):
        return [source]
    found = sorted(glob.glob(source))
    if not found:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
    return found


def _worker() -> tuple[int, int]:
    """The number of this worker, and of all workers of all processes."""
    info = torch.utils.data.get_worker_info()
    worker, workers = (info.id, info.num_workers) if info else (0, 1)
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return (distributed.get_rank() * workers + worker,
                distributed.get_world_size() * workers)
    return worker, workers


def _samples_of(c: Container, first: int, step: int) -> Iterator[Any]:
    """Every `step`th sample of a container, from `first` on. Fails if it lacks some."""
    if RECORDS in c:
        c._check_complete("")
        archive = c.info["format"] == "tar"
        with io.BufferedReader(c[RECORDS], 1 << 20) as lines:
            for line in itertools.islice(lines, first, None, step):
                record = json.loads(line)
                yield _members_of(c, record) if archive else decoded(c, record)
    elif first == 0:
        key = os.path.splitext(os.path.basename(c.source))[0]
        yield {"__key__": key, "__url__": c.source,
               **_all(c)}


def _members_of(c: Container, record: dict[str, Any]) -> dict[str, Any]:
    sample = {"__key__": record["key"], "__url__": c.source}
    for extension, member in record["members"].items():
        path = bytes.fromhex(member["path_hex"]) if "path_hex" in member else member["path"]
        sample[extension] = c.read_bytes(path)
    return sample
