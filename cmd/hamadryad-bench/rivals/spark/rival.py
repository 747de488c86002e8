"""The benchmark's programs for Spark: rival.py NAME ARGUMENTS, see ../README.md.

They use DataFrames, whose work is done in Java: Spark's functions in Python are slower.
"""

import os
import sys

import pyspark
import work
from pyspark.sql import SparkSession, functions

NAME, ARGS = sys.argv[1], sys.argv[2:]


def start():
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", os.environ["RIVAL_FOLDER"])
        .config("spark.sql.warehouse.dir", os.path.join(os.environ["RIVAL_FOLDER"], "warehouse"))
        .getOrCreate()
    )


def noops(spark, n):
    return spark.range(0, n, 1, n).agg(functions.sum("id")).collect()[0][0]


def lines(spark, path):
    return spark.read.option("lineSep", "\n").text(path)


def wordcount(spark, path, folder):
    words = lines(spark, path).select(functions.explode(functions.split("value", " ")).alias("word"))
    counts = words.where("word != ''").groupBy("word").count()
    counts.select(functions.concat_ws("\t", "word", "count")).write.text(folder)


def sort(spark, path, folder):
    key = functions.substring("value", 1, 10)
    lines(spark, path).orderBy(key).write.option("lineSep", "\n").text(folder)


if NAME == "version":
    work.tell(version=pyspark.__version__)
elif NAME == "cluster":
    work.tell(address="local[2]")  # a cluster in the program itself: there is none to start before
    work.wait_for_end()
elif NAME == "job":
    with start() as spark:
        work.tell(sum=noops(spark, int(ARGS[1])))
else:
    with start() as spark:
        if NAME == "noop":
            noops(spark, int(ARGS[0]))
            seconds, total = work.measure(lambda: noops(spark, int(ARGS[0])))
            work.tell(seconds=seconds, sum=total)
        elif NAME == "jobs":
            work.measure_jobs(int(ARGS[0]), lambda: noops(spark, int(ARGS[1])))
        else:
            run = {"wordcount": wordcount, "sort": sort}[NAME]
            work.tell(seconds=work.measure(lambda: run(spark, *ARGS))[0])
