package hdfs

import (
	"fmt"
	"strconv"
	"strings"

	lib "github.com/colinmarc/hdfs/v2"
)

// shape is the replication and block size of a new file.
type shape struct {
	replication int
	blockSize   int64 // bytes
}

// shape takes dfs.replication and dfs.blocksize from our configuration, else from the NameNode's
// defaults.
func (c *cluster) shape(d lib.ServerDefaults) (shape, error) {
	s := shape{d.Replication, d.BlockSize}
	if text := c.set.site.Get("dfs.replication"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return s, fmt.Errorf("dfs.replication is %q: use a number from 1", text)
		}
		s.replication = n
	}
	if text := c.set.site.Get("dfs.blocksize"); text != "" {
		n, err := binarySize(text)
		if err != nil || n < 1 {
			return s, fmt.Errorf("dfs.blocksize is %q: use a number of bytes such as 134217728, 128m or 1g", text)
		}
		s.blockSize = n
	}
	return s, nil
}

// binarySize reads a number with one of Hadoop's suffixes.
func binarySize(text string) (int64, error) {
	shift := 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("kmgtpe", text[n-1]|0x20); i >= 0 {
			shift, text = 10*(i+1), text[:n-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n<<shift>>shift != n {
		return 0, fmt.Errorf("%q is no size", text)
	}
	return n << shift, nil
}
