package streaming

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func linesOf(r io.Reader, most int) (lines []string, err error) {
	err = eachLine(r, most, func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	})
	return lines, err
}

// However the bytes are split, the lines are those of the whole text.
func TestEachLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringMatching(`([ab]{0,3}(\r?\n)?){0,5}`).Draw(t, "text"), rapid.SampledFrom([]int{1, 2, 30_000}).Draw(t, "times"))
		var want []string
		for line := range strings.Lines(text) {
			if cut, ok := strings.CutSuffix(line, "\n"); ok {
				line = strings.TrimSuffix(cut, "\r")
			}
			want = append(want, line)
		}
		var r io.Reader = strings.NewReader(text)
		if len(text) < 100 && rapid.Bool().Draw(t, "byte by byte") {
			r = iotest.OneByteReader(r)
		}
		got, err := linesOf(iotest.DataErrReader(r), lineMax)
		if err != nil || len(got) != len(want) || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%d lines, want %d; %v", len(got), len(want), err)
		}
		plain := string(appendPlain(nil, []byte(text)))
		if wanted := strings.Join(append(want, ""), "\n"); plain != wanted {
			t.Fatalf("%q became %q", text, plain)
		}
	})
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	if got, err := linesOf(strings.NewReader("a\n"+long+"\nb"), lineMax); err != nil || len(got) != 3 || got[1] != long {
		t.Errorf("%d lines, %v", len(got), err)
	}
	if _, err := linesOf(strings.NewReader("a\n"+long+"\nb"), 1<<19); err == nil || !strings.Contains(err.Error(), "line 2 of its output is longer than 524288 bytes") {
		t.Error(err)
	}
	boom := errors.New("boom")
	if _, err := linesOf(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(boom)), lineMax); !errors.Is(err, boom) {
		t.Error(err)
	}
}

// The fast cut against the plain one.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[ab,]{0,12}`).Draw(t, "line")
		sep := rapid.SampledFrom([]string{",", ",,", "a"}).Draw(t, "separator")
		n := rapid.IntRange(1, 4).Draw(t, "fields")
		c := cutter{[]byte(sep), n}
		key, value := c.cut([]byte(line))
		wantKey, wantValue := line, ""
		if parts := strings.SplitN(line, sep, n+1); len(parts) == n+1 {
			wantKey, wantValue = strings.Join(parts[:n], sep), parts[n]
		}
		if string(key) != wantKey || string(value) != wantValue {
			t.Fatalf("%q by %q, %d fields: %q and %q", line, sep, n, key, value)
		}
	})
}

func BenchmarkEachLine(b *testing.B) {
	text := bytes.Repeat([]byte("a word\t1\n"), 100_000)
	c := cutter{[]byte{'\t'}, 1}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_ = eachLine(bytes.NewReader(text), lineMax, func(line []byte) error {
			c.cut(line)
			return nil
		})
	}
}
