package manager

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
)

// newPriced is a manager with the policy dynamic-priority, budgets and keys: of myqueue and bob, who
// are users, and of root, an administrator.
func newPriced(t testing.TB) *testbed {
	t.Helper()
	b := pricedBed(t)
	b.start()
	b.policyWhen("it runs", isRunning)
	eventually(t, "the budgets are read", func() bool {
		code, text := b.asks("root", "infos")
		return code == http.StatusOK && strings.Contains(text, "myqueue")
	})
	return b
}

// pricedBed is the testbed that newPriced starts.
func pricedBed(t testing.TB) *testbed {
	t.Helper()
	plugin, err := pricedPlugin()
	if err != nil {
		t.Fatal(err)
	}
	store := t.TempDir()
	for name, text := range map[string]string{
		"acl": "myqueue user key_of_myqueue\nbob user key_of_bob\nroot admin key_of_root\n", "budget": "myqueue 100000 0.11\nbob 1000 12.139998\n",
	} {
		if err := os.WriteFile(filepath.Join(store, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newTestbedWith(t, plugin)
	b.cfg.Policy.Store = store
	b.cfg.WebHosts = []string{"myhost"} // as the document's requests call the manager
	return b
}

// A caller with a certificate changes no bid with another user's key, and the audit names the
// caller.
func TestAnothersKeyChangesNothing(t *testing.T) {
	ca, b := certstest.New(t), pricedBed(t)
	var err error
	if b.cfg.Keys, err = certs.Open(ca.Files(auth.Manager, "m"), certs.Options{Log: b.cfg.Log}); err != nil {
		t.Fatal(err)
	}
	b.cfg.Core.Access = rules(t, `roles: {administrator: {users: ["*"]}}`)
	b.start()
	b.as(ca.Keys(auth.User, "bob"))
	b.policyWhen("it runs", isRunning)
	bid := func(caller, key string) (*wire.PageReply, error) {
		b.as(ca.Keys(auth.User, caller))
		query, authorization := signature.Sign("setSpending=5&queue=bob", nil, key, later(), "key_of_"+key, signature.SHA256)
		return b.api.PolicyPage(b.ctx(), &wire.PageRequest{Method: http.MethodPost, Query: query, Authorization: authorization})
	}
	eventually(t, "bob changes his bid with his key", func() bool {
		a, err := bid("bob", "bob")
		return err == nil && a.Status == http.StatusOK
	})
	for _, key := range []string{"bob", "root"} {
		if a, err := bid("ann", key); status.Code(err) != codes.PermissionDenied {
			t.Errorf("ann with the key of %s: %v %v", key, a, err)
		}
	}
	lines := b.audited()
	if last := lines[len(lines)-1]; last.Who != "ann" || last.Result != audit.Refused || !strings.Contains(last.Why, "root") {
		t.Errorf("the audit says %+v", last)
	}
}

// asks sends a signed request.
func (b *testbed) asks(user, query string) (int, string) {
	b.t.Helper()
	query, authorization := signature.Sign(query, nil, user, later(), "key_of_"+user, signature.SHA1)
	return b.ask(http.MethodGet, "/scheduler?"+query, authorization, "")
}

// later is now, and after each time that it was before.
var later = func() func() time.Time {
	var mu sync.Mutex
	var last time.Time
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.After(last.Add(time.Millisecond)) {
			last = now
		} else {
			last = last.Add(time.Millisecond)
		}
		return last
	}
}()

// shape lists the elements and attributes of an XML document, in order. It fails if the document is
// not well-formed.
func shape(text string) (string, error) {
	var b strings.Builder
	d := xml.NewDecoder(strings.NewReader(text))
	depth, roots := 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if depth != 0 || roots != 1 {
				return "", fmt.Errorf("%d elements are open, and there are %d roots", depth, roots)
			}
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
			}
			fmt.Fprintf(&b, "%s%s", strings.Repeat(" ", depth), e.Name.Local)
			for _, a := range e.Attr {
				fmt.Fprintf(&b, " @%s", a.Name.Local)
			}
			b.WriteByte('\n')
			depth++
		case xml.EndElement:
			depth--
		}
	}
}

