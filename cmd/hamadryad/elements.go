package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/complete"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job/elements"
)

// elementsForm is how elements are addressed.
const elementsForm = `Elements of a job array are named by their indices, such as 'job-12[7]' or 'job-12[3-18:5]'.
Quote them: brackets are special to most shells.`

// elementsArg reads the name of a job, or of elements of one, such as job-12[3-18:5]. Without
// elements the set is empty.
func elementsArg(arg string) (id uint64, set wire.ElementSet, err error) {
	name, indices, named := strings.Cut(arg, "[")
	if id, err = jobArg(name); err != nil || !named {
		return id, set, err
	}
	indices, closed := strings.CutSuffix(indices, "]")
	if !closed {
		return 0, set, client.Misuse("%q has no ] at its end: write elements like 'job-12[7]' or 'job-12[3-18:5]'", arg)
	}
	if set, err = elements.Parse(indices); err != nil {
		return 0, set, client.Misuse("%s: %w", name, err)
	}
	return id, set, nil
}

func (c *cli) retryCommand() *cobra.Command {
	return &cobra.Command{
		Use: "retry JOB[ELEMENTS]...", Short: "Run elements of job arrays again that failed or were killed", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: c.names().Jobs(false, complete.LiveState),
		Long: `Runs elements again that failed or were killed, with as many tries as at first. A job without
elements means all of them. The job must run: one that has ended is submitted again.

` + elementsForm,
		Example: "  hamadryad retry job-12\n  hamadryad retry 'job-12[7]' 'job-13[3-18:5]'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(func(cl *client.Client) error {
				var errs []error
				for _, arg := range args {
					errs = append(errs, c.retry(cmd.Context(), cl, arg))
				}
				return errors.Join(errs...)
			})
		},
	}
}

func (c *cli) retry(ctx context.Context, cl *client.Client, arg string) error {
	id, set, err := elementsArg(arg)
	if err != nil {
		return err
	}
	if err := cl.Retry(ctx, id, set); err != nil {
		return err
	}
	fmt.Fprintf(c.show.Out, "retried %s\n", arg)
	return nil
}

// killElements ends elements of a job array, and prints them.
func (c *cli) killElements(ctx context.Context, cl *client.Client, id uint64, set wire.ElementSet, arg, reason string) error {
	if err := cl.KillElements(ctx, id, set, reason); err != nil {
		return err
	}
	fmt.Fprintf(c.show.Out, "killed %s\n", arg)
	return nil
}

// elements asks for elements of a job array, all of them.
func (c *cli) elements(ctx context.Context, cl *client.Client, id uint64, set wire.ElementSet) (all *wire.ElementsReply, err error) {
	all = &wire.ElementsReply{}
	q := &wire.ElementsRequest{Job: id, Elements: wire.ElementRanges(set)}
	for more := true; more; {
		part, err := cl.Elements(ctx, q)
		if err != nil {
			return nil, err
		}
		all.Elements, all.Incomplete = append(all.Elements, part.Elements...), part.Incomplete
		if more = part.More && len(part.Elements) > 0; more {
			q.After = &part.Elements[len(part.Elements)-1].Index
		}
	}
	return all, nil
}
