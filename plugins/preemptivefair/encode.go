package preemptivefair

import (
	"encoding/json"
	"strconv"
)

// bytes are those of a checkpoint. They stay as they are while nothing changed, as in most passes.
func (m *memory) bytes() []byte {
	if m.encoded == nil {
		kept := m.bounded()
		m.encoded = kept.encode()
	}
	return m.encoded
}

// encode returns a checkpoint's bytes, which are those of json.Marshal. It is called after each pass. On thousands of
// preempted bundles reflection took more time than the pass itself.
func (m *memory) encode() []byte {
	b := make([]byte, 0, 64+64*len(m.Newcomers)+32*len(m.Between)+32*len(m.Times))
	b = strconv.AppendUint(append(b, `{"Seen":`...), uint64(m.Seen), 10)
	for i, n := range m.Newcomers {
		b = n.encode(appendPlace(b, `,"Newcomers":[`, i))
	}
	b = appendEnd(b, len(m.Newcomers))
	for i := range m.Between {
		x := &m.Between[i]
		b = strconv.AppendUint(append(appendPlace(b, `,"Between":[`, i), `{"Job":`...), uint64(x.Job), 10)
		b = append(strconv.AppendInt(append(b, `,"Since":`...), int64(x.Since), 10), '}')
	}
	b = appendEnd(b, len(m.Between))
	for i := range m.Times {
		x := &m.Times[i]
		b = strconv.AppendUint(append(appendPlace(b, `,"Times":[`, i), `{"Bundle":`...), uint64(x.Bundle), 10)
		b = append(strconv.AppendInt(append(b, `,"Times":`...), int64(x.Times), 10), '}')
	}
	b = appendEnd(b, len(m.Times))
	if m.NoSuspend {
		b = append(b, `,"NoSuspend":true`...)
	}
	return append(b, '}')
}

// encode appends the job's object.
func (n *newcomer) encode(b []byte) []byte {
	b = strconv.AppendUint(append(b, `{"Job":`...), uint64(n.Job), 10)
	for i := range n.Dues {
		d := &n.Dues[i]
		kind, _ := json.Marshal(d.Kind) // a string always encodes
		b = append(append(appendPlace(b, `,"Dues":[`, i), `{"Kind":`...), kind...)
		b = strconv.AppendInt(append(b, `,"First":`...), int64(d.First), 10)
		b = appendField(b, `,"Given":`, int64(d.Given))
		b = append(appendField(b, `,"Taken":`, int64(d.Taken)), '}')
	}
	b = appendEnd(b, len(n.Dues))
	b = appendField(b, `,"Refused":`, int64(n.Refused))
	return append(appendField(b, `,"RetryAt":`, int64(n.RetryAt)), '}')
}

// appendPlace appends what stands before the i-th item of a list: the list's key, or a comma.
func appendPlace(b []byte, key string, i int) []byte {
	if i == 0 {
		return append(b, key...)
	}
	return append(b, ',')
}

// appendEnd ends a list, unless it is empty and left out.
func appendEnd(b []byte, items int) []byte {
	if items == 0 {
		return b
	}
	return append(b, ']')
}

// appendField appends a number that is left out if it is 0.
func appendField(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), n, 10)
}
