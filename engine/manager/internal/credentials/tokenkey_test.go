package credentials

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheKeyLasts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	first, err := OpenTokenKey(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	again, err := OpenTokenKey(file)
	if err != nil || again.secret != first.secret {
		t.Errorf("the key is another in the manager's next life (%v)", err)
	}
	other, err := OpenTokenKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for run := range uint64(1000) {
		for _, k := range []*TokenKey{&first, &other} {
			seen[string(k.Token(run))] = true
		}
		if !bytes.Equal(first.Token(run), again.Token(run)) {
			t.Fatal("a run's token changed")
		}
	}
	if len(seen) != 2000 {
		t.Errorf("2,000 bundle attempts of two clusters have %d tokens", len(seen))
	}
}

// A key that others may know, or that is not whole, is refused by name, and stays as it is.
func TestAKeyThatCannotBe(t *testing.T) {
	good := strings.Repeat("0f", keyBytes)
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"empty":        {"", 0o600, "damaged"},
		"half written": {good[:40], 0o600, "damaged"},
		"too long":     {good + "00", 0o600, "damaged"},
		"no digits":    {strings.Repeat("xy", keyBytes), 0o600, "damaged"},
		"group":        {good, 0o640, "chmod 600"},
		"others":       {good, 0o604, "chmod 600"},
	} {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := OpenTokenKey(file)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), good[:8]) {
			t.Errorf("%s: the error tells of the key: %v", name, err)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != c.text {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
}

func TestAKeyBehindALinkIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenTokenKey(filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "key")
	if err := os.Symlink("elsewhere", file); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTokenKey(file); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Error(err)
	}
}

func TestAPrintedKeyTellsNothing(t *testing.T) {
	k, err := OpenTokenKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"%v", "%+v", "%s", "%#v", "%x"} {
		for _, v := range []any{k, &k, struct{ Key TokenKey }{k}} {
			if got := fmt.Sprintf(f, v); strings.Contains(got, fmt.Sprintf("%x", k.secret[:4])) || strings.Contains(got, fmt.Sprintf("%d, %d", k.secret[0], k.secret[1])) {
				t.Errorf("%s of %T tells of the key", f, v)
			}
		}
	}
}
