package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
)

// A certificate's problem is reported before anything starts, with the file, the setting that named
// it, and the remedy.
func TestCertificatesThatAreWrong(t *testing.T) {
	now := time.Now()
	ca, over := certstest.New(t), certstest.At(t, now.Add(-11*365*24*time.Hour))
	s := &secured{t: t, dir: t.TempDir(), manager: "127.0.0.1:1"}
	half := ca.Files(auth.Manager, "half")
	if err := os.Truncate(half.Key, 100); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files certs.Files
		want  []string
	}{
		"an expired CA":              {over.FilesAt(auth.Manager, "m", now.Add(-2*365*24*time.Hour), certs.LifeMax), []string{"m.pem", "ended at", "issue a new one, or set the clock that is wrong"}},
		"a clock that is behind":     {ca.FilesAt(auth.Manager, "early", now.Add(time.Hour), time.Hour), []string{"early.pem", "begins at", "yet to come by the clock of", "set the clock that is wrong"}},
		"a clock that is ahead":      {ca.FilesAt(auth.Manager, "late", now.Add(-2*time.Hour), time.Hour), []string{"late.pem", "ended at", "issue a new one, or set the clock that is wrong"}},
		"half a key":                 {half, []string{"half.key", "it is cut off or no PEM: copy it again, whole"}},
		"a certificate without name": {ca.Named(), []string{"other.pem", "it has 0 names where one hamadryad://CLUSTER/KIND/NAME is wanted", "ca issue"}},
	} {
		for program, args := range map[string][]string{
			"manager":  {"serve", "manager", "--auth", "tls", "--data", "data", "--certificate", c.files.Certificate},
			"launcher": {"serve", "launcher", "--auth", "tls", "--data", "data", "--certificate", c.files.Certificate},
			"client":   {"jobs", "--certificate", c.files.Certificate},
		} {
			out, err := s.run("", "hamadryad", args...)
			want := c.want
			if program != "client" {
				want = append([]string{"flag: auth.certificate: "}, want...)
			}
			for _, text := range want {
				if err == nil || !strings.Contains(out, text) {
					t.Errorf("%s: the %s ends with %v and says %q, not %q", name, program, err, out, text)
				}
			}
		}
	}
	out, err := s.run("", "hamadryad", "ca", "issue", "user/ann", "--folder", over.Folder)
	if want := "set the clock right, or make a new CA with \"hamadryad ca init\""; err == nil || !strings.Contains(out, want) {
		t.Errorf("an expired CA issues: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "data")); err == nil {
		t.Error("something was begun in the data folder")
	}
}
