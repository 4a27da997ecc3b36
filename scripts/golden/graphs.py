# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/shard-profiles for cowrie values and Cowrie-GNN graphs, alone and in
Shards of roles 3, 6 and 7 (formats/shard-profiles.md, sections 6 to 8)."""

import base64
import json
import pathlib
import struct

from common import require, sha256

CODES = {"f32": "f", "i32": "i", "i64": "q", "bool": "?"}
# What gen1 values have in this order, and the dtypes of docs/formats/cowrie.md.
GEN1 = {"edge_index": "i64", "node_features": "f32", "node_labels": "i64"}
KINDS = ("meta", "node_table", "edge_table", "feature", "split", "aux")
SJGN = {"csr_indices", "csr_indptr", "dst", "flags", "num_nodes", "sections", "src", "test",
        "train", "val", "x", "x_shape", "y"}


def flat(values: list) -> list:
    return [one for row in values for one in flat(row)] if isinstance(values[0], list) else values


def shape_of(values: list) -> list[int]:
    return [len(values), *(shape_of(values[0]) if isinstance(values[0], list) else [])]


def add_array(files: dict, name: str, values: list, dtype: str, below: str = "") -> None:
    """An array as it is stored, and as .npy."""
    data = b"".join(struct.pack("<" + CODES[dtype], one) for one in flat(values))
    files[f"{below}arrays/{name}"] = {
        "size": len(data), "sha256": sha256(data), "npy": f"{below}views/npy/{name}.npy",
        "xattrs": {"dtype": dtype, "shape": shape_of(values)}}


def ends(value: dict) -> list[list[int]]:
    return [[int(edge[end]) for edge in value["edges"]] for end in ("from", "to")]


def add_value(tree: dict, value: dict, arrays: dict, below: str = "") -> None:
    """A cowrie value: as JSON, and {name: (values, dtype)} of its arrays, and no others."""
    files = tree["files"]
    files[below + "value.json"] = {"json": value}
    for name, (values, dtype) in arrays.items():
        add_array(files, name, values, dtype, below)
    tree.setdefault("listing", []).append(below + "arrays")
    files[below + ".ctxfs/index.json"] = {"has": [
        {"name": name, "shape": shape_of(values)} for name, (values, _) in arrays.items()]}


def cowrie(answer: dict) -> dict:
    said, tree = answer["expected"], {"files": {}, "warnings": []}
    generation = int(answer["format"].removeprefix("cowrie gen")[0])
    if generation == 1:
        require(set(said) == {"name", *GEN1}, set(said))
        features = [[float(one) for one in row] for row in said["node_features"]]
        said = said | {"node_features": features}
        add_value(tree, said, {name: (said[name], dtype) for name, dtype in GEN1.items()})
    else:
        require(set(said) == {"nodes", "edges", "metadata"}, set(said))
        add_value(tree, said | {"_type": "graph_shard"}, {"edge_index": (ends(said), "i64")})
    tree["files"][".ctxfs/info.json"] = {"has": {"format": "cowrie", "generation": generation}}
    return tree


class Bytes:
    """A graph that is read from front to back."""

    def __init__(self, data: bytes, at: int):
        self.data, self.at = data, at

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


def add_sections(files: dict, plain: bytes, newer: bool, expected: list) -> None:
    """The sections of the source, which leaves out the first, where they are in the file."""
    graph = Bytes(plain, 7 if newer else 6)
    expected = [{"kind": "meta"}, *expected]
    require(graph.number() == len(expected), "sections")
    for said in expected:
        kind = KINDS[graph.number()]
        if newer:
            encoding = graph.take(1)[0]
            require(said.get("encoding", encoding) == encoding, "encoding")
        name = graph.take(graph.number()).decode()
        size = int.from_bytes(graph.take(8), "little")
        begin, body = graph.at, graph.take(size)
        found = {"kind": kind, "name": name, "body_len": size}
        require(kind == "meta" or set(said) == {"encoding", *found}, name)
        require({key: value for key, value in said.items() if key != "encoding"}.items()
                <= found.items(), found)
        index = {key: said[key] for key in ("kind", "name", "encoding") if key in said}
        files[".ctxfs/raw/sections/" + name] = {
            "index": index | {"size": size, "offset": begin}, "size": size,
            "sha256": sha256(body)}
    require(graph.at == len(plain), "bytes after the last section")


def add_tables(files: dict, said: dict) -> None:
    files["tables/edges:cites.jsonl"] = {"lines": [
        {"kind": "edge", "op": "upsert", "from": str(a), "to": str(b), "type": "cites",
         "props": {}} for a, b in zip(said["src"], said["dst"], strict=True)]}
    files["tables/nodes:paper.jsonl"] = {"lines": [
        {"kind": "node", "op": "upsert", "id": str(i), "labels": ["paper"],
         "props": {"year": 2000 + i}} for i in range(said["num_nodes"])]}


def add_arrays(files: dict, said: dict) -> None:
    nodes = range(said["num_nodes"])
    require(said["x"] == "i/2 row-major, i=0..14" and said["x_shape"] == [5, 3], "x")
    arrays = {"csr:cites/indptr": said["csr_indptr"], "csr:cites/indices": said["csr_indices"],
              "edges:cites/src": said["src"], "edges:cites/dst": said["dst"],
              "nodes:paper/id": list(nodes)}
    for part in ("train", "val", "test"):
        arrays["split:paper/" + part] = said[part]
        mask = [node in said[part] for node in nodes]
        add_array(files, "split:mask/" + part, mask, "bool")
    for name, values in arrays.items():
        add_array(files, name, values, "i64")
    rows = [[(3 * row + column) / 2 for column in range(3)] for row in range(5)]
    add_array(files, "features:paper:x", rows, "f32")
    add_array(files, "labels:paper:y", [[label] for label in said["y"]], "i64")


def sjgn(answer: dict, plain: bytes) -> dict:
    said, version = answer["expected"], answer["format"].removeprefix("SJGN ")
    require(set(said) == SJGN, set(said))
    require(plain[:8].hex() == answer["first_bytes"], "first_bytes")
    newer = version == "1.1"
    require(plain[:6] == b"SJGN\x01" + (b"\x10" if newer else plain[5:6]), "version")
    files = {}
    tree = {"files": files, "warnings": [], "entries": 1 + len(said["sections"])}
    add_sections(files, plain, newer, said["sections"])
    first = b"SJ\x02" if newer else b"{"  # cowrie and JSON
    files[".ctxfs/raw/sections/meta"]["parts"] = [[0, len(first), sha256(first)]]
    add_arrays(files, said)
    add_tables(files, said)
    files["meta.json"] = {"has": {"dataset_name": "toy-cora", "directed": True,
                                  "id_spaces": {"?exactly": {"paper": {"start": 0, "count": 5}}}}}
    files[".ctxfs/info.json"] = {"has": {"version": version, "flags": said["flags"]}}
    return tree


def unpacked(source: pathlib.Path, answer: dict) -> tuple[dict, bytes]:
    """The answer of a graph, for a packed one that of what it decodes to."""
    require(answer["format"].startswith("SJGZ: "), answer["format"])
    container = source.parent / answer["decodes_to"]
    plain = container.read_bytes()
    require(len(plain) == answer["decoded_size"], "decoded_size")
    require(sha256(plain) == answer["decoded_sha256"], "decoded_sha256")
    return json.loads(container.with_name(container.name + ".json").read_text()), plain


def tree_of(source: pathlib.Path, answer: dict) -> dict:
    """Of a file that is a value or a graph."""
    container = source.with_suffix("")
    whole = plain = container.read_bytes()
    require(answer["file"] == container.name and answer["size"] == len(whole), "file")
    require(answer["sha256"] == sha256(whole), "sha256")
    if "decodes_to" in answer:
        answer, plain = unpacked(source, answer)
    made = cowrie(answer) if container.suffix == ".cowrie" else sjgn(answer, plain)
    made["files"][".ctxfs/container"] = {"sha256": sha256(whole)}
    return made


def add_graphs(said: dict, tree: dict) -> None:
    """What is in a GraphShard: tensors, which are checked as such, and three values."""
    files = tree["files"]
    for name, values in (("indptr", said["indptr"]), ("indices", said["indices"])):
        data = struct.pack(f"<{len(values)}q", *values)
        require(files["views/tensors/csr/" + name]["sha256"] == sha256(data), name)
    require(files["views/tensors/x"]["sha256"] == said["x_sha256"], "x_sha256")
    csr = said["csr"]
    columns = base64.b64decode(csr["col_indices"])
    indices = list(struct.unpack(f"<{len(columns) // 4}i", columns))
    for name, arrays in {
            "graph": {"edge_index": (ends(said["graph"]), "i64")},
            "csr": {"indptr": (csr["row_offsets"], "i64"), "indices": (indices, "i32")},
            "split/train": {"mask": (said["train_mask"], "bool")}}.items():
        files[f"views/json/{name}.json"] = {"json": said[name]}
        add_value(tree, said[name], arrays, f"views/graphs/{name}/")


def check_tiles(said: dict, answer: dict, tree: dict) -> None:
    """Of a GemmShard: they are its entries, and some are tensors, all of one shape."""
    files = tree["files"]
    require({tile["name"] for tile in said["tiles"]} == {
        one["name"] for one in answer["entries"]}, "tiles")
    for tile in said["tiles"]:
        name, tensor = tile["name"], "views/tensors/" + tile["name"]
        require(set(tile) == {"name", "payload_sha256", "tensorv1", "f32_sha256"}, name)
        require(files[name]["sha256"] == tile["payload_sha256"], name)
        require((tensor in files) == tile["tensorv1"], name)
        require(files[tensor if tile["tensorv1"] else name]["sha256"] == tile["f32_sha256"], name)
        if tile["tensorv1"]:
            require(files[name]["index"]["shape"] == [said["kc"], said["mr"]], name)
        else:
            tree["absent"].append(tensor)


def add_expected(said: dict, answer: dict, tree: dict) -> None:
    """What a source of a Shard says that holds values."""
    if "graph" in said:
        add_graphs(said, tree)
    elif "tiles" in said:
        check_tiles(said, answer, tree)
    elif "events" in said:
        tree["files"]["views/events.jsonl"] = {"lines": said["events"]}
