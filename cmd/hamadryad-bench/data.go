package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The inputs have decimal sizes, as in the programs that make them.
const (
	mb = 1_000_000
	gb = 1_000_000_000
)

const (
	vocabulary    = 1_000_000 // distinct words of the text; a small text has fewer
	textSlackMax  = 64        // bytes by which a text may exceed its size: its last word
	teraRecord    = 100       // bytes
	baselineFiles = "cmd/hamadryad-bench/baselines"
)

// baseline builds a hand-written program and returns its path.
func (b *bench) baseline(ctx context.Context, name string) (string, error) {
	folder, err := filepath.Abs(filepath.Join(b.bin, "..", filepath.Base(baselineFiles)))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", baselineFiles, "-o", folder+"/", "./"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the baseline %s: %w (run this in the project's folder)\n%s", name, err, out)
	}
	return filepath.Join(folder, name), nil
}

// text returns a file of words of about that many bytes, and makes it the first time.
func (b *bench) text(ctx context.Context, size int64) (string, error) {
	path := filepath.Join(b.data, "text-"+sizeName(size)+".txt")
	right := func(n int64) bool { return n >= size && n < size+textSlackMax }
	return path, b.made(ctx, path, right, "textgen", fmt.Sprint(size), fmt.Sprint(vocabulary), path+".part")
}

// records returns a file of 100-byte records of that many bytes, and makes it the
// first time.
func (b *bench) records(ctx context.Context, size int64) (string, error) {
	path := filepath.Join(b.data, "records-"+sizeName(size))
	right := func(n int64) bool { return n == size }
	return path, b.made(ctx, path, right, "terasort", "gen", fmt.Sprint(size/teraRecord), path+".part")
}

// made ensures that a file of the right size exists and is in the page cache. The program that
// makes it writes path.part, which is renamed when it is complete.
func (b *bench) made(ctx context.Context, path string, right func(int64) bool, program string, args ...string) error {
	if info, err := os.Stat(path); err == nil && right(info.Size()) {
		return warm(path)
	}
	if err := os.MkdirAll(b.data, 0o755); err != nil {
		return err
	}
	maker, err := b.baseline(ctx, program)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "making %s ...\n", path)
	if out, err := exec.CommandContext(ctx, maker, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", maker, strings.Join(args, " "), err, out)
	}
	info, err := os.Stat(path + ".part")
	if err != nil {
		return err
	}
	if !right(info.Size()) {
		return fmt.Errorf("%s made %d bytes, which is not the size asked for: is the disk full?", program, info.Size())
	}
	return os.Rename(path+".part", path)
}

// warm reads a file once, so that every run finds it in the page cache.
func warm(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// sizeName is 10mb or 5gb.
func sizeName(size int64) string {
	if size >= gb && size%gb == 0 {
		return fmt.Sprintf("%dgb", size/gb)
	}
	return fmt.Sprintf("%dmb", size/mb)
}
