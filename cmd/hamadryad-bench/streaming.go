package main

import (
	"context"
	"path/filepath"
)

// streamingBytes is the text of the streaming word count: awk is slow.
const streamingBytes = 100 * mb

// The commands of the streaming word count.
const (
	streamingMapper  = `awk '{for (i = 1; i <= NF; i++) print $i "\t1"}'`
	streamingReducer = `awk -F'\t' '$1 != word {if (NR > 1) print word "\t" n; word = $1; n = 0} {n += $2} END {if (NR > 0) print word "\t" n}'`
)

// streamingWordCount compares a word count by two commands, start of the cluster included, with the
// same commands in a shell pipe with GNU sort between them.
func streamingWordCount(ctx context.Context, b *bench) error {
	in, err := b.text(ctx, streamingBytes)
	if err != nil {
		return err
	}
	var ours, theirs []usage
	for range b.runs {
		u, t, err := b.streamingOnce(ctx, in)
		if err != nil {
			return err
		}
		ours, theirs = append(ours, u), append(theirs, t)
	}
	return b.out.addTimes("streaming-wordcount", ours, theirs, "mapper | sort --parallel=2 -S1G | reducer")
}

func (b *bench) streamingOnce(ctx context.Context, in string) (ours, theirs usage, err error) {
	dir, done, err := b.folder()
	if err != nil {
		return ours, theirs, err
	}
	defer done()
	piped, out := filepath.Join(dir, "piped"), filepath.Join(dir, "out")
	pipe := streamingMapper + ` <"$1" | sort --parallel=2 -S1G -T "$2" | ` + streamingReducer + ` >"$3"`
	if theirs, err = program(ctx, false, "sh", "-c", pipe, "sh", in, dir, piped); err != nil {
		return ours, theirs, err
	}
	ours, err = b.local(ctx, false, []string{"--launchers", "2", "--slots", "1"}, "hamadryad-streaming",
		"-D", "mapreduce.job.reduces=2", "-input", in, "-output", out,
		"-mapper", streamingMapper, "-reducer", streamingReducer)
	if err != nil {
		return ours, theirs, err
	}
	return ours, theirs, sameLines(out, piped)
}
