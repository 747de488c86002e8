package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func hashOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

func put(b *Store, hash, data string) error {
	u, err := b.BeginUpload(context.Background(), hash, "ann")
	if err != nil || u == nil {
		return err
	}
	if err := u.Write([]byte(data)); err != nil {
		u.Abort()
		return err
	}
	return u.Finish()
}

func newBlobs(t *testing.T, max int64, needed ...string) *Store {
	t.Helper()
	b, err := Open(t.TempDir(), Options{Bytes: max})
	if err != nil {
		t.Fatal(err)
	}
	b.Needed = func() (map[string]bool, error) {
		m := map[string]bool{}
		for _, n := range needed {
			m[hashOf(n)] = true
		}
		return m, nil
	}
	return b
}

func TestBlobsAreVerified(t *testing.T) {
	b := newBlobs(t, 1000)
	if err := put(b, hashOf("program"), "damaged"); err == nil || !strings.Contains(err.Error(), "send it again") {
		t.Fatal(err)
	}
	if b.Has(hashOf("program")) || b.total != 0 {
		t.Fatal("what was damaged is kept")
	}
	if err := put(b, "../../etc/passwd", "x"); err == nil {
		t.Fatal("a path was taken for a hash")
	}
	for range 2 {
		if err := put(b, hashOf("program"), "program"); err != nil {
			t.Fatal(err)
		}
	}
	u, err := b.BeginUpload(t.Context(), hashOf("another"), "ann")
	if err != nil {
		t.Fatal(err)
	}
	if f := b.Fill(); f != (Fill{1, uploadsMax, 7, 1000}) {
		t.Errorf("it is filled so: %+v", f)
	}
	u.Abort()
	if f := b.Fill(); f.Uploads != 0 {
		t.Errorf("an upload that was given up is counted: %+v", f)
	}
	r, err := b.Reader(hashOf("program"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := io.ReadAll(r); err != nil || string(data) != "program" || b.total != 7 {
		t.Fatalf("%q %v, %d bytes in all", data, err, b.total)
	}
}

func TestBlobsOutliveTheManager(t *testing.T) {
	b := newBlobs(t, 1000)
	if err := put(b, hashOf("a"), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.BeginUpload(t.Context(), hashOf("b"), "ann"); err != nil { // cut off
		t.Fatal(err)
	}
	again, err := Open(b.folder, Options{Bytes: 1000})
	if err != nil || !again.Has(hashOf("a")) || again.total != 1 {
		t.Fatalf("%+v %v", again, err)
	}
	if entries, _ := os.ReadDir(b.folder); len(entries) != 2 { // the blob, and its users
		t.Fatalf("%d files are left", len(entries))
	}
}

func TestBlobsMakeRoomWithoutWhatIsNeeded(t *testing.T) {
	b := newBlobs(t, 10, "needed")
	age := func(data string) { b.kept[hashOf(data)].used = time.Now().Add(-2 * blobGrace) }
	for _, data := range []string{"needed", "old"} {
		if err := put(b, hashOf(data), data); err != nil {
			t.Fatal(err)
		}
		age(data)
	}
	if err := put(b, hashOf("new1"), "new1"); err != nil {
		t.Fatal(err)
	}
	if b.Has(hashOf("old")) || !b.Has(hashOf("needed")) {
		t.Fatal("the wrong one went")
	}
	if err := put(b, hashOf("new2"), "new2"); err == nil || !strings.Contains(err.Error(), "manager.programs") {
		t.Fatalf("over the bound, with nothing that may go: %v", err)
	}
	if _, err := b.Reader(hashOf("old")); !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
}

// A blob that is damaged or gone is asked for again, in this life and the next, and
// then is there.
func TestDamagedBlobsHeal(t *testing.T) {
	const data = "a program"
	hash := hashOf(data)
	flipped := func(path string) error { return os.WriteFile(path, []byte("a progrbm"), 0o600) }
	for name, harm := range map[string]func(path string) error{"flipped": flipped, "gone": os.Remove, "cut": func(p string) error { return os.Truncate(p, 3) }} {
		for _, restarted := range []bool{true, false} {
			b := newBlobs(t, 100)
			if err := put(b, hash, data); err != nil {
				t.Fatal(err)
			}
			if !b.Has(hash) {
				t.Fatal("it was just sent")
			}
			if err := harm(b.path(hash)); err != nil {
				t.Fatal(err)
			}
			if restarted {
				again, err := Open(b.folder, Options{Bytes: 100})
				if err != nil {
					t.Fatal(err)
				}
				b = again
			}
			if b.Has(hash) || b.total != 0 {
				t.Errorf("%s, restarted %t: it counts as there, %d bytes", name, restarted, b.total)
			}
			if err := put(b, hash, data); err != nil || !b.Has(hash) || b.total != int64(len(data)) {
				t.Errorf("%s, restarted %t: sent again it is not there: %v", name, restarted, err)
			}
		}
	}
}

// rot changes a file's content, and leaves all else as it was.
func rot(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// Content that rots unnoticed is detected when a reader doubts it.
func TestDamagedBlobIsNotSentAsWhole(t *testing.T) {
	const data = "a program"
	hash := hashOf(data)
	b := newBlobs(t, 100)
	if err := put(b, hash, data); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if b.Doubt(hash) || !b.Has(hash) {
			t.Fatal("a sound one was dropped")
		}
		rot(t, b.path(hash))
		if !b.Has(hash) {
			t.Fatal("there is a trace: this is no test")
		}
		if !b.Doubt(hash) || b.Has(hash) || b.total != 0 {
			t.Fatal("it is still there")
		}
		if b.Doubt(hash) {
			t.Fatal("what is not there counts as damaged")
		}
		if err := put(b, hash, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(b.path(hash)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reader(hash); !errors.Is(err, ErrMissing) || b.total != 0 {
		t.Fatalf("what is gone: %v", err)
	}
}
