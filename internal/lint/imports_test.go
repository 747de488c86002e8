package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/hamadryad/hamadryad/"

// directions and trees are the tables behind docs/ARCHITECTURE.md, "Packages and the direction of
// imports". The row or tree with the longest folder that matches a package rules its imports. Do not
// loosen it to mend a build: move the code, or pass what is needed in through an interface.
//
// A package in a folder of directions may import, of this project, only what lies in the folders of
// its row.
var directions = []direction{
	{"sdk/scheduler/schedwire", []string{"sdk/scheduler"}, "sdk is for people outside the project: pass engine things in as values"},
	{"policytest/cluster", []string{"sdk", "internal/packing", "engine/core", "engine/graph", "engine/loop", "engine/wire"}, "the kit plays on the core through the loop, without the manager's shell"},
	{"policytest/policies", []string{"sdk"}, "it is what an outsider would write"},
	{"policytest/faultypolicies", []string{"sdk", "policytest/policies"}, "it is what an outsider would write"},
	{"policytest", []string{"sdk", "policytest"}, "what plays below the policy is package cluster's"},
	{"sdk/scheduler/view", []string{"sdk", "internal/idmap", "internal/packing", "internal/prefetch"}, "sdk is for people outside the project: pass engine things in as values"},
	{"sdk/scheduler/algorithms/shares/pooltree", []string{"sdk", "internal/prefetch"}, "sdk is for people outside the project: pass engine things in as values"},
	{"sdk/scheduler/settings", []string{"sdk", "internal/suggest"}, "sdk is for people outside the project: pass engine things in as values"},
	{"sdk/job/jobtest", []string{"sdk", "internal/expand", "internal/process", "internal/split", "internal/userstack"}, "sdk is for people outside the project: pass engine things in as values"},
	{"sdk", []string{"sdk"}, "sdk is for people outside the project: pass engine things in as values"},

	{"engine/policy/policycheck", []string{"sdk", "engine/policy", "policytest"}, "it has a plug-in play the kit: what is played is the kit's"},
	{"engine/policy", []string{"sdk", "engine/policy", "internal/childproc", "internal/process/proctree"}, "the host of a plug-in knows the contract alone, not who asks"},
	{"internal/browsertest", nil, "it is for tests that open the pages in a browser"},
	{"app", []string{"sdk", "engine/client", "engine/plan", "engine/progress", "engine/wire", "engine/worker", "internal/split", "internal/timeparse"}, "an application is a client or a worker, and no more"},

	{"plugins/fair", []string{"sdk", "plugins", "internal/prefetch"}, "a policy is what an outsider could write: move what it needs to sdk"},
	{"plugins/dynamicpriority/money", nil, "an amount is a number: it knows of nothing"},
	{"plugins/dynamicpriority/share", nil, "quotas are arithmetic: pass what they need in as values"},
	{"plugins/dynamicpriority/account", []string{"plugins/dynamicpriority/money", "plugins/dynamicpriority/share"}, "accounts know what they are told: pass it in as values"},
	{"plugins/dynamicpriority/control", []string{"plugins/dynamicpriority/account", "plugins/dynamicpriority/money"}, "it reads what is asked: whoever asks is proven before"},
	{"plugins/dynamicpriority/page", []string{"sdk/scheduler", "plugins/dynamicpriority/money"}, "it writes what it is given: pass it in as values"},
	{"plugins/dynamicpriority/shell/file", []string{"plugins/dynamicpriority/account", "plugins/dynamicpriority/money", "internal/atomicfile"}, "a store knows entries, and nothing of the policy"},
	{"plugins/dynamicpriority/shell/postgres", []string{"plugins/dynamicpriority/account", "plugins/dynamicpriority/money"}, "a store knows entries, and nothing of the policy"},
	{"plugins/dynamicpriority/shell", []string{"sdk", "plugins/dynamicpriority", "internal/atomicfile"}, "the shell of a policy is what an outsider could write: move what it needs to sdk"},
	{"plugins/dynamicpriority", []string{"sdk", "plugins/dynamicpriority"}, "a policy is what an outsider could write: move what it needs to sdk"},
	{"plugins/hfsp/binenc", nil, "how plain values are written knows of none of them"},
	{"plugins/hfsp/virtual", []string{"sdk/scheduler", "plugins/hfsp/binenc"}, "the virtual cluster knows what it is told: pass it in as values"},
	{"plugins/hfsp/work", []string{"sdk/scheduler"}, "the index of stages knows the view alone"},
	{"plugins/hfsp/estimation", []string{"sdk/scheduler", "plugins/hfsp/binenc"}, "an estimate is arithmetic: pass what it needs in as values"},
	{"plugins/hfsp", []string{"sdk", "plugins/hfsp"}, "a policy is what an outsider could write: move what it needs to sdk"},
	{"plugins/internal", []string{"sdk", "plugins", "policytest"}, "it is for tests of the policies alone"},
	{"plugins", []string{"sdk", "plugins"}, "a policy is what an outsider could write: move what it needs to sdk"},
	{"internal/anyjob", []string{"sdk/job"}, "it is for tests of what runs jobs"},
	{"internal/expand", []string{"sdk/job", "sdk/scheduler"}, "graph expansion is pure"},
	{"internal/packing", []string{"sdk/scheduler"}, "packing is pure, of the resources that policies know"},
	{"internal/process", []string{"sdk/job", "internal/childproc", "internal/process"}, "it runs a command: what is told of it is its caller's"},
	{"internal/split", []string{"sdk/job", "sdk/storage"}, "it divides files: who reads them is its caller's"},
	{"internal/minihdfs", []string{"internal/childproc", "internal/minihdfs"}, "it is for tests that need an HDFS"},
	{"internal/hdfstest", []string{"internal/minihdfs"}, "it is for tests that need an HDFS"},
	{"internal/dataformat", []string{"internal/buildinfo", "internal/atomicfile"}, "it marks folders: what is in them is their owner's"},
	{"internal", nil, "it is plumbing below everything: it knows nothing of the project"},
	{"laboratory/cluster", []string{"sdk/scheduler", "engine/config", "engine/loop/simcluster", "engine/wire", "laboratory/internal/document", "laboratory/workload"}, "a cluster is what there is, and knows of nobody who plays on it"},
	{"laboratory/queueing", []string{"laboratory/workload"}, "it is arithmetic: pass what it needs in as values"},
	{"laboratory/experiment", []string{"sdk/scheduler", "engine/loop/simcluster", "engine/policy", "engine/progress", "laboratory"}, "it plays what a file says: programs and flags are those of cmd"},
	{"laboratory/internal/document", []string{"sdk/scheduler"}, "it reads what it is given"},
	{"laboratory/report/statistics", nil, "numbers are described whatever they count: pass them in as values"},
	{"laboratory/report/drawing", []string{"internal/svg"}, "it draws what it is given: pass it in as values"},
	{"laboratory/replay", []string{"sdk/scheduler", "engine/core", "engine/eventlog", "engine/manager/recovery", "engine/manager/recovery", "engine/graph", "engine/policy", "engine/wire", "laboratory/cluster", "laboratory/simulation", "laboratory/workload"}, "it reads what a manager wrote: who plays it, and shows it, is others' work"},
	{"laboratory/report", []string{"sdk/scheduler", "engine/loop/simcluster", "engine/wire", "laboratory/cluster", "laboratory/report", "laboratory/simulation", "laboratory/workload"}, "it says what became of runs: who plays them is others' work"},
	{"laboratory/simulation", []string{"sdk/scheduler", "engine/core", "engine/graph", "engine/loop", "engine/loop/simcluster", "engine/policy", "engine/wire", "laboratory/cluster", "laboratory/workload"}, "it plays, and what is made of a result is others'"},
	{"laboratory/traces", []string{"laboratory/workload"}, "traces are files"},
	{"laboratory/workload/synthetic", []string{"sdk/scheduler", "laboratory/internal/document", "laboratory/workload"}, "a workload is what comes, and knows of nobody who takes it"},
	{"laboratory/workload", []string{"sdk/scheduler", "laboratory/internal/document"}, "a workload is what comes, and knows of nobody who takes it"},
	{"hdfs", []string{"sdk", "hdfs", "internal/hadoopsite", "internal/kerberos"}, "hdfs implements sdk/storage and nothing else"},
	{"mapreduce", []string{"sdk", "mapreduce", "internal/userstack"}, "MapReduce is written only on sdk/job: extend sdk/job"},
	{"cmd/internal/processes", []string{"internal/proctest"}, "it is for tests of processes alone, as internal/proctest is"},
	{"cmd/hamadryad", []string{"app", "sdk", "engine", "plugins", "hdfs", "mapreduce", "laboratory", "policytest", "cmd", "internal/buildinfo", "internal/atomicfile", "internal/asynclog", "internal/timeparse", "internal/cpuaffinity", "internal/minihdfs", "internal/suggest"}, ""},
	{"cmd/hamadryad-laboratory", []string{"sdk", "engine", "plugins", "hdfs", "laboratory", "cmd", "internal/buildinfo", "internal/atomicfile", "internal/cpuaffinity"}, ""},
	{"cmd/internal", []string{"app", "sdk", "engine", "plugins", "hdfs", "mapreduce", "cmd", "internal/buildinfo", "internal/hadoopsite", "internal/minihdfs", "internal/suggest"}, ""},
	{"cmd/hamadryad-experiment", []string{"app", "sdk", "engine", "plugins", "hdfs", "mapreduce", "laboratory", "cmd", "internal/cpuaffinity", "internal/minihdfs"}, ""},
	{"cmd", []string{"app", "sdk", "engine", "plugins", "hdfs", "mapreduce", "cmd", "internal/hadoopsite", "internal/minihdfs"}, ""},
	{"examples/hamadryad-policy-fair-parts", []string{"sdk", "plugins/fair"}, "it is what an outsider would write for the policy: export what it needs from there"},
	{"examples/hamadryad-policy-hfsp-parts", []string{"sdk", "plugins/hfsp"}, "it is what an outsider would write for the policy: export what it needs from there"},
	{"examples", []string{"sdk", "app", "mapreduce", "hdfs", "examples"}, "an example is what a user would write: use the public packages"},
}

