package packet

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Operations of the protocol.
const (
	version   = 28
	writeOp   = 80
	readOp    = 81
	opHeader  = 3 // bytes: version, operation
	fieldsMax = 1 << 10
)

var errMessage = errors.New("not a message of Hadoop's data transfer protocol")

// Request is a client's request to a DataNode.
type Request struct {
	Write  bool   // a write request; the other fields are for reads
	Block  string // as HDFS's tools and logs name it, such as blk_1073741825_1001
	Offset uint64 // first requested byte
	Length uint64 // number of requested bytes
}

// ParseRequest parses a client's first bytes: a whole request to read or to write.
func ParseRequest(b []byte) (Request, error) {
	if len(b) < opHeader || b[0] != 0 || b[1] != version {
		return Request{}, fmt.Errorf("%w of version %d", errMessage, version)
	}
	if b[2] == writeOp {
		return Request{Write: true}, nil
	}
	message, n := protowire.ConsumeBytes(b[opHeader:])
	if b[2] != readOp || n < 0 || n != len(b)-opHeader {
		return Request{}, fmt.Errorf("%w: operation %d", errMessage, b[2])
	}
	op, err := fields(message)
	if err != nil {
		return Request{}, err
	}
	header, err := fields(op[1].bytes)
	if err != nil {
		return Request{}, err
	}
	base, err := fields(header[1].bytes)
	if err != nil {
		return Request{}, err
	}
	block, err := fields(base[1].bytes)
	if err != nil {
		return Request{}, err
	}
	return Request{
		Block:  fmt.Sprintf("blk_%d_%d", int64(block[2].number), block[3].number), //nolint:gosec // ids are signed in Hadoop
		Offset: op[2].number, Length: op[3].number,
	}, nil
}

// field is the last value of a field: no field that is read here is repeated.
type field struct {
	number uint64 // value of a varint or a fixed-size field
	bytes  []byte
}

// fields parses a message. Missing fields are zero.
func fields(b []byte) (map[protowire.Number]field, error) {
	all := map[protowire.Number]field{}
	for range fieldsMax {
		if len(b) == 0 {
			return all, nil
		}
		id, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, errMessage
		}
		b = b[n:]
		var f field
		switch kind {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.number, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.number = uint64(v)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = -1
		}
		if n < 0 {
			return nil, errMessage
		}
		b, all[id] = b[n:], f
	}
	return nil, fmt.Errorf("%w: more than %d fields", errMessage, fieldsMax)
}
