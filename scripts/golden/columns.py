# SPDX-License-Identifier: Apache-2.0
"""Answers of ColumnShards (formats/shard-profiles.md, section 8): the bytes of each column,
worked out from the values that the reference reader gives."""

import json
import math
import struct

from common import require, sha256

STRING, UUID, UINT32 = 13, 16, 8
# Type number: its name, our dtype, and the struct code of a value.
TYPES = {
    1: ("bool", "bool", "?"), 2: ("int8", "i8", "b"), 3: ("int16", "i16", "h"),
    4: ("int32", "i32", "i"), 5: ("int64", "i64", "q"), 6: ("uint8", "u8", "B"),
    7: ("uint16", "u16", "H"), 8: ("uint32", "u32", "I"), 9: ("uint64", "u64", "Q"),
    10: ("float16", "f16", "H"), 11: ("float32", "f32", "f"), 12: ("float64", "f64", "d"),
    13: ("string", None, None), 15: ("datetime", "i64", "q"), 16: ("uuid", "u8", None),
    17: ("bfloat16", "bf16", "H"),
}
# Of a source with the first and the last of 70,000 values: what its writer was given.
BY_ROW = {"k": lambda row: f"{row:x}", "v": lambda row: str(row // 3)}
COLUMN = {"name", "type", "type_name", "nullable", "declared_encoding", "actual_coding", "values"}


def as_text(value) -> str:
    return json.dumps(value, ensure_ascii=False)


def as_read(value):
    """JSON as JavaScript reads it, whose integers are doubles."""
    if isinstance(value, list):
        return [as_read(one) for one in value]
    if isinstance(value, dict):
        return {key: as_read(one) for key, one in value.items()}
    return float(value) if type(value) is int else value


def check_schema(answer: dict) -> None:
    schema, said = answer["schema"], answer["expected"]
    require(as_text(as_read(schema)) == as_text(as_read(said["schema_as_read"])), "schema")
    require(schema["row_group_size"] == said["row_group_size"], "row_group_size")
    require(schema["row_count"] == said["rows"], "rows")
    require(len(schema["columns"]) == len(said["columns"]), "columns")
    for stored, column in zip(schema["columns"], said["columns"]):
        require(set(column) == COLUMN, column["name"])
        require([stored[key] for key in ("name", "type", "nullable", "encoding")] == [
            column[key] for key in ("name", "type", "nullable", "declared_encoding")],
            column["name"])
        require(TYPES[column["type"]][0] == column["type_name"], column["name"])


def without_text(value, name: str):
    """Floats are their bits; the decimals beside these say the same."""
    if not isinstance(value, dict):
        return value
    [(key, bits)] = [(key, one) for key, one in value.items() if key != "text"]
    code = {"f32_bits": ">f", "f64_bits": ">d"}[key]
    (number,) = struct.unpack(code, bytes.fromhex(bits))
    if "text" in value:
        said = float(value["text"])
        require(said == number or struct.pack(code, said).hex() == bits
                or math.isnan(said) and math.isnan(number), name, "text")
    return {key: bits}


def values_of(column: dict, rows: int) -> list:
    """All of them, in the notation that the source has the digest of."""
    name = column["name"]
    said = [without_text(value, name) for value in column["values"] or []]
    if column["type"] == UINT32:  # which its writer stores as zeros
        require(len(said) == rows, name, "rows")
        return ["0"] * rows
    if len(said) == rows:
        return said
    values = [BY_ROW[name](row) for row in range(rows)]
    few = len(said) // 2
    require(few > 0 and values[:few] + values[-few:] == said, name, "values")
    return values


def stored(value, kind: int) -> bytes:
    """A row of a column; there is a zero where there is none."""
    _, _, code = TYPES[kind]
    if kind == STRING:
        return as_text(value).encode() + b"\n"
    if kind == UUID:
        return bytes.fromhex(value)
    if isinstance(value, dict):
        return bytes.fromhex(*value.values())[::-1]
    return struct.pack("<" + code, int(value or 0))


def add_column(column: dict, values: list, files: dict) -> None:
    name, kind = column["name"], column["type"]
    data = b"".join(stored(value, kind) for value in values)
    path = "columns/" + name
    made = files[path] = {"size": len(data), "sha256": sha256(data)}
    _, dtype, _ = TYPES[kind]
    if dtype:
        view = "raw16" if dtype == "bf16" else "npy"
        shape = [len(values), 16] if kind == UUID else [len(values)]
        made |= {"xattrs": {"dtype": dtype, "shape": shape}, "npy": f"views/{view}/{name}.npy"}
    if kind == UINT32:
        made["xattrs"]["note"] = {"?contains": "zeros"}
    if column["nullable"]:
        valid = bytes(value is not None for value in values)
        files[path + ".valid"] = {
            "size": len(valid), "sha256": sha256(valid), "npy": f"views/npy/{name}.valid.npy",
            "xattrs": {"dtype": "bool", "shape": [len(values)]}}
    else:
        require(None not in values, name, "a null")


def add(answer: dict, tree: dict, info: dict) -> None:
    check_schema(answer)
    files, rows = tree["files"], answer["expected"]["rows"]
    digests = dict(answer["column_value_sha256"])
    for column in answer["expected"]["columns"]:
        values = values_of(column, rows)
        text = "\n".join("\\N" if value is None else as_text(value) for value in values)
        require(sha256(text.encode()) == digests.pop(column["name"]), column["name"], "digest")
        add_column(column, values, files)
    require(not digests, "digests", digests)
    files["schema.json"] = {"json": answer["schema"]}
    tree |= {"listing": ["columns"], "warnings": []}
    info |= {"role_name": "ColumnShard", "rows": rows}