// direction is a row of directions.
type direction struct {
	folder string
	may    []string
	remedy string
}

// tree is a folder whose packages have levels. Each may import packages of the tree on lower
// levels, and what the whole tree may import of the rest of the project.
type tree struct {
	folder string
	// order has the folders below it, the lowest first, with "<" between levels. "." is the folder
	// itself, and "name/..." is all that lies in name, which has a tree of its own or no order.
	order  string
	may    []string // of the project, outside the tree
	remedy string
}

var trees = []tree{
	{
		"engine/core",
		"changes, internal/checkpoint < internal/checkpoint/codectest, internal/step < internal/ids, internal/resources, internal/dataflow, internal/policystate, internal/schedules < " +
			"internal/state/phase, internal/state/stats < internal/state < internal/outbound < internal/lifecycle < internal/rounds, internal/membership < ., internal/coretest",
		[]string{
			"sdk/scheduler", "engine/auth/access", "engine/graph", "engine/plan", "engine/wire",
			"internal/timerqueue", "internal/histogram", "internal/idmap", "internal/packing", "internal/prefetch", "internal/sortedset",
		},
		"a subject of the core stands on those before it: have the caller do what follows, and give the shell an Action",
	},
	{
		"engine/manager",
		"internal/blobs, internal/configedit, internal/inbox, internal/limits, internal/metrics, internal/credentials, " +
			"internal/history/backup, internal/history/index, internal/history/jobfile, internal/history/timeseries, internal/rest/request, internal/rest/respcache, restapi < " +
			"internal/audit, internal/history/logarchive, internal/launchers, internal/pages/charts, internal/schedules, policyhost, recovery < " +
			"internal/authz, internal/history < historycheck, internal/query < internal/api, internal/rest < internal/pages < ., readside",
		[]string{
			"internal/process", "sdk/scheduler", "sdk/storage", "engine/auth", "engine/core", "engine/core/changes", "engine/eventlog", "engine/graph", "engine/plan", "engine/policy", "engine/wire",
			"internal/atomicfile", "internal/buildinfo", "internal/childproc", "internal/connlimit", "internal/dataformat", "internal/health", "internal/histogram", "internal/idmap",
			"internal/kerberos", "internal/logsample", "internal/nonblock", "internal/packing", "internal/pprofhttp", "internal/secretfile", "internal/svg", "internal/timeparse",
		},
		"the manager talks to launchers and workers by messages: put what they share into engine/wire",
	},
	{
		"engine/launcher",
		"internal/cache, internal/datadir, internal/lease, internal/load, internal/logs, internal/memory, internal/outputstore, internal/reportqueue, internal/suspend, internal/vetting < " +
			"internal/logshipper, internal/process, reaper < .",
		[]string{
			"internal/process", "sdk/scheduler", "engine/auth", "engine/channel/file", "engine/channel/merged", "engine/channel/store", "engine/isolate", "engine/plan", "engine/wire", "engine/worker",
			"internal/atomicfile", "internal/buildinfo", "internal/childproc", "internal/connlimit", "internal/dataformat", "internal/health", "internal/kerberos", "internal/logsample", "internal/nonblock", "internal/packing", "internal/pprofhttp",
		},
		"a launcher hears from its manager by messages: put what they share into engine/wire",
	},
	{
		"engine/worker",
		"internal/failure, internal/splits, ipc < layout < .",
		[]string{"sdk", "engine/auth", "engine/channel", "engine/graph", "engine/plan", "engine/publish", "engine/wire", "internal/connlimit", "internal/logsample", "internal/nonblock", "internal/process", "internal/userstack"},
		"a worker hears from its launcher by messages: put what they share into engine/wire",
	},
	{
		"engine/channel",
		"., internal/chantest, internal/control < block < file, internal/spill < merged < shm, store, tcp",
		[]string{"sdk/job", "sdk/scheduler", "sdk/storage"},
		"channels carry bytes and know of no job: pass what they need in as values",
	},
	{
		"engine/auth",
		"., oidc/oidctest < access, certs, kerberos, oidc < certs/certstest, join, proof",
		[]string{
			"sdk/scheduler", "engine/wire",
			"internal/atomicfile", "internal/connlimit", "internal/kerberos", "internal/logsample", "internal/secretfile", "internal/suggest",
		},
		"it proves and judges callers by values: what listens and what is started is the shell's",
	},
	{
		"engine/isolate",
		"cgroup, cgroup/cgrouptest, cpuset, safepath, seccomp, vmtest < sandboxinit < .",
		nil,
		"it runs as root before each worker, so it stays small: its caller says what it needs",
	},
	{
		"engine",
		"auth/..., channel/..., config, eventlog, isolate/..., plan/declared, policy/..., publish, wire/... < graph, plan < client/..., core/... < " +
			"loop < loop/simcluster < faultsim, launcher/..., local, manager/..., progress, worker/... < site",
		[]string{
			"sdk/job", "sdk/scheduler", "sdk/storage", "internal/atomicfile", "internal/childproc", "internal/connlimit", "internal/expand", "internal/idmap",
			"internal/kerberos", "internal/secretfile", "internal/suggest", "internal/timerqueue",
		},
		"the engine is used by applications, programs and laboratories: it imports none of them, and no policy",
	},
}

