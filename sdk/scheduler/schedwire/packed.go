package schedwire

import "google.golang.org/protobuf/encoding/protowire"

// fields are a message being encoded: by number, the body of each field that is a packed list or a
// message. An empty field is omitted, as in protobuf.
type fields [][]byte

// put appends an element to a packed list.
func (f fields) put(field int, v uint64) {
	if v < 0x80 {
		f[field] = append(f[field], byte(v))
		return
	}
	f[field] = protowire.AppendVarint(f[field], v)
}

func (f fields) putBool(field int, v bool) { f.put(field, protowire.EncodeBool(v)) }

// clear empties all fields and keeps their memory.
func (f fields) clear() {
	for i := range f {
		f[i] = f[i][:0]
	}
}

// appendTo appends the message's body.
func (f fields) appendTo(b []byte) []byte {
	for number, body := range f {
		b = appendField(b, number, body)
	}
	return b
}

func appendField(b []byte, number int, body []byte) []byte {
	if len(body) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, protowire.Number(number), protowire.BytesType), body)
}

// split is the reverse of fields.appendTo: it cuts a message into the bodies of its fields. It
// returns false for a message with other fields, a repeated field, or a list that is not packed,
// all of which protobuf allows.
func (f fields) split(b []byte) bool {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 || kind != protowire.BytesType || int(number) >= len(f) || f[number] != nil {
			return false
		}
		body, m := protowire.ConsumeBytes(b[n:])
		if m < 0 {
			return false
		}
		f[number] = body
		b = b[n+m:]
	}
	return true
}

// column reads a packed list. If the list is too short or damaged, it sets bad and returns zeros.
type column struct {
	data []byte
	at   int
	bad  bool
}

func (c *column) next() uint64 {
	if c.at < len(c.data) {
		if v := c.data[c.at]; v < 0x80 {
			c.at++
			return uint64(v)
		}
	}
	v, n := protowire.ConsumeVarint(c.data[c.at:])
	if n < 0 {
		c.bad = true
		return 0
	}
	c.at += n
	return v
}

// flag reads a bool, for which protobuf accepts any number.
func (c *column) flag() bool { return c.next() != 0 }

// left returns the number of unread bytes.
func (c *column) left() int { return len(c.data) - c.at }

// over reports whether exactly all bytes were read.
func (c *column) over() bool { return !c.bad && c.left() == 0 }

// rows returns the number of elements: each ends with a byte below 0x80.
func (c *column) rows() int {
	n := 0
	for _, x := range c.data {
		if x < 0x80 {
			n++
		}
	}
	return n
}

// columns are the columns of a message, by field number.
type columns []column

// read assigns a message's fields to the columns.
func (cs columns) read(f fields) {
	for i := range cs {
		cs[i] = column{data: f[i]}
	}
}

// over reports whether all columns were read exactly.
func (cs columns) over() bool {
	for i := range cs {
		if !cs[i].over() {
			return false
		}
	}
	return true
}
