package hdfs

import (
	"context"
	"errors"
	"io/fs"
	"net"

	"github.com/hamadryad/hamadryad/hdfs/internal/namenode"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Locations implements storage.Store. If no NameNode answers, it returns nil and logs that once.
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
	found, err := p.locate.blocks(ctx, p, offset, length)
	switch {
	case err == nil:
	case ctx.Err() != nil, aboutFile(err):
		return nil, err
	default:
		p.locate.warn(err)
		return nil, nil
	}
	var blocks []storage.Block
	for _, b := range found {
		block := storage.Block{Offset: b.Offset, Length: b.Length}
		for _, r := range b.Replicas {
			block.Hosts = append(block.Hosts, p.launcherHost(r))
			block.Racks = append(block.Racks, r.Rack)
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}

// launcherHost returns the launchers' name for the host of a replica.
func (c *cluster) launcherHost(r namenode.Replica) string {
	for _, name := range []string{r.Host, r.Address, hostOf(r.Address)} {
		if other, ok := c.set.Hosts[name]; ok {
			return other
		}
	}
	return r.Host
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// checkLocations returns why locations are unavailable. It queries the root, which has no blocks,
// so the NameNode refuses; an answer is all that counts.
func (p place) checkLocations(ctx context.Context) error {
	root := p
	root.path = "/"
	_, err := p.locate.blocks(ctx, root, 0, 1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// located returns the replicas of the block at r.offset. It queries once for each block, and for
// Options.Call at most. It returns nil if no NameNode answers.
func (r *reader) located() []namenode.Replica {
	if b := &r.block; b.Length > 0 && b.Offset <= r.offset && r.offset < b.Offset+b.Length {
		return b.Replicas
	}
	if r.locate.paused() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.set.Call)
	defer cancel()
	blocks, err := r.locate.once(ctx, r.path, r.offset, 1)
	if err != nil || len(blocks) == 0 {
		return nil
	}
	r.block = blocks[0]
	for i, rep := range r.block.Replicas {
		if _, port, err := net.SplitHostPort(rep.Address); err == nil && r.base.UseDatanodeHostname {
			r.block.Replicas[i].Address = net.JoinHostPort(rep.Host, port)
		}
	}
	return r.block.Replicas
}

// addresses returns the DataNodes that hold the block at r.offset.
func (r *reader) addresses() []string {
	var all []string
	for _, rep := range r.located() {
		all = append(all, rep.Address)
	}
	return all
}
