package tcp

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	protocol = "hamadryad-stream"
	version  = 2

	msgHello  byte = 0x21
	msgAccept byte = 0x22
	msgNo     byte = 0x23
	msgBlock  byte = 0x24
	msgCredit byte = 0x25
	msgBeat   byte = 0x26
	msgEnd    byte = 0x27
	msgDone   byte = 0x28
	msgGone   byte = 0x29
	msgAbort  byte = 0x2a
	msgFull   byte = 0x2b
	msgAside  byte = 0x2c
)

const (
	// WindowDefault bounds one channel's bytes in the reader's memory. It has enough batches for
	// both ends to work at once. It has few enough that they are still in the processor's cache
	// when they are read: with twice as many, a large record costs a sixth more.
	WindowDefault = 512 << 10
	// windowLeast is the window of a reader with very many channels: two batches.
	windowLeast = 2 * job.BatchBytes
	// BudgetDefault is the memory that all windows of a Listener share.
	BudgetDefault = 64 << 20
	// TickDefault is the period of heartbeats and of the check for a silent peer.
	TickDefault = time.Second
	// SilentTicks is how many ticks in a row a peer may send nothing.
	SilentTicks = 20
	// RendezvousMax is how long a writer's connection waits for its reader.
	RendezvousMax = 30 * time.Second
	// helloMax is how long a new connection may take to say hello.
	helloMax = 5 * time.Second
	// lingerMax is how long a finished end waits for the peer to close the connection.
	lingerMax = 5 * time.Second
	// handshakesMax bounds the connections between accept and rendezvous. The listener lets at most
	// WaitingMax of them be without the token, and AddressMax from one address: the writers of a
	// machine dial some hundreds at once.
	handshakesMax = 4096
	WaitingMax    = 3072
	AddressMax    = 1024
	// StallDefault is how long a writer waits for room before it sends full. It is halved each time
	// that the reader then spills, down to stallLeast.
	StallDefault = 200 * time.Millisecond
	stallLeast   = 5 * time.Millisecond
	// SpillMaxDefault bounds the bytes on disk of all channels of a Listener: 64 GiB.
	SpillMaxDefault = 64 << 30
	// StuckTicksDefault is how many ticks in a row a writer may wait for room: 5 minutes. It counts
	// while the reader's disk is full and the node takes nothing from its channel.
	StuckTicksDefault = 300
	// NameMax is the longest channel name and the longest token, in bytes.
	NameMax = control.TextMax
)

// Key names one streamed channel of one attempt at a bundle.
type Key struct {
	Job     scheduler.JobID
	Bundle  scheduler.BundleID
	Try     uint32 // which try at running the bundle
	Channel string // the edge, as the engine names it; at most NameMax bytes
	From    int    // index of the writing node in its stage
	To      int    // index of the reading node in its stage
}

// String is the form for logs and errors.
func (k Key) String() string {
	return fmt.Sprintf("tcp channel %q from node %d to node %d (%v, try %d, %v)", k.Channel, k.From, k.To, k.Bundle, k.Try, k.Job)
}

// Options of a Listener and of Dial. The zero value is ready to use.
type Options struct {
	// Codec compresses batches on the wire; the writer's setting is used.
	Codec block.Codec
	// Window bounds one channel's bytes in the reader's memory; the reader's setting is used. 0
	// means WindowDefault.
	Window int64
	// Budget bounds the bytes of all windows of a Listener. With many channels each gets less than
	// Window, at least 128 KiB; 0 means BudgetDefault.
	Budget int64
	// Tick is the period of heartbeats; 0 means TickDefault. A peer that is silent for SilentTicks
	// ticks is lost.
	Tick time.Duration
	// Stall is how long a writer waits for room before it sends full; 0 means StallDefault.
	Stall time.Duration
	// Scratch makes the folder of a Listener's spill files, and returns it. Nil: there is no spill,
	// and a writer waits for its reader.
	Scratch func() (string, error)
	// SpillMax bounds the bytes on disk of all channels of a Listener; 0 means SpillMaxDefault.
	SpillMax int64
	// Waits reports whether the node that reads a channel is waiting for anything. For a node that
	// computes nothing is spilled: it will come back to read. Nil: it may always be waiting.
	Waits func(Key) bool
	// Stuck is called for a channel whose writer waited for StuckTicks ticks, while nothing could
	// be spilled and the node read nothing of it. The error says why there was no spill. Nil:
	// writers wait on.
	Stuck func(Key, error)
	// StuckTicks is counted in ticks; 0 means StuckTicksDefault.
	StuckTicks int
	// Known is called once for each connection that shows the token. Nil: no callback.
	Known func(net.Conn)
	// Log gets a line for each refused connection; nil means slog.Default().
	Log *slog.Logger
	// Dial opens the connection; nil means TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Hello is how long a new connection may take to say hello; 0 means 5 s.
	Hello time.Duration
}

func (o Options) filled() Options {
	if o.Window <= 0 {
		o.Window = WindowDefault
	}
	if o.Budget <= 0 {
		o.Budget = BudgetDefault
	}
	if o.Tick <= 0 {
		o.Tick = TickDefault
	}
	if o.Stall <= 0 {
		o.Stall = StallDefault
	}
	if o.SpillMax <= 0 {
		o.SpillMax = SpillMaxDefault
	}
	if o.StuckTicks <= 0 {
		o.StuckTicks = StuckTicksDefault
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Hello <= 0 {
		o.Hello = helloMax
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{Timeout: helloMax}).DialContext(ctx, "tcp", addr)
		}
	}
	return o
}

func helloBody(k Key, token string) control.Body {
	return control.Body{}.Text(protocol).U32(version).U64(uint64(k.Job)).U64(uint64(k.Bundle)).U32(k.Try).
		Text(k.Channel).U32(uint32(k.From)).U32(uint32(k.To)).Text(token)
}

func parseHello(p *control.Parser) (k Key, token string, err error) {
	name, v := p.Text(), p.U32()
	k = Key{Job: scheduler.JobID(p.U64()), Bundle: scheduler.BundleID(p.U64()), Try: p.U32(), Channel: p.Text()}
	k.From, k.To, token = int(p.U32()), int(p.U32()), p.Text()
	if err := p.End(); err != nil {
		return k, "", err
	}
	if name != protocol || v != version {
		return k, "", fmt.Errorf("%w: protocol %q version %d, want %q version %d", control.ErrGarbled, name, v, protocol, version)
	}
	return k, token, nil
}

// cost is a batch's memory.
func cost(b *job.Batch) int64 { return int64(len(b.Data) + 4*len(b.Ends)) }
