package minihdfs

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const toolHeap = "-Xmx512m"

// tools are Hadoop's commands, by the word after hdfs on its command line.
var tools = map[string]string{
	"dfs":      "org.apache.hadoop.fs.FsShell",
	"dfsadmin": "org.apache.hadoop.hdfs.tools.DFSAdmin",
	"fsck":     "org.apache.hadoop.hdfs.tools.DFSck",
	"haadmin":  "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
}

// Command is one of Hadoop's own tools, not yet started: what `hdfs TOOL ARGS...`
// runs. TOOL is dfs, dfsadmin, fsck or haadmin.
func (c *Cluster) Command(ctx context.Context, tool string, args ...string) *exec.Cmd {
	class := tools[tool]
	if class == "" {
		class = tool
	}
	return c.program(ctx, c.ConfDir(), toolHeap, append([]string{class}, args...)...)
}

// program is a Java program with a folder of configuration: flags of Java, class and
// arguments.
func (c *Cluster) program(ctx context.Context, conf, heap string, args ...string) *exec.Cmd {
	return c.kit.Command(ctx, conf, slices.Concat([]string{
		heap,
		"--add-opens=java.base/java.lang=ALL-UNNAMED", // WebHDFS's old XML library looks inside
	}, c.options.Java, args)...)
}

// Script is a program that does what Hadoop's own hdfs command does, for the tools
// of Command.
func (c *Cluster) Script() string { return filepath.Join(c.folder, "bin", "hdfs") }

func (c *Cluster) writeScript() error {
	var b strings.Builder
	b.WriteString("#!/bin/sh\ntool=$1\nshift\ncase $tool in\n")
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		fmt.Fprintf(&b, "%s) set -- %s \"$@\" ;;\n", name, tools[name])
	}
	b.WriteString("*) echo \"usage: hdfs dfs|dfsadmin|fsck|haadmin ARGS...\" >&2; exit 2 ;;\nesac\nexec")
	for _, word := range c.program(context.Background(), c.ConfDir(), toolHeap).Args {
		b.WriteString(" '" + strings.ReplaceAll(word, "'", `'\''`) + "'")
	}
	b.WriteString(" \"$@\"\n")
	if err := os.MkdirAll(filepath.Dir(c.Script()), 0o755); err != nil {
		return err
	}
	return os.WriteFile(c.Script(), []byte(b.String()), 0o755) //nolint:gosec // a command must be executable
}

// Run runs a tool and returns its output. An error contains its error output.
func (c *Cluster) Run(ctx context.Context, tool string, args ...string) (string, error) {
	cmd := c.Command(ctx, tool, args...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("hdfs %s %q: %w\n%s", tool, args, err, complaints.Bytes())
	}
	return out.String(), nil
}
