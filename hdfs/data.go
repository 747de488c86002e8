package hdfs

import (
	"context"
	"fmt"
	"net"

	"github.com/hamadryad/hamadryad/hdfs/internal/packet"
)

// dataConn is a connection to a DataNode. Each step has a deadline, errors name the node and the
// block, and received data is verified.
type dataConn struct {
	timedConn
	node   string // address
	opaque bool   // SASL wraps the stream: it can't be verified here
	failed func(node string, err error)
	begun  bool
	block  string
	reader *packet.Reader // of the response to a read request
}

// dialData connects to a DataNode.
func (c *cluster) dialData(ctx context.Context, address string, opaque bool, failed func(node string, err error)) (*dataConn, error) {
	conn, err := (&net.Dialer{Timeout: c.set.Dial}).DialContext(ctx, "tcp", address)
	if err != nil {
		err = fmt.Errorf("DataNode %s: %w", address, err)
		failed(address, err)
		return nil, err
	}
	return &dataConn{timedConn: timedConn{Conn: conn, each: c.set.Data}, node: address, opaque: opaque, failed: failed}, nil
}

// Write implements net.Conn. The first write is the request.
func (c *dataConn) Write(p []byte) (int, error) {
	if !c.begun && !c.opaque {
		request, err := packet.ParseRequest(p)
		if err != nil {
			return 0, err
		}
		c.begun, c.block = true, request.Block
		if !request.Write {
			c.reader = packet.NewReader(&c.timedConn, request)
		}
	}
	n, err := c.timedConn.Write(p)
	return n, c.name(err)
}

// Read implements net.Conn.
func (c *dataConn) Read(p []byte) (int, error) {
	var n int
	var err error
	if c.reader == nil {
		n, err = c.timedConn.Read(p)
	} else {
		n, err = c.reader.Read(p)
	}
	return n, c.name(err)
}

// name adds the node to an error, and remembers the failure.
func (c *dataConn) name(err error) error {
	if err == nil {
		return nil
	}
	where := "DataNode " + c.node
	if c.block != "" {
		where = c.block + " on " + where
	}
	err = fmt.Errorf("%s: %w", where, err)
	c.failed(c.node, err)
	return err
}