// level returns on which level of the tree a package stands, and the item of the order that has it;
// -1 when it is in none.
func (t *tree) level(folder string) (level int, item string) {
	for i, names := range strings.Split(t.order, "<") {
		for name := range strings.SplitSeq(names, ",") {
			name = strings.TrimSpace(name)
			below, whole := strings.CutSuffix(name, "/...")
			if path.Join(t.folder, below) == folder || whole && within(folder, path.Join(t.folder, below)) {
				return i, name
			}
		}
	}
	return -1, ""
}

// check checks an import by a package of the tree against the levels.
func (t *tree) check(test *testing.T, i imported, target string) {
	level, item := t.level(i.folder)
	switch {
	case level < 0:
		test.Errorf("%s: folder %s stands nowhere in the order of %s: give it a place", i.file, i.folder, t.folder)
	case within(target, t.folder):
		l, other := t.level(target)
		if item == other && strings.HasSuffix(item, "/...") {
			return // no order within
		}
		if l < 0 || l >= level {
			test.Errorf("%s imports %s, which does not stand before %s in the order %s: %s", i.file, target, i.folder, t.order, t.remedy)
		}
	case !slices.ContainsFunc(t.may, func(may string) bool { return within(target, may) }):
		test.Errorf("%s imports %s: packages of %s may import only %v. %s", i.file, target, t.folder, t.may, t.remedy)
	}
}

