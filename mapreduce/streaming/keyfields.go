package streaming

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// keyField is one -k option of KeyFieldBasedPartitioner and
// KeyFieldBasedComparator, as in their documentation (Hadoop, package
// mapred.lib): -k pos1[,pos2], where a pos is f[.c][options], f the number of a
// field and c of a byte within it, both from 1.
type keyField struct {
	from, fromByte   int // 1 is the first
	to, toByte       int // to 0: the end of the key; toByte 0: the end of the field
	numeric, reverse bool
}

// keyFields are the options of a partitioner or comparator.
type keyFields struct {
	separator []byte
	fields    []keyField
	// for the whole key, or for fields without options
	numeric, reverse bool
}

// parseKeyFields reads options such as "-k1,1 -k2,2nr".
func parseKeyFields(text, separator string) (keyFields, error) {
	k := keyFields{separator: []byte(separator)}
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		spec, ok := strings.CutPrefix(words[i], "-k")
		switch {
		case ok && spec == "" && i+1 < len(words):
			i++
			spec = words[i]
			fallthrough
		case ok:
			f, err := parseKeyField(spec)
			if err != nil {
				return k, fmt.Errorf("%q in %q: %w", words[i], text, err)
			}
			k.fields = append(k.fields, f)
		default:
			letters, dash := strings.CutPrefix(words[i], "-")
			if !dash || letters == "" || strings.Trim(letters, "nr") != "" {
				return k, fmt.Errorf("%q in %q: only -k pos1[,pos2], -n and -r are known", words[i], text)
			}
			k.numeric = k.numeric || strings.Contains(letters, "n")
			k.reverse = k.reverse || strings.Contains(letters, "r")
		}
	}
	for i, f := range k.fields {
		if !f.numeric && !f.reverse {
			k.fields[i].numeric, k.fields[i].reverse = k.numeric, k.reverse
		}
	}
	return k, nil
}

func parseKeyField(spec string) (f keyField, err error) {
	first, second, two := strings.Cut(spec, ",")
	if f.from, f.fromByte, err = f.position(first); err != nil {
		return f, err
	}
	f.fromByte = max(f.fromByte, 1)
	if two {
		f.to, f.toByte, err = f.position(second)
	}
	return f, err
}

// position reads f[.c][options].
func (f *keyField) position(text string) (field, at int, err error) {
	digits := strings.TrimRight(text, "nr")
	f.numeric = f.numeric || strings.Contains(text[len(digits):], "n")
	f.reverse = f.reverse || strings.Contains(text[len(digits):], "r")
	number, part, parted := strings.Cut(digits, ".")
	wrong := errors.New("a position is the number of a field, from 1, then a dot and the number of a byte in it, from 1, if need be, and n or r")
	if field, err = strconv.Atoi(number); err != nil || field < 1 {
		return 0, 0, wrong
	}
	if !parted {
		return field, 0, nil
	}
	if at, err = strconv.Atoi(part); err != nil || at < 0 {
		return 0, 0, wrong
	}
	return field, at, nil
}

// field finds field number n, from 1, in a key.
func (k *keyFields) field(key []byte, n int) (start, end int, ok bool) {
	for ; n > 1; n-- {
		i := bytes.Index(key[start:], k.separator)
		if i < 0 {
			return len(key), len(key), false
		}
		start += i + len(k.separator)
	}
	if i := bytes.Index(key[start:], k.separator); i >= 0 {
		return start, start + i, true
	}
	return start, len(key), true
}

// part returns what a -k option picks of a key; false if the key has none of it. As in sort, a byte
// beyond the end of its field belongs to the fields that follow.
func (k *keyFields) part(key []byte, f keyField) ([]byte, bool) {
	start, _, ok := k.field(key, f.from)
	if start += f.fromByte - 1; !ok || start > len(key) {
		return nil, false
	}
	end := len(key)
	if f.to > 0 {
		first, last, ok := k.field(key, f.to)
		end = last // of the key, if it has fewer fields
		if ok && f.toByte > 0 {
			end = min(first+f.toByte, len(key))
		}
	}
	return key[start:max(start, end)], true
}

// partition partitions like KeyFieldBasedPartitioner: by a hash of what the options pick. The hash
// function differs from Hadoop's, so the numbers do too.
func (k *keyFields) partition(key []byte, n int) int {
	if len(k.fields) == 0 {
		return job.Partition(key, n)
	}
	var hash uint64
	for _, f := range k.fields {
		if part, ok := k.part(key, f); ok {
			hash = hash*31 + job.Hash(part)
		}
	}
	return job.PartitionOfHash(hash, n)
}

// compare compares like KeyFieldBasedComparator.
func (k *keyFields) compare(a, b []byte) int {
	if len(k.fields) == 0 {
		return ordered(a, b, k.numeric, k.reverse)
	}
	for _, f := range k.fields {
		partA, _ := k.part(a, f)
		partB, _ := k.part(b, f)
		if c := ordered(partA, partB, f.numeric, f.reverse); c != 0 {
			return c
		}
	}
	return 0
}

func ordered(a, b []byte, numeric, reverse bool) int {
	compare := bytes.Compare
	if numeric {
		compare = compareNumbers
	}
	if reverse {
		return compare(b, a)
	}
	return compare(a, b)
}

// decimal is a number in decimal text, of any length.
type decimal struct {
	negative  bool
	whole     []byte // without leading zeros
	remainder []byte // digits after the point, without trailing zeros
}

// compareNumbers compares the decimal numbers at the beginnings of two texts, as sort -n does; a
// text without a number counts as 0.
func compareNumbers(a, b []byte) int {
	x, y := leading(a), leading(b)
	switch {
	case x.negative && y.negative:
		return y.compare(x)
	case x.negative:
		return -1
	case y.negative:
		return 1
	}
	return x.compare(y)
}

// compare compares magnitudes, without the signs.
func (d decimal) compare(e decimal) int {
	if len(d.whole) != len(e.whole) {
		return len(d.whole) - len(e.whole)
	}
	if c := bytes.Compare(d.whole, e.whole); c != 0 {
		return c
	}
	return bytes.Compare(d.remainder, e.remainder)
}

// leading parses the number at the beginning of a text.
func leading(text []byte) (d decimal) {
	text = bytes.TrimLeft(text, " \t")
	if len(text) > 0 && text[0] == '-' {
		d.negative, text = true, text[1:]
	}
	d.whole, text = digits(text)
	d.whole = bytes.TrimLeft(d.whole, "0")
	if len(text) > 0 && text[0] == '.' {
		d.remainder, _ = digits(text[1:])
		d.remainder = bytes.TrimRight(d.remainder, "0")
	}
	if len(d.whole) == 0 && len(d.remainder) == 0 {
		d.negative = false // -0 is 0
	}
	return d
}

func digits(text []byte) (number, rest []byte) {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}
