#!/usr/bin/env python3
"""Reads and writes Parquet files with pyarrow, of rows that matrix_test.go makes too.

    venv/bin/python matrix.py FOLDER NAME...

reads each go-CODEC-VERSION-ROWS-KIND.parquet of the folder, says how its first column
that differs does, and ends with 1 if there was one; and writes the files of these
names, py-CODEC-VERSION-ROWS-KIND.parquet: v1 or v2 is that of data pages, of the kinds
"well" packs well, "badly" does not.
"""
import glob
import os
import struct
import sys

import pyarrow as pa
import pyarrow.parquet as pq

LEVELS = {"gzip": 1, "brotli": 1, "zstd": 1}
U64 = (1 << 64) - 1

SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False), pa.field("id_dict", pa.int64(), nullable=False), pa.field("id_delta", pa.int64(), nullable=False),
    pa.field("count", pa.int32(), nullable=False), pa.field("count_delta", pa.int32(), nullable=False),
    pa.field("share", pa.float32(), nullable=False), pa.field("share_split", pa.float32(), nullable=False),
    pa.field("height_dict", pa.float64(), nullable=False), pa.field("height_split", pa.float64(), nullable=False),
    pa.field("flag", pa.bool_(), nullable=False),
    pa.field("name", pa.string(), nullable=False), pa.field("name_dict", pa.string(), nullable=False), pa.field("name_delta", pa.string(), nullable=False),
    pa.field("name_length", pa.string(), nullable=False),
    pa.field("mark", pa.binary(4), nullable=False), pa.field("mark_delta", pa.binary(4), nullable=False),
    pa.field("note", pa.string()), pa.field("note_dict", pa.string()),
    pa.field("rings", pa.list_(pa.field("element", pa.int32(), nullable=False)), nullable=False),
])

ENCODINGS = {
    "id": "PLAIN", "id_delta": "DELTA_BINARY_PACKED", "count": "PLAIN", "count_delta": "DELTA_BINARY_PACKED",
    "share": "PLAIN", "share_split": "BYTE_STREAM_SPLIT", "height_split": "BYTE_STREAM_SPLIT", "flag": "RLE",
    "name": "PLAIN", "name_delta": "DELTA_BYTE_ARRAY", "name_length": "DELTA_LENGTH_BYTE_ARRAY",
    "mark": "PLAIN", "mark_delta": "DELTA_BYTE_ARRAY", "note": "PLAIN", "rings.list.element": "PLAIN",
}
DICTIONARIES = ["id_dict", "height_dict", "name_dict", "note_dict"]


def mix(i):
    """splitmix64: bits that do not pack."""
    z = (i + 1) * 0x9E3779B97F4A7C15 & U64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & U64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & U64
    return z ^ z >> 31


def signed(v, bits):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> bits - 1 else v


def table(rows, kind):
    values = [mix(i) for i in range(rows)] if kind == "badly" else [i // 50 for i in range(rows)]
    ids = [signed(v, 64) for v in values]
    counts = [signed(v, 32) for v in values]
    shares = [signed(v, 16) / 8 for v in values]
    heights = [signed(v, 32) / 16 for v in values]
    names = ["name %x" % v for v in values]
    marks = [struct.pack("<I", v & 0xFFFFFFFF) for v in values]
    notes = [None if i % 3 == 0 else n for i, n in enumerate(names)]
    rings = [[(v & 0xFFFF) + j for j in range(i % 4)] for i, v in enumerate(values)]
    columns = [ids, ids, ids, counts, counts, shares, shares, heights, heights, [v & 1 == 1 for v in values],
               names, names, names, names, marks, marks, notes, notes, rings]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA)], SCHEMA)


def check(path, want):
    """What of a file differs, or None."""
    got = pq.read_table(path)
    for field in SCHEMA:
        have = got.column(field.name).cast(field.type).combine_chunks()
        if not have.equals(want.column(field.name).combine_chunks()):
            return "%s: column %s differs" % (path, field.name)
    return None if got.num_columns == len(SCHEMA) else "%s: columns %s" % (path, got.column_names)


def main(folder, names):
    wrong, tables = 0, {}
    for path in glob.glob(os.path.join(folder, "go-*")) + [os.path.join(folder, name) for name in names]:
        by, codec, version, rows, kind = os.path.basename(path).removesuffix(".parquet").split("-")
        if (rows, kind) not in tables:
            tables[rows, kind] = table(int(rows), kind)
        want = tables[rows, kind]
        if by == "go":
            if problem := check(path, want):
                print(problem)
                wrong = 1
            continue
        pq.write_table(want, path, compression=codec, compression_level=LEVELS.get(codec), data_page_version=version[1] + ".0",
                       use_dictionary=DICTIONARIES, column_encoding=ENCODINGS, row_group_size=40_000,
                       data_page_size=4_000 if int(rows) < 100_000 else None)
    return wrong


sys.exit(main(sys.argv[1], sys.argv[2:]))
