package blobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

const (
	// usersSuffix ends the name of the file that lists a blob's senders.
	usersSuffix = ".users"
	// usersMax bounds the users of a blob. Beyond it, the first sender has to send it again.
	usersMax = 1000
)

// sending is a user's uploads and bytes in the store.
type sending struct {
	bytes   int64           // of the user's blobs and uploads
	uploads map[string]bool // by hash
}

// sends returns a user's sending, to be changed. The caller holds mu.
func (b *Store) sends(user string) *sending {
	s := b.users[user]
	if s == nil {
		s = &sending{uploads: map[string]bool{}}
		b.users[user] = s
	}
	return s
}

// Sent reports whether a user sent a blob, and its content is there and right.
func (b *Store) Sent(hash, user string) bool { return b.owns(hash, user) && b.Has(hash) }

func (b *Store) owns(hash, user string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.kept[hash]
	return k != nil && slices.Contains(k.users, user)
}

// BeginUpload begins a user's upload of a blob, and waits for its turn: uploads at once are
// bounded, of the user and in total. If several users send equal content, one upload runs and the
// others wait; nil: the user has sent it before, or meanwhile.
func (b *Store) BeginUpload(ctx context.Context, hash, user string) (*Upload, error) {
	if !IsHash(hash) {
		return nil, fmt.Errorf("%q is no SHA-256 in hexadecimal digits", hash)
	}
	for {
		if b.Sent(hash, user) {
			return nil, nil
		}
		b.mu.Lock()
		s := b.sends(user)
		if !s.uploads[hash] && len(s.uploads) < b.UserUploads && b.writing < uploadsMax {
			defer b.mu.Unlock()
			return b.openUpload(hash, user)
		}
		if b.waiting >= waitingMax {
			b.mu.Unlock()
			return nil, ErrBusy
		}
		b.waiting++
		ended := b.ended
		b.mu.Unlock()
		var err error
		select {
		case <-ended:
		case <-ctx.Done():
			err = ctx.Err()
		}
		b.mu.Lock()
		b.waiting--
		b.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// end has an upload be under way no longer. The caller holds mu.
func (b *Store) end(u *Upload) {
	b.writing--
	delete(b.sends(u.user).uploads, u.hash)
	b.tidy(u.user)
	close(b.ended)
	b.ended = make(chan struct{})
}

// tidy forgets a user without blobs and uploads. The caller holds mu.
func (b *Store) tidy(user string) {
	if s := b.users[user]; s != nil && s.bytes <= 0 && len(s.uploads) == 0 {
		delete(b.users, user)
	}
}

// own notes that a user sent a blob. The caller holds mu.
func (b *Store) own(k *blob, user string) {
	if slices.Contains(k.users, user) {
		return
	}
	k.users = append(k.users, user)
	b.sends(user).bytes += k.bytes
	if len(k.users) > usersMax {
		b.disown(k, k.users[0])
	}
}

// disown removes a user from a blob's senders. The caller holds mu.
func (b *Store) disown(k *blob, user string) {
	if i := slices.Index(k.users, user); i >= 0 {
		k.users = slices.Delete(k.users, i, i+1)
		b.sends(user).bytes -= k.bytes
		b.tidy(user)
	}
}

// remove removes a blob. The caller holds mu.
func (b *Store) remove(hash string) error {
	if err := os.Remove(b.path(hash)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(b.path(hash) + usersSuffix) // a file that stays is removed at the next start
	b.forget(hash, b.kept[hash])
	return nil
}

// forget forgets a blob whose file is gone, or is to be replaced. The caller holds mu.
func (b *Store) forget(hash string, k *blob) {
	delete(b.kept, hash)
	b.total -= k.bytes
	for _, user := range slices.Clone(k.users) {
		b.disown(k, user)
	}
}

// join ends an upload of a blob that other users sent before: the existing copy is kept, and
// becomes this user's as well.
func (u *Upload) join() (there bool, err error) {
	b := u.b
	if !b.Has(u.hash) {
		return false, nil
	}
	b.noting.Lock()
	defer b.noting.Unlock()
	if err := b.note(u.hash, u.user); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.kept[u.hash]
	if k == nil {
		return false, nil // it went meanwhile
	}
	b.own(k, u.user)
	return true, nil
}

// note writes down, durably, that a user sent a blob. The caller holds noting.
func (b *Store) note(hash, user string) error {
	b.mu.Lock()
	var users []string
	if k := b.kept[hash]; k != nil {
		users = slices.Clone(k.users)
	}
	b.mu.Unlock()
	if !slices.Contains(users, user) {
		users = append(users, user)
	}
	text, err := json.Marshal(users[max(0, len(users)-usersMax):])
	if err != nil {
		return err
	}
	return atomicfile.Replace(b.path(hash)+usersSuffix, text)
}

// readUsers reads the senders of a blob. If the file can't be read, users send the blob again.
func (b *Store) readUsers(hash string) {
	k := b.kept[hash]
	if k == nil {
		_ = os.Remove(b.path(hash) + usersSuffix) // the blob went
		return
	}
	text, err := os.ReadFile(b.path(hash) + usersSuffix)
	if err != nil || json.Unmarshal(text, &k.users) != nil {
		k.users = nil
	}
	for _, user := range k.users {
		b.sends(user).bytes += k.bytes
	}
}

// roomOf makes room for n more bytes of a user. Blobs that the user's jobs no longer need stop
// counting to the user, and are removed when no other user sent them. Where callers are not
// authenticated, all users are one, without a bound of their own. It is called with mu held, and
// may unlock it meanwhile.
func (b *Store) roomOf(user string, n int64) error {
	if user == "" || b.sends(user).bytes+n <= b.UserBytes {
		return nil
	}
	old, err := b.unneeded(func(k *blob) bool { return slices.Contains(k.users, user) })
	if err != nil {
		return err
	}
	for _, hash := range old {
		if b.sends(user).bytes+n <= b.UserBytes {
			return nil
		}
		k := b.kept[hash]
		if len(k.users) > 1 {
			b.disown(k, user)
			continue // the next upload reports an error of the file of users
		}
		if err := b.remove(hash); err != nil {
			return err
		}
	}
	if b.sends(user).bytes+n > b.UserBytes {
		return fmt.Errorf("the manager keeps at most %d bytes of programs and plans of one user, and running jobs of %s need what is there: wait for them to end, or raise limits.userPrograms", b.UserBytes, user)
	}
	return nil
}
