"""What the programs for Ray and Dask have in common: one part of a word count or of a sort.

Each function reads one block of a file, or joins what the blocks' functions returned. The
programs beside this file only say how a system runs them.
"""

import collections
import json
import os
import sys
import time
import zlib

BLOCKS = 8  # of the input: four for each core
CHUNK = 1 << 20  # bytes of text that are split at a time
RECORD = 100  # bytes of a record, of which the first ten are the key
SAMPLE = 20_000  # records of each block that the ranges of a sort are chosen by
WARM_JOBS = 5  # that are not measured


def tell(**result):
    """Prints a result for hamadryad-bench, the last line of the output."""
    print(json.dumps(result), flush=True)


def measure(run):
    """Returns the seconds that run takes, and what it returns."""
    start = time.perf_counter()
    value = run()
    return time.perf_counter() - start, value


def measure_jobs(count, run):
    """Runs small jobs one after another; each must return the same as all others."""
    values = {run() for _ in range(WARM_JOBS)}
    times = []
    for _ in range(count):
        seconds, value = measure(run)
        times.append(seconds)
        values.add(value)
    tell(times=times, sum=values.pop() if len(values) == 1 else -1)


def wait_for_end():
    """Returns when hamadryad-bench closes this program's input."""
    sys.stdin.read()


def word_blocks(path):
    """Cuts a text into blocks of whole lines: (path, begin, end)."""
    size = os.path.getsize(path)
    cuts = [0]
    with open(path, "rb") as f:
        for i in range(1, BLOCKS):
            f.seek(size * i // BLOCKS)
            f.readline()
            cuts.append(f.tell())
    cuts.append(size)
    return [(path, a, b) for a, b in zip(cuts, cuts[1:]) if a < b]


def count_words(block, parts):
    """Counts the words of a block; returns a dictionary for each part of the output."""
    path, begin, end = block
    counts = collections.Counter()
    with open(path, "rb") as f:
        f.seek(begin)
        rest = b""
        while begin < end:
            chunk = f.read(min(CHUNK, end - begin))
            begin += len(chunk)
            chunk = rest + chunk
            cut = chunk.rfind(b"\n") + 1
            counts.update(chunk[:cut].split())
            rest = chunk[cut:]
        counts.update(rest.split())
    out = [{} for _ in range(parts)]
    for word, n in counts.items():
        out[zlib.crc32(word) % parts][word] = n
    return out


def write_counts(folder, part, maps):
    """Joins the blocks' counts of one part and writes them."""
    counts = collections.Counter()
    for one in maps:
        counts.update(one)
    with open(os.path.join(folder, f"part-r-{part:05}"), "wb") as f:
        f.writelines(b"%s\t%d\n" % pair for pair in sorted(counts.items()))


def _keys(records):
    """The order of records by their keys, and the first eight bytes of each as a number."""
    import numpy as np

    first = records[:, :8].copy().view(">u8").ravel().astype(np.uint64)
    last = records[:, 8:10].copy().view(">u2").ravel().astype(np.uint16)
    return np.lexsort((last, first)), first


def record_blocks(path):
    """Cuts a file of records into blocks: (path, first record, records)."""
    n = os.path.getsize(path) // RECORD
    cuts = [n * i // BLOCKS for i in range(BLOCKS + 1)]
    return [(path, a, b - a) for a, b in zip(cuts, cuts[1:]) if a < b]


def _read(block, most=None):
    import numpy as np

    path, first, count = block
    if most is not None:
        count = min(count, most)
    return np.fromfile(path, np.uint8, count * RECORD, offset=first * RECORD).reshape(-1, RECORD)


def ranges(blocks):
    """Chooses the ranges of keys, one for each part, by a sample of each block."""
    import numpy as np

    sample = np.sort(np.concatenate([_keys(_read(b, SAMPLE))[1] for b in blocks]))
    return [sample[len(sample) * i // BLOCKS] for i in range(1, BLOCKS)]


def sort_block(block, bounds):
    """Sorts a block; returns the records of each range."""
    import numpy as np

    records = _read(block)
    order, first = _keys(records)
    cuts = [0, *np.searchsorted(first[order], bounds), len(records)]
    return [records[order[a:b]] for a, b in zip(cuts, cuts[1:])]


def write_sorted(folder, part, pieces):
    """Joins the pieces of one range and writes them in order."""
    import numpy as np

    records = np.concatenate(pieces)
    order, _ = _keys(records)
    records[order].tofile(os.path.join(folder, f"part-r-{part:05}"))
