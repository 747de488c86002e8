package secretfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Read decides by owner and permissions; the error for a refused file reveals nothing of its
// content.
func TestRead(t *testing.T) {
	const secret = "open sesame"
	dir := t.TempDir()
	file := func(name string, mode os.FileMode, uid int) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(secret), 0o600), os.Chmod(path, mode), os.Chown(path, uid, -1)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self := os.Geteuid()
	good := file("good", 0o600, self)
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.Symlink(good, link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, path string
		o          Options
		want       string
	}{
		{"whole", good, Options{BytesMax: 11, Owner: Self, NoLinks: true}, ""},
		{"too long", good, Options{BytesMax: 10}, "more than 10 bytes"},
		{"a group's", file("group", 0o640, self), Options{BytesMax: 99}, "mode 0640), and may know what is in it: chmod 600"},
		{"others'", file("others", 0o604, self), Options{BytesMax: 99, Owner: Self}, "mode 0604"},
		{"a link that may be", link, Options{BytesMax: 99}, ""},
		{"a link that may not be", link, Options{BytesMax: 99, NoLinks: true}, "it is a link"},
		{"a pipe that nobody writes into", pipe, Options{BytesMax: 99}, "it is no file"},
		{"a folder", dir, Options{BytesMax: 99}, "it is no file"},
	}
	if self == 0 {
		foreign := file("foreign", 0o600, 12345)
		cases = append(cases, []struct {
			name, path string
			o          Options
			want       string
		}{
			{"another's", foreign, Options{BytesMax: 99, Owner: Self}, "it belongs to user 12345"},
			{"neither root's nor ours", foreign, Options{BytesMax: 99, Owner: SelfOrRoot}, "it belongs to user 12345"},
			{"anybody's", foreign, Options{BytesMax: 99}, ""},
		}...)
	}
	for _, c := range cases {
		text, err := ReadFile(c.path, c.o)
		switch {
		case c.want == "" && (err != nil || string(text) != secret):
			t.Errorf("%s: %q, %v", c.name, text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := ReadFile(filepath.Join(dir, "none"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
