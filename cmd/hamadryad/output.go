package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
)

// outputFlags adds -o with a command's formats, and --no-headers.
func (c *cli) outputFlags(cmd *cobra.Command, formats []string) *cobra.Command {
	cmd.Flags().StringVarP(&c.show.Format, "output", "o", show.Table, show.FormatUsage(formats))
	cmd.Flags().BoolVar(&c.show.NoHeaders, "no-headers", false, "leave out the heads of tables")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRunE = func(*cobra.Command, []string) error { return show.CheckFormat(c.show.Format, formats) }
	return cmd
}

// watchEvery is the polling period of --watch.
const watchEvery = time.Second

// watchFlag adds --watch to a command whose output changes.
func (c *cli) watchFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "go on, and show it again when it has changed, until ctrl-C")
	return cmd
}

// look queries the manager and shows the answer; with --watch repeatedly, after each change. ask
// returns the answer, print shows it, and over reports that it changes no more.
func look[T any](ctx context.Context, c *cli, ask func(context.Context, *client.Client) (T, error), print func(T) error, over func(T) bool) error {
	return c.withClient(func(cl *client.Client) error {
		if !c.watch {
			x, err := ask(ctx, cl)
			if err != nil {
				return err
			}
			return print(x)
		}
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for before := ""; ; {
			x, err := ask(ctx, cl)
			if err != nil {
				return watchEnd(ctx, err)
			}
			text, err := json.Marshal(x)
			if err != nil {
				return err
			}
			if string(text) != before || progress.IsTerminal(progress.Raw(c.show.Out)) { // where ages go on
				if err := c.showAgain(before == "", func() error { return print(x) }); err != nil {
					return err
				}
			}
			if before = string(text); over(x) {
				return nil
			}
			select {
			case <-ctx.Done():
				return watchEnd(ctx, ctx.Err())
			case <-tick.C:
			}
		}
	})
}

// watchEnd is the error of a watch at its end: an interruption is its normal end, and no error.
func watchEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &client.ExitError{Code: client.ExitInterrupted}
	}
	return err
}

// clearScreen moves a terminal's cursor to the first line, and erases the rest.
const clearScreen = "\x1b[H\x1b[J"

// showAgain prints a change: on a terminal in place of the previous output, elsewhere after it.
func (c *cli) showAgain(first bool, print func() error) error {
	out := c.show.Out
	var page bytes.Buffer
	c.show.Out = progress.Safe(&page)
	err := print()
	if c.show.Out = out; err != nil {
		return err
	}
	switch {
	case progress.IsTerminal(progress.Raw(out)):
		fmt.Fprint(progress.Raw(out), clearScreen)
	case first:
	case c.show.Format == show.YAML:
		fmt.Fprintln(out, "---")
	case c.show.Format == show.Table, c.show.Format == show.Wide:
		fmt.Fprintln(out)
	}
	_, err = progress.Raw(out).Write(page.Bytes())
	return err
}
