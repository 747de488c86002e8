package eventlog

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkReadSegment reads a file of many small records, as a manager does at its start.
func BenchmarkReadSegment(b *testing.B) {
	const records = 200_000
	s := salt{1}
	data := append([]byte(fileMagic), s[:]...)
	data = appendFrame(data, s, frame{kind: kindHeader, number: 1, payload: []byte("{}")})
	data = appendFrame(data, s, frame{kind: kindComplete, number: 1})
	for n := range uint64(records) {
		data = appendFrame(data, s, frame{kind: kindRecord, number: n + 1, payload: make([]byte, 100)})
	}
	path := filepath.Join(b.TempDir(), "events.log")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if s, err := ReadSegment(path); err != nil || len(s.Records) != records {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}
