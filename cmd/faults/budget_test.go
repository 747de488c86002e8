package faults

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// scheduler asks the policy's pages, signed with a user's key where one is given.
func (c *cluster) scheduler(query, user, key string) (int, string) {
	c.t.Helper()
	authorization := ""
	if key != "" {
		query, authorization = signature.Sign(query, nil, user, time.Now(), key, signature.SHA1)
	}
	q, err := http.NewRequest(http.MethodGet, c.pages()+"/scheduler?"+query, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if authorization != "" {
		q.Header.Set("Authorization", authorization)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// budget is what the file has of a queue.
func budget(t *testing.T, store, queue string) (credits float64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(store, "budget"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); f[0] == queue {
			if credits, err = strconv.ParseFloat(f[1], 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return credits
}

// Users sign their jobs and pay for their slots out of a file, on real processes: without a key
// nobody submits; with one a job runs, and what it used is taken off the budget, once, although the
// manager is killed. Bids are set by signed requests.
func TestBudgetsOnACluster(t *testing.T) {
	user, err := storage.User()
	if err != nil {
		t.Fatal(err)
	}
	store, key := t.TempDir(), filepath.Join(t.TempDir(), "key")
	for path, text := range map[string]string{
		key: "a key of the user\n", filepath.Join(store, "acl"): "root-of-all admin another_long_key\n" + user + " user a_key_of_the_user\n",
		filepath.Join(store, "budget"): user + " 100 1\n",
	} {
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "a key of the user", "a_key_of_the_user")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := startCluster(t, options{launchers: 1, slots: 2, policyLines: fmt.Sprintf(
		"  name: dynamic-priority\n  path: %s\n  store: %s\n  settings: {alloc-interval: 1s}\n", filepath.Join(binaries, "hamadryad-policy-dynamic-priority"), store)})
	c.policyRuns()
	began := time.Now()

	// Nobody's job.
	refused := c.submit("file", 0, 2, 1)
	<-refused.process.done
	if log := refused.process.log.String(); refused.process.cmd.ProcessState.Success() || !strings.Contains(log, "sign it with a key of the user's: HAMADRYAD_KEY names the file that has it") {
		t.Errorf("without a key it ends with %v:\n%s", refused.process.cmd.ProcessState, log)
	}
	if left := c.files("", func(name string) bool { return strings.HasPrefix(name, "out") || strings.Contains(name, "_temporary") }); len(left) > 0 {
		t.Errorf("of a refused job there is %q", left)
	}

	t.Setenv("HAMADRYAD_KEY", key)
	j := c.submit("file", 0, 2, 1, "map")
	j.reached("map", 2)
	eventually(t, "an interval is paid", func() bool { return budget(t, store, user) <= 98 })
	c.manager.kill(t)
	c.startManager()
	c.policyRuns()
	before := budget(t, store, user)
	eventually(t, "it is paid on", func() bool { return budget(t, store, user) <= before-2 })
	if code, text := c.scheduler("setSpending=0&queue="+user, "", ""); code != http.StatusInternalServerError || !strings.HasPrefix(text, "ACCESS DENIED: setSpending=0") {
		t.Errorf("unsigned: %d %s", code, text)
	}
	if code, text := c.scheduler("setSpending=0&queue="+user, user, "a_key_of_the_user"); code != http.StatusOK || !strings.Contains(text, "<spending>0.0</spending>") {
		t.Errorf("signed: %d %s", code, text)
	}
	eventually(t, "the bid is off", func() bool {
		code, text := c.scheduler("price", "", "")
		return code == http.StatusOK && strings.Contains(text, "<price>0.0</price>")
	})
	if code, text := c.scheduler("infos", "root-of-all", "another_long_key"); code != http.StatusOK || !strings.Contains(text, `<queue name="`+user+`">`) {
		t.Errorf("an admin sees %d %s", code, text)
	}
	j.open("map")
	j.succeeds()
	paid := 100 - budget(t, store, user)
	if ran := time.Since(began).Seconds(); paid < 4 || paid > 2*ran+2 {
		t.Errorf("%v credits were paid in %v s by two slots", paid, ran)
	}
}

// The command line shows and changes queues, for who has the key, and says what is wrong.
func TestQueueCommands(t *testing.T) {
	user, err := storage.User()
	if err != nil {
		t.Fatal(err)
	}
	store, keys := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(keys, "user"): "a_key_of_the_user\n", filepath.Join(keys, "root"): "another_long_key", filepath.Join(keys, "wrong"): "what_is_this",
		filepath.Join(store, "acl"): "root-of-all admin another_long_key\n" + user + " user a_key_of_the_user\n", filepath.Join(store, "budget"): "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := startCluster(t, options{policyLines: fmt.Sprintf("  name: dynamic-priority\n  path: %s\n  store: %s\n", filepath.Join(binaries, "hamadryad-policy-dynamic-priority"), store)})
	c.policyRuns()
	eventually(t, "the store is read", func() bool {
		out, err := c.command("queue", "price")
		return err == nil && out == "0.0\n"
	})
	// Somebody with another tool.
	for want, with := range map[string][]string{
		"<price>0.0</price>":        {"price", "HAMADRYAD_KEY="},
		"ACCESS DENIED: infos":      {"infos", "HAMADRYAD_KEY="},
		"<QueueInfo>\n  <host>":     {"infos", "HADOOP_USER_NAME=root-of-all", "HAMADRYAD_KEY=" + filepath.Join(keys, "root")},
		"ACCESS DENIED: addQueue=a": {"addQueue=a", "HADOOP_USER_NAME=" + user, "HAMADRYAD_KEY=" + filepath.Join(keys, "user")},
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
		{"", "info", "hamadryad: the policy does not know who asks"},
		{"wrong", "info", "hamadryad: the policy does not know who asks"},
		{"none", "info", "hamadryad: the key that HAMADRYAD_KEY names: open"},
		{"user", "info", "hamadryad: there is no such queue"},
		{"user", "add " + user, "hamadryad: that is another's queue, or for administrators"},
		{"root", "--user root-of-all queue add " + user, strings.ReplaceAll(header, "QUEUE", fmt.Sprintf("%-5s", "QUEUE"))},
		{"root", "--user root-of-all queue add " + user, "hamadryad: the queue exists already"},
		{"root", "--user root-of-all queue add-budget 12.5 " + user, " 12.5 "},
		{"user", "set-spending 0.25", " 0.25 "},
		{"user", "set-spending NaN", "hamadryad: "},
		{"user", "set-spending -- -1", "hamadryad: bad request: a spending rate of -1.0: it must not be negative"},
		{"user", "info -o json", `"spending":0.25`},
		{"user", "info --all", "hamadryad: that is another's queue, or for administrators"},
		{"root", "--user root-of-all queue info --all", user},
		{"root", "--user root-of-all queue remove " + user, ""},
		{"user", "info", "hamadryad: there is no such queue"},
	} {
		t.Setenv("HAMADRYAD_KEY", "")
		if s.key != "" {
			t.Setenv("HAMADRYAD_KEY", filepath.Join(keys, s.key))
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
