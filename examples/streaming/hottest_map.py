#!/usr/bin/env python3
"""Lines CITY,DAY,CELSIUS become CITY, CELSIUS, DAY, with tabs between."""
import sys

for line in sys.stdin:
    parts = line.strip().split(",")
    try:
        city, day, celsius = parts
        float(celsius)
    except ValueError:
        # Seen as a counter of the job when it has ended.
        print("reporter:counter:Weather,bad lines,1", file=sys.stderr)
        continue
    print(city, celsius, day, sep="\t")
