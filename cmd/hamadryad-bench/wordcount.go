package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// wordCountBytes is the size of the text of the word count that other systems were measured with.
const wordCountBytes = 500 * mb

// wordCount500 compares a word count, start of the cluster included, with the hand-written program
// on as many cores as this machine has.
func wordCount500(ctx context.Context, b *bench) error {
	in, err := b.text(ctx, wordCountBytes)
	if err != nil {
		return err
	}
	var ours, theirs []usage
	for range b.runs {
		t, err := b.handCount(ctx, in)
		if err != nil {
			return err
		}
		u, err := b.countWords(ctx, false, in, 2, 1)
		if err != nil {
			return err
		}
		ours, theirs = append(ours, u), append(theirs, t)
	}
	return b.out.addTimes("wordcount-500mb", ours, theirs, "baselines/wordcount cost")
}

// handCount counts words with the hand-written program. Its output stays for
// countWords to compare with.
func (b *bench) handCount(ctx context.Context, in string) (usage, error) {
	path, err := b.baseline(ctx, "wordcount")
	if err != nil {
		return usage{}, err
	}
	return program(ctx, false, path, "cost", in, in+".counts")
}

// countWords counts words on a separate cluster. The tokens of the example are those of the
// hand-written program in a text that has letters, spaces and newlines only, as ours has: elsewhere
// that program takes every byte up to the space for white space, and the example the six that C
// does.
func (b *bench) countWords(ctx context.Context, watch bool, in string, launchers, slots int) (usage, error) {
	out, done, err := b.folder()
	if err != nil {
		return usage{}, err
	}
	defer done()
	flags := []string{"--launchers", fmt.Sprint(launchers), "--slots", fmt.Sprint(slots)}
	u, err := b.local(ctx, watch, flags, "wordcount-bytes", in, filepath.Join(out, "counts"))
	if err != nil {
		return usage{}, err
	}
	return u, sameLines(filepath.Join(out, "counts"), in+".counts")
}

// folder makes a folder for outputs beside the inputs, and a function that removes it.
func (b *bench) folder() (string, func(), error) {
	dir, err := os.MkdirTemp(b.data, "out-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
