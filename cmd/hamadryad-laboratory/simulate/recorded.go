package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/site"
	"github.com/hamadryad/hamadryad/laboratory/replay"
	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// verified is the verification of a policy against a log.
type verified struct {
	Policy       string // its name, "" for the log's
	Verification *replay.Verification
}

// runVerify verifies policies against a log, one after the other.
func (c *command) runVerify(cmd *cobra.Command) error {
	list, err := c.verifyUnder(cmd)
	if err != nil {
		return err
	}
	if c.differences < 0 {
		return client.Misuse("--differences is not negative")
	}
	var all []verified
	for _, given := range list {
		v, err := c.verifyOne(cmd.Context(), given)
		if err != nil {
			return err
		}
		one := verified{Verification: v}
		if given != nil {
			one.Policy = given.name
		}
		all = append(all, one)
	}
	text := func(w io.Writer) error { return verifiedText(w, all) }
	if err := show.Write(c.printed, c.format, text, func(w io.Writer) error { return verifiedJSON(w, all) }); err != nil {
		return err
	}
	return different(all)
}

// verifyOne verifies one policy against the log; nil: the log's.
func (c *command) verifyOne(ctx context.Context, given *contender) (*replay.Verification, error) {
	r, err := replay.Open(c.verify)
	if err != nil {
		return nil, err
	}
	title := "log"
	if given != nil {
		title = given.name
	}
	steps := progress.NewSteps(c.errors, title)
	defer steps.Close()
	return replay.Verify(ctx, r, replay.VerifyOptions{
		Differences: orNegative(c.differences),
		Host: func(ctx context.Context, of replay.Started) (policy.Host, scheduler.Config, error) {
			return c.inPlaceOf(ctx, given, of)
		},
		Progress: func(done, all int64) { steps.Step("bytes of the log", int(done), int(all)) },
	})
}

// verifiedText writes the reports for people. Each of several begins with the policy's name.
func verifiedText(w io.Writer, all []verified) error {
	for i, one := range all {
		if len(all) > 1 {
			fmt.Fprintf(w, "%s%s\n", strings.Repeat("\n", min(i, 1)), one.Policy)
		}
		if err := one.Verification.Text(w); err != nil {
			return err
		}
	}
	return nil
}

