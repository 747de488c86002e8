package history

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first `SEED`")
	seeds     = flag.Int("seeds", 10, "how many `SEEDS` to play, from the first on")
	beside    = flag.Int("beside", 3, "how many `HISTORIES` are played at a time")
	logFolder = flag.String("logs", "", "`FOLDER` that gets all that was said in histories that fail")
)

// binaries is the folder of the programs under test, built once.
var binaries string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hamadryad-history")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binaries = dir
		build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir+"/", "../../hamadryad", "../../hamadryad-streaming", "../../../plugins/...", "./testdata/paced")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// The same seed draws the same history, and seeds draw all kinds of jobs and faults.
func TestDraw(t *testing.T) {
	const many = 300
	var all strings.Builder
	for seed := range uint64(many) {
		h := draw(seed)
		if again := draw(seed); again.String() != h.String() {
			t.Fatalf("seed %d draws two histories:\n%s\n%s", seed, h, again)
		}
		all.WriteString(h.String())
	}
	for _, k := range faultKinds() {
		if !strings.Contains(all.String(), " "+k.name) {
			t.Errorf("%d seeds never draw %q", many, k.name)
		}
	}
	for _, k := range jobKinds {
		if !strings.Contains(all.String(), ": "+k.name+" of ") {
			t.Errorf("%d seeds never draw a job %q", many, k.name)
		}
	}
}

// TestHistories plays seeds.
func TestHistories(t *testing.T) {
	var all []history
	for i := range *seeds {
		all = append(all, draw(*firstSeed+uint64(i)))
	}
	playAll(t, all)
}

// Links that are cut without a word, both ways or one, to all or to one neighbour, for
// shorter and longer than a lease, and links that flap, in the middle of a shuffle: the
// output is exact, and no launch is refused again and again afterwards.
func TestCutLinks(t *testing.T) {
	const lease = time.Second
	const file, tcp = "words", "graph-tcp"
	var all []history
	for i, cut := range []struct {
		link  string
		lasts time.Duration
		job   string
	}{
		{"launcher cut off", lease / 3, file},
		{"launcher cut off", 3 * lease, file},
		{"launcher cut off", 3 * lease, tcp},
		{"launcher hears nothing", 3 * lease, file},
		{"launcher is not heard", 3 * lease, tcp},
		{"launcher not heard by its neighbour", 2 * lease, file},
		{"link flaps", 3 * lease, file},
		{"link flaps", 3 * lease, tcp},
	} {
		h := history{seed: uint64(i), policy: policies[i%len(policies)], launchers: 3, slots: 2, lease: lease, logFile: "64MiB"}
		h.jobs = []jobPlan{{kind: cut.job, size: 200, pace: 20 * time.Millisecond}}
		h.faults = []fault{{kind: cut.link, lasts: cut.lasts, target: i % h.launchers, amount: 250, amidst: true}}
		all = append(all, h)
	}
	for _, c := range playAll(t, all) {
		f := c.h.faults[0]
		lost := strings.Contains(c.manager.running.Load().Log.String(), "a launcher was lost")
		if len(c.complaints) == 0 && f.lasts > 2*lease && !lost && f.kind != "link flaps" {
			t.Errorf("no launcher was lost:\n%s", c.h)
		}
	}
}

// playAll plays histories, some at a time, and returns what they were played on.
func playAll(t *testing.T, all []history) []*cluster {
	played := make([]*cluster, len(all))
	next := make(chan int)
	var players sync.WaitGroup
	for range *beside {
		players.Go(func() {
			for i := range next {
				t.Run(fmt.Sprint(all[i].seed), func(t *testing.T) { played[i] = playOne(t, all[i]) })
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	players.Wait()
	return played
}

// playOne plays a history and reports what was wrong with it.
func playOne(t *testing.T, h history) *cluster {
	c := play(h, t.TempDir())
	if len(c.complaints) == 0 {
		return c
	}
	t.Errorf("%d things were wrong; to play the seed again: make faults SEED=%d\n%s\nwhat happened:\n%s", len(c.complaints), h.seed, h, c.diary.String())
	for _, w := range c.complaints {
		t.Errorf("WRONG: %s", w)
	}
	for i, p := range c.started {
		if *logFolder == "" {
			continue
		}
		path := filepath.Join(*logFolder, fmt.Sprint("seed", h.seed), fmt.Sprintf("%03d.log", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(p.Name+"\n"+p.Log.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
