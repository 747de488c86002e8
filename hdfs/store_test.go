package hdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// noise returns bytes that differ between any two places of a file.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func write(t testing.TB, s *Store, url string, content []byte) {
	t.Helper()
	f, err := s.Create(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(content, 100_000) {
		if _, err := f.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
}

func read(s *Store, url string, offset, length int64) ([]byte, error) {
	r, err := s.Open(context.Background(), url, offset, length)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// holds fails the test unless a file has a content.
func holds(t *testing.T, what string, s *Store, url string, content []byte) {
	t.Helper()
	if got, err := read(s, url, 0, -1); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%s: %d bytes of %d, or others, %v", what, len(got), len(content), err)
	}
}

// begun is a reader of a file that stands behind its first n bytes.
func begun(ctx context.Context, t *testing.T, s *Store, url string, n int) io.ReadCloser {
	t.Helper()
	r, err := s.Open(ctx, url, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	return r
}

func mkdir(t testing.TB, s *Store, url string) string {
	t.Helper()
	if err := s.Mkdir(context.Background(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if t.Failed() { // perhaps because the cluster is gone, which the store would wait for
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, tidyMax)
			defer cancel()
		}
		if err := s.Delete(ctx, url); err != nil {
			t.Error(err)
		}
	})
	return url
}

func names(t *testing.T, s *Store, pattern string) string {
	t.Helper()
	all, err := s.List(context.Background(), pattern)
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, info := range all {
		names = append(names, strings.TrimPrefix(info.Path, "hdfs://"))
	}
	return strings.Join(names, " ")
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	c := hdfstest.Shared(t)
	s, ctx := store(t, c, Options{}), context.Background()
	folder := mkdir(t, s, "hdfs:///written")
	content := noise(3<<20 + 12345) // four blocks, the last one short
	url := folder + "/a"
	f, err := s.Create(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(ctx, url); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("visible before Commit: %v", err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if out := c.Hdfs(t, "dfs", "-cat", url); out != string(content) {
		t.Errorf("hdfs dfs -cat has %d other bytes", len(out))
	}
	for _, r := range [][2]int64{{0, -1}, {0, 10}, {511, 3}, {1 << 20, 1 << 20}, {1<<20 - 1, 2}, {3<<20 + 12344, -1}, {100, 3 << 20}, {int64(len(content)), -1}, {5, 0}} {
		got, err := read(s, url, r[0], r[1])
		end := int64(len(content))
		if r[1] >= 0 {
			end = r[0] + r[1]
		}
		if err != nil || !bytes.Equal(got, content[r[0]:end]) {
			t.Errorf("range %v: %d bytes, %v", r, len(got), err)
		}
	}
	for _, r := range [][2]int64{{0, int64(len(content)) + 1}, {int64(len(content)) + 1, -1}} {
		if got, err := read(s, url, r[0], r[1]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("range %v: %d bytes, %v", r, len(got), err)
		}
	}
	if _, err := s.Create(ctx, url); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created over a file: %v", err)
	}
	if got := names(t, s, folder+"/.*"); !strings.Contains(got, "nothing matches") {
		t.Errorf("left behind: %s", got)
	}
}

func TestReadsInOddPieces(t *testing.T) {
	s := store(t, hdfstest.Shared(t), Options{})
	url := mkdir(t, s, "hdfs:///odd") + "/a"
	content := noise(2<<20 + 77)
	write(t, s, url, content)
	r, err := s.Open(context.Background(), url, 300, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []byte
	random := rand.New(rand.NewPCG(1, 2))
	for {
		p := make([]byte, random.IntN(3000)+random.IntN(2)*random.IntN(200_000))
		n, err := r.Read(p)
		got = append(got, p[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, content[300:]) {
		t.Errorf("%d bytes differ", len(got))
	}
}

func TestEmptyFile(t *testing.T) {
	s := store(t, hdfstest.Shared(t), Options{})
	url := mkdir(t, s, "hdfs:///empty") + "/a"
	write(t, s, url, nil)
	if got, err := read(s, url, 0, -1); len(got) != 0 || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestTree(t *testing.T) {
	c := hdfstest.Shared(t)
	s, ctx := store(t, c, Options{}), context.Background()
	root := mkdir(t, s, c.NameNode()+"/tree")
	for _, folder := range []string{"/a", "/a/deep", "/b", "/_hidden"} {
		mkdir(t, s, root+folder)
	}
	for _, file := range []string{"/a/1", "/a/deep/2", "/b/3", "/b/.4", "/b/x*y", "/_hidden/5"} {
		write(t, s, root+file, []byte(file))
	}
	at := strings.TrimPrefix(root, "hdfs://")
	for pattern, want := range map[string]string{
		"":          "/a/1 /a/deep/2 /b/3 /b/x*y",
		"/*/?":      "/a/1 /b/3",
		"/[ab]":     "/a/1 /a/deep/2 /b/3 /b/x*y",
		"/b/.*":     "/b/.4",
		"/_*":       "/_hidden/5",
		"/b/x*y":    "/b/x*y",
		"/*/deep/*": "/a/deep/2",
		"/a/1":      "/a/1",
	} {
		want = at + strings.ReplaceAll(want, " ", " "+at)
		if got := names(t, s, root+pattern); got != want {
			t.Errorf("%q: %s, want %s", pattern, got, want)
		}
	}
	for _, none := range []string{"/none", "/*/none", "/a/1/*"} {
		if _, err := s.List(ctx, root+none); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", none, err)
		}
	}
	if _, err := s.List(ctx, root+"/["); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("bad pattern: %v", err)
	}
	info, err := s.Stat(ctx, root+"/a/1")
	if err != nil || info.Size != 4 || info.Folder || info.Version == "" || info.Changed.IsZero() || info.Path != root+"/a/1" {
		t.Errorf("%+v, %v", info, err)
	}
	if info, err := s.Stat(ctx, root+"/a"); err != nil || !info.Folder {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestTreeChanges(t *testing.T) {
	c := hdfstest.Shared(t)
	s, ctx := store(t, c, Options{}), context.Background()
	root := mkdir(t, s, "hdfs:///changes")
	write(t, s, root+"/a", []byte("a"))
	write(t, s, root+"/b", []byte("b"))
	mkdir(t, s, root+"/folder")
	write(t, s, root+"/folder/c", []byte("c"))
	for _, test := range []struct {
		what string
		err  error
		want error
	}{
		{"mkdir again", s.Mkdir(ctx, root+"/folder"), fs.ErrExist},
		{"mkdir without parent", s.Mkdir(ctx, root+"/none/x"), fs.ErrNotExist},
		{"rename over a file", s.Rename(ctx, root+"/a", root+"/b"), fs.ErrExist},
		{"rename over a folder", s.Rename(ctx, root+"/a", root+"/folder"), fs.ErrExist},
		{"rename nothing", s.Rename(ctx, root+"/none", root+"/x"), fs.ErrNotExist},
		{"rename", s.Rename(ctx, root+"/folder", root+"/moved"), nil},
		{"delete nothing", s.Delete(ctx, root+"/none"), nil},
		{"delete a file", s.Delete(ctx, root+"/a"), nil},
		{"delete all", s.Delete(ctx, "hdfs:///"), errAny},
	} {
		if errors.Is(test.want, errAny) && test.err != nil {
			continue
		}
		if !errors.Is(test.err, test.want) || test.want == nil && test.err != nil {
			t.Errorf("%s: %v, want %v", test.what, test.err, test.want)
		}
	}
	if got := names(t, s, root); got != "/changes/b /changes/moved/c" {
		t.Error(got)
	}
	if err := s.Delete(ctx, root); err != nil {
		t.Error(err)
	}
	if _, err := s.Stat(ctx, root); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := s.Create(ctx, root+"/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("create without parent: %v", err)
	}
}

var errAny = errors.New("any error")

func TestAbortLeavesNothing(t *testing.T) {
	c := hdfstest.Shared(t)
	s := store(t, c, Options{})
	root := mkdir(t, s, "hdfs:///aborted")
	for i, size := range []int{0, 1000, 2 << 20} {
		ctx, cancel := context.WithCancel(context.Background())
		f, err := s.Create(ctx, fmt.Sprintf("%s/%d", root, i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(noise(size)); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			cancel() // the removal must go on
		}
		if err := f.Abort(); err != nil {
			t.Error(err)
		}
		if _, err := f.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("write after Abort: %v", err)
		}
		cancel()
	}
	if out := c.Hdfs(t, "dfs", "-ls", root); strings.TrimSpace(out) != "" {
		t.Errorf("left behind:\n%s", out)
	}
}

func TestRegistered(t *testing.T) {
	s, err := storage.For("hdfs:///x")
	if _, ok := s.(*Store); !ok || err != nil {
		t.Errorf("%T, %v", s, err)
	}
}
