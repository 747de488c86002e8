package store

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	protocol = "hamadryad-store"
	version  = 1

	msgHello byte = 1
	msgWant  byte = 2
	msgHave  byte = 3
	msgEnd   byte = 4
	msgNo    byte = 5
)

// The codes of a no, the store's refusal.
const (
	codeLost uint32 = iota + 1
	codeDamaged
	codeRefused
)

// NameMax is the longest channel name and the longest token, in bytes.
const NameMax = control.TextMax

// windowMax is the most bytes one request may ask for.
const windowMax = 8 << 20

// requestLeast is the size of a request's message without its texts: its head, two lengths, and
// numbers.
const requestLeast = 8 + 2*2 + 3*8 + 2*4

// Key names a stored channel file.
type Key struct {
	Job     scheduler.JobID
	Attempt scheduler.AttemptID
	Channel string // the output port, as the engine names it; at most NameMax bytes
}

// String is for logs and errors.
func (k Key) String() string {
	return fmt.Sprintf("channel %q of attempt-%d of %v", k.Channel, k.Attempt, k.Job)
}

// request asks for a range of one partition.
type request struct {
	Key
	token     string
	partition uint32
	offset    uint64
	limit     uint32
}

// message appends the request's message.
func (r request) message(to []byte) []byte { return control.Append(to, msgWant, r.body()) }

func (r request) body() control.Body {
	return control.Body{}.U64(uint64(r.Job)).U64(uint64(r.Attempt)).Text(r.Channel).Text(r.token).
		U32(r.partition).U64(r.offset).U32(r.limit)
}

// requestBytes bounds the bytes of a request for a partition.
func (w *Want) requestBytes() int { return requestLeast + len(w.Channel) + len(w.Token) }

func parseRequest(p *control.Parser) (request, error) {
	r := request{Key: Key{Job: scheduler.JobID(p.U64()), Attempt: scheduler.AttemptID(p.U64()), Channel: p.Text()}}
	r.token, r.partition, r.offset, r.limit = p.Text(), p.U32(), p.U64(), p.U32()
	if err := p.End(); err != nil {
		return r, err
	}
	if r.limit == 0 || r.limit > windowMax {
		return r, fmt.Errorf("%w: a window of %d bytes, want 1 to %d", control.ErrGarbled, r.limit, windowMax)
	}
	return r, nil
}

// have is the answer's head: the partition's stored bytes and records, and how
// many bytes follow.
type have struct{ bytes, records, n uint64 }

func (h have) body() control.Body { return control.Body{}.U64(h.bytes).U64(h.records).U64(h.n) }

func parseHave(p *control.Parser) (have, error) {
	h := have{bytes: p.U64(), records: p.U64(), n: p.U64()}
	return h, p.End()
}

func noBody(code uint32, text string) control.Body { return control.Body{}.U32(code).Text(text) }

// parseNo turns a no into the error of its kind.
func parseNo(p *control.Parser) error {
	code, text := p.U32(), p.Text()
	if err := p.End(); err != nil {
		return err
	}
	kind := channel.ErrRefused
	switch code {
	case codeLost:
		kind = channel.ErrLost
	case codeDamaged:
		kind = channel.ErrDamaged
	}
	return fmt.Errorf("%w: %s", kind, text)
}

func parseHello(p *control.Parser) error {
	name, v := p.Text(), p.U32()
	if err := p.End(); err != nil {
		return err
	}
	if name != protocol || v != version {
		return fmt.Errorf("%w: protocol %q version %d, want %q version %d", control.ErrGarbled, name, v, protocol, version)
	}
	return nil
}