// verifiedJSON writes the only report, or a list of several with the policies' names.
func verifiedJSON(w io.Writer, all []verified) error {
	if len(all) == 1 {
		return all[0].Verification.JSON(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(all)
}

// different is an error that names the policies that decide otherwise than the log; nil: none does.
func different(all []verified) error {
	var lines []string
	for _, one := range all {
		if one.Verification.Same() {
			continue
		}
		name := "the policy"
		if len(all) > 1 {
			name = "policy " + one.Policy
		}
		sum := one.Verification.Sum()
		lines = append(lines, fmt.Sprintf("%s does not decide as the log has it: %d of %d rounds differ, and %d could not be asked",
			name, sum.Different, sum.Rounds, sum.NotAsked))
	}
	if len(lines) == 0 {
		return nil
	}
	return &client.ExitError{Code: client.ExitFailed, Err: errors.New(strings.Join(lines, "\n"))}
}

// orNegative converts 0 for the laboratory, to which 0 means its default.
func orNegative(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// verifyUnder are the policies of --policy. Without the flag it is the log's policy, a nil.
func (c *command) verifyUnder(cmd *cobra.Command) (all []*contender, err error) {
	if !cmd.Flags().Changed("policy") {
		return []*contender{nil}, nil
	}
	list, err := findContenders(c.policies)
	for i := range list {
		all = append(all, &list[i])
	}
	return all, err
}

// inPlaceOf starts the policy that is asked in the place of a generation of the log. In place of a
// fallback it is the fallback.
func (c *command) inPlaceOf(ctx context.Context, given *contender, of replay.Started) (policy.Host, scheduler.Config, error) {
	if of.Fallback {
		return policy.InProcess(fifo.New()), scheduler.Config{}, nil
	}
	if given == nil {
		path, err := site.FindPolicy(config.Policy{Name: of.Policy})
		if err != nil {
			return nil, scheduler.Config{}, fmt.Errorf("%w; or name a program with --policy", err)
		}
		given = &contender{path: path, program: of.Policy}
	}
	host, err := c.launch(ctx, given.path, given.environment...)
	return host, given.settings(of.Policy, of.Settings), err
}

// settings are a program's settings in place of a logged policy: its own file's, the log's for a
// program of the same name, or its defaults.
func (p *contender) settings(name string, inLog scheduler.Config) scheduler.Config {
	if p.configured || p.program != name {
		return p.config
	}
	return inLog
}

// ofWorkload are the flags that say what is played, or where, in place of a log.
var ofWorkload = []string{"cluster", "topology", "launchers", "slots", "slow-start"}

// runReplay plays the jobs of a log.
func (c *command) runReplay(cmd *cobra.Command) error {
	if err := c.checkReplay(cmd); err != nil {
		return err
	}
	r, err := replay.Open(c.replay)
	if err != nil {
		return err
	}
	first := max(c.seed, 1)
	day, err := c.extract(cmd.Context(), r, first)
	if err != nil {
		return err
	}
	list, err := c.replayUnder(cmd, day)
	if err != nil {
		return err
	}
	spread, dims, err := c.replayPoints(list)
	if err != nil {
		return err
	}
	list = list[:0]
	for _, p := range spread {
		list = append(list, p.contender)
	}
	runs, err := c.playAll(cmd.Context(), list, first, func(p contender, seed uint64, kept *attemptsOf) (*report.Run, error) {
		seeded := day
		if seed != first {
			if seeded, err = c.extract(cmd.Context(), r, seed); err != nil {
				return nil, err
			}
		}
		return c.playDay(cmd, p, seeded, kept)
	})
	if err != nil {
		return err
	}
	from, err := origin(cmd, nil, c.replay, nil, list)
	if err != nil {
		return err
	}
	all := report.Compare(runs)
	all.Origin = from
	if all.More = curves(all, spread, dims); len(dims) > 0 {
		all.ByRows = true
	}
	shown := c.showCompared(runs, all)
	if c.format == show.Table {
		return errors.Join(shown, tellReplay(c.printed, day, runs))
	}
	return shown
}

// checkReplay refuses flags that a log replaces.
func (c *command) checkReplay(cmd *cobra.Command) error {
	if err := c.checkRuns(); err != nil {
		return err
	}
	for _, name := range ofWorkload {
		if cmd.Flags().Changed(name) {
			return client.Misuse("--%s: with --replay the launchers are those of the log", name)
		}
	}
	if name := c.input.Changed(cmd.Flags()); name != "" {
		return client.Misuse("--%s: with --replay the jobs are those of the log, and come when they came", name)
	}
	return nil
}

// replayPoints are the policies with the values of --set, which are settings of policies here.
func (c *command) replayPoints(list []contender) ([]point, []dimension, error) {
	dims, err := parseSets(c.sets, list)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range dims {
		if d.policy == "" {
			return nil, nil, client.Misuse("--set %s: with --replay the launchers are those of the log, and only settings of policies are set", d.key)
		}
	}
	spread, err := points(list, dims)
	return spread, dims, err
}

// playDay plays a day of a log under a policy.
func (c *command) playDay(cmd *cobra.Command, p contender, day *replay.Day, kept *attemptsOf) (*report.Run, error) {
	o := c.optionsOf(cmd, day)
	if p.recorded {
		o.Changes = day.AsRecorded(c.launchRecorded)
	}
	kept.watch(p.name, &o)
	run, err := c.play(cmd.Context(), p, o)
	if err == nil {
		run.HoldAgainst(day.Sojourns)
	}
	return run, err
}

// extract makes a day of a log, and shows progress.
func (c *command) extract(ctx context.Context, r *replay.Recording, seed uint64) (*replay.Day, error) {
	steps := progress.NewSteps(c.errors, "log")
	defer steps.Close()
	return replay.Extract(ctx, r, seed, func(done, all int64) { steps.Step("bytes of the log", int(done), int(all)) })
}

// optionsOf are a day's options, with the flags on time.
func (c *command) optionsOf(cmd *cobra.Command, day *replay.Day) simulation.Options {
	o := simulation.Options{Workload: day.Workload, Submissions: day.Submissions, Cluster: day.Cluster, Settings: day.Settings, Changes: day.ByPeople(), Tick: orNone(0), ThinkAt: day.ThinkAt}
	if cmd.Flags().Changed("tick") {
		o.Tick = orNone(c.tick)
	}
	if cmd.Flags().Changed("think") {
		o.Think, o.ThinkAt = orNone(c.think), nil
	}
	o.Cluster.Model.Speculation = o.Cluster.Model.Speculation || c.speculation
	return o
}

// replayUnder are the policies that play a log. Without --policy they are the log's, with its
// switches and changed settings where there are any.
func (c *command) replayUnder(cmd *cobra.Command, day *replay.Day) ([]contender, error) {
	inLog, texts := day.Policy, c.policies
	asRecorded := !cmd.Flags().Changed("policy")
	if asRecorded {
		if day.PolicyChanges() {
			inLog = day.First
		}
		if inLog.Policy == "" {
			return nil, errors.New("the start of no policy is in the log: name one with --policy")
		}
		texts = []string{inLog.Policy}
	}
	list, err := findContenders(texts)
	for i := range list {
		list[i].config = list[i].settings(inLog.Policy, inLog.Settings)
		if list[i].recorded = asRecorded && day.PolicyChanges(); list[i].recorded {
			list[i].name = "as recorded"
		}
	}
	return list, err
}

// launchRecorded starts a policy that the log names. In place of a fallback it is the fallback.
func (c *command) launchRecorded(ctx context.Context, of replay.Started) (policy.Host, error) {
	host, _, err := c.inPlaceOf(ctx, nil, of)
	return host, err
}

// tellReplay prints how near a replay is to its log, and its differences.
func tellReplay(w io.Writer, day *replay.Day, runs []*report.Run) error {
	var b strings.Builder
	b.WriteString("\nreplay\n")
	for _, r := range runs {
		b.WriteString("  ")
		_ = r.RecordedText(&b) // it writes to memory
	}
	fmt.Fprintf(&b, "  of %d tasks the times of %d (%.1f %%) were never seen, and are drawn from others\n", day.Tasks, day.Imputed, 100*float64(day.Imputed)/float64(max(day.Tasks, 1)))
	for _, text := range day.Remarks {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
