package blobs

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func send(t *testing.T, b *Store, user, data string) error {
	t.Helper()
	u, err := b.BeginUpload(t.Context(), hashOf(data), user)
	if err != nil || u == nil {
		return err
	}
	if err := u.Write([]byte(data)); err != nil {
		u.Abort()
		return err
	}
	return u.Finish()
}

// One user's upload reveals nothing to others, who send the blob whole; one copy is kept, also
// after a restart.
func TestUsersSendForThemselves(t *testing.T) {
	b := newBlobs(t, 1000)
	hash := hashOf("program")
	for i, user := range []string{"ann", "bob"} {
		if b.Sent(hash, user) {
			t.Errorf("%s is told of what others sent", user)
		}
		if err := send(t, b, user, "program"); err != nil || !b.Sent(hash, user) {
			t.Fatal(user, err)
		}
		if b.total != 7 || b.sends(user).bytes != 7 {
			t.Errorf("after %d users: %d bytes, %d of %s", i+1, b.total, b.sends(user).bytes, user)
		}
	}
	again, err := Open(b.folder, b.Options)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]bool{"ann": true, "bob": true, "eve": false, "": false} {
		if again.Sent(hash, user) != want {
			t.Errorf("after a restart: %q sent it: %v", user, !want)
		}
	}
	if again.sends("bob").bytes != 7 || again.total != 7 {
		t.Errorf("after a restart %d bytes of bob, %d in all", again.sends("bob").bytes, again.total)
	}
	again.mu.Lock()
	err = again.remove(hash)
	again.mu.Unlock()
	if left, _ := os.ReadDir(b.folder); err != nil || len(left) != 0 || len(again.users) != 0 {
		t.Errorf("removed, and %v is left: %v", left, err)
	}
}

// A user's blob that is there is not written again: its disk may be full. What others sent is.
func TestABlobThatIsThereIsNotWrittenAgain(t *testing.T) {
	b := newBlobs(t, 1000)
	if err := send(t, b, "ann", "plan"); err != nil {
		t.Fatal(err)
	}
	u, err := b.BeginUpload(t.Context(), hashOf("plan"), "ann")
	if left, _ := os.ReadDir(b.folder); err != nil || u != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "upload-") }) {
		t.Errorf("an upload began (%v), with the files %v", err, left)
	}
	if u, err = b.BeginUpload(t.Context(), hashOf("plan"), "bob"); err != nil || u == nil {
		t.Fatalf("another user's upload did not begin (%v)", err)
	}
	u.Abort()
}

func TestAUserHasABound(t *testing.T) {
	b := newBlobs(t, 1000, "needed")
	b.UserBytes = 20
	for _, data := range []string{"needed", "old program"} {
		if err := send(t, b, "ann", data); err != nil {
			t.Fatal(err)
		}
		b.kept[hashOf(data)].used = time.Now().Add(-2 * blobGrace)
	}
	if err := send(t, b, "ann", "new program"); err != nil {
		t.Fatal(err)
	}
	if b.Sent(hashOf("old program"), "ann") || !b.Sent(hashOf("needed"), "ann") {
		t.Error("what the user needs no more stays, or what is needed went")
	}
	if err := send(t, b, "ann", "one too many"); err == nil || !strings.Contains(err.Error(), "limits.userPrograms") {
		t.Errorf("beyond the bound: %v", err)
	}
	if err := send(t, b, "bob", "one too many"); err != nil {
		t.Errorf("another user: %v", err)
	}
	if got := b.sends("ann").bytes; got != 17 || b.writing != 0 {
		t.Errorf("%d bytes of ann, %d uploads", got, b.writing)
	}
}

// A user's uploads leave room for others', and a hundred of equal content become one.
func TestUploadsWaitForTheirTurn(t *testing.T) {
	b := newBlobs(t, 1000)
	b.UserUploads = 2
	first, err := b.BeginUpload(t.Context(), hashOf("program"), "ann")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.BeginUpload(t.Context(), hashOf("another"), "ann"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := b.BeginUpload(short, hashOf("third"), "ann"); err == nil {
		t.Error("a third upload of ann began")
	}
	if _, err := b.BeginUpload(t.Context(), hashOf("program"), "bob"); err != nil {
		t.Errorf("bob waits for ann: %v", err)
	}
	type began struct {
		u   *Upload
		err error
	}
	all := make(chan began)
	for range 100 {
		go func() {
			u, err := b.BeginUpload(t.Context(), hashOf("program"), "ann")
			all <- began{u, err}
		}()
	}
	if err := first.Write([]byte("program")); err != nil {
		t.Fatal(err)
	}
	if err := first.Finish(); err != nil {
		t.Fatal(err)
	}
	// Waiting uploads find it there. A later one sends it again, and nothing of it is kept.
	for range 100 {
		got := <-all
		if got.err != nil {
			t.Fatal(got.err)
		}
		if got.u != nil {
			got.u.Abort()
		}
	}
	if b.total != 7 || b.waiting != 0 {
		t.Errorf("%d bytes are kept, and %d wait", b.total, b.waiting)
	}
}
