package hdfs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// webBlock is a block in the answer to GETFILEBLOCKLOCATIONS.
type webBlock struct {
	Offset   int64    `json:"offset"`
	Length   int64    `json:"length"`
	Hosts    []string `json:"hosts"`         // host names of the DataNodes, nearest first
	Names    []string `json:"names"`         // their addresses, in the same order
	Topology []string `json:"topologyPaths"` // their racks and addresses, in the same order
}

// webBlocks asks for the blocks of a range (WebHDFS REST API, "Get File Block
// Locations"; Hadoop 2.9, 3.1 and later).
func (c *cluster) webBlocks(ctx context.Context, path string, offset, length int64) ([]webBlock, error) {
	var answer struct {
		BlockLocations struct{ BlockLocation []webBlock }
	}
	err := c.web.get(ctx, path, url.Values{
		"op":     {"GETFILEBLOCKLOCATIONS"},
		"offset": {strconv.FormatInt(offset, 10)}, "length": {strconv.FormatInt(length, 10)},
	}, &answer)
	return answer.BlockLocations.BlockLocation, err
}

// Locations implements storage.Store. Where WebHDFS does not answer it returns nil,
// and says so once in the log.
func (s *Store) Locations(ctx context.Context, url string, offset, length int64) ([]storage.Block, error) {
	p, err := s.find(url)
	if err != nil {
		return nil, err
	}
	if length < 0 {
		info, err := s.Stat(ctx, url)
		if err != nil {
			return nil, err
		}
		length = max(info.Size-offset, 0)
	}
	found, err := p.webBlocks(ctx, p.path, offset, length)
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, p.explain("find the blocks of", p, err)
	default:
		p.web.warn(err)
		return nil, nil
	}
	var blocks []storage.Block
	for _, b := range found {
		block := storage.Block{Offset: b.Offset, Length: b.Length}
		for i := range b.Hosts {
			block.Hosts = append(block.Hosts, p.launcherHost(b, i))
			block.Racks = append(block.Racks, b.rack(i))
		}
		blocks = append(blocks, block)
	}
	slices.SortFunc(blocks, func(a, b storage.Block) int { return cmp.Compare(a.Offset, b.Offset) })
	return blocks, nil
}

// launcherHost is the name that launchers have on the host of a replica.
func (c *cluster) launcherHost(b webBlock, i int) string {
	host := b.Hosts[i]
	for _, name := range []string{host, b.address(i), hostOf(b.address(i))} {
		if other, ok := c.set.Hosts[name]; ok {
			return other
		}
	}
	return host
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

func (b webBlock) address(i int) string {
	if i < len(b.Names) {
		return b.Names[i]
	}
	return ""
}

// rack is the topology path without its last part, the node.
func (b webBlock) rack(i int) string {
	if i >= len(b.Topology) {
		return ""
	}
	return b.Topology[i][:max(strings.LastIndexByte(b.Topology[i], '/'), 0)]
}

// checkLocations says why places can't be told. The root has no blocks, so that
// WebHDFS refuses the question; what counts is that it answers.
func (c *cluster) checkLocations(ctx context.Context) error {
	_, err := c.webBlocks(ctx, "/", 0, 1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// replica is a copy of a block: the DataNode that holds it.
type replica struct{ host, address string }

// blockReplicas are the replicas of the block with a range of a file.
type blockReplicas struct {
	offset, length int64
	replicas       []replica
}

// located asks where the block at r.offset lies, once for each block. It is nil when
// WebHDFS does not tell.
func (r *reader) located() []replica {
	if b := &r.block; b.length > 0 && b.offset <= r.offset && r.offset < b.offset+b.length {
		return b.replicas
	}
	blocks, err := r.webBlocks(r.ctx, r.path, r.offset, 1)
	if err != nil || len(blocks) == 0 {
		return nil
	}
	b := blocks[0]
	r.block = blockReplicas{offset: b.Offset, length: b.Length}
	for i, host := range b.Hosts {
		address := b.address(i)
		if _, port, err := net.SplitHostPort(address); err == nil && r.base.UseDatanodeHostname {
			address = net.JoinHostPort(host, port)
		}
		r.block.replicas = append(r.block.replicas, replica{host, address})
	}
	return r.block.replicas
}

// addresses are those of the DataNodes that hold the block at r.offset.
func (r *reader) addresses() []string {
	var all []string
	for _, rep := range r.located() {
		all = append(all, rep.address)
	}
	return all
}
