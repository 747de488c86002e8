package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/client"
)

// newerData is a file of a version that this program does not read, and what a command says of it.
type newerData struct {
	file     string // below the folder with all data; a pattern, of which the last counts
	old, new string // what the version stands in; FOLDER in new is the folder with all data
	command  []string
	says     []string
}

// orNewer is the remedy that each message names.
const orNewer = "or a newer one"

// newerDatas are the formats that commands read from disk, each a version ahead. Formats that one process writes
// for another have their tests beside the code: channel files and blocks (engine/channel), programs' plans (engine/plan),
// Binary files (mapreduce/format), parts of history (engine/manager).
func newerDatas() map[string]newerData {
	manager := []string{"serve", "manager", "--data", "cluster/manager", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"}
	log := newerData{file: "cluster/manager/log/events-*.log", old: "HAMALOG\x02", new: "HAMALOG\x03", says: []string{"has format version 3, and this program reads 1 to 2"}}
	read := func(d newerData, command ...string) newerData {
		d.command = command
		return d
	}
	contexts := newerData{file: "hamadryad/config.yaml", old: "version: 1", new: "version: 2", says: []string{"they have version 2, and this program reads 1"}}
	workload := newerData{file: "jobs.jsonl", old: `"version":1`, new: `"version":2`, says: []string{"the form has the version 2, and this program reads 1"}}
	return map[string]newerData{
		"a manager's data": {
			"cluster/manager/format", `"other files": `, `"other files": 9`, manager,
			[]string{"is newer than this program: its other files has version 9", "start hamadryad ", "nothing was changed"},
		},
		"the event log of a manager":       read(log, manager...),
		"an event log that is printed":     read(log, "event-log", "cluster/manager/log"),
		"an event log that is verified":    read(log, "simulate", "--verify", "cluster/manager"),
		"an event log that is played":      read(log, "simulate", "--replay", "cluster/manager"),
		"numbers of jobs":                  {"cluster/manager/numbers", `"version":1`, `"version":2`, manager, []string{"numbers has version 2, and this program reads 1"}},
		"the journal of history":           {"cluster/manager/history/journal/part-*", "HAMPART\x01", "HAMPART\x02", manager, []string{"has format version 2, and this program reads version 1"}},
		"a launcher's data":                {"cluster/launcher-1/format", `"files": 1`, `"files": 2`, []string{"serve", "launcher", "--data", "cluster/launcher-1", "--manager", "127.0.0.1:1"}, []string{"its files has version 2, and this program reads 1", "nothing was changed"}},
		"contexts that are listed":         read(contexts, "config", "contexts"),
		"contexts that would be changed":   read(contexts, "config", "use", "a"),
		"a workload that is described":     read(workload, "workload", "describe", "jobs.jsonl"),
		"a workload that is played":        read(workload, "simulate", "jobs.jsonl"),
		"parts that wait to be published":  {"out.kept/_PARTS", `"version":1,"output":"out"`, `"version":2,"output":"FOLDER/out"`, []string{"publish", "out.kept"}, []string{"the list has version 2, and this program reads 1"}},
		"a workload that is written again": read(workload, "workload", "convert", "jobs.jsonl", "other.jsonl"),
	}
}

// Data of a newer version are named as that, with the version to use, and not as damaged. Nothing on disk changes, and
// the exit code is that of the table of exit codes.
func TestNewerDataIsNamedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	run := func(dir string, args ...string) (int, string) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "hamadryad"), args...)
		cmd.Dir, cmd.WaitDelay = dir, waitMax
		cmd.Env = append(os.Environ(), "PATH="+binaries+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME="+dir)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	for _, args := range [][]string{{"local", "--launchers", "1", "--data", "cluster", "--", "noop", "1"}, {"workload", "generate", "--jobs", "2", "jobs.jsonl"}} {
		if code, out := run(dir, args...); code != 0 {
			t.Fatalf("%v: %d\n%s", args, code, out)
		}
	}
	for name, text := range map[string]string{"hamadryad/config.yaml": "version: 1\n", "out.kept/_PARTS": `{"version":1,"output":"out","mark":"m","parts":0}` + "\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, programs := range []string{"cluster/cache", "cluster/manager/programs"} { // large, and without a version
		if err := os.RemoveAll(filepath.Join(dir, programs)); err != nil {
			t.Fatal(err)
		}
	}
	for name, x := range newerDatas() {
		t.Run(name, func(t *testing.T) {
			copied := t.TempDir()
			err := errors.Join(os.CopyFS(copied, os.DirFS(dir)), os.Chmod(filepath.Join(copied, "cluster/manager/key"), 0o600))
			if err != nil {
				t.Fatal(err) // a copy has the modes of new files, and the key is the manager's alone
			}
			raise(t, copied, &x)
			before := filesIn(t, copied)
			code, out := run(copied, x.command...)
			if code != client.ExitOther {
				t.Errorf("the exit code is %d, want %d\n%s", code, client.ExitOther, out)
			}
			for _, want := range append(x.says, orNewer) {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
			if strings.Contains(out, "damaged") || strings.Contains(out, "panic") {
				t.Errorf("it says\n%s", out)
			}
			if after := filesIn(t, copied); !maps.EqualFunc(before, after, bytes.Equal) {
				for path := range after {
					if !bytes.Equal(before[path], after[path]) {
						t.Errorf("%s was changed", path)
					}
				}
				t.Errorf("there were %d files, and now %d", len(before), len(after))
			}
		})
	}
}

// raise raises the version in a file.
func raise(t *testing.T, dir string, x *newerData) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, x.file))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no %s: %v", x.file, err)
	}
	path := slices.Max(paths)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(text, []byte(x.old), []byte(strings.ReplaceAll(x.new, "FOLDER", dir)), 1)
	if bytes.Equal(newer, text) {
		t.Fatalf("%s has no %q", path, x.old)
	}
	if err := os.WriteFile(path, newer, 0o600); err != nil {
		t.Fatal(err)
	}
}

// filesIn are the files below a folder.
func filesIn(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		all[path], err = os.ReadFile(filepath.Join(dir, path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
