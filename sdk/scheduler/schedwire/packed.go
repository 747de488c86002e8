package schedwire

import "google.golang.org/protobuf/encoding/protowire"

// fields are a message on its way out: by number, the body of each field that is a
// packed list or a message. An empty one is left out, as protobuf does.
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

// clear empties all fields; their room stays.
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

// split is the reverse of fields.appendTo: it cuts a message into the bodies of its
// fields. A message that has others, or one of them twice, or a list that is not
// packed, is not for this: false. Protobuf allows all that.
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

// column reads a packed list. One that is too short, or damaged, is noted in bad and
// gives zeros.
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

// flag reads a bool, which protobuf takes any number for.
func (c *column) flag() bool { return c.next() != 0 }

// left is how many bytes are not read.
func (c *column) left() int { return len(c.data) - c.at }

// over says whether all was read, and no more than that.
func (c *column) over() bool { return !c.bad && c.left() == 0 }

// rows is how many elements there are: each ends with a byte below 0x80.
func (c *column) rows() int {
	n := 0
	for _, x := range c.data {
		if x < 0x80 {
			n++
		}
	}
	return n
}

// columns are those of a message, by field number.
type columns []column

// read has the columns read a message's fields.
func (cs columns) read(f fields) {
	for i := range cs {
		cs[i] = column{data: f[i]}
	}
}

// over says it of all.
func (cs columns) over() bool {
	for i := range cs {
		if !cs[i].over() {
			return false
		}
	}
	return true
}
