package faults

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// eve is a user of the machine who may write in the folders that all share.
const eve = 1

// asEve runs a script as that user.
func (c *cluster) asEve(script string, args ...string) {
	c.t.Helper()
	cmd := exec.Command("sh", append([]string{"-ec", script, "eve"}, args...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: eve, Gid: eve}}
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%s %v: %v\n%s", script, args, err, out)
	}
}

// Another user may write in the folders in which a job has its channels and its output. Where she could rename what
// lies there the job is refused, with the reason. Where she could not, what she made in advance under names that one can
// foresee is not used, she can put nothing in place of the job's own folders, and the output is the job's.
func TestFoldersThatAnotherUserMadeInAdvance(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the second user of this test needs root: run it as root")
	}
	c := startCluster(t, options{launchers: 1, slots: 4})
	if err := os.Chmod(filepath.Dir(c.dir), 0o755); err != nil { //nolint:gosec // another user is to reach the folders below it
		t.Fatal(err)
	}
	channels, folder := c.path("channels"), c.path("mine")
	shared := func(mode os.FileMode) {
		for _, path := range []string{channels, folder} {
			if err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, mode)); err != nil {
				t.Fatal(err)
			}
		}
	}
	shared(0o777)
	c.asEve(`umask 0; for n in 1 2 3 4 5 6 7 8 9; do mkdir "$1/job-$n.channels" "$2/out.job-$n.tmp"; done`, channels, folder)
	t.Setenv("HAMADRYAD_CHANNELS", channels)
	refused := c.submitIn("mine", "file", 0, 2, 1)
	eventually(t, "the application ends", refused.process.ended)
	if said := refused.process.log.String(); !strings.Contains(said, "is not used: everybody may rename and remove what lies in it") {
		t.Errorf("a job in folders where all may rename is not refused:\n%s", said)
	}

	shared(0o777 | os.ModeSticky)
	j := c.submitIn("mine", "file", 0, 2, 1, "read")
	j.reached("read", 1)
	swapped := 0
	for _, pattern := range []string{channels + "/*" + j.id() + "*", folder + "/out.*" + j.id() + "*"} {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Sys().(*syscall.Stat_t).Uid != eve {
				c.asEve(`if mv "$1" "$1.away" 2>/dev/null || touch "$1/forged" 2>/dev/null; then exit 1; fi`, path)
				swapped++
			}
		}
	}
	if swapped != 2 {
		t.Errorf("%d folders of the job were found to be swapped, want those of channels and of the output", swapped)
	}
	j.open("read")
	j.endsWell()
	j.isRight()
}
