package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// queueCommand is for the policy dynamic-priority: the queues' bids, budgets and use.
func (c *cli) queueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "queue", Short: "See and change what queues bid and have (policy dynamic-priority)",
		Long: `Under the policy dynamic-priority users bid for slots and pay for what they use.
A queue belongs to the user of its name. Who asks signs with a key: $` + client.KeyVariable + `
names the file that has it. The price can be asked without one.`,
		Example: `  hamadryad queue price
  export HAMADRYAD_KEY=~/.hamadryad.key
  hamadryad queue info
  hamadryad queue set-spending 0.5

  # An administrator:
  hamadryad queue add bob
  hamadryad queue add-budget 1000 bob
  hamadryad queue info --all`,
	}
	all := false
	info := c.outputFlags(&cobra.Command{
		Use: "info [QUEUE]", Short: "What a queue has, bids and uses: your own, when none is named", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return client.Misuse("--all is for all queues: name none")
			case all:
				return c.askQueue(cmd, "infos", false)
			case len(args) == 0:
				return c.askQueue(cmd, "info", false)
			}
			return c.askQueue(cmd, "info="+url.QueryEscape(args[0]), false)
		},
	}, show.ListFormats)
	info.Flags().BoolVar(&all, "all", false, "all queues, which an administrator may see")
	cmd.AddCommand(info,
		c.queueAsk(0, "price", "The sum of the bids of all users with jobs, for a slot and an interval", func([]string) string { return "price" }),
		c.queueAsk(1, "set-spending RATE [QUEUE]", "Bid RATE credits for a slot and an interval", func(a []string) string {
			query := "setSpending=" + url.QueryEscape(a[0])
			if len(a) > 1 {
				query += "&queue=" + url.QueryEscape(a[1])
			}
			return query
		}),
		c.queueAsk(2, "add-budget CREDITS QUEUE", "Give a queue credits, or take some back (an administrator)", func(a []string) string {
			return "addBudget=" + url.QueryEscape(a[0]) + "&queue=" + url.QueryEscape(a[1])
		}),
		c.queueAsk(1, "add QUEUE", "Make a queue without credits (an administrator)", func(a []string) string { return "addQueue=" + url.QueryEscape(a[0]) }),
		c.queueAsk(1, "remove QUEUE", "Remove a queue with what it has (an administrator)", func(a []string) string { return "removeQueue=" + url.QueryEscape(a[0]) }))
	return cmd
}

// queueAsk is a command for one query, which is a change where it needs words. It accepts one word
// more than needed where its use line says so.
func (c *cli) queueAsk(needed int, use, short string, query func(args []string) string) *cobra.Command {
	most := needed
	if strings.Contains(use, "[") {
		most++
	}
	return c.outputFlags(&cobra.Command{
		Use: use, Short: short, Args: cobra.RangeArgs(needed, most),
		RunE: func(cmd *cobra.Command, args []string) error { return c.askQueue(cmd, query(args), needed > 0) },
	}, show.ThingFormats)
}

// askQueue sends a query to the policy and shows the answer.
func (c *cli) askQueue(cmd *cobra.Command, query string, changes bool) error {
	return c.withClient(func(cl *client.Client) error {
		answer, err := cl.PolicyPage(cmd.Context(), query, "application/json", changes)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(answer.ContentType, "application/json") {
			return refused(codes.Unimplemented, "the policy that runs answers no questions about queues: policy.name has to be dynamic-priority")
		}
		var info show.Queues
		if err := json.Unmarshal(answer.Body, &info); err != nil {
			return fmt.Errorf("the policy's answer can't be read: %w", err)
		}
		switch {
		case answer.Status == http.StatusUnauthorized:
			return refused(codes.Unauthenticated, "the policy does not know the caller: $"+client.KeyVariable+" has to name a file with a key that it knows of the user (--user)")
		case answer.Status == http.StatusForbidden:
			return refused(codes.PermissionDenied, "that is another's queue, or for administrators")
		case answer.Status != http.StatusOK:
			return refused(codes.InvalidArgument, info.Error)
		}
		empty := "there are no queues"
		if changes {
			empty = ""
		}
		return c.show.Queues(&info, empty)
	})
}

// refused is a refusal by the policy, with its reason.
func refused(code codes.Code, why string) error {
	return &client.Error{Code: code, Message: scheduler.Printable(why)}
}
