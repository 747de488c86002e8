package shell

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
)

const (
	annKey  = "ann's own key"
	rootKey = "root's own key"
)

// door is an authenticator with a clock that a test moves.
type door struct {
	*Shell
	t      *testing.T
	folder string
	at     time.Time
}

func newDoor(t *testing.T) *door {
	d := &door{t: t, folder: t.TempDir(), at: time.UnixMilli(1238605061519)}
	d.list("ann user " + strings.ReplaceAll(annKey, " ", "_") + "\nbob user bobs_own_key\nroot admin " + strings.ReplaceAll(rootKey, " ", "_") + "\n")
	d.again()
	return d
}

func (d *door) list(text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.folder, aclName), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// again restarts the plug-in.
func (d *door) again() {
	d.t.Helper()
	d.Shell = New()
	d.now = func() time.Time { return d.at }
	if err := d.configure(scheduler.Config{}); err != nil {
		d.t.Fatal(err)
	}
	if err := d.begin(d.folder); err != nil {
		d.t.Fatal(err)
	}
}

func key(of string) string {
	return strings.ReplaceAll(map[string]string{"ann": annKey, "bob": "bobs_own_key", "root": rootKey}[of], " ", "_")
}

// signed is a request that a user signs now.
func (d *door) signed(user, query string, body ...byte) scheduler.Credentials {
	full, authorization := signature.Sign(query, body, user, d.at, key(user), signature.SHA256)
	return request(full, authorization, body...)
}

func request(query, authorization string, body ...byte) scheduler.Credentials {
	return scheduler.Credentials{
		Purpose: scheduler.PurposeRequest, Principal: scheduler.Principal{Proof: scheduler.Unproven}, Authorization: authorization,
		Request: scheduler.PageAsked{Method: "GET", Path: "/", Query: query, Body: body},
	}
}

// says returns the authenticator's verdict.
func (d *door) says(c scheduler.Credentials) string {
	p, err := d.Prove(d.t.Context(), c)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case p.Denied != nil:
		return fmt.Sprintf("%d %s", p.Denied.Status, p.Denied.Body)
	}
	what := "page"
	if p.Changes {
		what = "change"
	}
	return fmt.Sprintf("%s %q for %q, %s, by %s", what, p.Query, p.Principal.Name, p.Principal.Role, p.Principal.Proof)
}

