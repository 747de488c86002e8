package workloads

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

func describe(out io.Writer) *cobra.Command {
	in, slots, format := &Input{}, "", ""
	cmd := &cobra.Command{
		Use: "describe FILE", Short: "Print what a workload comes to", Args: cobra.ExactArgs(1),
		Long: `Prints jobs, tasks, bytes and times of a workload, with percentiles; FILE - is
standard input. With --slots it prints the load on so many slots: work by slots and
the time from the first submission to the last. Above 1 jobs come faster than slots
can do their work.`,
		Example: "  hamadryad workload describe fb2009-100.jsonl --slots map=400,reduce=200\n  hamadryad workload describe day.jsonl.zst -o json | jq .jobWork",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := show.CheckFormat(format, show.ThingFormats); err != nil {
				return err
			}
			counts, err := config.ParseSlots(slots)
			if err != nil {
				return err
			}
			w, err := in.ReadDrawn(args[0])
			if err != nil {
				return err
			}
			s := w.Describe()
			asJSON := func(out io.Writer) error {
				e := json.NewEncoder(out)
				e.SetIndent("", "  ")
				return e.Encode(s)
			}
			return show.Write(out, format, func(out io.Writer) error { return table(out, s, counts) }, asJSON)
		},
	}
	in.Add(cmd.Flags())
	cmd.Flags().StringVar(&slots, "slots", "", "`SLOTS` of the cluster, such as map=400,reduce=200, whose load is printed")
	cmd.Flags().StringVarP(&format, "output", "o", show.Table, show.FormatUsage(show.ThingFormats))
	return cmd
}

// table prints for people.
func table(out io.Writer, s workload.Summary, slots config.Slots) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(cells ...any) {
		for i, c := range cells {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, c)
		}
		fmt.Fprintln(t)
	}
	if s.Name != "" {
		line("workload", fmt.Sprintf("%.64q", s.Name))
	}
	line("jobs", s.Jobs)
	line("tasks", s.Tasks)
	if s.Imputed > 0 {
		line("", fmt.Sprintf("%d (%.1f %%) with times from a rule, or from other tasks", s.Imputed, 100*float64(s.Imputed)/float64(s.Tasks)))
	}
	if s.LeftOut > 0 {
		line("", fmt.Sprintf("%d jobs or tasks of the source are left out: they never ran, or it does not tell for how long", s.LeftOut))
	}
	line("span", seconds(s.Span))
	line("users, pools", fmt.Sprintf("%d, %d", s.Users, s.Pools))
	if s.Deadlines+s.Estimates > 0 {
		line("deadlines, estimates", fmt.Sprintf("of %d jobs, of %d stages", s.Deadlines, s.Estimates))
	}
	line("input", fmt.Sprintf("%d bytes, %d tasks know where it is", s.Input, s.Placed))
	line("shuffled", fmt.Sprintf("%d bytes", s.Shuffle))
	line("output", fmt.Sprintf("%d bytes", s.Output))
	line()
	line("", "mean", "min", "50 %", "90 %", "99 %", "max")
	spread := func(what string, s workload.Spread, show func(float64) string) {
		line(what, show(s.Mean), show(s.Min), show(s.P50), show(s.P90), show(s.P99), show(s.Max))
	}
	spread("between jobs", s.Gaps, seconds)
	spread("tasks of a job", s.JobTasks, func(x float64) string { return fmt.Sprintf("%.4g", x) })
	spread("work of a job", s.JobWork, seconds)
	for _, k := range s.Kinds {
		spread("a "+k.Name+" task", k.Times, seconds)
	}
	line()
	line("slots", "tasks", "work", "load")
	for _, k := range s.Kinds {
		load := "-"
		if n := slots[k.Name]; n > 0 {
			load = fmt.Sprintf("%.3f of %d", k.Load(n, s.Span), n)
		}
		line(k.Name, k.Tasks, seconds(k.Work), load)
	}
	if len(s.Classes) > 1 || s.Classes[0].Name != "" {
		line()
		line("class", "jobs", "tasks", "work")
		for _, c := range s.Classes {
			line(fmt.Sprintf("%.64q", c.Name), fmt.Sprintf("%d (%.1f %%)", c.Jobs, 100*float64(c.Jobs)/float64(s.Jobs)), c.Tasks, seconds(c.Work))
		}
	}
	return t.Flush()
}
