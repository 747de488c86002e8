package structured

import (
	"io"
	"sync"
)

// streamsMax bounds the open streams over one Parquet file: usually one for each column that is
// read.
const streamsMax = 16

// streams reads at any offset of a stored file, by streams that continue where they stopped. Its
// methods are safe for concurrent use, and run one at a time.
type streams struct {
	open func(offset int64) (io.ReadCloser, error)
	size int64

	mu   sync.Mutex
	held []stream // the most recently used is last
}

type stream struct {
	file io.ReadCloser
	at   int64
}

// ReadAt implements io.ReaderAt.
func (s *streams) ReadAt(p []byte, offset int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if offset < 0 || offset >= s.size {
		return 0, io.EOF
	}
	use, err := s.take(offset)
	if err != nil {
		return 0, err
	}
	want := min(int64(len(p)), s.size-offset)
	n, err := io.ReadFull(use.file, p[:want])
	if err != nil {
		_ = use.file.Close() // the read's error says more
		return n, err
	}
	use.at += int64(n)
	s.held = append(s.held, use)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// take removes a stream at an offset from those held, or opens one.
func (s *streams) take(offset int64) (stream, error) {
	for i, h := range s.held {
		if h.at == offset {
			s.held = append(s.held[:i], s.held[i+1:]...)
			return h, nil
		}
	}
	if len(s.held) >= streamsMax {
		oldest := s.held[0]
		s.held = s.held[1:]
		if err := oldest.file.Close(); err != nil {
			return stream{}, err
		}
	}
	f, err := s.open(offset)
	return stream{f, offset}, err
}

// close closes all streams; bytes already read stay valid.
func (s *streams) close() {
	for _, h := range s.held {
		_ = h.file.Close()
	}
	s.held = nil
}
