package faults

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// scheduler asks the policy's pages, signed with a user's key where one is given.
func (c *cluster) scheduler(query, user, key string) (int, string) {
	c.t.Helper()
	status, text, err := c.asks(query, user, key)
	if err != nil {
		c.t.Fatal(err)
	}
	return status, text
}

// asks is scheduler of a manager that may not be there.
func (c *cluster) asks(query, user, key string) (int, string, error) {
	authorization := ""
	if key != "" {
		query, authorization = signature.Sign(query, nil, user, time.Now(), key, signature.SHA1)
	}
	q, err := http.NewRequest(http.MethodGet, c.pages()+"/scheduler?"+query, nil)
	if err != nil {
		return 0, "", err
	}
	if authorization != "" {
		q.Header.Set("Authorization", authorization)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// budgetInterval is the allocation interval of the test below.
const budgetInterval = 1500 * time.Millisecond

// Users sign their jobs, bid for slots and pay from a file, on real processes. In the end the file
// has what was put into it, less the usage in the log.
func TestBudgetsOnACluster(t *testing.T) {
	b := openBank(t, false,
		bidder{name: "ann", budget: 1000 * money.Credit, spend: money.Credit}, bidder{name: "bob", budget: 1000 * money.Credit, spend: 2 * money.Credit},
		bidder{name: "carol", spend: money.Credit}, bidder{name: "dora", none: true})
	c := startCluster(t, options{
		launchers: 1, slots: 6, eventLog: ", keep: 100000", core: "  protectFor: 1ms\n",
		policyLines: b.policy(budgetInterval.String() + ", kill-interval: 500ms"),
	})
	c.policyRuns()
	c.unsigned()
	c.signedByHand()
	c.queueCommands(b)
	killed := c.slotsFollowBids(b)
	if books := b.audited(c, budgetInterval, killed); books.Exact == 0 {
		t.Errorf("nothing was held against an exact amount: %v", books)
	}
	if has := b.has(); has.Queue("carol").Budget != 0 || has.Queue("ann").Budget >= b.put["ann"] || has.Queue("bob").Budget >= b.put["bob"] {
		t.Errorf("the store has %s", has.Marshal(1<<20))
	}
}

// unsigned submits a job and asks for a change without a key: nothing comes of either.
func (c *cluster) unsigned() {
	c.t.Helper()
	refused := c.submit("file", 0, 2, 1)
	<-refused.process.done
	if log := refused.process.log.String(); refused.process.cmd.ProcessState.Success() || !strings.Contains(log, "sign it with a key of the user's: HAMADRYAD_KEY names the file that has it") {
		c.t.Errorf("without a key it ends with %v:\n%s", refused.process.cmd.ProcessState, log)
	}
	if left := c.files("", func(name string) bool { return strings.HasPrefix(name, "out") || strings.Contains(name, "_temporary") }); len(left) > 0 {
		c.t.Errorf("of a refused job there is %q", left)
	}
	if code, text := c.scheduler("setSpending=0&queue=ann", "", ""); code != http.StatusInternalServerError || !strings.HasPrefix(text, "ACCESS DENIED: setSpending=0") {
		c.t.Errorf("unsigned: %d %s", code, text)
	}
}

// signedByHand submits a streaming job and a Go program's with the three settings of the scheduler's
// document (section 6.6). Each signature lets one job in; another's lets none in.
func (c *cluster) signedByHand() {
	t := c.t
	t.Helper()
	t.Setenv(storage.UserVariable, "ann")
	c.write("signed/in.txt", "b a b\n")
	sign := func(user, key string) []string {
		now := time.Now()
		_, authorization := signature.Sign("", nil, user, now, key, signature.SHA256)
		return []string{fmt.Sprintf("-Dmapred.job.timestamp=%d", now.UnixMilli()), "-Dmapred.job.signature=" + authorization, "-Dmapreduce.job.queue.name=" + user}
	}
	run := func(settings []string, name string, args ...string) (string, error) {
		return c.streaming(slices.Concat([]string{filepath.Join(binaries, name)}, settings, args)...)
	}
	stream := func(settings []string, out string) (string, error) {
		return run(settings, "hamadryad-streaming", "-input", c.path("signed/in.txt"), "-output", c.path(out), "-mapper", "cat", "-reducer", "cat")
	}
	right := sign("ann", keyOf("ann"))
	if out, err := stream(right, "signed/first"); err != nil {
		t.Fatalf("signed by hand: %v\n%s", err, out)
	}
	if out, err := run(sign("ann", keyOf("ann")), "wordcount", c.path("signed/in.txt"), c.path("signed/second")); err != nil {
		t.Errorf("a program signed by hand: %v\n%s", err, out)
	}
	for name, settings := range map[string][]string{"used before": right, "of another's key": sign("ann", keyOf("bob")), "of another's queue": sign("bob", keyOf("bob"))} {
		if out, err := stream(settings, "signed/none"); err == nil || !strings.Contains(out, "sign") {
			t.Errorf("a signature %s: %v\n%s", name, err, out)
		}
	}
}

// slotsHeld is how many slots each user holds, as the policy says.
func (c *cluster) slotsHeld() string {
	out, err := c.command("policy")
	if err != nil {
		return err.Error()
	}
	held := map[string]string{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 10 && f[2] == "default" {
			held[f[0]] = f[8]
		}
	}
	return fmt.Sprint(held)
}

// holds waits until users hold so many slots. Within how many intervals they do is a test of the
// policy, TestSlotsFollowBids: here it depends on the machine.
func (c *cluster) holds(slots map[string]int) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("slots are held like %v", slots), func() bool { return c.slotsHeld() == fmt.Sprint(slots) })
}

