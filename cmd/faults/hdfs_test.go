package faults

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
	"github.com/hamadryad/hamadryad/internal/minihdfs"
)

// hdfsBed is a small HDFS and a cluster whose launchers have its hosts' names.
type hdfsBed struct {
	*cluster
	hdfs *hdfstest.Cluster
	root string // folder of the test in HDFS, without host
}

func startOnHdfs(t *testing.T, slots int) *hdfsBed {
	t.Helper()
	h := hdfstest.Shared(t)
	t.Setenv("HADOOP_CONF_DIR", h.ConfDir())
	b := &hdfsBed{hdfs: h, root: "/" + t.Name()}
	if err := h.MakeFolder(t.Context(), b.root); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.mend(t) })
	b.cluster = startCluster(t, options{launchers: h.DataNodes(), slots: slots, places: func(i int) (string, string) { return minihdfs.Host(i), minihdfs.Rack(i) }})
	return b
}

// mend makes the shared HDFS whole again and removes the test's files.
func (b *hdfsBed) mend(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	if err := b.hdfs.Mend(ctx); err != nil {
		t.Error(err)
		return
	}
	if err := b.hdfs.Remove(ctx, b.root); err != nil {
		t.Error(err)
	}
}

// put copies the cluster's folder in to HDFS with so many replicas.
func (b *hdfsBed) put(replicas int) {
	b.t.Helper()
	for _, path := range b.files("in", func(string) bool { return true }) {
		text, err := os.ReadFile(path)
		b.ok(err)
		b.ok(b.hdfs.WriteFile(b.t.Context(), b.root+"/in/"+filepath.Base(path), text, replicas))
	}
}

// tree lists what lies below a folder of the test in HDFS, without its root.
func (b *hdfsBed) tree(name string) []string {
	b.t.Helper()
	all, err := b.hdfs.Tree(b.t.Context(), filepath.Join(b.root, name))
	b.ok(err)
	for i := range all {
		all[i] = strings.TrimPrefix(all[i], b.root+"/")
	}
	return all
}

// get copies a folder of the test in HDFS to the cluster's.
func (b *hdfsBed) get(name string) {
	b.t.Helper()
	for _, path := range b.tree(name) {
		text, err := b.hdfs.ReadFile(b.t.Context(), b.root+"/"+path)
		b.ok(err)
		b.write(path, string(text))
	}
}

// submit starts a word count over HDFS. Its words are padded to so many bytes, so
// that files have many packets and blocks.
func (b *hdfsBed) submit(padding, maps, reduces, replicas int, shut ...string) *gatedJob {
	b.t.Helper()
	j := &gatedJob{c: b.cluster, out: b.path("out"), gates: b.path("gates"), words: map[string]int{}}
	for i := range maps {
		var text strings.Builder
		for w := range 400 {
			word := fmt.Sprintf("w%d.", (w*w+i*31)%211) + strings.Repeat("x", padding)
			j.words[word]++
			fmt.Fprintf(&text, "%s\n", word)
		}
		b.write(fmt.Sprintf("in/%03d.txt", i), text.String())
	}
	if err := os.MkdirAll(j.gates, 0o755); err != nil {
		b.t.Fatal(err)
	}
	for _, name := range shut {
		b.write("gates/SHUT."+name, "")
	}
	b.put(replicas)
	j.process = b.start("application", "gated", b.url("in"), b.url("out"), j.gates, "file", "0", fmt.Sprint(reduces))
	return j
}

func (b *hdfsBed) url(name string) string { return "hdfs://" + b.root + "/" + name }

// succeeds waits for the end, fetches the output and compares it with the words.
func (b *hdfsBed) succeeds(j *gatedJob) {
	b.t.Helper()
	j.endsWell()
	b.get("out")
	j.isRight()
	b.leavesOnly("in", "out")
	j.nothingLeft()
}