// The answers that the document prints (section 6.4).
const (
	printedQueue = `<QueueInfo>
  <host>myhost</host>
  <queue name="queue1">
    <budget>99972.0</budget>
    <spending>0.11</spending>
    <share>0.008979593</share>
    <used>1</used>
    <pending>43</pending>
  </queue>
</QueueInfo>`
	printedTime = `<QueueInfo>
  <host>myhost</host>
  <start>1238600160788</start>
  <time>1238605061519</time>
</QueueInfo>`
	printedPrice = `<QueueInfo>
  <host>myhost</host>
  <price>12.249998</price>
</QueueInfo>`
	printedNothing = `<QueueInfo><host>myhost</host></QueueInfo>` // of a queue that is gone
)

// raw sends bytes, and reads one answer.
func (b *testbed) raw(text string) (code int, kind, body string) {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.http)
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	answer, readErr := http.ReadResponse(bufio.NewReader(conn), nil)
	if readErr != nil {
		b.t.Fatalf("%q: %v, %v", text[:min(len(text), 100)], err, readErr)
	}
	defer answer.Body.Close()
	got, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(got)
}

// python is a request as the document's program sends it (section 6.6), byte by byte: the path
// and the signature are not escaped further, and lines and names are those of its library.
func python(b *testbed, params, user string) (code int, kind, body string) {
	params += fmt.Sprintf("&user=%s&timestamp=%d", user, later().UnixMilli())
	_, authorization := signature.Sign(strings.Split(params, "&user=")[0], nil, user, stampOf(b.t, params), "key_of_"+user, signature.SHA1)
	header := strings.ReplaceAll(authorization, "%2F", "/") // urllib.quote leaves it
	return b.raw("GET /scheduler?" + params + " HTTP/1.1\r\nHost: myhost:50030\r\nAccept-Encoding: identity\r\nAuthorization: " + header + "\r\n\r\n")
}

func stampOf(t testing.TB, params string) time.Time {
	t.Helper()
	var milliseconds int64
	if _, err := fmt.Sscan(params[strings.LastIndex(params, "=")+1:], &milliseconds); err != nil {
		t.Fatal(err)
	}
	return time.UnixMilli(milliseconds)
}

// The document's requests, as they are printed there, have well-formed answers of the printed
// shape, through the manager's own HTTP server.
func TestTheDocumentsRequests(t *testing.T) {
	b := newPriced(t)
	for _, c := range []struct{ query, user, like string }{
		{"setSpending=0.01&queue=myqueue", "myqueue", printedQueue},
		{"price", "", printedPrice},
		{"time", "", printedTime},
		{"info=myqueue", "myqueue", printedQueue},
		{"info", "myqueue", printedQueue},
		{"infos", "root", strings.Replace(printedQueue, "</QueueInfo>", printedQueue[strings.Index(printedQueue, "<queue"):], 1)},
		{"addQueue=queue1", "root", printedQueue},
		{"addBudget=99972.0&queue=queue1", "root", printedQueue},
		{"setSpending=0.11&queue=queue1", "root", printedQueue},
		{"removeQueue=queue1", "root", printedNothing},
	} {
		code, kind, body := 0, "", ""
		if c.user == "" {
			code, kind, body = b.raw("GET /scheduler?" + c.query + " HTTP/1.1\r\nHost: myhost:50030\r\n\r\n")
		} else {
			code, kind, body = python(b, c.query, c.user)
		}
		want, err := shape(c.like)
		if err != nil {
			t.Fatal(err)
		}
		got, err := shape(body)
		if err != nil || got != want || code != http.StatusOK || !strings.HasPrefix(kind, "text/xml") {
			t.Errorf("%s: %d, %s, %v\n%s", c.query, code, kind, err, body)
		}
	}
	if _, text := b.asks("myqueue", "info"); !strings.Contains(text, "<spending>0.01</spending>") {
		t.Errorf("the document's first request changed nothing: %s", text)
	}
	// Requests without the header, and by unauthorized users.
	for query, user := range map[string]string{"setSpending=0.01&queue=myqueue": "", "infos": "bob", "info=myqueue": "bob", "addQueue=queue1": "myqueue"} {
		code, text := b.ask(http.MethodGet, "/scheduler?"+query, "", "")
		if user != "" {
			code, text = b.asks(user, query)
		}
		if code != http.StatusInternalServerError || text != "ACCESS DENIED: "+query+"\n" {
			t.Errorf("%s by %q: %d %q", query, user, code, text)
		}
	}
	// A job, with the properties that the document names.
	at := later()
	_, authorization := signature.Sign("", nil, "bob", at, "key_of_bob", signature.SHA1)
	if err := b.handIn("bob", "bob", &wire.Property{Name: "mapred.job.signature", Value: authorization}, &wire.Property{Name: "mapred.job.timestamp", Value: fmt.Sprint(at.UnixMilli())}); err != nil {
		t.Error(err)
	}
}