func TestWhoIsLetIn(t *testing.T) {
	d := newDoor(t)
	accept := func(c scheduler.Credentials) scheduler.Credentials {
		c.Request.Accept = "application/json"
		return c
	}
	old, oldSign := signature.Sign("info", nil, "ann", d.at.Add(-5*time.Minute-time.Millisecond), key("ann"), signature.SHA256)
	future, futureSign := signature.Sign("info", nil, "ann", d.at.Add(5*time.Minute+time.Millisecond), key("ann"), signature.SHA256)
	edge, edgeSign := signature.Sign("info", nil, "ann", d.at.Add(-5*time.Minute), key("ann"), signature.SHA1)
	foreign, foreignSign := signature.Sign("info", nil, "ann", d.at, key("bob"), signature.SHA256)
	nobody, nobodySign := signature.Sign("info", nil, "nobody", d.at, "", signature.SHA256)
	good := d.signed("ann", "setSpending=2&queue=ann")
	for _, c := range []struct {
		name string
		of   scheduler.Credentials
		want string
	}{
		{"the price", request("price", ""), `page "price" for "", , by unproven`},
		{"nothing", request("", ""), `page "" for "", , by unproven`},
		{"her queue", d.signed("ann", "info"), `page "info" for "ann", user, by hmac-sha256`},
		{"her queue, by SHA-1 and an old clock", request(edge, edgeSign), `page "info" for "ann", user, by hmac-sha1`},
		{"a change", good, `change "setSpending=2&queue=ann" for "ann", user, by hmac-sha256`},
		{"the same again", good, "500 ACCESS DENIED: setSpending=2&queue=ann"},
		{"a form", d.signed("ann", "", []byte("setSpending=3")...), `change "" for "ann", user, by hmac-sha256`},
		{"a form that was changed", request(d.signed("ann", "x=").Request.Query, d.signed("ann", "x=").Authorization, 'y'), "500 ACCESS DENIED: x="},
		{"an admin's", d.signed("root", "addBudget=5&queue=ann"), `change "addBudget=5&queue=ann" for "root", admin, by hmac-sha256`},
		{"not an admin's", d.signed("ann", "addBudget=5&queue=ann"), "500 ACCESS DENIED: addBudget=5&queue=ann"},
		{"another's queue", d.signed("ann", "setSpending=5&queue=bob"), "500 ACCESS DENIED: setSpending=5&queue=bob"},
		{"unsigned", request("setSpending=5&queue=ann", ""), "500 ACCESS DENIED: setSpending=5&queue=ann"},
		{"unsigned, as JSON", accept(request("infos", "")), "401 {"},
		{"late", request(old, oldSign), "500 ACCESS DENIED: info"},
		{"early", request(future, futureSign), "500 ACCESS DENIED: info"},
		{"another's key", request(foreign, foreignSign), "500 ACCESS DENIED: info"},
		{"not in the list", request(nobody, nobodySign), "500 ACCESS DENIED: info"},
		{"cut", request(good.Request.Query[:len(good.Request.Query)-3], good.Authorization), "500 ACCESS DENIED"},
		{"another query", request("setSpending=9&"+good.Request.Query, good.Authorization), "500 ACCESS DENIED"},
		{"a second user", request(good.Request.Query+"&user=root&timestamp=1238605061519", good.Authorization), "500 ACCESS DENIED"},
		{"garbage", request("price", "garbage"), "500 ACCESS DENIED: price\n"},
		{"no such verb, from a stranger", request("drop=all", ""), "500 ACCESS DENIED: drop=all"},
		{"no such verb", d.signed("ann", "drop=all"), `page "drop=all" for "ann", user, by hmac-sha256`},
	} {
		if got := d.says(c.of); got != c.want && !strings.HasPrefix(got, c.want) || strings.HasPrefix(got, "error") {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// An accepted request is refused the second time, also by a restarted plug-in, for as long as its
// timestamp is valid. Others are accepted meanwhile.
func TestReplay(t *testing.T) {
	d := newDoor(t)
	c := d.signed("ann", "setSpending=1")
	if got := d.says(c); !strings.HasPrefix(got, "change") {
		t.Fatal(got)
	}
	for range 3 {
		for _, later := range []time.Duration{0, time.Minute, 4 * time.Minute, 5 * time.Minute, time.Hour} {
			d.at = time.UnixMilli(1238605061519).Add(later)
			d.again()
			if got := d.says(c); !strings.HasPrefix(got, "500") {
				t.Errorf("%v later: %s", later, got)
			}
		}
		d.at = time.UnixMilli(1238605061519)
	}
	d.at = d.at.Add(2 * time.Hour)
	if got := d.says(d.signed("ann", "setSpending=1")); !strings.HasPrefix(got, "change") {
		t.Error(got)
	}
}

// A last line that was cut off belongs to a request that was never let in. A file that is damaged
// otherwise opens nothing.
func TestAcceptedSignaturesAreDamaged(t *testing.T) {
	d := newDoor(t)
	c := d.signed("ann", "info")
	d.says(c)
	path := filepath.Join(d.folder, seenName)
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(string(text), "\n") {
		t.Fatal(err, string(text))
	}
	if err := os.WriteFile(path, append(text, text[:5]...), 0o600); err != nil {
		t.Fatal(err)
	}
	d.again()
	if got := d.says(c); !strings.HasPrefix(got, "500") {
		t.Error(got)
	}
	for from, wrong := range map[string]string{
		strings.Replace(string(text), "\n", "\nx\n", 1):                   "line 2",
		strings.Replace(string(text), seenVersion, "hamadryad-seen 2", 1): "use the program that wrote it",
		strings.Replace(string(text), seenVersion+"\n", "", 1):            "use the program that wrote it",
	} {
		if err := os.WriteFile(path, []byte(from), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openSeen(d.folder, d.at); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%v, want one with %q", err, wrong)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != from {
			t.Errorf("the file was changed: %q, %v", after, err)
		}
	}
}

// A user removed from the list has no access from then on, and an added one has. What was accepted
// stays accepted. Without a list no user has access.
func TestTheListChanges(t *testing.T) {
	d := newDoor(t)
	first := d.signed("ann", "info")
	d.says(first)
	d.list("bob user bobs_own_key\n")
	if got := d.says(d.signed("ann", "infos")); !strings.HasPrefix(got, "500") {
		t.Errorf("she was taken off: %s", got)
	}
	d.list("ann user " + key("ann") + "\n# bob is gone\n")
	if got := d.says(d.signed("bob", "info")); !strings.HasPrefix(got, "500") {
		t.Errorf("he was taken off: %s", got)
	}
	if got := d.says(first); !strings.HasPrefix(got, "500") {
		t.Errorf("used before: %s", got)
	}
	if got := d.says(d.signed("ann", "info=ann")); !strings.HasPrefix(got, "page") {
		t.Errorf("she is back: %s", got)
	}
	if err := os.Chmod(filepath.Join(d.folder, aclName), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := d.says(d.signed("ann", "info")); !strings.Contains(got, "can be read by others") {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(d.folder, aclName)); err != nil {
		t.Fatal(err)
	}
	if got := d.says(d.signed("ann", "info")); !strings.HasPrefix(got, "error: the list of keys") {
		t.Error(got)
	}
	if got := d.says(request("price", "")); !strings.HasPrefix(got, "page") {
		t.Errorf("the price is for everybody: %s", got)
	}
}

func TestLinesOfTheList(t *testing.T) {
	users, problems := parseKeys([]byte("# who\nann user 12345678\n\nbob boss 12345678\ncarol user short\ndave user\n" +
		"eve user 12345678\neve admin 87654321\neve user 12345678\n\xff user 12345678\nroot admin 12345678 "))
	if len(users) != 2 || users["ann"].role != "user" || users["root"].role != "admin" {
		t.Errorf("users %v", users)
	}
	if len(problems) != 6 || strings.Contains(fmt.Sprint(problems), "1234") {
		t.Errorf("problems %q", problems)
	}
}

// submit is a job with these properties, in turn name and value.
func submit(user, pool string, properties ...string) scheduler.Credentials {
	c := scheduler.Credentials{Purpose: scheduler.PurposeSubmit, Principal: scheduler.Principal{Name: user, Proof: scheduler.Unproven}, Pool: pool}
	for i := 0; i < len(properties); i += 2 {
		c.Properties = append(c.Properties, scheduler.Property{Name: properties[i], Value: properties[i+1]})
	}
	return c
}

func TestWhoMaySubmit(t *testing.T) {
	d := newDoor(t)
	stamp := fmt.Sprint(d.at.UnixMilli())
	sign := func(user string, h signature.Hash) string {
		_, authorization := signature.Sign("", nil, user, d.at, key(user), h)
		return authorization
	}
	const denied = "500 sign it"
	for _, c := range []struct {
		of   scheduler.Credentials
		want string
	}{
		{submit("ann", ""), denied},
		{submit("ann", "", scheduler.ProofTimestamp, stamp), denied},
		{submit("ann", "", scheduler.ProofTimestamp, "x", scheduler.ProofSignature, sign("ann", signature.SHA256)), denied},
		{submit("bob", "", scheduler.ProofTimestamp, stamp, scheduler.ProofSignature, sign("ann", signature.SHA256)), denied},
		{submit("", "", scheduler.ProofTimestamp, stamp, scheduler.ProofSignature, sign("ann", signature.SHA256)), denied},
		{submit("ann", "", scheduler.ProofTimestamp, stamp, scheduler.ProofSignature, sign("ann", signature.SHA256)), `page "" for "ann", user, by hmac-sha256`},
		{submit("ann", "", scheduler.ProofTimestamp, stamp, scheduler.ProofSignature, sign("ann", signature.SHA256)), "500 its signature was used before"},
		{submit("bob", "", scheduler.ProofTimestampHadoop, stamp, scheduler.ProofSignatureHadoop, sign("bob", signature.SHA1)), `page "" for "bob", user, by hmac-sha1`},
		{submit("ann", "bob", scheduler.ProofTimestamp, stamp, scheduler.ProofSignature, sign("ann", signature.SHA1)), `500 queue "bob" is not that of user "ann"`},
		{submit("ann", "bob", scheduler.ProofTimestamp, stamp, scheduler.ProofSignature, sign("bob", signature.SHA1)), denied},
	} {
		if got := d.says(c.of); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %s", c.of, got)
		}
	}
}

func TestSettingsOfTheGate(t *testing.T) {
	d := newDoor(t)
	proven := submit("ann", "")
	proven.Principal.Proof = "certificate"
	weak, weakSign := signature.Sign("info", nil, "ann", d.at.Add(-time.Minute), key("ann"), signature.SHA1)
	if got := d.says(proven); !strings.HasPrefix(got, "500") {
		t.Errorf("without the setting: %s", got)
	}
	if err := d.configure(scheduler.Config{Text: []byte("accept-proven: true\naccept-sha1: false\nskew: 1m\n")}); err != nil {
		t.Fatal(err)
	}
	if got := d.says(proven); got != `page "" for "ann", user, by certificate` {
		t.Error(got)
	}
	proven.Principal.Name = "nobody"
	if got := d.says(proven); !strings.HasPrefix(got, "500") {
		t.Errorf("proved, and not in the list: %s", got)
	}
	if got := d.says(request(weak, weakSign)); !strings.HasPrefix(got, "500") {
		t.Errorf("SHA-1: %s", got)
	}
	for _, wrong := range []string{"skew: 0s", "skew: 2h", "poll-interval: 1ms", "accept-sha1: maybe"} {
		if _, err := dynamicpriority.ParseShell(scheduler.Config{Text: []byte(wrong)}); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

func TestNotReady(t *testing.T) {
	s := New()
	if _, err := s.Prove(t.Context(), request("price", "")); err == nil {
		t.Error("an authenticator that has not begun lets somebody in")
	}
}

// However many knock, the log names one in a second and counts the others.
func TestTheLogIsNotFlooded(t *testing.T) {
	var log strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	d := newDoor(t)
	for range 100 {
		d.says(request("x&user="+strings.Repeat("y", 1<<10)+"&timestamp=1", "AAAA"))
	}
	d.at = d.at.Add(time.Second)
	d.says(d.signed("ann", "infos"))
	if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 2 || len(lines[0]) > 512 || !strings.Contains(lines[1], "user=ann") || !strings.Contains(lines[1], "others=99") {
		t.Errorf("the log has %q", lines)
	}
}

// Requests may arrive out of order, unless the site chooses the document's rule. Then a request
// older than an accepted one is refused, also after a restart.
func TestTimestampsRise(t *testing.T) {
	at := func(d *door, later time.Duration) string {
		query, authorization := signature.Sign("info", nil, "ann", d.at.Add(later), key("ann"), signature.SHA256)
		return d.says(request(query, authorization))[:4]
	}
	for _, rise := range []string{"true", "false"} {
		d := newDoor(t)
		start := func() {
			d.again()
			if err := d.configure(scheduler.Config{Text: []byte("timestamps-rise: " + rise)}); err != nil {
				t.Fatal(err)
			}
		}
		start()
		got := []string{at(d, 9*time.Second), at(d, 5*time.Second)}
		start()
		got = append(got, at(d, 8*time.Second), at(d, 10*time.Second))
		want := []string{"page", "page", "page", "page"}
		if rise == "true" {
			want = []string{"page", "500 ", "500 ", "page"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("timestamps-rise: %s: %q", rise, got)
		}
	}
}

// A list that is replaced counts from then on, although it looks the same from outside; of one that
// is half written the whole lines count.
func TestTheListIsReplaced(t *testing.T) {
	d := newDoor(t)
	d.list("ann user key_one_of_ann\n")
	path := filepath.Join(d.folder, aclName)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	at := d.at
	by := func(user, key string) string {
		at = at.Add(time.Millisecond)
		query, authorization := signature.Sign("info", nil, user, at, key, signature.SHA256)
		return d.says(request(query, authorization))[:4]
	}
	if got := by("ann", "key_one_of_ann"); got != "page" {
		t.Errorf("at first: %s", got)
	}
	if err := os.WriteFile(path+".new", []byte("ann user key_two_of_ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path+".new", old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if one, two := by("ann", "key_one_of_ann"), by("ann", "key_two_of_ann"); one != "500 " || two != "page" {
		t.Errorf("replaced: by the old key %s, by the new %s", one, two)
	}
	d.list("root admin key_of_root\nann user")
	if ann, root := by("ann", "key_two_of_ann"), by("root", "key_of_root"); ann != "500 " || root != "page" {
		t.Errorf("half written: ann %s, root %s", ann, root)
	}
}

// TestAnEmptiedList: the users of a list stay when its file is emptied, until there is a new list.
// A shell that starts with an empty list admits no user and says why.
func TestAnEmptiedList(t *testing.T) {
	for _, text := range []string{"", " \n\n", "# nobody\n"} {
		path := filepath.Join(t.TempDir(), aclName)
		list := func(text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list(text)
		k := &keys{path: path}
		if _, _, err := k.user("ann"); err == nil || !strings.Contains(err.Error(), "nobody in it") {
			t.Errorf("%q at the start: %v", text, err)
		}
		list("ann user key_of_ann\n")
		is := func(what, name string, want bool) {
			t.Helper()
			if _, there, err := k.user(name); err != nil || there != want {
				t.Errorf("%q, %s: user %s is there %t, %v", text, what, name, there, err)
			}
		}
		is("with a list", "ann", true)
		list(text)
		is("emptied", "ann", true)
		is("emptied", "bob", false)
		list("bob user key_of_bob\n")
		is("replaced", "ann", false)
		is("replaced", "bob", true)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, _, err := k.user("bob"); err == nil {
			t.Errorf("%q: a list that is not there lets somebody in", text)
		}
	}
}

// Two submissions of one user in the same millisecond have signatures of their own by their nonces.
// A refusal names the check that failed, to a caller whose signature is right.
func TestNonceAndReasons(t *testing.T) {
	d := newDoor(t)
	at := func(nonce string, when time.Time, h signature.Hash, shown string) string {
		_, authorization := signature.Sign(signature.Nonce(nonce), nil, "ann", when, key("ann"), h)
		return d.says(submit("ann", "", scheduler.ProofTimestamp, fmt.Sprint(when.UnixMilli()), scheduler.ProofNonce, shown, scheduler.ProofSignature, authorization))
	}
	const in = `page "" for "ann", user, by hmac-sha256`
	for _, c := range []struct {
		got, want string
	}{
		{at("one", d.at, signature.SHA256, "one"), in},
		{at("two", d.at, signature.SHA256, "two"), in},
		{at("two", d.at, signature.SHA256, "two"), "500 its signature was used before"},
		{at("three", d.at, signature.SHA256, "four"), "500 sign it with a key"},
		{at("five", d.at.Add(-24*time.Hour), signature.SHA256, "five"), "500 denied: the signature is of "},
	} {
		if !strings.HasPrefix(c.got, c.want) {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