// forbidden names what a folder must not import from outside the project.
var forbidden = []struct{ folder, imported, remedy string }{
	{"sdk/scheduler/schedwire", "google.golang.org/grpc", "messages are used by the core: the service lives in sdk/scheduler/schedwire/rpc"},
	{"engine/wire", "google.golang.org/grpc", "messages are used by the core: the services live in engine/wire/rpc"},
}

// excepted are folders below a forbidden row's folder that the row does not mean.
var excepted = map[string]bool{"sdk/scheduler/schedwire/rpc": true, "engine/wire/rpc": true}

// standardOnly are the folders that import nothing but the standard library.
var standardOnly = map[string]bool{"sdk/scheduler": true}

func TestImportDirection(t *testing.T) {
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		for _, i := range f.imports(t) {
			checkInside(t, i)
			checkOutside(t, i)
		}
	}
}

type imported struct{ file, folder, path string }

func checkInside(t *testing.T, i imported) {
	target, ok := strings.CutPrefix(i.path, module)
	if !ok {
		return
	}
	tree, row := longest(i.folder)
	switch {
	case tree != nil:
		tree.check(t, i, target)
	case row == nil:
		t.Errorf("%s: folder %s is in no row of the table: put it where docs/ARCHITECTURE.md says, or add a row there and here", i.file, i.folder)
	case !slices.ContainsFunc(row.may, func(may string) bool { return within(target, may) }):
		t.Errorf("%s imports %s: %s may import only %v. %s", i.file, target, row.folder, row.may, row.remedy)
	}
}