// handIn submits a job of a user, in a queue, with properties that prove it.
func (b *testbed) handIn(user, queue string, proof ...*wire.Property) error {
	b.t.Helper()
	return b.handInOf(20, user, queue, proof...)
}

func (b *testbed) handInOf(nodes uint32, user, queue string, proof ...*wire.Property) error {
	b.t.Helper()
	prepared, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: &wire.JobSpec{
		Name: "job", Pool: queue, Principal: &wire.Principal{Name: user}, Program: b.upload("program"), Plan: b.upload("plan"), Properties: proof,
		Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: nodes, Slots: 1, Memory: 1}}}, Fingerprint: []byte("f"),
	}})
	return err
}

// proof is a job's signature.
func proofOf(user, key string, at time.Time) []*wire.Property {
	_, authorization := signature.Sign("", nil, user, at, key, signature.SHA256)
	return []*wire.Property{{Name: scheduler.ProofSignature, Value: authorization}, {Name: scheduler.ProofTimestamp, Value: fmt.Sprint(at.UnixMilli())}}
}

// assault is a request that is to be refused.
type assault struct {
	name                 string
	query, authorization string // as they are sent
	body                 string
}

// The attackers' requests: with numbers so long that no time and no identity in the manager's data
// has their digits by chance.
const (
	asked   = "666333.666333"
	altered = "666333.666334"
)

// assaults returns a new attack of each kind. used is a request that was accepted before.
func assaults(used assault) []assault {
	sign := func(name, query, user, key string, at time.Time, spoil func(*assault)) assault {
		a := assault{name: name}
		a.query, a.authorization = signature.Sign(query, nil, user, at, key, signature.SHA256)
		if spoil != nil {
			spoil(&a)
		}
		return a
	}
	const change = "setSpending=" + asked + "&queue=myqueue"
	now := later()
	return []assault{
		used,
		sign("late", change, "myqueue", "key_of_myqueue", now.Add(-time.Hour), nil),
		sign("future", change, "myqueue", "key_of_myqueue", now.Add(time.Hour), nil),
		sign("another's key", change, "myqueue", "key_of_bob", now, nil),
		sign("no such user", change, "nobody", "key_of_nobody", now, nil),
		sign("no role", "addBudget="+asked+"&queue=myqueue", "myqueue", "key_of_myqueue", now, nil),
		sign("another's queue", change, "bob", "key_of_bob", now, nil),
		sign("a cut signature", change, "myqueue", "key_of_myqueue", now, func(a *assault) { a.authorization = a.authorization[:20] }),
		sign("a cut query", change, "myqueue", "key_of_myqueue", now, func(a *assault) { a.query = a.query[:len(a.query)-4] }),
		sign("another query", change, "myqueue", "key_of_myqueue", now, func(a *assault) { a.query = strings.Replace(a.query, asked, altered, 1) }),
		sign("a body that is not signed", change, "myqueue", "key_of_myqueue", now, func(a *assault) { a.body = "&setSpending=" + asked }),
		{name: "unsigned", query: change},
		{name: "no signature", query: change + "&user=root&timestamp=1", authorization: "Basic cm9vdDpyb290"},
		{name: "an empty signature", query: change + fmt.Sprintf("&user=root&timestamp=%d", now.UnixMilli()), authorization: base64.StdEncoding.EncodeToString(make([]byte, 32))},
	}
}

