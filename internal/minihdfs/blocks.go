package minihdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
)

// Replica is one copy of a block on a DataNode's disk.
type Replica struct {
	Block  int    // number in the file, from 0
	ID     string // such as blk_1073741825
	Length int64  // bytes
	Node   int    // number of the DataNode
	File   string // holds the bytes
	Sums   string // holds their checksums
}

// blockLine is a block in fsck's report: number, id, generation, length.
var blockLine = regexp.MustCompile(`(?m)^(\d+)\. \S+:(blk_\d+)_(\d+) len=(\d+)`)

// Replicas finds the copies of a file's blocks on the disks, in order of block and
// node. path has no host: /in/words.txt.
func (c *Cluster) Replicas(ctx context.Context, path string) ([]Replica, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	query := url.Values{"ugi": {me.Username}, "path": {path}, "files": {"1"}, "blocks": {"1"}}
	report, err := c.get(ctx, "/fsck?"+query.Encode())
	if err != nil {
		return nil, err
	}
	if bytes.Contains(report, []byte("does not exist")) {
		return nil, fmt.Errorf("%s: %w", path, os.ErrNotExist)
	}
	var all []Replica
	for _, m := range blockLine.FindAllSubmatch(report, -1) {
		number, err := strconv.Atoi(string(m[1]))
		length, err2 := strconv.ParseInt(string(m[4]), 10, 64)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		for node := range c.data {
			data := filepath.Join(c.folder, Host(node), "current", "BP-*", "current", "*")
			files, err := filepath.Glob(filepath.Join(data, "subdir*", "subdir*", string(m[2])))
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				all = append(all, Replica{number, string(m[2]), length, node, f, f + "_" + string(m[3]) + ".meta"})
			}
		}
	}
	return all, nil
}

// Writing lists the replicas that are being written, in order of their DataNodes. A replica that a
// pipeline abandoned stays on the list for a while.
func (c *Cluster) Writing() ([]Replica, error) {
	var all []Replica
	for node := range c.data {
		open, err := filepath.Glob(filepath.Join(c.folder, Host(node), "current", "BP-*", "current", "rbw", "blk_*"))
		if err != nil {
			return nil, err
		}
		for _, file := range open {
			if filepath.Ext(file) != ".meta" {
				all = append(all, Replica{Node: node, File: file})
			}
		}
	}
	return all, nil
}

// flipped is how many bytes Flip changes.
const flipped = 8

// Flip turns over all bits of eight bytes from offset, behind HDFS's back.
func (r Replica) Flip(offset int64) error {
	f, err := os.OpenFile(r.File, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	b := make([]byte, flipped)
	if _, err := f.ReadAt(b, offset); err != nil {
		return errors.Join(err, f.Close())
	}
	for i := range b {
		b[i] = ^b[i]
	}
	_, err = f.WriteAt(b, offset)
	return errors.Join(err, f.Close())
}