// leavesOnly checks the files in the test's folder of HDFS, and that no temporary file is below it.
func (b *hdfsBed) leavesOnly(names ...string) {
	b.t.Helper()
	var got []string
	for _, path := range b.tree("") {
		if !strings.Contains(path, "/") {
			got = append(got, path)
		}
		if strings.Contains(path, ".tmp") || strings.Contains(path, "creating") || strings.Contains(path, "/.") {
			b.t.Errorf("%s is left", path)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(names) {
		b.t.Errorf("the folder in HDFS has %v, want %v", got, names)
	}
}

func (b *hdfsBed) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// Words counted from HDFS to HDFS equal those counted from disk to disk, and every map is
// node-local.
func TestHdfsWordCount(t *testing.T) {
	b := startOnHdfs(t, 12)
	j := b.submit(0, 12, 3, 1)
	b.succeeds(j)
	if !strings.Contains(j.process.log.String(), "attempts that read files: 12 node-local (100%), 0 rack-local (0%), 0 remote (0%)") {
		t.Errorf("not every map ran where its input lies:\n%s", j.process.log)
	}
	status, err := b.command("status", "job-1")
	if err != nil || !strings.Contains(status, "12 node-local (100%)") {
		t.Errorf("status says nothing of it: %v\n%s", err, status)
	}

	local := b.start("local", "wordcount", b.path("in"), b.path("local"))
	eventually(t, "the word count from disk to disk ends", local.ended)
	far := b.start("far", "wordcount", b.url("in"), b.url("counts"))
	eventually(t, "the word count in HDFS ends", far.ended)
	want, err := filepath.Glob(b.path("local", "part-*"))
	b.ok(err)
	if len(want) == 0 {
		t.Fatalf("no output:\n%s", local.log)
	}
	b.get("counts")
	for _, path := range want {
		text, err := os.ReadFile(path)
		b.ok(err)
		if got, err := os.ReadFile(b.path("counts", filepath.Base(path))); string(got) != string(text) || err != nil {
			t.Errorf("%s differs in HDFS and on the disk:\n%s", filepath.Base(path), far.log)
		}
	}
}

// A damaged replica is not read when there is a good one.
func TestHdfsDamagedReplica(t *testing.T) {
	b := startOnHdfs(t, 3)
	j := b.submit(100, 4, 2, 2)
	b.succeeds(j)
	for i := range 4 {
		r := b.hdfs.BlockFiles(t, fmt.Sprintf("%s/in/%03d.txt", b.root, i))
		b.ok(r[i%len(r)].Flip(1000))
	}
	again := b.start("again", "wordcount", b.url("in"), b.url("counts"))
	eventually(t, "the word count over damaged replicas ends", again.ended)
	b.get("counts")
	b.ok(os.RemoveAll(j.out))
	b.ok(os.Rename(b.path("counts"), j.out))
	j.isRight()
}

// Where the only replica is damaged the job fails, and says where.
func TestHdfsOnlyReplicaDamaged(t *testing.T) {
	b := startOnHdfs(t, 2)
	b.write("in/a.txt", strings.Repeat("all work and no play\n", 1000))
	b.put(1)
	r := b.hdfs.BlockFiles(t, b.root+"/in/a.txt")
	b.ok(r[0].Flip(5000))
	p := b.start("count", "wordcount", b.url("in"), b.url("out"))
	eventually(t, "the word count ends", p.ended)
	if p.cmd.ProcessState.ExitCode() == 0 {
		t.Fatalf("a count of damaged words succeeded:\n%s", p.log)
	}
	for _, word := range []string{b.root + "/in/a.txt", r[0].ID, minihdfs.Host(r[0].Node)} {
		if !strings.Contains(p.log.String(), word) {
			t.Errorf("the message does not say %q:\n%s", word, p.log)
		}
	}
	b.leavesOnly("in")
}

// A DataNode that dies while maps read costs them a change of replica.
func TestHdfsNodeDiesWhileRead(t *testing.T) {
	b := startOnHdfs(t, 2)
	j := b.submit(10_000, 2, 2, 2, "reading") // four blocks each
	j.reached("reading", 2)
	r := b.hdfs.BlockFiles(t, b.root+"/in/000.txt")
	b.ok(b.hdfs.KillDataNode(r[len(r)-1].Node))
	j.open("reading")
	b.succeeds(j)
}

// A DataNode that dies while an output is written costs at most an attempt.
func TestHdfsNodeDiesWhileWritten(t *testing.T) {
	b := startOnHdfs(t, 2)
	j := b.submit(10_000, 2, 2, 2, "partway") // parts of a megabyte
	j.reached("partway", 2)
	var busy []minihdfs.Replica
	eventually(t, "a block is being written", func() (yes bool) {
		var err error
		busy, err = b.hdfs.Writing()
		b.ok(err)
		return len(busy) > 0
	})
	b.ok(b.hdfs.KillDataNode(busy[0].Node))
	j.open("partway")
	b.succeeds(j)
}

// A NameNode that is away for a while delays a job and does no more.
func TestHdfsNameNodeRestarts(t *testing.T) {
	b := startOnHdfs(t, 2)
	j := b.submit(100, 4, 3, 2, "part")
	j.reached("part", 3)
	b.ok(b.hdfs.KillNameNode())
	j.open("part")
	b.ok(b.hdfs.StartNameNode(t.Context()))
	b.succeeds(j)
}

// Channel files kept in HDFS outlive a launcher, and are gone after the job.
func TestHdfsChannels(t *testing.T) {
	b := startOnHdfs(t, 3)
	b.ok(b.hdfs.MakeFolder(t.Context(), b.root+"/channels"))
	t.Setenv("HAMADRYAD_CHANNELS", b.url("channels"))
	j := b.submit(0, 6, 3, 2, "read")
	j.reached("read", 3)
	kept := b.tree("channels")
	files := regexp.MustCompile(`/job-1\.[0-9a-f]{8}\.[0-9a-z]{13}\.channels/a\d+\.c0\.n\d+$`)
	n := 0
	for _, path := range kept {
		if files.MatchString(path) {
			n++
		}
	}
	if n != 6 {
		t.Errorf("%d channel files of 6 maps in HDFS: %v", n, kept)
	}
	b.launchers[0].kill(t)
	j.open("read")
	j.endsWell()
	b.get("out")
	j.isRight()
	if n := j.attempts("map"); n != 6 {
		t.Errorf("%d attempts of 6 maps: a lost launcher cost work whose output was in HDFS", n)
	}
	if left := b.tree("channels"); len(left) > 0 {
		t.Errorf("the job left channel files: %v", left)
	}
}

// hamadryad local --hdfs gives a program an HDFS and its commands.
func TestLocalWithHdfs(t *testing.T) {
	c := &cluster{t: t, dir: t.TempDir()}
	c.write("words.txt", "b a b\n")
	script := fmt.Sprintf("hdfs dfs -put %s /in && %s --quiet hdfs:///in hdfs:///out && hdfs dfs -cat '/out/part-*'",
		c.path("words.txt"), filepath.Join(binaries, "wordcount"))
	p := c.start("local", "hamadryad", "local", "--hdfs", "--slots", "1", "--data", c.path("data"), "--", "sh", "-c", script)
	eventually(t, "hamadryad local ends", p.ended)
	if !strings.Contains(p.log.String(), "a\t1\n") || !strings.Contains(p.log.String(), "b\t2\n") || p.cmd.ProcessState.ExitCode() != 0 {
		t.Fatalf("no counts:\n%s", p.log)
	}
	eventually(t, "no process is left", func() bool { return len(c.strays()) == 0 })
}

// The manager's machine is lost, with its disk. Another, that is told of the same store, has the history of
// the jobs of before, with all their attempts, and gives none of their numbers again.
func TestHdfsHistory(t *testing.T) {
	b := startOnHdfs(t, 2)
	b.options.history = b.url("history")
	b.manager.kill(t)
	b.startManager()
	j := b.submit(0, 4, 2, 1)
	j.endsWell()
	eventually(t, "history lies in HDFS", func() bool {
		all, err := b.hdfs.Tree(t.Context(), b.root+"/history/jobs")
		return err == nil && len(all) == 1 && !strings.HasPrefix(path.Base(all[0]), ".") // which is being written
	})
	status := func() string {
		out, err := b.command("status", j.id(), "--attempts", "-o", "json")
		if err != nil {
			return err.Error() + out
		}
		return out
	}
	want := status()
	if strings.Count(want, `"state": "finished"`) != 7 {
		t.Fatalf("the job has other attempts than seven that finished:\n%s", want)
	}
	b.manager.kill(t)
	for _, p := range b.launchers {
		p.kill(t)
	}
	b.ok(os.RemoveAll(b.path("manager")))
	b.startManager()
	var got string
	defer func() {
		if t.Failed() {
			t.Logf("it says\n%s\nand said\n%s", got, want)
		}
	}()
	eventually(t, "the job is known on the new machine", func() bool {
		got = status()
		return got == want
	})
	b.addLauncher()
	other := b.start("other", "noop", "--quiet", "2")
	eventually(t, "a job of the new machine ends", other.ended)
	if got = status(); got != want {
		t.Error("a job of the new machine changed what is said of one of the lost machine")
	}
	list, err := b.command("jobs", "--all")
	if err != nil || strings.Count(list, "job-") != 2 || !strings.Contains(list, j.id()+" ") || !strings.Contains(list, " noop ") {
		t.Errorf("not both jobs are listed, each once: %v\n%s", err, list)
	}
}
