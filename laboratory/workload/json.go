package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// tokens reads JSON as a stream and holds no more than one value. Keys are case-sensitive,
// duplicates are refused, and numbers are whole unless read as fractions.
type tokens struct {
	dec   *json.Decoder
	in    *counter
	depth int
}

// counter counts the lines that a decoder reads, and refuses values that are too long.
type counter struct {
	r     io.Reader
	dec   *json.Decoder
	read  int64
	ends  []int64 // ends of lines that the decoder has not reached
	line  int     // current line
	bound int64
}

func (c *counter) Read(p []byte) (int, error) {
	if c.read-c.dec.InputOffset() > c.bound {
		return 0, fmt.Errorf("a value has more than %d bytes", c.bound)
	}
	c.pass()
	n, err := c.r.Read(p)
	for i := 0; i < n; {
		k := bytes.IndexByte(p[i:n], '\n')
		if k < 0 {
			break
		}
		i += k + 1
		c.ends = append(c.ends, c.read+int64(i))
	}
	c.read += int64(n)
	return n, err
}

// pass counts the lines that the decoder has passed.
func (c *counter) pass() {
	at := c.dec.InputOffset()
	i := 0
	for i < len(c.ends) && c.ends[i] <= at {
		i++
	}
	c.line += i
	c.ends = slices.Delete(c.ends, 0, i)
}

// newTokens reads from r, whose first line has the given number.
func newTokens(r io.Reader, line int) *tokens {
	in := &counter{r: r, line: line, bound: ValueBytesMax}
	in.dec = json.NewDecoder(in)
	in.dec.UseNumber()
	return &tokens{dec: in.dec, in: in}
}

// line is the line of the last token.
func (t *tokens) line() int {
	t.in.pass()
	return t.in.line
}

// token returns the next one.
func (t *tokens) token() (json.Token, error) {
	k, err := t.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) && t.depth > 0 || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, cut(io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	switch k {
	case json.Delim('{'), json.Delim('['):
		if t.depth++; t.depth > DepthMax {
			return nil, fmt.Errorf("more than %d objects and lists stand in each other", DepthMax)
		}
	case json.Delim('}'), json.Delim(']'):
		t.depth--
	}
	return k, nil
}

func shown(k json.Token) string {
	switch k := k.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%.64q", k)
	}
	return fmt.Sprintf("%.64v", k)
}

// object reads an object and calls field for each key, which reads its value. It returns io.EOF at
// the end of the input.
func (t *tokens) object(field func(key string) error) error {
	k, err := t.token()
	if err != nil {
		return err
	}
	if k != json.Delim('{') {
		return fmt.Errorf("%s is no object", shown(k))
	}
	var seen []string
	for {
		k, err := t.token()
		if err != nil {
			return err
		}
		if k == json.Delim('}') {
			return nil
		}
		key, _ := k.(string) // the decoder accepts no other type
		if slices.Contains(seen, key) {
			return fmt.Errorf("the field %.64q stands there twice", key)
		}
		seen = append(seen, key)
		if err := field(key); err != nil {
			return fmt.Errorf("%.64s: %w", key, noEnd(err))
		}
	}
}

// noEnd distinguishes an end inside an object from an end between two.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// list reads a list and calls item for each value, which reads it. null is an empty list.
func (t *tokens) list(item func() error) error {
	k, err := t.token()
	if err != nil || k == nil {
		return err
	}
	if k != json.Delim('[') {
		return fmt.Errorf("%s is no list", shown(k))
	}
	for t.dec.More() {
		if err := item(); err != nil {
			return err
		}
	}
	_, err = t.token()
	return err
}

// skip passes a value.
func (t *tokens) skip() error {
	depth := t.depth
	for {
		if _, err := t.token(); err != nil {
			return err
		}
		if t.depth == depth {
			return nil
		}
	}
}

// text reads a string; null is "".
func (t *tokens) text(to *string) error {
	k, err := t.token()
	if err != nil || k == nil {
		return err
	}
	s, ok := k.(string)
	if !ok {
		return fmt.Errorf("%s is no text", shown(k))
	}
	*to = s
	return nil
}

// whole reads a whole number.
func (t *tokens) whole(to *int64) error {
	k, err := t.token()
	if err != nil {
		return err
	}
	n, ok := k.(json.Number)
	if !ok {
		return fmt.Errorf("%s is no number", shown(k))
	}
	*to, err = strconv.ParseInt(n.String(), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%.64s is beyond all bounds", n)
	}
	if err != nil {
		return fmt.Errorf("%.64s is no whole number", n)
	}
	return nil
}

// count reads a whole number that is not negative.
func (t *tokens) count(to *int64) error {
	err := t.whole(to)
	if err == nil && *to < 0 {
		return fmt.Errorf("%d: numbers are not negative", *to)
	}
	return err
}

// size reads a number of processors or nodes.
func (t *tokens) size(to *int) error {
	var n int64
	if err := t.count(&n); err != nil {
		return err
	}
	if n < 1 || n > MachineMax {
		return fmt.Errorf("%d: from 1 to %d is right", n, MachineMax)
	}
	*to = int(n)
	return nil
}

// fraction reads a number.
func (t *tokens) fraction(to *float64) error {
	k, err := t.token()
	if err != nil {
		return err
	}
	n, ok := k.(json.Number)
	if !ok {
		return fmt.Errorf("%s is no number", shown(k))
	}
	if *to, err = strconv.ParseFloat(n.String(), 64); err != nil {
		return fmt.Errorf("%.64s is beyond all bounds", n)
	}
	return nil
}

// wholes reads a list of whole numbers.
func (t *tokens) wholes(to *[]int64, most int) error {
	*to = []int64{}
	return t.list(func() error {
		if len(*to) == most {
			return fmt.Errorf("there are more than %d of them", most)
		}
		var n int64
		if err := t.whole(&n); err != nil {
			return err
		}
		*to = append(*to, n)
		return nil
	})
}

// end refuses text after the value on a line.
func (t *tokens) end() error {
	k, err := t.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("there is %s after the end of the object", shown(k))
}

var errUnknown = errors.New("there is no such field in this form")
