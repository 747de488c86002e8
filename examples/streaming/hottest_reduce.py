#!/usr/bin/env python3
"""The first line of each city is its hottest day: CITY, then DAY CELSIUS."""
import sys

last = None
for line in sys.stdin:
    city, celsius, day = line.rstrip("\n").split("\t")
    if city != last:
        print(city, f"{day} {celsius}", sep="\t")
        last = city