// preempted is how many attempts of a job were.
func (c *cluster) preempted(job string) int {
	c.t.Helper()
	out, err := c.command("status", job, "--attempts")
	if err != nil {
		c.t.Fatal(out)
	}
	return len(regexp.MustCompile(`(?m)^.*\bpreempted\b`).FindAllString(out, -1))
}

// slotsFollowBids makes two users bid 1:2 and then 5:1 for six slots, and a third, who can't pay,
// use the rest. It returns when it killed the manager.
func (c *cluster) slotsFollowBids(b *bank) (killed time.Time) {
	t := c.t
	carol := b.submit(t, c, "carol", "carol", 6, 1, "map")
	carol.reached("map", 6)
	first := b.submit(t, c, "ann", "first", 3, 1, "map")
	first.reached("map", 3)
	c.holds(map[string]int{"ann": 3, "carol": 3})
	eventually(t, "an interval is paid", func() bool { return b.has().Queue("ann").Budget < b.put["ann"]-2*money.Credit })
	c.manager.kill(t)
	killed = time.Now()
	c.startManager()
	c.policyRuns()
	paid := b.has().Queue("ann").Budget
	eventually(t, "it is paid on", func() bool { return b.has().Queue("ann").Budget < paid })

	second := b.submit(t, c, "ann", "second", 3, 1, "map")
	second.reached("map", 3)
	bob := b.submit(t, c, "bob", "bob", 6, 1, "map")
	bob.reached("map", 1)
	c.holds(map[string]int{"ann": 2, "bob": 4, "carol": 0})
	if one, other := c.preempted(first.id()), c.preempted(second.id()); one != 1 || other != 3 {
		t.Errorf("of the attempts that ran long %d were taken, of those that ran short %d; want 1 and 3", one, other)
	}
	for user, bid := range map[string]string{"ann": "5", "bob": "1"} {
		if code, text := c.scheduler("setSpending="+bid+"&queue="+user, user, keyOf(user)); code != http.StatusOK || !strings.Contains(text, "<spending>"+bid+".0</spending>") {
			t.Errorf("signed: %d %s", code, text)
		}
	}
	c.holds(map[string]int{"ann": 5, "bob": 1, "carol": 0})
	for _, j := range []*gatedJob{first, second, bob} {
		j.open("map")
		j.endsWell()
		j.isRight()
	}
	c.holds(map[string]int{"carol": 6})
	carol.open("map")
	carol.succeeds()
	return killed
}

