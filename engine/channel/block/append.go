package block

import (
	"fmt"
	"hash/crc32"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Sizes are what consecutive blocks have in all.
type Sizes struct {
	Records int64
	Data    int64 // bytes of the records
}

// Size adds up the headers of blocks that fill p. An error matches channel.ErrDamaged.
func Size(p []byte) (s Sizes, err error) {
	for rest := p; len(rest) > 0; {
		h, err := ParseHeader(rest)
		if err == nil && uint64(len(rest)-HeaderBytes) < uint64(h.Stored) {
			err = damaged("cut short: %d of %d bytes of its payload", len(rest)-HeaderBytes, h.Stored)
		}
		if err != nil {
			return Sizes{}, fmt.Errorf("at byte %d: %w", len(p)-len(rest), err)
		}
		s.Records += int64(h.Records)
		s.Data += int64(h.Data)
		rest = rest[HeaderBytes+int(h.Stored):]
	}
	return s, nil
}

// Appender appends the records of blocks in memory to batches. The zero value is ready to use. Not for
// concurrent use.
type Appender struct {
	raw []byte // memory for expanded payloads
}

// Append appends the records of the blocks that fill p to b. After an error b is as it was.
func (a *Appender) Append(b *job.Batch, p []byte) error {
	data, records := len(b.Data), len(b.Ends)
	for rest := p; len(rest) > 0; {
		n, err := a.block(b, rest)
		if err != nil {
			b.Data, b.Ends = b.Data[:data], b.Ends[:records]
			return fmt.Errorf("at byte %d: %w", len(p)-len(rest), err)
		}
		rest = rest[n:]
	}
	return nil
}

// block appends the records of the first block of p, and returns how many bytes the block has.
func (a *Appender) block(b *job.Batch, p []byte) (int, error) {
	h, payload, err := split(p)
	if err != nil {
		return 0, err
	}
	raw, err := expand(h, payload, kept(a.raw))
	if err != nil {
		return 0, err
	}
	if h.Codec != None {
		a.raw = raw
	}
	list, err := ends(h, raw[h.Data:], b.Ends, uint64(len(b.Data)))
	if err != nil {
		return 0, err
	}
	b.Data, b.Ends = append(b.Data, raw[:h.Data]...), list
	return HeaderBytes + int(h.Stored), nil
}

// Verify checks headers and checksums of the blocks that fill p.
func Verify(p []byte) error {
	for rest := p; len(rest) > 0; {
		_, payload, err := split(rest)
		if err != nil {
			return fmt.Errorf("at byte %d: %w", len(p)-len(rest), err)
		}
		rest = rest[HeaderBytes+len(payload):]
	}
	return nil
}

// split returns the header and the payload of the first block of p, and checks both.
func split(p []byte) (h Header, payload []byte, err error) {
	if h, err = ParseHeader(p); err != nil {
		return h, nil, err
	}
	payload = p[HeaderBytes:]
	if uint64(len(payload)) < uint64(h.Stored) {
		return h, nil, damaged("cut short: %d of %d bytes of its payload", len(payload), h.Stored)
	}
	payload = payload[:h.Stored]
	if got := crc32.Checksum(payload, castagnoli); got != h.sum {
		return h, nil, damaged("payload has checksum %08x, want %08x", got, h.sum)
	}
	return h, payload, nil
}
