// Command hamadryad-laboratory runs the commands of hamadryad that play workloads in virtual time:
// "hamadryad simulate", "hamadryad workload" and "hamadryad policy test". They are called by those
// names, and hamadryad finds this program beside itself.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad-laboratory/simulate"
	"github.com/hamadryad/hamadryad/cmd/hamadryad-laboratory/workloads"
	"github.com/hamadryad/hamadryad/cmd/internal/manpages"
	"github.com/hamadryad/hamadryad/cmd/internal/usage"
	"github.com/hamadryad/hamadryad/engine/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func execute(ctx context.Context, args []string) int {
	root := root()
	root.SetArgs(args)
	err := usage.UnknownCommand(root, args)
	if err == nil {
		var cmd *cobra.Command
		if cmd, err = root.ExecuteContextC(ctx); err != nil {
			err = usage.InWords(cmd, err)
		}
	}
	usage.PrintError(os.Stderr, err)
	return client.ExitCodeOf(err)
}

// root has the commands below the name that people call.
func root() *cobra.Command {
	root := &cobra.Command{
		Use: "hamadryad", Short: "Play workloads under policies, in virtual time",
		SilenceErrors: true, SilenceUsage: true,
	}
	policy := &cobra.Command{Use: "policy", Short: "Test policies"}
	policy.AddCommand(simulate.PolicyTestCommand(os.Stdout, os.Stderr))
	root.AddCommand(simulate.Command(os.Stdout, os.Stderr), workloads.Command(os.Stdout), policy, manpages.Command(documented))
	usage.Prepare(root)
	return root
}

// documented are the commands of this program; the page of "hamadryad" itself is another's.
func documented(root *cobra.Command) (list []*cobra.Command) {
	for _, c := range root.Commands() {
		switch {
		case c.Name() == "policy":
			list = append(list, c.Commands()...)
		case c.IsAvailableCommand():
			list = append(list, c)
		}
	}
	return list
}