// knock sends one, and returns the status; 0 for none. Body and query may be of any size.
func (b *testbed) knock(ctx context.Context, a assault) (int, string) {
	return knock(ctx, http.DefaultClient, b.http, a)
}

func knock(ctx context.Context, client *http.Client, address string, a assault) (int, string) {
	method := http.MethodGet
	if a.body != "" {
		method = http.MethodPost
	}
	q, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/scheduler?"+a.query, strings.NewReader(a.body))
	if err != nil {
		return 0, err.Error()
	}
	if a.authorization != "" {
		q.Header.Set("Authorization", a.authorization)
	}
	answer, err := client.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// Nobody gets in: neither by HTTP nor by gRPC, not by any of a thousand at once, not by requests
// that are too large or never end. The log has nothing of it, and work goes on.
func TestTheServiceUnderAttack(t *testing.T) {
	b := newPriced(t)
	used := assault{name: "used before"}
	used.query, used.authorization = signature.Sign("setSpending=5&queue=bob", nil, "bob", later(), "key_of_bob", signature.SHA256)
	if code, text := b.knock(b.ctx(), used); code != http.StatusOK {
		t.Fatal(code, text)
	}
	if code, _ := b.asks("root", "setSpending=7&queue=bob"); code != http.StatusOK { // a replay would undo this
		t.Fatal(code)
	}
	idle := slowBodies(t, b.http, 100)
	for _, a := range assaults(used) {
		if code, text := b.knock(b.ctx(), a); code != http.StatusInternalServerError || !strings.HasPrefix(text, "ACCESS DENIED: ") || strings.Contains(text, "timestamp=") && a.authorization != "" && !strings.HasPrefix(a.name, "no signature") {
			t.Errorf("%s: %d %q", a.name, code, text)
		}
		answer, err := b.api.PolicyPage(b.ctx(), &wire.PageRequest{Method: "POST", Path: "/", Query: a.query, Authorization: a.authorization, Body: []byte(a.body)})
		if err != nil || answer.Status != http.StatusInternalServerError {
			t.Errorf("%s by gRPC: %v, %v", a.name, answer, err)
		}
	}
	large := strings.Repeat("x", 10<<20)
	for _, a := range []assault{
		{name: "a large body", query: "setSpending=" + asked + "&queue=myqueue", body: large},
		{name: "a large query", query: "setSpending=" + asked + "&queue=myqueue&x=" + large},
		{name: "a large header", query: "setSpending=" + asked + "&queue=myqueue", authorization: large},
	} { // the connection may be closed before all was sent
		if code, text := b.knock(b.ctx(), a); code != 0 && code != http.StatusRequestEntityTooLarge && code != http.StatusRequestURITooLong && code != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %d %.100q", a.name, code, text)
		}
		if _, err := b.api.PolicyPage(b.ctx(), &wire.PageRequest{Method: "POST", Path: "/", Query: a.query, Authorization: a.authorization, Body: []byte(a.body)}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s by gRPC: %.200v", a.name, err)
		}
	}
	b.submissionsUnderAttack()
	b.thousand(used)
	code, text := b.asks("root", "infos")
	if code != http.StatusOK || !strings.Contains(text, "<spending>7.0</spending>") || !strings.Contains(text, "<spending>0.11</spending>") || strings.Contains(text, asked) || strings.Contains(text, altered) || strings.Count(text, "<queue ") != 2 {
		t.Errorf("after it: %d %s", code, text)
	}
	idle()
	b.stop()
	b.cancel = nil
	credits := strings.NewReplacer(".", "") // as micro-credits
	for _, text := range []string{asked, altered, credits.Replace(asked), credits.Replace(altered), "key_of_", "timestamp"} {
		if holds(t, b.cfg.Data, text) {
			t.Errorf("the manager's data have %q, of what was refused or of a proof", text)
		}
	}
}

