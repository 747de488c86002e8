package shell

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/control"
)

const (
	// aclName is the name of the list of keys in the store's folder.
	aclName = "acl"
	// aclBytesMax bounds the list, in bytes.
	aclBytesMax = 16 << 20
	// tickMax is the coarsest resolution of a file system's clock. A file changed more recently may
	// have changed again without a visible difference.
	tickMax = 3 * time.Second
	// keyBytesMin is the shortest permitted key, in bytes: a shorter one can be guessed.
	keyBytesMin = 8
)

// user is a user in the list.
type user struct {
	role string
	key  string
}

// keys is the list of users with their keys, as in the file. Safe for concurrent use.
type keys struct {
	path string

	mu    sync.Mutex
	was   os.FileInfo // of the file last read; nil: none
	users map[string]user
	empty bool // the file has no users: users are those of the previous list
}

// user looks up a user. It first reads a changed file; an error means that it can't be read.
func (k *keys) user(name string) (user, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refresh(); err != nil {
		k.was, k.users, k.empty = nil, nil, false // an outdated list must admit no caller
		return user{}, false, err
	}
	u, ok := k.users[name]
	return u, ok, nil
}

// refresh reads the file if it has changed; the caller holds mu.
func (k *keys) refresh() error {
	is, err := os.Stat(k.path)
	if err != nil {
		return fmt.Errorf("the list of keys: %w", err)
	}
	settled := time.Since(is.ModTime()) > tickMax
	if settled && k.was != nil && os.SameFile(k.was, is) && k.was.ModTime().Equal(is.ModTime()) && k.was.Size() == is.Size() {
		return nil
	}
	switch {
	case !is.Mode().IsRegular():
		return fmt.Errorf("the list of keys %s is no file", k.path)
	case is.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("the list of keys %s can be read by others: chmod 600 it", k.path)
	case is.Size() > aclBytesMax:
		return fmt.Errorf("the list of keys %s has %d bytes, at most %d are read", k.path, is.Size(), aclBytesMax)
	}
	text, err := os.ReadFile(k.path)
	if err != nil {
		return fmt.Errorf("the list of keys: %w", err)
	}
	users, problems := parseKeys(text)
	for _, p := range problems {
		slog.Error("a line of the list of keys is left out: whom it names is not let in", "file", k.path, "problem", p)
	}
	empty := len(users) == 0 && len(problems) == 0
	switch {
	case empty && len(k.users) == 0:
		k.was = nil
		return fmt.Errorf("the list of keys %s has nobody in it: write a line \"user role key\" for each", k.path)
	case empty && !k.empty:
		slog.Warn("the list of keys has nobody in it, as if an editor or a full disk had emptied it: those who were in it before stay; to let nobody in, remove the file",
			"file", k.path, "users", len(k.users))
	case !empty:
		k.users = users
	}
	k.was, k.empty = is, empty
	return nil
}

// parseKeys parses lines "user role key". Problems name the lines that are left out. If a user is
// listed twice, neither line counts.
func parseKeys(text []byte) (users map[string]user, problems []string) {
	users = map[string]user{}
	twice := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, aclBytesMax+1)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, u, err := parseKey(line)
		if err == nil && (users[name] != (user{}) || twice[name]) {
			twice[name] = true
			delete(users, name)
			err = fmt.Errorf("user %q is there twice: neither line counts", name)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("line %d: %v", number, err))
			continue
		}
		users[name] = u
	}
	return users, problems
}

// parseKey parses one line. Its errors never repeat a key.
func parseKey(line string) (name string, u user, err error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return "", u, fmt.Errorf("it has %d words: write a user, a role and a key", len(fields))
	}
	name, u = fields[0], user{fields[1], fields[2]}
	if err := account.CheckName(name); err != nil {
		return "", u, err
	}
	if role, err := control.ParseRole(u.role); err != nil || role == control.Nobody {
		return "", u, fmt.Errorf("user %q: a role is user or admin", name)
	}
	if len(u.key) < keyBytesMin {
		return "", u, errors.New("the key of user " + name + " is too short: take 8 characters at least, 32 drawn at random are better")
	}
	return name, u, nil
}
