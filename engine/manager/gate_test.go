package manager

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ask sends one request to the policy's pages.
func (b *testbed) ask(method, target, authorization, body string) (int, string) {
	b.t.Helper()
	q, err := http.NewRequestWithContext(b.ctx(), method, "http://"+b.http+target, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if authorization != "" {
		q.Header.Set("Authorization", authorization)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// signed submits a job with a signature.
func (b *testbed) signed(signature string) (uint64, error) {
	b.t.Helper()
	prepared, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	spec := &wire.JobSpec{
		Name: "job", Principal: &wire.Principal{Name: "me", Proof: "word", Role: "admin"}, Program: b.upload("program"), Plan: b.upload("plan"),
		Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 1, Slots: 1, Memory: 1}}}, Fingerprint: []byte("f"),
	}
	if signature != "" {
		spec.Properties = []*wire.Property{{Name: scheduler.ProofSignature, Value: signature}, {Name: "z", Value: "kept"}}
	}
	_, err = b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: spec})
	return prepared.Job, err
}

// holds says whether some file below a folder has a text.
func holds(t *testing.T, folder, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || bytes.Contains(b, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func newGated(t *testing.T) (b *testbed, store string) {
	b = newTestbedWith(t, plugintest.Plugin(t, plugintest.Gated))
	store = t.TempDir()
	b.cfg.Policy.Store = store
	b.start()
	b.policyWhen("it runs", isRunning)
	return b, store
}

// Without the authenticator's proof no job is submitted. The credentials reach neither the log nor
// the policy.
func TestTheGateProvesWhoSubmits(t *testing.T) {
	b, _ := newGated(t)
	for _, c := range []struct {
		signature string
		want      codes.Code
	}{{"", codes.PermissionDenied}, {"wrong", codes.PermissionDenied}, {"down", codes.Unavailable}, {"sesame", codes.OK}} {
		job, err := b.signed(c.signature)
		if status.Code(err) != c.want {
			t.Fatalf("%q: %v", c.signature, err)
		}
		if _, known := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job}); (known == nil) != (err == nil) {
			t.Errorf("%q: a refused job is known: %v", c.signature, known)
		}
	}
	b.launcher("a", 1, false)
	if s := b.follow(4); !succeeded(s) {
		t.Error(s)
	}
	b.stop()
	if holds(t, b.cfg.Data, "sesame") || holds(t, b.cfg.Data, "wrong") || !holds(t, b.cfg.Data, "kept") {
		t.Error("the manager's data have a signature, or not what is the job's")
	}
	if b.cancel = nil; strings.Contains(b.log.String(), "sesame") {
		t.Error("the manager's output has a signature")
	}
}

// Pages are answered beside the log. Changes are logged without what proved them, and reach
// the policy's shell when they are durable.
func TestPagesAndChangesThroughTheGate(t *testing.T) {
	b, store := newGated(t)
	for _, c := range []struct {
		method, target, authorization, body string
		code                                int
		want                                string
	}{
		{"GET", "/scheduler?price&secret=x", "sesame ann", "", 200, "/?price for ann, user"},
		{"GET", "/scheduler/a%2Fb?price", "sesame ann", "", 200, "/a%2Fb?price for ann, user"},
		{"HEAD", "/scheduler?price", "sesame ann", "", 200, ""},
		{"GET", "/scheduler?price", "", "", 500, "ACCESS DENIED: price"},
		{"GET", "/scheduler?price", "down", "", 503, "no request is let in, because the policy's authenticator failed: policy Prove: policy fault: the keys can't be read on purpose: try again later\n"},
		{"GET", "/scheduler?fail", "sesame ann", "", 500, "policy Page: policy fault: Page: no page on purpose\n"},
		{"GET", "/scheduler?set=1&secret=hush", "sesame ann", "", 200, "set=1 for ann, user"},
		{"POST", "/scheduler?set=2&secret=hush", "sesame bob", "body", 200, "set=2 for bob, user"},
		{"POST", "/scheduler?set=3", "wrong", "", 500, "ACCESS DENIED: set=3"},
		{"PUT", "/scheduler?set=4", "sesame ann", "", 405, "PUT is not possible here: use GET or POST\n"},
		{"GET", "/scheduler?\xff\xfe", "sesame ann", "", 400, "the query is not UTF-8: encode its bytes with %\n"},
		{"POST", "/scheduler?set=5", "sesame ann", strings.Repeat("x", 64<<10), 413, "a request has 65536 bytes at most\n"},
	} {
		if code, text := b.ask(c.method, c.target, c.authorization, c.body); code != c.code || text != c.want {
			t.Errorf("%s %s as %q: %d %q", c.method, c.target, c.authorization, code, text)
		}
	}
	eventually(t, "the shell has both changes", func() bool {
		notes, err := os.ReadFile(filepath.Join(store, "notes"))
		return err == nil && string(notes) == "set=1\nset=2\n"
	})
	b.stop()
	b.cancel = nil
	if holds(t, b.cfg.Data, "hush") || !holds(t, b.cfg.Data, "set=2") || holds(t, b.cfg.Data, "price") {
		t.Error("the log has a secret, a page, or lacks a change")
	}
}

