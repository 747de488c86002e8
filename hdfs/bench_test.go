package hdfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	lib "github.com/colinmarc/hdfs/v2"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
)

// benchBytes are read and written in each round.
const benchBytes = 256 << 20

// BenchmarkRead reads one file: as the store does, and as the library does with
// large buffers, which may return corrupt bytes, and with small ones.
func BenchmarkRead(b *testing.B) {
	c := hdfstest.Start(b, hdfstest.Options{})
	s := store(b, c, Options{})
	write(b, s, "hdfs:///bench", bytes.Repeat(noise(1<<20), benchBytes>>20))
	client, err := lib.NewClient(lib.ClientOptions{Addresses: []string{c.NameNode()[len("hdfs://"):]}, User: "root"})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	library := func() (io.ReadCloser, error) { return client.Open("/bench") }
	verified := func() (io.ReadCloser, error) { return s.Open(context.Background(), "hdfs:///bench", 0, -1) }
	for _, way := range []struct {
		name   string
		open   func() (io.ReadCloser, error)
		buffer int
	}{{"verified", verified, 1 << 20}, {"verified-64k", verified, 64 << 10}, {"library-large", library, 1 << 20}, {"library-64k", library, 64 << 10}, {"library-small", library, 511}} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(benchBytes)
			for b.Loop() {
				r, err := way.open()
				if err != nil {
					b.Fatal(err)
				}
				p := make([]byte, way.buffer)
				var n int
				for all := 0; ; all += n {
					if n, err = r.Read(p); errors.Is(err, io.EOF) && all+n == benchBytes {
						break
					} else if err != nil {
						b.Fatal(all, err)
					}
				}
				r.Close()
			}
		})
	}
	b.Run("write", func(b *testing.B) {
		content := noise(1 << 20)
		b.SetBytes(benchBytes)
		for b.Loop() {
			f, err := s.Create(context.Background(), "hdfs:///bench2")
			if err != nil {
				b.Fatal(err)
			}
			for range benchBytes >> 20 {
				if _, err := f.Write(content); err != nil {
					b.Fatal(err)
				}
			}
			if err := f.Commit(); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := s.Delete(context.Background(), "hdfs:///bench2"); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
}
