#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files of this folder with the writers of their formats.

They were made with numpy 2.4.6, pyarrow 26.0.1, h5py 3.16.0, msgpack 1.2.4, joblib 1.6.0,
lmdb 3.0.0, onnx 1.23.2, fastavro 1.13.1, Python 3.11 and zstd 1.5.4.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import pickle
import subprocess
import tarfile

import fastavro
import h5py
import joblib
import lmdb
import msgpack
import numpy
import onnx
import pyarrow
import pyarrow.orc
import pyarrow.parquet

HERE = pathlib.Path(__file__).parent


def tables() -> None:
    table = pyarrow.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    with pyarrow.ipc.new_stream(HERE / "s.arrow", table.schema) as writer:
        writer.write_table(table)
    with pyarrow.ipc.new_file(HERE / "f.arrow", table.schema) as writer:
        writer.write_table(table)
    pyarrow.orc.write_table(table, HERE / "t.orc")
    pyarrow.parquet.write_table(table, HERE / "t.parquet")
    record = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}
    with open(HERE / "a.avro", "wb") as file:
        fastavro.writer(file, record, [{"a": 1}])


def arrays() -> None:
    for name, block in (("x.h5", 0), ("ub.h5", 1024)):
        with h5py.File(HERE / name, "w", userblock_size=block) as file:
            file["a"] = numpy.arange(5)
    joblib.dump({"w": numpy.arange(100.0)}, HERE / "j.joblib")
    joblib.dump({"w": numpy.arange(100.0)}, HERE / "jc.joblib", compress=3)
    values = [numpy.arange(6, dtype="f4").reshape(2, 3), numpy.array(3, dtype="i8"),
              numpy.array(["a", "b"], dtype=object)]
    tensors = [onnx.numpy_helper.from_array(value, f"input_{i}")
               for i, value in enumerate(values)]
    tensors.append(onnx.helper.make_tensor("x", onnx.TensorProto.FLOAT, [300], list(range(300))))
    for i, tensor in enumerate(tensors):
        (HERE / f"input_{i}.pb").write_bytes(tensor.SerializeToString())


def others() -> None:
    packed = msgpack.packb({"params": {"w": bytes(10)}, "step": 3})
    (HERE / "m.msgpack").write_bytes(packed)
    for protocol in range(6):
        data = pickle.dumps({"a": [1, 2], "b": "x"}, protocol)
        (HERE / f"p{protocol}.pkl").write_bytes(data)
    with lmdb.open(str(HERE / "data.mdb"), subdir=False, lock=False) as database:
        with database.begin(write=True) as transaction:
            transaction.put(b"k", b"v")


def packed() -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(HERE / "p2.pkl", arcname="p2.pkl")
    data = archive.getvalue()
    (HERE / "a.tar.gz").write_bytes(gzip.compress(data))
    (HERE / "a.tar.bz2").write_bytes(bz2.compress(data))
    (HERE / "a.tar.xz").write_bytes(lzma.compress(data))
    (HERE / "a.tar.zst").write_bytes(
        subprocess.run(["zstd", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    )
    (HERE / "z.gz").write_bytes(gzip.compress(json.dumps({"a": 1}).encode()))


if __name__ == "__main__":
    os.chdir(HERE)
    tables()
    arrays()
    others()
    packed()
