// Package scale measures how fast workloads are played, and in how much memory. It plays the traces
// of published experiments, in process and through the plug-in, and a whole day. Its clusters have
// from a hundred launchers to many thousands.
//
// Each run is a separate process (Child), so that the memory of one is not counted for another. It
// plays as `hamadryad simulate` does, on the manager's own core: an optimisation of one speeds up
// the other. Virtual results do not depend on the speed.
package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Lab is the environment of the measurements.
type Lab struct {
	Bin string    // folder of the policies' programs
	Out string    // folder of the drawings
	Log io.Writer // for people
	// Self is the program that calls Child: this one, in most cases.
	Self string
	// Day is the file of SWIM's trace of a day; "" leaves the day out, and reports that.
	Day string
	// Sizes are the curve's numbers of launchers.
	Sizes []int
	// FB2010 is the first row's trace; the tests play a smaller one.
	FB2010 string
	// Profile is a folder for each run's CPU profile; "" is none.
	Profile string
}

// The largest cluster of the curve, its limits, and the limit of FB2010 in process; through the
// plug-in the limit is twice that.
const (
	largest       = 50_000
	largestTime   = 10 * time.Minute
	largestMemory = int64(8) << 30
	dayTime       = 10 * time.Minute
	fb2010Time    = 30 * time.Second
)

// Sizes are the numbers of launchers of the curve.
func Sizes() []int { return []int{100, 500, 2_000, 10_000, largest} }

var experiments = []struct {
	name, about string
	runs        func(*Lab) []bounded
}{
	{"scale-fb2010", "FB2010 under FIFO, fair and HFSP, in process and through the plug-ins", (*Lab).fb2010},
	{"scale-day", "a day of FB-2010 of SWIM's repository, which --trace names, under fair", (*Lab).day},
	{"scale-curve", "from 100 to 50,000 launchers under fair, with 20 tasks each, in pools of 50 launchers each", (*Lab).curve},
}

// bounded is a run with its limits; 0 is none.
type bounded struct {
	run
	time   time.Duration
	memory int64
}

// Names lists the measurements, with their descriptions.
func Names() (names, about []string) {
	for _, e := range experiments {
		names, about = append(names, e.name), append(about, e.about)
	}
	return names, about
}

// Run takes the named measurements, or all, and prints one table. The error names the runs beyond
// their limits.
func (l *Lab) Run(ctx context.Context, names []string) error {
	known, _ := Names()
	for _, n := range names {
		if !slices.Contains(known, n) {
			return fmt.Errorf("there is no measurement %q: --help lists them", n)
		}
	}
	t := table{}
	for _, e := range experiments {
		if len(names) > 0 && !slices.Contains(names, e.name) {
			continue
		}
		fmt.Fprintf(l.Log, "%s ...\n", e.about)
		var done []measured
		for _, b := range e.runs(l) {
			m, err := l.measure(ctx, b.run)
			if err != nil {
				return errors.Join(err, t.print(l.Log)) // the rows so far
			}
			t.add(b, m)
			done = append(done, m)
		}
		if e.name == "scale-curve" {
			if err := l.draw(done); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(l.Log)
	return t.print(l.Log)
}

func (l *Lab) fb2010() (list []bounded) {
	for _, policy := range []string{"fifo", "fair", "hfsp"} {
		list = append(list, bounded{run: run{Trace: l.FB2010, Policy: policy, Launchers: hfspLaunchers}, time: fb2010Time})
		list = append(list, bounded{run: run{Trace: l.FB2010, Policy: policy, Plugin: l.plugin(policy), Launchers: hfspLaunchers}, time: 2 * fb2010Time})
	}
	return list
}

// hfspLaunchers is the size of the cluster in FB2010's publication. The day is played on as many,
// with its bytes scaled to them.
const hfspLaunchers = 100

func (l *Lab) day() []bounded {
	if l.Day == "" {
		fmt.Fprintln(l.Log, "it is left out: --trace names no file (FB-2010_samples_24_times_1hr_0.tsv of SWIM's repository)")
		return nil
	}
	return []bounded{{run: run{Trace: l.Day, Policy: "fair", Launchers: hfspLaunchers}, time: dayTime}}
}

func (l *Lab) curve() (list []bounded) {
	for _, n := range l.Sizes {
		b := bounded{run: run{Policy: "fair", Launchers: n}}
		if n == largest {
			b.time, b.memory = largestTime, largestMemory
		}
		list = append(list, b)
	}
	return list
}

func (l *Lab) plugin(policy string) string {
	return filepath.Join(l.Bin, "hamadryad-policy-"+policy)
}

// table is the printed table.
type table struct {
	rows   []string
	failed []string
}

const heading = "WORKLOAD\tPOLICY\tRUNS\tLAUNCHERS\tTASKS\tWALL\tAT MOST\tPROCESSOR\tROUNDS\tROUNDS/S\tµS/DECISION\tPEAK\tPLUG-IN'S\tPER LAUNCHER\tPER TASK\tVERDICT"

func (t *table) add(b bounded, m measured) {
	where := "in process"
	if b.Plugin != "" {
		where = "plug-in"
	}
	most, verdict := "-", "-"
	if b.time > 0 {
		most, verdict = b.time.String(), "holds"
	}
	if b.memory > 0 {
		most += " and " + mib(b.memory)
	}
	if b.time > 0 && m.Wall > b.time || b.memory > 0 && m.Peak > b.memory {
		verdict = "DOES NOT HOLD"
		t.failed = append(t.failed, fmt.Sprintf("%s, %s, %s", m.Workload, b.Policy, where))
	}
	t.rows = append(t.rows, strings.Join([]string{
		m.Workload, b.Policy, where, fmt.Sprint(b.Launchers), fmt.Sprint(m.Tasks), seconds(m.Wall), most, seconds(m.Processor),
		fmt.Sprint(m.Rounds), fmt.Sprintf("%.0f", m.roundsPerSecond()), fmt.Sprintf("%.0f", m.perDecision()),
		mib(m.Peak), mib(m.PluginPeak), bytesEach(m.PerLauncher), bytesEach(m.PerTask), verdict,
	}, "\t"))
}

func (t *table) print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, heading)
	for _, r := range t.rows {
		fmt.Fprintln(out, r)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(t.failed) > 0 {
		return fmt.Errorf("these took more than they are to: %s", strings.Join(t.failed, "; "))
	}
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// mib is a size; "-" for none.
func mib(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// bytesEach is the bytes of one of many; "-" where that was not measured.
func bytesEach(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%d B", bytes)
}

// write puts a drawing into the folder for them.
func (l *Lab) write(name string, svg []byte) error {
	if err := os.MkdirAll(l.Out, 0o755); err != nil {
		return err
	}
	path := filepath.Join(l.Out, name)
	if err := os.WriteFile(path, svg, 0o644); err != nil {
		return err
	}
	fmt.Fprintln(l.Log, "drawn:", path)
	return nil
}
