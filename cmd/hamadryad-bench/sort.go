package main

import (
	"context"
	"path/filepath"
	"slices"
)

// sortMemoryStated is the memory of all processes of a sort together, MiB.
const sortMemoryStated = 1536

// sortProgram is a program that sorts a file of records: its arguments are those here, the file, and
// the output folder.
type sortProgram struct {
	row  string // a row's name without the size
	name string
	args []string
}

var (
	sortExample = sortProgram{"sort", "terasort", nil}
	// sortTyped is the typed form of package mapreduce, with many more reduce tasks than slots.
	sortTyped = sortProgram{"sort-mapreduce", "hamadryad-bench-sort", []string{"250"}}
)

// sorts holds a total-order sort of 100-byte records, start of the cluster
// included, against GNU sort with two threads and 1 GiB. The cluster's tasks get
// 1 GiB together.
func sorts(size int64, p sortProgram) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		in, err := b.records(ctx, size)
		if err != nil {
			return err
		}
		var ours, theirs []usage
		for range b.runs {
			u, t, err := b.sortOnce(ctx, in, p)
			if err != nil {
				return err
			}
			ours, theirs = append(ours, u), append(theirs, t)
		}
		name := p.row + "-" + sizeName(size)
		if err := b.out.addTimes(name, ours, theirs, "sort --parallel=2 -S1G"); err != nil {
			return err
		}
		return b.out.addMemory(name, ours, sortMemoryStated, "stated")
	}
}

// sortOnce sorts a file both ways and compares. No two records have equal keys: whole lines are in
// the order of their keys.
func (b *bench) sortOnce(ctx context.Context, in string, p sortProgram) (ours, theirs usage, err error) {
	dir, done, err := b.folder()
	if err != nil {
		return ours, theirs, err
	}
	defer done()
	sorted, out := filepath.Join(dir, "sorted"), filepath.Join(dir, "out")
	if theirs, err = program(ctx, false, "sort", "--parallel=2", "-S1G", "-T", dir, "-o", sorted, in); err != nil {
		return ours, theirs, err
	}
	flags := []string{"--launchers", "1", "--slots", "2", "--memory", "1GiB"}
	if ours, err = b.local(ctx, true, flags, p.name, slices.Concat(p.args, []string{in, out})...); err != nil {
		return ours, theirs, err
	}
	return ours, theirs, sameBytes(out, sorted)
}
