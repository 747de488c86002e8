package schedwire

import (
	"math"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/encoding/protowire"
)

// Most answers launch something, or nothing, set the time of the next round, and add to the
// checkpoint. These are encoded and decoded without the message, as rounds are: every answer is
// written once and read once. The field numbers are those of scheduler.proto.
const (
	launchField     = 6
	wakeAtField     = 11
	checkpointField = 12
)

// The fields of a checkpoint.
const (
	versionField = 1
	dataField    = 2
	addsField    = 3
)

// encodeDecisionsDirect returns an answer's bytes, or false if it has anything else.
func encodeDecisionsDirect(d *scheduler.Decisions) ([]byte, bool) {
	if len(d.Refuse)+len(d.Admit)+len(d.Preempt)+len(d.Resume)+len(d.Reserve)+len(d.Speculate)+len(d.Answers)+len(d.Settings)+len(d.Waiting)+len(d.Notes) > 0 {
		return nil, false
	}
	var launch [4][]byte
	var where [3][]byte
	for i := range d.Launch {
		fields(launch[:]).put(1, uint64(d.Launch[i].Bundle))
		fields(launch[:]).putAhead(3, i+1, d.Launch[i].Ahead)
		putIDs(where[:], d.Launch[i].Launchers)
	}
	// A message of launches has its row counts, even if all rows are empty.
	launch[2] = fields(where[:]).appendTo(nil)
	size := fields(launch[:]).size() + roundHeadMax
	if d.Checkpoint != nil {
		size += len(d.Checkpoint.Data)
	}
	b := make([]byte, 0, size)
	b = appendMessage(b, launchField, launch[:])
	if d.WakeAt != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, wakeAtField, protowire.VarintType), protowire.EncodeZigZag(int64(d.WakeAt)))
	}
	if d.Checkpoint != nil {
		b = appendCheckpoint(b, d.Checkpoint)
	}
	return b, len(b) <= MessageBytesMax
}

// appendCheckpoint appends a checkpoint as a field of an answer.
func appendCheckpoint(b []byte, c *scheduler.Checkpoint) []byte {
	var head []byte
	if c.Version != 0 {
		head = protowire.AppendVarint(protowire.AppendTag(head, versionField, protowire.VarintType), uint64(c.Version))
	}
	size := len(head)
	if len(c.Data) > 0 {
		size += protowire.SizeTag(dataField) + protowire.SizeBytes(len(c.Data))
	}
	if c.Append {
		size += protowire.SizeTag(addsField) + protowire.SizeVarint(1)
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, checkpointField, protowire.BytesType), uint64(size))
	b = appendField(append(b, head...), dataField, c.Data)
	if c.Append {
		b = protowire.AppendVarint(protowire.AppendTag(b, addsField, protowire.VarintType), 1)
	}
	return b
}

// readCheckpoint is the reverse of appendCheckpoint; false for bytes that it does not write.
func readCheckpoint(b []byte) (*scheduler.Checkpoint, bool) {
	c := &scheduler.Checkpoint{}
	for last := protowire.Number(0); len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 || number <= last {
			return nil, false
		}
		last, b = number, b[n:]
		switch {
		case number == dataField && kind == protowire.BytesType:
			data, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return nil, false
			}
			c.Data, b = append(c.Data, data...), b[n:] // a copy
		case (number == versionField || number == addsField) && kind == protowire.VarintType:
			v, n := protowire.ConsumeVarint(b)
			if n < 0 || v > math.MaxUint32 || number == addsField && v > 1 {
				return nil, false
			}
			if b = b[n:]; number == versionField {
				c.Version = uint32(v)
			} else {
				c.Append = v == 1
			}
		default:
			return nil, false
		}
	}
	return c, true
}

// decodeDecisionsDirect is the reverse; false for bytes that encodeDecisionsDirect does not write.
// It validates its input.
func decodeDecisionsDirect(b []byte) (d scheduler.Decisions, ok bool) {
	if len(b) > MessageBytesMax {
		return d, false
	}
	for last := protowire.Number(0); len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 || number <= last {
			return d, false
		}
		last, b = number, b[n:]
		switch {
		case number == launchField && kind == protowire.BytesType:
			body, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return d, false
			}
			if d.Launch, ok = launches(body); !ok {
				return d, false
			}
			b = b[n:]
		case number == wakeAtField && kind == protowire.VarintType:
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return d, false
			}
			d.WakeAt, b = scheduler.Time(protowire.DecodeZigZag(v)), b[n:]
		case number == checkpointField && kind == protowire.BytesType:
			body, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return d, false
			}
			if d.Checkpoint, ok = readCheckpoint(body); !ok {
				return d, false
			}
			b = b[n:]
		default:
			return d, false
		}
	}
	return d, true
}

// launches decodes a message Launch that is not empty.
func launches(b []byte) ([]scheduler.Launch, bool) {
	var launch [4][]byte
	var where [3][]byte
	if !fields(launch[:]).split(b) || !fields(where[:]).split(launch[2]) || len(launch[1]) == 0 || len(where[1]) == 0 || launch[0] != nil || where[0] != nil {
		return nil, false
	}
	d := directDecoder{r: newReader(nil)}
	bundles, ahead := column{data: launch[1]}, column{data: launch[3]}
	d.where.read(where[:])
	list := make([]scheduler.Launch, bundles.rows())
	for i := range list {
		list[i] = scheduler.Launch{Bundle: scheduler.BundleID(bundles.next()), Launchers: directIDs(&d, &d.where, &d.r.mem.launchers)}
		if len(launch[3]) > 0 {
			list[i].Ahead = ahead.flag()
		}
	}
	return list, !d.bad && d.r.err == nil && bundles.over() && ahead.over() && columns(d.where.columns[:]).over()
}