// queueCommands shows and changes queues with the command line and with another tool, for users
// with the key, and checks the error messages.
func (c *cluster) queueCommands(b *bank) {
	t := c.t
	eventually(t, "the store is read", func() bool {
		out, err := c.command("queue", "price")
		return err == nil && out == "0.0\n"
	})
	t.Setenv(storage.UserVariable, "dora")
	if err := os.WriteFile(filepath.Join(b.keys, "wrong"), []byte("what_is_this"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A caller with another tool.
	for want, with := range map[string][]string{
		"<price>0.0</price>":        {"price", "HAMADRYAD_KEY="},
		"ACCESS DENIED: infos":      {"infos", "HAMADRYAD_KEY="},
		"<QueueInfo>\n  <host>":     {"infos", "HADOOP_USER_NAME=" + adminName, "HAMADRYAD_KEY=" + filepath.Join(b.keys, adminName)},
		"ACCESS DENIED: addQueue=a": {"addQueue=a", "HADOOP_USER_NAME=dora", "HAMADRYAD_KEY=" + filepath.Join(b.keys, "dora")},
	} {
		python := exec.Command("python3", "../../examples/queue-python/queue_client.py", with[0])
		python.Env = append(append(os.Environ(), "HAMADRYAD_HTTP="+strings.TrimPrefix(c.pages(), "http://")), with[1:]...)
		out, err := python.CombinedOutput()
		if !strings.Contains(string(out), want) || (err != nil) != strings.HasPrefix(want, "ACCESS") {
			t.Errorf("in Python, %q: %v\n%s", with, err, out)
		}
	}
	const header = "QUEUE  BUDGET  SPENDING  SHARE  USED  PENDING\n"
	for _, s := range []struct{ key, line, want string }{
		{"", "info", "hamadryad: the policy does not know the caller"},
		{"wrong", "info", "hamadryad: the policy does not know the caller"},
		{"none", "info", "hamadryad: the key that HAMADRYAD_KEY names: " + filepath.Join(b.keys, "none") + ": no such file"},
		{"dora", "info", "hamadryad: there is no such queue"},
		{"dora", "add dora", "hamadryad: that is another's queue, or for administrators"},
		{adminName, "--user root-of-all queue add dora", header},
		{adminName, "--user root-of-all queue add dora", "hamadryad: the queue exists already"},
		{adminName, "--user root-of-all queue add-budget 12.5 dora", " 12.5 "},
		{"dora", "set-spending 0.25", " 0.25 "},
		{"dora", "set-spending NaN", "hamadryad: "},
		{"dora", "set-spending -- -1", "hamadryad: bad request: a spending rate of -1.0: it must not be negative"},
		{"dora", "info -o json", `"spending": 0.25`},
		{"dora", "info --all", "hamadryad: that is another's queue, or for administrators"},
		{adminName, "--user root-of-all queue info --all", "dora"},
		{adminName, "--user root-of-all queue remove dora", ""},
		{"dora", "info", "hamadryad: there is no such queue"},
	} {
		t.Setenv("HAMADRYAD_KEY", "")
		if s.key != "" {
			t.Setenv("HAMADRYAD_KEY", filepath.Join(b.keys, s.key))
		}
		words := strings.Fields(s.line)
		if words[0] != "--user" {
			words = append([]string{"queue"}, words...)
		}
		out, err := c.command(words...)
		if !strings.Contains(out, s.want) || (err != nil) != strings.HasPrefix(s.want, "hamadryad: ") {
			t.Errorf("%s as %q: %v\n%s", s.line, s.key, err, out)
		}
	}
}
