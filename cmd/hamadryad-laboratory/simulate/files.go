package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/laboratory/report"
)

// write puts all results into a folder: each file whole, or not at all.
func write(folder string, runs []*report.Run, all *report.Comparison) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	put := func(name string, content func(io.Writer) error) error {
		var b bytes.Buffer
		if err := content(&b); err != nil {
			return err
		}
		path := filepath.Join(folder, name)
		if err := atomicfile.Replace(path, b.Bytes()); err != nil {
			return err
		}
		return os.Chmod(path, 0o644) // results are no secret
	}
	var errs []error
	for _, r := range runs {
		of := fmt.Sprintf("%s-%d.csv", fileName(r.Policy), r.Seed)
		errs = append(errs, put("jobs-"+of, r.CSV))
		if r.HasStatus() {
			errs = append(errs, put("status-"+of, r.StatusCSV))
		}
		if r.HasEnergy() {
			errs = append(errs, put("launchers-"+of, r.EnergyCSV))
		}
	}
	errs = append(errs, put("comparison.json", all.JSON), put("report.html", all.HTML))
	for _, d := range all.Drawings() {
		errs = append(errs, put(fileName(d.Name)+".svg", func(w io.Writer) error {
			_, err := w.Write(d.SVG)
			return err
		}))
	}
	return errors.Join(errs...)
}

// fileName makes a file's name of a policy's.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
}

// failed names the jobs that did not succeed; nil: all did.
func failed(runs []*report.Run) error {
	const shown = 5
	var list []string
	n := 0
	for _, r := range runs {
		for i := range r.Jobs {
			if j := &r.Jobs[i]; !j.Succeeded() {
				if n++; n <= shown {
					list = append(list, fmt.Sprintf("%s, seed %d: job %s %s: %s", r.Policy, r.Seed, j.ID, j.State, j.Failure))
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	if n > shown {
		list = append(list, fmt.Sprintf("and %d more", n-shown))
	}
	return &client.ExitError{Code: client.ExitFailed, Err: fmt.Errorf("not all jobs succeeded:\n%s", strings.Join(list, "\n"))}
}
