"""The benchmark's programs for Ray: rival.py NAME ARGUMENTS, see ../README.md."""

import os
import sys

NAME, ARGS = sys.argv[1], sys.argv[2:]
if NAME == "job":
    os.environ["RAY_AUTH_MODE"] = "token"  # the cluster made one, in the home that all these programs share

import ray  # noqa: E402
import work  # noqa: E402


@ray.remote
def noop(i):
    return i


def noops(n):
    return sum(ray.get([noop.remote(i) for i in range(n)]))


def start():
    ray.init(num_cpus=2, _temp_dir=os.environ["RIVAL_FOLDER"], log_to_driver=False)


def wordcount(path, folder):
    os.mkdir(folder)
    parts = 2
    count = ray.remote(num_returns=parts)(work.count_words)
    write = ray.remote(lambda part, *maps: work.write_counts(folder, part, maps))
    maps = [count.remote(b, parts) for b in work.word_blocks(path)]
    ray.get([write.remote(p, *(m[p] for m in maps)) for p in range(parts)])


def sort(path, folder):
    os.mkdir(folder)
    blocks = work.record_blocks(path)
    bounds = ray.get(ray.remote(work.ranges).remote(blocks))
    cut = ray.remote(num_returns=len(bounds) + 1)(work.sort_block)
    write = ray.remote(lambda part, *pieces: work.write_sorted(folder, part, pieces))
    pieces = [cut.remote(b, bounds) for b in blocks]
    ray.get([write.remote(p, *(b[p] for b in pieces)) for p in range(len(bounds) + 1)])


if NAME == "version":
    work.tell(version=ray.__version__)
elif NAME == "cluster":
    start()
    work.tell(address=ray.get_runtime_context().gcs_address)
    work.wait_for_end()
elif NAME == "job":
    ray.init(address=ARGS[0], log_to_driver=False)
    work.tell(sum=noops(int(ARGS[1])))
else:
    start()
    if NAME == "noop":
        noops(int(ARGS[0]))
        seconds, total = work.measure(lambda: noops(int(ARGS[0])))
        work.tell(seconds=seconds, sum=total)
    elif NAME == "jobs":
        work.measure_jobs(int(ARGS[0]), lambda: noops(int(ARGS[1])))
    else:
        run = {"wordcount": wordcount, "sort": sort}[NAME]
        work.tell(seconds=work.measure(lambda: run(*ARGS))[0])
