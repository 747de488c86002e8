package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// chunkBytes is the size of the parts of a blob. With its framing a part fits into a buffer of 32
// KiB; gRPC's next buffers have 1 MiB. The first part has the hash alone, so that a manager that
// queues the upload holds little of it.
const chunkBytes = 31 << 10

// uploadCalls is how many times the bound of a call a blob's upload may take.
const uploadCalls = 10

// blob is a file that is sent beside the submission that names it.
type blob struct {
	what string // for people
	hash string // SHA-256, in hex
	open func() (io.ReadCloser, error)
	size int // in bytes, where it is known; else 0
}

// blobUnaskedMax is the size, in bytes, up to which a blob is sent without asking whether the
// manager has it: that costs as much as the answer.
const blobUnaskedMax = 16 << 10

func opener(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// upload sends a blob unless the manager has it.
func (c *Client) upload(ctx context.Context, b blob) (sent bool, err error) {
	if b.size == 0 || b.size > blobUnaskedMax {
		answer, err := unary(ctx, c, c.manager.HasBlob, &wire.BlobQuery{Hash: b.hash})
		if err != nil || answer.Present {
			return false, err
		}
	}
	return true, c.call(ctx, 0, func(ctx context.Context) error { return c.send(ctx, b.hash, b.open) })
}

// uploadAll sends the blobs that the manager lacks, at once, and reports whether there were any.
func (c *Client) uploadAll(ctx context.Context, blobs []blob) (sent bool, err error) {
	var lacked atomic.Bool
	all, ctx := errgroup.WithContext(ctx)
	for _, b := range blobs {
		all.Go(func() error {
			one, err := c.upload(ctx, b)
			if err != nil {
				return fmt.Errorf("send the %s: %w", b.what, err)
			}
			if one {
				lacked.Store(true)
			}
			return nil
		})
	}
	err = all.Wait()
	return lacked.Load(), err
}

func (c *Client) send(ctx context.Context, hash string, open func() (io.ReadCloser, error)) error {
	ctx, cancel := context.WithTimeout(ctx, uploadCalls*c.options.Call)
	defer cancel()
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	chunks := &chunks{hash: hash, from: r}
	_, err = c.manager.PutBlob(ctx, chunks.next)
	return err
}

// chunks are the parts of a blob.
type chunks struct {
	hash string // not yet sent; "": it is
	from io.Reader
	last bool // there are no more
	data [chunkBytes]byte
}

// next returns the next part, until it is called again; after the last, io.EOF.
func (c *chunks) next() (proto.Message, error) {
	if c.hash != "" {
		first := &wire.BlobChunk{Hash: c.hash}
		c.hash = ""
		return first, nil
	}
	if c.last {
		return nil, io.EOF
	}
	n, err := io.ReadFull(c.from, c.data[:])
	c.last = err == io.ErrUnexpectedEOF
	if err != nil && !c.last {
		return nil, err
	}
	return &wire.BlobChunk{Data: c.data[:n]}, nil
}

func hashBytes(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// hashFile returns the SHA-256 of a file, in hex. It remembers it under the file's
// path, size, time and inode in the user's cache folder, where there is one: a
// program is submitted far more often than it is built.
func hashFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := storage.Local{}.Stat(context.Background(), path)
	if err != nil {
		return "", err
	}
	remembered := rememberedPath(path, info.Version)
	if known, err := os.ReadFile(remembered); err == nil && len(known) == 2*sha256.Size {
		return string(known), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, f); err != nil {
		return "", err
	}
	if after, err := (storage.Local{}).Stat(context.Background(), path); err != nil || after.Version != info.Version {
		return "", errors.Join(fmt.Errorf("%s changed while it was read: run it again when it is built", path), err)
	}
	hash := hex.EncodeToString(digest.Sum(nil))
	remember(remembered, hash)
	return hash, nil
}

// rememberedPath is the file that caches the hash of a file; "" without a cache folder.
func rememberedPath(path, version string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	// One entry a path: a newer build replaces the older one's.
	return filepath.Join(cache, "hamadryad", "programs", hashBytes([]byte(path))[:32]+"-"+version)
}

// remember keeps a hash for the next time. It is a convenience: failures cost
// only that the file is read again.
func remember(path, hash string) {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o777) != nil {
		return
	}
	base := filepath.Base(path)
	old, _ := filepath.Glob(filepath.Join(filepath.Dir(path), base[:32]+"-*"))
	for _, p := range old {
		_ = os.Remove(p)
	}
	f, err := storage.Local{NoSync: true}.Create(context.Background(), path)
	if err != nil {
		return
	}
	if _, err := f.Write([]byte(hash)); err != nil {
		_ = f.Abort()
		return
	}
	_ = f.Commit()
}
