package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/timeparse"
)

// auditLinesDefault is how many lines "audit" shows.
const auditLinesDefault = 100

func (c *cli) auditCommand() *cobra.Command {
	var q wire.AuditRequest
	var since, until string
	limit := auditLinesDefault
	cmd := c.outputFlags(&cobra.Command{
		Use: "audit", Short: "Show changes and refused requests, with their users", Args: cobra.NoArgs,
		Long: `Shows the manager's audit, the newest lines first. It has each change that
somebody asked for, and each request that was refused. A line says who asked,
from which address, what came of it, and why it was refused. A request that only reads leaves no
line. WHO has "(by NAME)" where NAME asked in the name of another, and "-"
where nothing proved who asked.

Filters go together: only lines that all of them fit are shown. A moment is written like
2026-03-01T10:00, in UTC unless a zone is given, or as how long ago it was, like 90m. With -o json
each line is one of JSON, as in the files audit/*.jsonl of the manager's data folder.

It takes one of the roles viewer, operator, administrator.`,
		Example: `  hamadryad audit
  hamadryad audit --result refused --since 24h
  hamadryad audit --who ann --what Kill
  hamadryad audit --what job-12 --limit 0
  hamadryad audit --since 2026-03-01 --until 2026-03-02 --limit 0 -o json | jq -r .who | sort | uniq -c`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return client.Misuse("--limit %d: give how many lines to show, or 0 for all", limit)
			}
			var err error
			if q.Since, err = momentOf("since", since); err != nil {
				return err
			}
			if q.Until, err = momentOf("until", until); err != nil {
				return err
			}
			return c.withClient(func(cl *client.Client) error { return c.showAudit(cmd, cl, &q, limit) })
		},
	}, show.ThingFormats)
	cmd.Flags().StringVar(&q.Who, "who", "", "only what this `NAME` asked for, or others in its name")
	cmd.Flags().StringVar(&q.What, "what", "", "only what is about `TEXT`, such as job-12, or whose method it is, such as Kill or PATCH")
	cmd.Flags().StringVar(&q.Result, "result", "", "only what ended so: ok, refused or error")
	cmd.Flags().StringVar(&q.Text, "text", "", "only lines that have `TEXT` anywhere, as JSON writes it")
	cmd.Flags().StringVar(&since, "since", "", "only what was at this `MOMENT` or later")
	cmd.Flags().StringVar(&until, "until", "", "only what was before this `MOMENT`")
	cmd.Flags().IntVar(&limit, "limit", auditLinesDefault, "`LINES` to show at most; 0: all")
	return cmd
}

// momentOf converts a flag's time to the manager's form, "" when none was given.
func momentOf(flag, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	at, err := timeparse.Parse(text, time.Now())
	if err != nil {
		return "", client.Misuse("--%s: %w", flag, err)
	}
	return at.UTC().Format(time.RFC3339Nano), nil
}

// showAudit prints lines as they arrive, and then a note on the lines left out.
func (c *cli) showAudit(cmd *cobra.Command, cl *client.Client, q *wire.AuditRequest, limit int) error {
	first, skipped, where := true, uint32(0), ""
	more, err := cl.Audit(cmd.Context(), q, limit, func(r *wire.AuditReply) error {
		if len(r.Damaged) > 0 && where == "" {
			where = fmt.Sprintf("%s at byte %d", r.Damaged[0].File, r.Damaged[0].Offset)
		}
		skipped += r.Skipped
		if len(r.Lines) == 0 {
			return nil
		}
		defer func() { first = false }()
		return c.show.Audit(r, first)
	})
	if skipped > 0 {
		fmt.Fprintf(c.show.Errors, "hamadryad: %d damaged lines were left out, such as that in %s\n", skipped, where)
	}
	switch {
	case err != nil:
		return err
	case more:
		fmt.Fprintf(c.show.Errors, "hamadryad: there are earlier lines: give --limit 0 for all, or --until with the time of the last\n")
	case first:
		fmt.Fprintln(c.show.Errors, "hamadryad: the audit has no line that fits")
	}
	return nil
}
