package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/publish"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

func (c *cli) publishCommand() *cobra.Command {
	to, list := "", ""
	cmd := &cobra.Command{
		Use: "publish FOLDER...", Short: "Publish the parts of a job that could not publish them", Args: cobra.MinimumNArgs(1),
		Long: `A job fails when its output cannot be published, because its name was taken or
a permission or quota was missing. Its parts stay in a folder such as
OUT.job-12.5f0c93aa.k3v9w2m5q7x4a.tmp: the job's number, its cluster's, and a
secret. When the cause is mended, this command publishes the output. It moves
the parts that count and gives the folder its name, by one rename. It replaces
nothing, can be called again, and needs no manager.`,
		Example: "  hamadryad publish hdfs:///logs/out.job-12.5f0c93aa.k3v9w2m5q7x4a.tmp\n  hamadryad publish out.job-12.5f0c93aa.k3v9w2m5q7x4a.tmp --to out2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && to+list != "" {
				return client.Misuse("--to and --list are for one folder: name one at a time")
			}
			for _, folder := range args {
				if err := c.publish(cmd, folder, to, list); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "another name for the output folder, in the same store")
	cmd.Flags().StringVar(&list, "list", "", "file with the list of parts, - for standard input; that in the folder when left out")
	return cmd
}

func (c *cli) publish(cmd *cobra.Command, folder, to, list string) error {
	folder, err := storage.Absolute(folder)
	if err != nil {
		return err
	}
	if to != "" {
		if to, err = storage.Absolute(to); err != nil {
			return err
		}
	}
	var listed io.Reader
	switch list {
	case "":
	case "-":
		listed = cmd.InOrStdin()
	default:
		f, err := os.Open(list)
		if err != nil {
			return err
		}
		defer f.Close()
		listed = f
	}
	out, err := publish.Resume(cmd.Context(), folder, "by-hand-"+rand.Text()[:8], to, listed)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.show.Out, "output: %s\n", out)
	return nil
}
