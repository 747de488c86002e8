#!/bin/sh
# Finds the hottest day of each city with python3, from lines CITY,DAY,CELSIUS.
#
#	hamadryad local -- ./hottest.sh INPUT OUTPUT
#
# The key is city and temperature. It goes to a reducer by its city and is sorted
# by city, then from hot to cold: so the first line of a city is its answer, and
# the reducer holds nothing in memory.
here=$(dirname "$0")
exec hamadryad-streaming \
	-D stream.num.map.output.key.fields=2 \
	-D mapreduce.partition.keypartitioner.options=-k1,1 \
	-D mapreduce.job.output.key.comparator.class=KeyFieldBasedComparator \
	-D mapreduce.partition.keycomparator.options='-k1,1 -k2,2nr' \
	-partitioner KeyFieldBasedPartitioner \
	-numReduceTasks 2 \
	-input "$1" -output "$2" \
	-mapper hottest_map.py -reducer hottest_reduce.py \
	-files "$here/hottest_map.py,$here/hottest_reduce.py"
