package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// contents summarises files of records: their number, and the sum of their hashes, which does not
// depend on their order.
type contents struct {
	records int64
	sum     uint64
	last    [keyBytes]byte // key of the last record
	order   error          // the first record out of order
}

// validate compares an output folder with the inputs, and returns the number of its records.
func validate(ctx context.Context, inputs []string, output string) (int64, error) {
	var in, out contents
	for _, pattern := range inputs {
		if err := in.read(ctx, pattern); err != nil {
			return 0, err
		}
	}
	if err := out.read(ctx, output); err != nil {
		return 0, err
	}
	switch {
	case out.order != nil:
		return 0, out.order
	case in.records != out.records:
		return 0, fmt.Errorf("%d records came in and %d went out", in.records, out.records)
	case in.sum != out.sum:
		return 0, errors.New("the output's records are not those of the input")
	}
	return out.records, nil
}

// read reads the files of a pattern, in order of path.
func (c *contents) read(ctx context.Context, pattern string) error {
	store, err := storage.For(pattern)
	if err != nil {
		return err
	}
	files, err := store.List(ctx, pattern)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := c.file(ctx, store, f.Path); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

func (c *contents) file(ctx context.Context, store storage.Store, path string) (err error) {
	f, err := store.Open(ctx, path, 0, -1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bufio.NewReaderSize(f, 1<<20)
	var record [recordBytes]byte
	for at := int64(0); ; at += recordBytes {
		switch _, err := io.ReadFull(r, record[:]); {
		case err == io.EOF: // only a bare io.EOF is the end: a failure may wrap it
			return nil
		case err != nil:
			return fmt.Errorf("offset %d: %w", at, err)
		}
		if c.order == nil && bytes.Compare(record[:keyBytes], c.last[:]) < 0 {
			c.order = fmt.Errorf("%s: the record at offset %d is out of order: key %q after %q", path, at, record[:keyBytes], c.last)
		}
		copy(c.last[:], record[:keyBytes])
		c.records++
		c.sum += xxh3.Hash(record[:])
	}
}