// submissionsUnderAttack hands in jobs that are to be refused.
func (b *testbed) submissionsUnderAttack() {
	b.t.Helper()
	now := later()
	good := proofOf("bob", "key_of_bob", now)
	if err := b.handIn("bob", "", good...); err != nil {
		b.t.Fatal(err)
	}
	for name, err := range map[string]error{
		"unsigned":        b.handIn("bob", ""),
		"used before":     b.handIn("bob", "", good...),
		"late":            b.handIn("bob", "", proofOf("bob", "key_of_bob", now.Add(-time.Hour))...),
		"future":          b.handIn("bob", "", proofOf("bob", "key_of_bob", now.Add(time.Hour))...),
		"another's key":   b.handIn("bob", "", proofOf("bob", "key_of_myqueue", later())...),
		"another's name":  b.handIn("bob", "", proofOf("myqueue", "key_of_myqueue", later())...),
		"another's queue": b.handIn("bob", "myqueue", proofOf("bob", "key_of_bob", later())...),
		"no such user":    b.handIn("nobody", "", proofOf("nobody", "key_of_nobody", later())...),
		"cut":             b.handIn("bob", "", proofOf("bob", "key_of_bob", later())[1:]...),
		"garbage":         b.handIn("bob", "", &wire.Property{Name: scheduler.ProofSignature, Value: "%zz"}, &wire.Property{Name: scheduler.ProofTimestamp, Value: "x"}),
	} {
		if status.Code(err) != codes.PermissionDenied {
			b.t.Errorf("a job, %s: %v", name, err)
		}
	}
}

// thousand has a thousand clients attack at once while a job runs.
func (b *testbed) thousand(used assault) {
	b.t.Helper()
	b.launcher("a", 1, false)
	begin := make(chan struct{})
	var all sync.WaitGroup
	var mu sync.Mutex
	count := map[int]int{}
	kinds := assaults(used)
	for i := range 1000 {
		all.Go(func() {
			<-begin
			a := kinds[i%len(kinds)]
			code, text := b.knock(b.ctx(), a)
			mu.Lock()
			defer mu.Unlock()
			if count[code]++; code != http.StatusInternalServerError && code != http.StatusServiceUnavailable && count[code] < 3 {
				b.t.Errorf("one of a thousand, %s: %d %s", a.name, code, text)
			}
		})
	}
	close(begin)
	jobs, err := b.api.Jobs(b.ctx(), &wire.JobsRequest{All: true})
	if err != nil || len(jobs.Jobs) != 1 {
		b.t.Fatalf("there are jobs %v, %v", jobs, err)
	}
	if !succeeded(b.follow(jobs.Jobs[0].Job)) {
		b.t.Error("a job beside them did not succeed")
	}
	all.Wait()
	if count[http.StatusInternalServerError] == 0 {
		b.t.Errorf("they were told %v", count)
	}
}

// slowBodies opens connections whose requests never end. It returns a function that waits until the
// manager has ended all, with a refusal or none.
func slowBodies(t *testing.T, address string, n int) (ended func()) {
	t.Helper()
	var conns []net.Conn
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "POST /scheduler?setSpending="+asked+"&queue=myqueue HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx"); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	return func() {
		for _, c := range conns {
			if err := c.SetReadDeadline(time.Now().Add(waitMax)); err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(c); err != nil && !errors.Is(err, net.ErrClosed) && os.IsTimeout(err) || bytes.Contains(text, []byte(" 200 ")) {
				t.Errorf("a request that never ends is told %q, %v", text, err)
			}
		}
	}
}
