package namenode

import (
	"fmt"
	"net"
	"strconv"

	"google.golang.org/protobuf/proto"
)

const (
	// rangeMax bounds the range of a file in one call, in bytes. NameNodes make no blocks below 1
	// MiB (dfs.namenode.fs-limits.min-block-size), so the answer has at most 65,536 blocks of a
	// kilobyte or less each: half of ResponseMaxDefault.
	rangeMax = 64 << 30
	// BlocksMax bounds the blocks of an answer: the limit for a file before Hadoop 3.3 made it
	// 10,000 (dfs.namenode.fs-limits.max-blocks-per-file).
	BlocksMax = 1 << 20
)

// Block is a block of a file.
type Block struct {
	Offset, Length int64     // in bytes, Offset from the start of the file
	Replicas       []Replica // nearest to this client first
}

// Replica is a copy of a block, at a DataNode.
type Replica struct {
	Host    string // the DataNode's name
	Address string // ip:port at which it serves clients
	Rack    string // such as /rack1
}

// BlockLocations returns the blocks that overlap a range of a file, in order of offset. A range of
// more than 64 GiB takes several calls. If the file does not exist, the error is a *RemoteError of
// java.io.FileNotFoundException.
func (c *Conn) BlockLocations(path string, offset, length int64) ([]Block, error) {
	var all []Block
	for next, end := offset, offset+length; next < end; next += rangeMax {
		var answer BlockLocationsResponse
		err := c.call("getBlockLocations", &BlockLocationsRequest{
			Path: proto.String(path), Offset: proto.Uint64(uint64(next)), Length: proto.Uint64(uint64(min(rangeMax, end-next))), //nolint:gosec // of a file: not negative
		}, &answer)
		if err != nil {
			return nil, err
		}
		found := answer.GetLocations().GetBlocks()
		if len(found) == 0 {
			break // the file ends before this range
		}
		if len(all)+len(found) > BlocksMax {
			return nil, fmt.Errorf("%w: %s has more than %d blocks", ErrProtocol, path, BlocksMax)
		}
		for _, b := range found {
			block := newBlock(b)
			if n := len(all); n > 0 && block.Offset <= all[n-1].Offset {
				continue // it spans two of our ranges
			}
			all = append(all, block)
		}
	}
	return all, nil
}

func newBlock(b *LocatedBlock) Block {
	block := Block{Offset: int64(b.GetOffset()), Length: int64(b.GetBlock().GetBytes())} //nolint:gosec // Java's long
	for _, d := range b.GetReplicas() {
		id := d.GetId()
		block.Replicas = append(block.Replicas, Replica{
			id.GetHost(), net.JoinHostPort(id.GetIp(), strconv.FormatUint(uint64(id.GetPort()), 10)), d.GetRack(),
		})
	}
	return block
}
