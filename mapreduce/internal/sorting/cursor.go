package sorting

// recordCursor yields the sorted pairs of a records value.
type recordCursor struct {
	refs    []ref
	i       int
	records *records
	k, v    []byte
	touched byte
}

// touchAhead is how many records are fetched from memory at once. In order of key they are
// scattered, and each would cost a whole cache miss in sequence. Independent reads overlap their
// waits.
const touchAhead = 16

func (c *recordCursor) next() (bool, error) {
	if c.i == len(c.refs) {
		return false, nil
	}
	if c.i%touchAhead == 0 {
		c.touch(c.refs[c.i:min(c.i+touchAhead, len(c.refs))])
	}
	var err error
	c.k, c.v, err = Split(c.records.record(&c.refs[c.i]))
	c.i++
	return err == nil, err
}

func (c *recordCursor) touch(refs []ref) {
	for i := range refs {
		if record := c.records.record(&refs[i]); len(record) > 0 {
			c.touched += record[0] + record[len(record)-1]
		}
	}
}

func (c *recordCursor) key() []byte   { return c.k }
func (c *recordCursor) value() []byte { return c.v }
func (c *recordCursor) close() error  { return nil }

// tableCursor yields a table's sorted pairs.
type tableCursor struct {
	refs    []ref
	i       int
	table   *Table
	at      *slot
	touched byte
}

func (c *tableCursor) next() (bool, error) {
	if c.i == len(c.refs) {
		return false, nil
	}
	if c.i%touchAhead == 0 {
		for _, f := range c.refs[c.i:min(c.i+touchAhead, len(c.refs))] {
			c.touched += c.table.slots[f.chunk].key
		}
	}
	c.at = &c.table.slots[c.refs[c.i].chunk]
	c.i++
	return true, nil
}

func (c *tableCursor) key() []byte   { return c.table.key(c.at) }
func (c *tableCursor) value() []byte { return c.table.value(c.at) }
func (c *tableCursor) close() error  { return nil }
