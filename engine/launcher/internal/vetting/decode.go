package vetting

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// endFrameBytesMax is the largest frame of an end: its framing takes some bytes.
const endFrameBytesMax = EndedBytesMax + 1<<10

// Field numbers by which a frame is checked before it is decoded.
const (
	fieldReport    protowire.Number = 2  // FromWorker.report
	fieldEnded     protowire.Number = 6  // Report.ended
	fieldStored    protowire.Number = 5  // AttemptEnded.stored
	fieldFiles     protowire.Number = 6  // AttemptEnded.files
	fieldCounters  protowire.Number = 7  // AttemptEnded.counters
	fieldPublished protowire.Number = 16 // AttemptEnded.published
)

// FrameBytesMax is the largest frame that may begin with these bytes: only an end may be large.
func FrameBytesMax(head []byte) int {
	if isEnd(head) {
		return endFrameBytesMax
	}
	return ControlBytesMax
}

// isEnd reports whether a frame begins like the end of an attempt.
func isEnd(head []byte) bool {
	number, kind, n := protowire.ConsumeTag(head)
	if n < 0 || number != fieldReport || kind != protowire.BytesType {
		return false
	}
	head = head[n:]
	if _, n = protowire.ConsumeVarint(head); n < 0 {
		return false
	}
	number, kind, n = protowire.ConsumeTag(head[n:])
	return n > 0 && number == fieldEnded && kind == protowire.BytesType
}

// TooLargeFrame is the offence of a frame that exceeds its bound, and was not read.
func TooLargeFrame(head []byte, size int) *Offence {
	if isEnd(head) {
		return offence(TooLarge, "the report of its end has %d bytes, at most %d are taken: write fewer files, use fewer readers, or count under fewer and shorter names", size, endFrameBytesMax)
	}
	return offence(TooLarge, "a message has %d bytes, at most %d are taken; does the program write to the file descriptor of its launcher?", size, ControlBytesMax)
}

// largeBytes is the size from which frames are decoded one at a time in the whole process: decoded,
// they take a multiple of their size in memory.
const largeBytes = 1 << 20

var large = make(chan struct{}, 1)

// Decode decodes a frame, without unknown fields.
func Decode(frame []byte) (*wire.FromWorker, error) {
	if len(frame) > largeBytes {
		large <- struct{}{}
		defer func() { <-large }()
	}
	if len(frame) > ControlBytesMax {
		entries, err := endEntries(frame)
		if err != nil {
			return nil, garbled(err)
		}
		if entries > EndEntriesMax {
			return nil, offence(TooLarge, "the report of its end has %d entries, at most %d are taken", entries, EndEntriesMax)
		}
	}
	m := &wire.FromWorker{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: recursionMax}).Unmarshal(frame, m); err != nil {
		return nil, garbled(err)
	}
	if r := m.GetReport(); len(frame) > ControlBytesMax && r.GetEnded() == nil { // it began as an end
		return nil, TooLargeFrame(nil, len(frame))
	}
	return m, nil
}

// recursionMax bounds how deep messages are nested.
const recursionMax = 16

func garbled(err error) *Offence {
	return offence(Garbled, "its message made no sense (%v); does the program write to the file descriptor of its launcher?", err)
}

var errCut = errors.New("it is cut off")

// endEntries counts the entries of all lists of all ends in a frame.
func endEntries(frame []byte) (entries int, err error) {
	err = each(frame, func(n protowire.Number, report []byte) error {
		if n != fieldReport {
			return nil
		}
		return each(report, func(n protowire.Number, end []byte) error {
			if n != fieldEnded {
				return nil
			}
			return each(end, func(n protowire.Number, _ []byte) error {
				if n == fieldStored || n == fieldFiles || n == fieldCounters || n == fieldPublished {
					entries++
				}
				return nil
			})
		})
	})
	return entries, err
}

// each calls do for each field of a message, with its bytes if the field has a length.
func each(message []byte, do func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errCut
		}
		message = message[n:]
		var value []byte
		if kind == protowire.BytesType {
			value, n = protowire.ConsumeBytes(message)
		} else {
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return errCut
		}
		message = message[n:]
		if err := do(number, value); err != nil {
			return err
		}
	}
	return nil
}
