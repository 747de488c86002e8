package faults

import (
	"os"
	"testing"
)

// Channel files in a folder that all machines reach outlive the launcher that wrote
// them: when it dies, its readers run again and its writers do not.
func TestChannelsInAFolderOutliveTheirLauncher(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 3})
	folder := c.path("channels")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HAMADRYAD_CHANNELS", folder)
	j := c.submit("file", 0, 6, 3, "read")
	j.reached("read", 3)
	if kept := c.files("channels", func(string) bool { return true }); len(kept) != 6 {
		t.Errorf("%d channel files of 6 maps in the folder: %v", len(kept), kept)
	}
	for i := range c.launchers {
		if kept := c.stored(i); len(kept) > 0 {
			t.Errorf("launcher %d keeps %v too", i, kept)
		}
	}
	c.launchers[0].kill(t)
	j.open("read")
	j.succeeds()
	if n := j.attempts("map"); n != 6 {
		t.Errorf("%d attempts of 6 maps: a lost launcher cost work whose output was elsewhere", n)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the job left %v in the folder of channels: %v", left, err)
	}
}

// A folder that is not there is refused before any work is done.
func TestChannelsInNoFolder(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 1})
	t.Setenv("HAMADRYAD_CHANNELS", c.path("nothing"))
	c.submit("file", 0, 1, 1).fails("--channels", c.path("nothing"), "make that folder first")
}
