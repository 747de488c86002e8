#!/bin/sh
# Counts words with awk.
#
#	hamadryad local -- ./wordcount.sh INPUT OUTPUT
#
# The combiner is the reducer: sums of sums are sums. It makes what travels small.
sums=$(cat <<'AWK'
awk -F'\t' '
	$1 != word { if (NR > 1) print word "\t" n; word = $1; n = 0 }
	{ n += $2 }
	END { if (NR > 0) print word "\t" n }'
AWK
)
exec hamadryad-streaming \
	-numReduceTasks 2 \
	-input "$1" -output "$2" \
	-mapper "awk '{ for (i = 1; i <= NF; i++) print \$i \"\t1\" }'" \
	-combiner "$sums" \
	-reducer "$sums"