// A page of another site can't have a visitor's browser change something.
func TestOtherSitesChangeNothing(t *testing.T) {
	b, store := newGated(t)
	q, err := http.NewRequestWithContext(b.ctx(), http.MethodPost, "http://"+b.http+"/scheduler?set=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "sesame ann")
	q.Header.Set("Origin", "https://elsewhere.example")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", answer.StatusCode)
	}
	if notes, err := os.ReadFile(filepath.Join(store, "notes")); err != nil || len(notes) > 0 {
		t.Errorf("the shell has %q, %v", notes, err)
	}
}

// While the policy with the authenticator is down, another that stands in for it opens nothing.
func TestTheGateStaysShutWhileThePolicyIsDown(t *testing.T) {
	b, _ := newGated(t)
	replace := b.linkedPolicy(plugintest.Gated)
	b.stop()
	b.start()
	running := b.policyWhen("it runs", isRunning)
	replace(filepath.Join(t.TempDir(), "nothing"))
	if err := syscall.Kill(int(running.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.policyWhen("the fallback decides", func(r *wire.PolicyReply) bool { return r.State == policyhost.Fallback })
	if code, text := b.page("/readyz?verbose"); code != http.StatusOK || !strings.Contains(text, "[+]policy ok: the fallback decides") {
		t.Errorf("the page of readiness does not tell that the fallback decides: %d %s", code, text)
	}
	refused := func() {
		t.Helper()
		if _, err := b.signed("sesame"); status.Code(err) != codes.Unavailable {
			t.Errorf("a job: %v", err)
		}
		if code, text := b.ask("GET", "/scheduler?price", "sesame ann", ""); code != http.StatusServiceUnavailable {
			t.Errorf("a page: %d %q", code, text)
		}
	}
	refused()
	b.stop()
	b.start()
	b.policyWhen("the fallback decides after a restart", func(r *wire.PolicyReply) bool { return r.State == policyhost.Fallback })
	refused()
}

// A thousand clients at once without a proof get nothing but an error each.
func TestAThousandClientsAtTheGate(t *testing.T) {
	b, store := newGated(t)
	answers := make(chan string, 1000)
	var all sync.WaitGroup
	for range cap(answers) {
		all.Go(func() {
			q, err := http.NewRequestWithContext(b.ctx(), http.MethodGet, "http://"+b.http+"/scheduler?set=1", nil)
			if err != nil {
				answers <- err.Error()
				return
			}
			answer, err := http.DefaultClient.Do(q)
			if err != nil {
				answers <- err.Error()
				return
			}
			defer answer.Body.Close()
			_, _ = io.Copy(io.Discard, answer.Body)
			answers <- fmt.Sprint(answer.StatusCode)
		})
	}
	b.launcher("a", 1, false)
	job, err := b.signed("sesame")
	if err == nil && !succeeded(b.follow(job)) {
		t.Error("a job beside them did not succeed")
	}
	all.Wait()
	close(answers)
	count := map[string]int{}
	for a := range answers {
		count[a]++
	}
	if count["500"]+count["503"] != cap(answers) {
		t.Errorf("they were told %v", count)
	}
	if notes, err := os.ReadFile(filepath.Join(store, "notes")); err != nil || len(notes) > 0 {
		t.Errorf("the shell has %q, %v", notes, err)
	}
}