// longest returns the tree or else the row that rules a package.
func longest(folder string) (t *tree, r *direction) {
	most := -1
	for i := range trees {
		if x := &trees[i]; within(folder, x.folder) && len(x.folder) > most {
			most, t = len(x.folder), x
		}
	}
	for i := range directions {
		if x := &directions[i]; within(folder, x.folder) && len(x.folder) > most {
			most, t, r = len(x.folder), nil, x
		}
	}
	return t, r
}

func checkOutside(t *testing.T, i imported) {
	if standardOnly[i.folder] && strings.Contains(strings.Split(i.path, "/")[0], ".") {
		t.Errorf("%s imports %s: %s uses the standard library only", i.file, i.path, i.folder)
	}
	for _, f := range forbidden {
		if within(i.folder, f.folder) && !excepted[i.folder] && within(i.path, f.imported) {
			t.Errorf("%s imports %s: %s", i.file, i.path, f.remedy)
		}
	}
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// source is a Go file, parsed.
type source struct {
	path, folder string
	tree         *ast.File
}

// imports lists what the file imports.
func (f source) imports(t *testing.T) (all []imported) {
	t.Helper()
	for _, spec := range f.tree.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, imported{f.path, f.folder, path})
	}
	return all
}

// sources parses all Go files below the root's folders, in order of path.
func sources(t *testing.T) (all []source) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".") && name != ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || filepath.Dir(path) == "." {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, source{path, filepath.ToSlash(filepath.Dir(path)), tree})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
