// Package complete completes the words of the command line: names of jobs, launchers and pools,
// from the manager, and of policies. A TAB never shows an error.
package complete

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// completeTimeout bounds how long a shell's TAB waits for the manager.
const completeTimeout = time.Second

// Names completes words by asking the manager.
type Names struct {
	With func(do func(*client.Client) error) error // runs do with a connection
}

// complete gets the possible names from the manager. Without an answer there are none: a TAB is no
// place for an error.
func (c Names) complete(ctx context.Context, list func(context.Context, *client.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	var found []string
	err := c.With(func(cl *client.Client) (err error) {
		found, err = list(ctx, cl)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// Jobs completes jobs in the states that want accepts, without those among the arguments.
func (c Names) Jobs(all bool, want func(wire.JobState) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return c.complete(cmd.Context(), func(ctx context.Context, cl *client.Client) ([]string, error) {
			jobs, err := cl.NewestJobs(ctx, all)
			var list []string
			for _, j := range jobs {
				if id := scheduler.JobID(j.Job).String(); want(j.State) && !slices.Contains(args, id) {
					list = append(list, cobra.CompletionWithDesc(id, progress.OneLine(j.Name)+", "+client.StateName(j.State)))
				}
			}
			return list, err
		})
	}
}

// AnyState and LiveState are for Names.Jobs: all jobs, and those that have not ended.
func AnyState(wire.JobState) bool { return true }

// LiveState: see AnyState.
func LiveState(s wire.JobState) bool { return !client.Ended(s) }

// FirstOnly completes only the first argument.
func FirstOnly(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, word)
	}
}

// Launchers completes launchers, each not yet among the arguments.
func (c Names) Launchers(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.complete(cmd.Context(), func(ctx context.Context, cl *client.Client) ([]string, error) {
		launchers, err := cl.Launchers(ctx)
		var list []string
		for _, l := range launchers {
			if !slices.Contains(args, l.Name) {
				list = append(list, cobra.CompletionWithDesc(l.Name, l.State))
			}
		}
		return list, err
	})
}

// Pools completes pools that the policy shows.
func (c Names) Pools(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.complete(cmd.Context(), PoolNames)
}

// PoolNames are the policy's pools; none where it reports none.
func PoolNames(ctx context.Context, cl *client.Client) ([]string, error) {
	r, err := cl.Policy(ctx, true)
	if err != nil || len(r.Status) == 0 {
		return nil, err
	}
	m := &schedwire.Status{}
	if err := proto.Unmarshal(r.Status, m); err != nil {
		return nil, err
	}
	s, err := m.Decode()
	var list []string
	for _, p := range s.Pools {
		list = append(list, p.Name)
	}
	return list, err
}

// Policies names the plug-ins beside this program.
func Policies(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	self, err := os.Executable()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(self), config.PolicyPrefix+"*"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var list []string
	for _, f := range files {
		list = append(list, config.PolicyName(f))
	}
	return list, cobra.ShellCompDirectiveDefault // or a path
}

// Priorities names the usual priorities.
func Priorities(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
