package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// sweepRun is a run of a sweep.
type sweepRun struct {
	*point
	number int
	on     *cluster.Cluster
	jobs   *workload.Workload // with the seed's arrivals
	kept   string             // the file of its result; "": it is not kept
	report *report.Run
}

// keptFile is the content of a kept result's file: JSON.
type keptFile struct {
	Checksum string          // of Result
	Result   json.RawMessage // a keptResult
}

// keptResult is the part of a result that a report needs.
type keptResult struct {
	Jobs  []simulation.Job
	Ended time.Duration
	Slots map[scheduler.SlotKind]int
	Uses  []simulation.Use
}

// runSweep plays all combinations of values, with as many concurrent runs as there are processors.
func (c *command) runSweep(cmd *cobra.Command, args []string, w *workload.Workload, on *cluster.Cluster, list []contender) error {
	dims, err := parseSets(c.sets, list)
	if err != nil {
		return err
	}
	all, err := points(list, dims)
	if err != nil {
		return err
	}
	runs, err := c.sweepRuns(all, w, on)
	if err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	if err := c.withAttempts(func(file *attemptsFile) error { return c.playSweep(cmd.Context(), runs, file) }); err != nil {
		return err
	}
	var reports []*report.Run
	for _, r := range runs {
		reports = append(reports, r.report)
	}
	compared := report.Compare(reports)
	compared.ByRows = true
	if len(all) > report.PoliciesDrawn {
		compared.Differences = nil // there are too many pairs to be read
	}
	compared.More = curves(compared, all, dims)
	var contenders []contender
	for _, p := range all {
		contenders = append(contenders, p.contender)
	}
	if compared.Origin, err = origin(cmd, args, args[0], on, contenders); err != nil {
		return err
	}
	compared.Origin.Assumed = c.assumed
	return c.showCompared(reports, compared)
}

// sweepRuns are the runs of all points and seeds, with the files of their results.
func (c *command) sweepRuns(all []point, w *workload.Workload, on *cluster.Cluster) (runs []*sweepRun, err error) {
	if len(all)*c.seeds > sweepMax {
		return nil, client.Misuse("--set: the values and seeds come to %d runs: at most %d are played", len(all)*c.seeds, sweepMax)
	}
	keys, err := c.newSweepKeys(w)
	if err != nil {
		return nil, err
	}
	jobs := make([]*workload.Workload, c.seeds)
	for s := range jobs {
		jobs[s] = c.input.Resampled(w, on.Seed+uint64(s)) //nolint:gosec // it is not negative
	}
	for i := range all {
		p := &all[i]
		for s := range c.seeds {
			r := &sweepRun{point: p, number: len(runs), jobs: jobs[s]}
			seeded := *on
			if err := p.cluster(&seeded); err != nil {
				return nil, err
			}
			seeded.Seed = on.Seed + uint64(s) //nolint:gosec // it is not negative
			r.on = &seeded
			if c.results != "" {
				key, err := keys.of(r)
				if err != nil {
					return nil, err
				}
				r.kept = filepath.Join(c.results, "runs", key+".json")
			}
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// sweepKeys name the results of runs by all that decides about them.
type sweepKeys struct {
	fixed    string
	programs map[string]string // checksums, by path
}

func (c *command) newSweepKeys(w *workload.Workload) (*sweepKeys, error) {
	h := sha256.New()
	if err := w.Write(h); err != nil {
		return nil, err
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	version, err := checksum(own)
	if err != nil {
		return nil, err
	}
	return &sweepKeys{fixed: fmt.Sprint(version, hex.EncodeToString(h.Sum(nil)), c.tick, c.think, c.input.Resamples()), programs: map[string]string{}}, nil
}

// of is the key of a run: a checksum of the programs with their environment, workload, cluster,
// settings and seed.
func (k *sweepKeys) of(r *sweepRun) (string, error) {
	if k.programs[r.path] == "" {
		sum, err := checksum(r.path)
		if err != nil {
			return "", err
		}
		k.programs[r.path] = sum
	}
	environment := make([]string, len(r.environment))
	for i, name := range r.environment {
		environment[i] = name + "=" + os.Getenv(name)
	}
	text, err := json.Marshal([]any{k.fixed, k.programs[r.path], string(r.config.Text), environment, r.on})
	if err != nil {
		return "", err
	}
	return sumOf(text), nil
}

// sumOf is a checksum.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// playSweep plays the runs that have no result from an earlier, interrupted sweep. With a table of
// attempts it plays all runs: results do not have their attempts.
func (c *command) playSweep(ctx context.Context, runs []*sweepRun, file *attemptsFile) error {
	var missing []*sweepRun
	for _, r := range runs {
		if file == nil {
			r.load()
		}
		if r.report == nil {
			missing = append(missing, r)
		}
	}
	if before := len(runs) - len(missing); before > 0 {
		fmt.Fprintf(c.errors, "%d of %d runs are in %s from before\n", before, len(runs), filepath.Join(c.results, "runs"))
	}
	steps := progress.NewSteps(c.errors, "sweep")
	defer steps.Close()
	var one sync.Mutex // for done and steps
	done := 0
	playing, within := errgroup.WithContext(ctx)
	playing.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range missing {
		playing.Go(func() error {
			if within.Err() != nil {
				return context.Cause(within)
			}
			if err := c.playPoint(within, r, file.of(r.number)); err != nil {
				return fmt.Errorf("%s, seed %d: %w", r.name, r.on.Seed, err)
			}
			one.Lock()
			defer one.Unlock()
			done++
			steps.Step(r.name, done, len(missing))
			return nil
		})
	}
	return playing.Wait()
}

// load takes a result that an earlier command kept. One that cannot be read, or was changed, is
// played again.
func (r *sweepRun) load() {
	var file keptFile
	text, err := os.ReadFile(r.kept)
	if err != nil || json.Unmarshal(text, &file) != nil || file.Checksum != sumOf(file.Result) {
		return
	}
	var kept keptResult
	if json.Unmarshal(file.Result, &kept) != nil || len(kept.Jobs) != len(r.jobs.Jobs) || len(kept.Uses) != r.on.Launchers() {
		return
	}
	r.made(&simulation.Result{Jobs: kept.Jobs, Ended: kept.Ended, Slots: kept.Slots, Uses: kept.Uses})
}

// made is the run's report. It has no charts over time, for which nothing is kept.
func (r *sweepRun) made(result *simulation.Result) {
	r.report = report.NewRun(r.name, r.on.Seed, r.jobs, r.on, result, nil)
}

// playPoint plays a run, and keeps its result.
func (c *command) playPoint(ctx context.Context, r *sweepRun, kept *attemptsOf) error {
	host, err := c.launch(ctx, r.path, r.environment...)
	if err != nil {
		return err
	}
	o := simulation.Options{Workload: r.jobs, Cluster: r.on, Host: host, Config: r.config, Tick: orNone(c.tick), Think: orNone(c.think)}
	kept.watch(r.name, &o)
	result, err := simulation.Play(ctx, o)
	if err != nil {
		return err
	}
	if err := kept.write(ctx); err != nil {
		return err
	}
	r.made(result)
	if r.kept == "" {
		return nil
	}
	of, err := json.Marshal(keptResult{result.Jobs, result.Ended, result.Slots, result.Uses})
	if err != nil {
		return err
	}
	text, err := json.Marshal(keptFile{sumOf(of), of})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.kept), 0o755); err != nil {
		return err
	}
	return atomicfile.Replace(r.kept, text)
}
