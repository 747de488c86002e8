package recovery

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// data is a data folder with what its log has: the last job, and the number of its last record.
type data struct {
	t       interface{ Fatal(...any) }
	folder  string
	job     uint64
	record  uint64
	numbers *Numbers
}

// start begins a life on the data, a minute later, and returns the first job that it gives.
func (d *data) start(age time.Duration) uint64 {
	c := core.New(core.DefaultSettings())
	l := &Life{Core: c, Identity: "data", New: age == 0, age: age}
	for range d.job { // the records in the log
		c.Step(&wire.Batch{At: 1, Inputs: []*wire.Input{wire.NewInput(&wire.Prepare{Client: 1})}})
	}
	var err error
	if d.numbers, err = OpenNumbers(d.folder, l, d.record); err != nil {
		d.t.Fatal(err)
	}
	c.Step(&wire.Batch{At: int64(age) + 2, Inputs: l.Opening(core.DefaultSettings())})
	d.job = uint64(c.LastJob())
	return d.give()
}

// give gives a job an id, and lets it become known.
func (d *data) give() uint64 {
	d.job++
	d.record++
	if err := d.numbers.SetAside(scheduler.JobID(d.job)); err != nil {
		d.t.Fatal(err)
	}
	return d.job
}

func (d *data) stop() {
	if err := d.numbers.Stop(scheduler.JobID(d.job), d.record); err != nil {
		d.t.Fatal(err)
	}
}

const aMinute = uint64(60_000) // jobs by the age of data

// Jobs go on without a gap after a clean stop, and with a small one after a crash.
func TestNumbersGoOn(t *testing.T) {
	d := &data{t: t, folder: t.TempDir()}
	if first := d.start(0); first != 1 {
		t.Errorf("the first job is %d", first)
	}
	d.stop()
	if next := d.start(time.Minute); next != 2 {
		t.Errorf("after a clean stop comes job %d, not 2", next)
	}
	if next := d.start(2 * time.Minute); next <= 2 || next > 2+numbersAhead { // killed
		t.Errorf("after a crash comes job %d", next)
	}
}

// A copy of the data, hot or cold, and a log that is not the one behind which the manager was stopped,
// jump as far as the age of the data says.
func TestCopiesOfNumbersCountForNothing(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, d *data){
		"copied to another folder": func(t *testing.T, d *data) {
			copied := t.TempDir()
			copyFile(t, filepath.Join(d.folder, numbersFile), filepath.Join(copied, numbersFile))
			d.folder = copied
		},
		"put back in place": func(t *testing.T, d *data) {
			kept, at := filepath.Join(t.TempDir(), "kept"), filepath.Join(d.folder, numbersFile)
			copyFile(t, at, kept)
			other := &data{t: t, folder: d.folder, job: d.job, record: d.record}
			other.start(2 * time.Minute) // it goes on, and its jobs are not in the copy
			other.stop()
			copyFile(t, kept, at)
		},
		"another log":          func(_ *testing.T, d *data) { d.record-- },
		"another job's record": func(_ *testing.T, d *data) { d.job-- },
		"damaged": func(t *testing.T, d *data) {
			if err := os.WriteFile(filepath.Join(d.folder, numbersFile), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"removed": func(t *testing.T, d *data) {
			if err := os.Remove(filepath.Join(d.folder, numbersFile)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &data{t: t, folder: t.TempDir()}
			d.start(0)
			d.give()
			d.stop()
			change(t, d)
			if next := d.start(time.Minute); next <= aMinute {
				t.Errorf("comes job %d, and %d may have been given", next, aMinute)
			}
			d.stop()
			if next, want := d.start(2*time.Minute), d.job; next != want {
				t.Errorf("then, after a clean stop, comes job %d, not %d", next, want)
			}
		})
	}
}

// copyFile copies as people do who restore a file: into the existing file.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// Over lives that end cleanly or not, with logs that lose their ends and copies put back, no number is
// given twice.
func TestNumbersNeverRepeat(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		d, given, age := &data{t: t, folder: folder}, map[uint64]bool{}, time.Duration(0)
		take := func(job uint64) {
			if given[job] {
				t.Fatalf("job %d is given twice", job)
			}
			given[job] = true
		}
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			begins := data{job: d.job, record: d.record}
			take(d.start(age))
			for range rapid.IntRange(0, 130).Draw(t, "jobs") {
				take(d.give())
			}
			end := rapid.SampledFrom([]string{"clean", "killed", "lost", "copied"}).Draw(t, "end")
			switch end {
			case "clean":
				d.stop()
			case "lost": // the log lost this life
				d.job, d.record = begins.job, begins.record
			case "copied":
				d.stop()
				text, err := os.ReadFile(filepath.Join(folder, numbersFile))
				if err == nil {
					err = os.Remove(filepath.Join(folder, numbersFile))
				}
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, numbersFile), text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				d.job, d.record = begins.job, begins.record
			}
			age += time.Second // a thousand numbers
		}
	})
}

// If the file can't be written, it is removed. If it can't be removed either, no number becomes
// known.
func TestNumbersThatCannotBeKept(t *testing.T) {
	d := &data{t: t, folder: t.TempDir()}
	d.start(0)
	d.numbers.path = filepath.Join(d.folder, "none", numbersFile)
	if err := d.numbers.SetAside(scheduler.JobID(numbersAhead + 50)); err == nil || !strings.Contains(err.Error(), "would have numbers of jobs repeat") {
		t.Errorf("the folder is gone: %v", err)
	}
}

// A file of another version is refused by its version, and left as it is.
func TestNumbersOfOtherVersions(t *testing.T) {
	d := &data{t: t, folder: t.TempDir()}
	d.start(0)
	d.stop()
	path := filepath.Join(d.folder, numbersFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"0", "2"} {
		other := strings.Replace(string(text), `"version":1`, `"version":`+version, 1)
		if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		l := &Life{Core: core.New(core.DefaultSettings()), Identity: "data", age: time.Minute}
		if _, err := OpenNumbers(d.folder, l, d.record); err == nil || !strings.Contains(err.Error(), "has version "+version+", and this program reads 1: start the version of Hamadryad that wrote it") {
			t.Error(err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != other {
			t.Errorf("it was changed: %q, %v", after, err)
		}
	}
}
