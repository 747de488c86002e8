package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/internal/buildinfo"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/report"
)

// origin is how runs are made. Workload is the path of a file or folder; - is standard input. The
// cluster may be nil.
func origin(cmd *cobra.Command, args []string, workload string, on *cluster.Cluster, list []contender) (*report.Origin, error) {
	o := &report.Origin{Command: commandLine(cmd, args), Version: buildinfo.Read().Version, Workload: workload}
	if info, err := os.Stat(workload); err == nil && info.Mode().IsRegular() {
		if o.Checksum, err = checksum(workload); err != nil {
			return nil, err
		}
	}
	if on != nil {
		text, err := yaml.Marshal(on)
		if err != nil {
			return nil, err
		}
		o.Cluster = string(text)
	}
	for _, p := range list {
		sum, err := checksum(p.path)
		if err != nil {
			return nil, err
		}
		o.Policies = append(o.Policies, report.OriginPolicy{Name: p.name, Program: p.path, Checksum: sum, Settings: string(p.config.Text)})
	}
	return o, nil
}

// checksum is the SHA-256 of a file, in hexadecimal.
func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// commandLine is a command as it may be typed again, without the flags that say where and how
// results are shown.
func commandLine(cmd *cobra.Command, args []string) string {
	words := strings.Fields(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{"results", "output"}, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if f.Value.Type() == "bool" && v == "true" {
				words = append(words, "--"+f.Name)
				continue
			}
			words = append(words, "--"+f.Name+"="+shellWord(v))
		}
	})
	for _, a := range args {
		words = append(words, shellWord(a))
	}
	return strings.Join(words, " ")
}

// plainWord is a text that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWord is a text as one word of a shell.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
