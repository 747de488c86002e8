#!/usr/bin/env python3
"""Writes the files of this folder, by other programs than ours.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt && venv/bin/python make.py

trees.jsonl is what the files hold, one record a line, written from the records
below and not from any file. Run again it writes the same records; the bytes of
the Avro files differ, since their sync markers are random.

    venv/bin/python make.py read FILE...

prints the records of files in the form of trees.jsonl, as fastavro and pyarrow
read them: so our own writers are held against those programs.
"""
import datetime as dt
import decimal
import json
import sys

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 300
KINDS = ["oak", "elm", "ash"]


def tree(i):
    """Every third tree has no note, every fifth no rings, every seventh no tags."""
    return {
        "id": i * i * (-1 if i % 2 else 1),
        "kind": KINDS[i % 3],
        "tall": i % 4 == 0,
        "girth": i * 7,
        "height": i / 8,
        "leaf": bytes([i % 256, 0, 255]),
        "note": None if i % 3 == 0 else "",
        "planted": dt.date(1969, 12, 30) + dt.timedelta(days=i),
        "seen": dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, dt.timezone.utc) + dt.timedelta(microseconds=i * 1_000_001),
        "price": decimal.Decimal(i * 1234 - 5000).scaleb(-2),
        "rings": [] if i % 5 == 0 else list(range(i % 5)),
        "tags": {} if i % 7 == 0 else {"of": "tree %d" % i, "\N{LATIN SMALL LETTER E WITH ACUTE}": ""},
        "place": {"lat": -i / 4, "lon": i * 2.5},
    } | ({"note": "n\u00fc \N{DECIDUOUS TREE} %d" % i} if i % 3 == 1 else {})


def line(t):
    """A record as a line of trees.jsonl."""
    t = dict(t)
    t["leaf"] = t["leaf"].hex()
    t["planted"] = t["planted"].isoformat()
    t["seen"] = t["seen"].astimezone(dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    t["price"] = "%.2f" % t["price"]
    t["tags"] = dict(t["tags"])
    return json.dumps(t, sort_keys=True)


AVRO = {
    "type": "record", "name": "tree", "namespace": "org.example", "fields": [
        {"name": "id", "type": "long"},
        {"name": "kind", "type": {"type": "enum", "name": "kind", "symbols": KINDS}},
        {"name": "tall", "type": "boolean"},
        {"name": "girth", "type": "int"},
        {"name": "height", "type": "double"},
        {"name": "leaf", "type": "bytes"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "planted", "type": {"type": "int", "logicalType": "date"}},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "rings", "type": {"type": "array", "items": "int"}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "place", "type": {"type": "record", "name": "place", "fields": [
            {"name": "lat", "type": "double"}, {"name": "lon", "type": "double"}]}},
    ],
}

PARQUET = pa.schema([
    ("id", pa.int64()), ("kind", pa.string()), ("tall", pa.bool_()), ("girth", pa.int32()),
    ("height", pa.float64()), ("leaf", pa.binary()), ("note", pa.string()), ("planted", pa.date32()),
    ("seen", pa.timestamp("us", "UTC")), ("price", pa.decimal128(9, 2)), ("rings", pa.list_(pa.int32())),
    ("tags", pa.map_(pa.string(), pa.string())),
    ("place", pa.struct([("lat", pa.float64()), ("lon", pa.float64())])),
])


def make():
    trees = [tree(i) for i in range(ROWS)]
    with open("trees.jsonl", "w") as f:
        f.writelines(line(t) + "\n" for t in trees)
    schema = fastavro.parse_schema(AVRO)
    for codec in ["null", "deflate", "snappy", "zstandard", "bzip2"]:
        with open("%s.avro" % codec, "wb") as f:
            fastavro.writer(f, schema, trees, codec=codec, sync_interval=2000)
    with open("empty.avro", "wb") as f:
        fastavro.writer(f, schema, [], codec="deflate")
    table = pa.Table.from_pylist(trees, PARQUET)
    for codec in ["none", "snappy", "gzip", "zstd", "brotli", "lz4"]:
        pq.write_table(table, "%s.parquet" % codec, compression=codec, row_group_size=70, data_page_size=512)
    # No dictionaries, pages of the second version with delta encodings, decimals as integers, everything required.
    required = pa.schema([pa.field(f.name, f.type, nullable=False) if f.name != "note" else f for f in PARQUET])
    pq.write_table(pa.Table.from_pylist(trees, required), "v2.parquet", version="2.6", data_page_version="2.0",
                   use_dictionary=False, row_group_size=ROWS, store_decimal_as_integer=True, store_schema=False,
                   column_encoding={"id": "DELTA_BINARY_PACKED", "kind": "DELTA_BYTE_ARRAY", "note": "DELTA_LENGTH_BYTE_ARRAY", "height": "BYTE_STREAM_SPLIT"})
    pq.write_table(table.slice(0, 0), "empty.parquet")


def read(path):
    if path.endswith(".avro"):
        with open(path, "rb") as f:
            yield from fastavro.reader(f)
    else:
        yield from pq.read_table(path).to_pylist()


if len(sys.argv) > 2 and sys.argv[1] == "read":
    for name in sys.argv[2:]:
        for record in read(name):
            print(line(record))
else:
    make()
