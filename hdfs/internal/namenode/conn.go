package namenode

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jcmturner/gokrb5/v8/client"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
)

// ResponseMaxDefault is the default of Options.ResponseMax, and of Hadoop's
// ipc.maximum.response.length: 128 MiB.
const ResponseMaxDefault = 128 << 20

// Values that both ends agree on before the first call.
const (
	version      = 9
	noProof      = 0
	saslProof    = 0xdf
	contextCall  = -3
	saslCall     = -33
	protobufKind = 2
	protocol     = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
	// protocolVersion is ClientProtocol's, which has been 1 since Hadoop 2.
	protocolVersion = 1
)

// Values of ResponseHeader.Status.
const (
	succeeded = 0
	failed    = 1 // the connection can be reused
)

// ErrProtocol is wrapped by errors of answers that are not Hadoop's RPC, are too long, or lack the
// agreed protection. A retry does not help.
var ErrProtocol = errors.New("the answer is not a NameNode's")

// RemoteError is an exception that a NameNode threw. Its methods are those of colinmarc/hdfs's
// Error.
type RemoteError struct {
	method, exception, message string
}

// Method returns the call that failed, such as getBlockLocations.
func (e *RemoteError) Method() string { return e.method }

// Desc implements the library's Error.
func (e *RemoteError) Desc() string { return "ERROR_APPLICATION" }

// Exception returns the exception's class, such as java.io.FileNotFoundException.
func (e *RemoteError) Exception() string { return e.exception }

// Message returns the exception's text, with its stack trace.
func (e *RemoteError) Message() string { return e.message }

func (e *RemoteError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.method, e.exception, e.message)
}

// Options of a connection.
type Options struct {
	// User is the calling user if there is no Login. Otherwise Login's user calls.
	User string
	// Login authenticates the user by Kerberos; nil: the NameNode trusts User.
	Login *client.Client
	// Principal is the NameNode's, without realm, as in dfs.namenode.kerberos.principal. _HOST in
	// it stands for the NameNode's host. Login needs it.
	Principal string
	// ResponseMax bounds an answer, in bytes; 0: ResponseMaxDefault.
	ResponseMax int
}

// Conn is a connection to a NameNode. One goroutine at a time uses it.
type Conn struct {
	conn   net.Conn
	o      Options
	client []byte // random: distinguishes this client's calls from others'
	calls  int32  // calls made so far
	seal   *sealer
	broken bool
}

// Handshake makes a Conn on a new connection to a NameNode. host is the NameNode's name in its
// principal. After an error the caller closes conn.
func Handshake(conn net.Conn, host string, o Options) (*Conn, error) {
	if o.ResponseMax == 0 {
		o.ResponseMax = ResponseMaxDefault
	}
	c := &Conn{conn: conn, o: o, client: make([]byte, 16)}
	_, _ = rand.Read(c.client) // it never fails
	hello := []byte{'h', 'r', 'p', 'c', version, 0, noProof}
	about := &ConnectionContext{Protocol: proto.String(protocol)}
	if o.Login == nil {
		about.User = &UserInformation{Effective: proto.String(o.User)}
	} else {
		hello[6] = saslProof
	}
	if _, err := conn.Write(hello); err != nil {
		return nil, err
	}
	if o.Login != nil {
		if err := c.prove(host); err != nil {
			return nil, fmt.Errorf("prove the user by Kerberos: %w", err)
		}
	}
	return c, c.send(contextCall, about)
}

// Broken reports whether the connection is unusable.
func (c *Conn) Broken() bool { return c.broken }

// Close closes the connection. It may be called while a call is under way.
func (c *Conn) Close() error { return c.conn.Close() }

// call makes a call. An exception is a *RemoteError.
func (c *Conn) call(method string, request, response proto.Message) (err error) {
	defer func() { c.broken = c.broken || err != nil && !errors.As(err, new(*RemoteError)) }()
	c.calls++
	header := &MethodHeader{Method: proto.String(method), Protocol: proto.String(protocol), Version: proto.Uint64(protocolVersion)}
	if err := c.send(c.calls, header, request); err != nil {
		return err
	}
	answer, err := c.receive()
	if err != nil {
		return err
	}
	return c.open(answer, method, c.calls, response)
}

// send sends the messages of a call, as one packet.
func (c *Conn) send(call int32, messages ...proto.Message) error {
	packet, err := c.packet(call, messages...)
	if err != nil {
		return err
	}
	if c.seal != nil {
		token, err := c.seal.wrap(packet)
		if err != nil {
			return err
		}
		if packet, err = c.packet(saslCall, &Sasl{State: Sasl_WRAP.Enum(), Token: token}); err != nil {
			return err
		}
	}
	_, err = c.conn.Write(packet)
	return err
}

// packet returns a packet: its length, a header and messages, each after its own length.
func (c *Conn) packet(call int32, messages ...proto.Message) ([]byte, error) {
	header := &RequestHeader{Kind: proto.Int32(protobufKind), Operation: proto.Int32(0), Call: proto.Int32(call), Client: c.client}
	b := bytes.NewBuffer(make([]byte, 4))
	for _, m := range append([]proto.Message{header}, messages...) {
		if _, err := protodelim.MarshalTo(b, m); err != nil {
			return nil, err
		}
	}
	packet := b.Bytes()
	binary.BigEndian.PutUint32(packet, uint32(len(packet)-4)) //nolint:gosec // a path and a few short words
	return packet, nil
}

// receive returns the next packet, unwrapped and without its length.
func (c *Conn) receive() ([]byte, error) {
	packet, err := c.read(c.conn)
	if err != nil || c.seal == nil {
		return packet, err
	}
	var sasl Sasl
	if err := c.open(packet, "sasl", saslCall, &sasl); err != nil {
		return nil, err
	}
	if sasl.GetState() != Sasl_WRAP {
		return nil, fmt.Errorf("%w: %v, not a protected answer", ErrProtocol, sasl.GetState())
	}
	plain, err := c.seal.unwrap(sasl.GetToken())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return c.read(bytes.NewReader(plain))
}

// read reads a packet and its length.
func (c *Conn) read(from io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(length[:]))
	if n > int64(c.o.ResponseMax) {
		return nil, fmt.Errorf("%w: it has %d bytes, and at most %d are read", ErrProtocol, n, c.o.ResponseMax)
	}
	var packet bytes.Buffer // grow with received bytes, not by the claimed length
	if m, err := io.CopyN(&packet, from, n); err != nil {
		return nil, fmt.Errorf("%d of %d bytes of an answer: %w", m, n, unexpected(err))
	}
	return packet.Bytes(), nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// open parses a packet: a header, and a message if the call succeeded.
func (c *Conn) open(packet []byte, method string, call int32, to proto.Message) error {
	from := bytes.NewReader(packet)
	o := protodelim.UnmarshalOptions{MaxSize: int64(len(packet))}
	var header ResponseHeader
	if err := o.UnmarshalFrom(from, &header); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if status := header.GetStatus(); status != succeeded {
		c.broken = c.broken || status != failed
		return &RemoteError{method, header.GetException(), header.GetMessage()}
	}
	if got := int32(header.GetCall()); got != call { //nolint:gosec // Java's int, which is signed
		return fmt.Errorf("%w: it is of call %d, and %d was made", ErrProtocol, got, call)
	}
	if err := o.UnmarshalFrom(from, to); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}
