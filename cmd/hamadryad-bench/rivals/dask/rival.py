"""The benchmark's programs for Dask: rival.py NAME ARGUMENTS, see ../README.md."""

import operator
import os
import pickle
import sys

import dask
import work
from dask.distributed import Client, LocalCluster, wait

NAME, ARGS = sys.argv[1], sys.argv[2:]


def noop(i):
    return i


def noops(client, n):
    return sum(client.gather(client.map(noop, range(n), pure=False)))


def start():
    return LocalCluster(n_workers=2, threads_per_worker=1, local_directory=os.environ["RIVAL_FOLDER"], dashboard_address=None)


def count_words(block, parts):
    # As one value: Dask looks at each key of a dictionary that it moves, which takes longer than counting.
    return [pickle.dumps(counts) for counts in work.count_words(block, parts)]


def write_counts(folder, part, maps):
    work.write_counts(folder, part, map(pickle.loads, maps))


def wordcount(client, path, folder):
    os.mkdir(folder)
    parts = 2
    maps = [client.submit(count_words, b, parts) for b in work.word_blocks(path)]
    finish(client, [client.submit(write_counts, folder, p, [client.submit(operator.getitem, m, p) for m in maps]) for p in range(parts)])


def sort(client, path, folder):
    os.mkdir(folder)
    blocks = work.record_blocks(path)
    bounds = client.submit(work.ranges, blocks).result()
    cut = [client.submit(work.sort_block, b, bounds) for b in blocks]
    finish(client, [client.submit(work.write_sorted, folder, p, [client.submit(operator.getitem, c, p) for c in cut]) for p in range(len(bounds) + 1)])


def finish(client, futures):
    wait(futures)
    client.gather(futures)


def main():
    if NAME == "version":
        work.tell(version=dask.__version__)
    elif NAME == "cluster":
        with start() as cluster:
            work.tell(address=cluster.scheduler_address)
            work.wait_for_end()
    elif NAME == "job":
        with Client(ARGS[0]) as client:
            work.tell(sum=noops(client, int(ARGS[1])))
    else:
        with start() as cluster, Client(cluster) as client:
            measured(client)


def measured(client):
    if NAME == "noop":
        noops(client, int(ARGS[0]))
        seconds, total = work.measure(lambda: noops(client, int(ARGS[0])))
        work.tell(seconds=seconds, sum=total)
    elif NAME == "jobs":
        work.measure_jobs(int(ARGS[0]), lambda: noops(client, int(ARGS[1])))
    else:
        run = {"wordcount": wordcount, "sort": sort}[NAME]
        work.tell(seconds=work.measure(lambda: run(client, *ARGS))[0])


if __name__ == "__main__":
    main()
