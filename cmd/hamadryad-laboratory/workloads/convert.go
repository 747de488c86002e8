package workloads

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

func convert(out io.Writer) *cobra.Command {
	in := &Input{}
	cmd := &cobra.Command{
		Use: "convert FROM TO", Short: "Write a workload in the form of lines of JSON", Args: cobra.ExactArgs(2),
		Long: `Reads a workload of any form and writes it as lines of JSON: a header, then a job a
line, with all its tasks. - is standard input, or output. TO is compressed where its
name ends in .gz or .zst, and must not be there yet.`,
		Example: "  hamadryad workload convert 19-jobs.trace.json.gz day.jsonl.zst\n  hamadryad workload convert --sort trace.tsv - | head -2",
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := in.ReadDrawn(args[0])
			if err != nil {
				return err
			}
			return write(out, args[1], w)
		},
	}
	in.Add(cmd.Flags())
	return cmd
}

// write writes a workload to a new file, or, for -, to out.
func write(out io.Writer, path string, w *workload.Workload) (err error) {
	if path == "-" {
		return w.Write(out)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return client.Misuse("%s is there already: remove it, or name another file", path)
	}
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			os.Remove(path)
		}
	}()
	to := io.WriteCloser(f)
	switch {
	case strings.HasSuffix(path, ".gz"):
		to = gzip.NewWriter(f)
	case strings.HasSuffix(path, ".zst"):
		if to, err = zstd.NewWriter(f); err != nil {
			return err
		}
	}
	if err := w.Write(to); err != nil {
		return err
	}
	if to != io.WriteCloser(f) {
		return to.Close()
	}
	return nil
}
