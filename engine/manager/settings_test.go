package manager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/configedit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// configured gives a testbed a configuration's file: a text is the name of a policy, one of
// plug-ins, and perhaps a word of settings for it.
func configured(b *testbed, plugins map[string]string, text string) {
	b.t.Helper()
	b.cfg.File = filepath.Join(b.t.TempDir(), "site.yaml")
	base := b.cfg.Policy
	b.cfg.Reads = func(text []byte) (Update, error) {
		name, word, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		path, known := plugins[name]
		if !known {
			return Update{}, fmt.Errorf("%s:1: there is no policy %q: name another", b.cfg.File, name)
		}
		p := base
		p.Name, p.Path, p.Config = name, path, scheduler.Config{File: b.cfg.File, Line: 1, Text: []byte(word)}
		shown := policyhost.Shown{{Key: "policy.name", Value: name, From: b.cfg.File + ":1"}, {Key: "manager.lease", Value: "10s", From: "HAMADRYAD_MANAGER_LEASE"}}
		p.Shown = shown
		return Update{Text: text, Core: b.cfg.Core, Policy: p, Shown: shown}, nil
	}
	u, err := b.cfg.Reads([]byte(text))
	if err == nil {
		err = os.WriteFile(b.cfg.File, []byte(text), 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.cfg.Text, b.cfg.Policy, b.cfg.Shown = u.Text, u.Policy, u.Shown
}

// answered is a response of the REST interface.
type answered struct {
	*testing.T
	code int
	tag  string
	text []byte
}

// into reads the answer; want is its code.
func (a answered) into(want int, v any) answered {
	a.Helper()
	if a.code != want {
		a.Fatalf("%d, not %d: %s", a.code, want, a.text)
	}
	if v != nil {
		if err := json.Unmarshal(a.text, v); err != nil {
			a.Fatalf("%v: %s", err, a.text)
		}
	}
	return a
}

func (b *testbed) rest(method, path string, body any, ifMatch string) answered {
	b.t.Helper()
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // of strings
	}
	q, err := http.NewRequestWithContext(b.ctx(), method, "http://"+b.http+rest.Root+path, bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if ifMatch != "" {
		q.Header.Set("If-Match", ifMatch)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answered{b.t.(*testing.T), answer.StatusCode, answer.Header.Get("ETag"), text}
}

type text struct {
	Text string `json:"text"`
}

// The policy is changed over REST while a job runs, which loses no attempt, and back again. What is
// wrong changes nothing. After a restart version numbers go on; a job knows which it came under.
func TestSettingsOverREST(t *testing.T) {
	b := newTestbed(t)
	configured(b, map[string]string{"fifo": b.cfg.Policy.Path, "good": plugintest.Plugin(t, plugintest.Good)}, "fifo\n")
	b.start()
	b.policyWhen("it runs", isRunning)
	l := b.launcher("a", 1, true)
	job := b.submit(3)
	held := l.next()

	var now restapi.Settings
	tag := b.rest("GET", "/settings", nil, "").into(200, &now).tag
	if tag != `"`+configedit.Tag([]byte("fifo\n"))+`"` || *now.Text != "fifo\n" || now.Version != 1 || now.ReadOnly != nil || now.Settings[0].Key != "manager.lease" || !now.Settings[0].Fixed || !now.Settings[0].Restart {
		t.Fatalf("%s %+v", tag, now)
	}
	var wrong restapi.SettingsVerdict
	b.rest("POST", "/settings/check", text{"fare"}, "").into(200, &wrong)
	if want := (restapi.SettingsProblem{File: b.cfg.File, Line: 1, Text: `there is no policy "fare": name another`}); len(wrong.Problems) != 1 || wrong.Problems[0] != want {
		t.Errorf("%+v", wrong)
	}
	b.rest("POST", "/settings/check", text{"good invalid"}, "").into(200, &wrong)
	if len(wrong.Problems) != 1 || wrong.Problems[0].Line != 3 || wrong.Problems[0].Text != "invalid on purpose" {
		t.Errorf("the policy says %+v", wrong)
	}
	b.rest("POST", "/settings/check", text{"good right\n"}, "").into(200, &wrong)
	var d restapi.SettingsDiff
	b.rest("POST", "/settings/diff", text{"good right\n"}, "").into(200, &d)
	if len(wrong.Problems) != 0 || len(d.Lines) != 2 || len(d.Keys) != 1 || d.Keys[0].Before != "fifo" || d.Keys[0].After != "good" || d.Keys[0].Restart {
		t.Errorf("%+v %+v", wrong, d)
	}

	b.rest("PUT", "/settings", text{"good right\n"}, "").into(400, nil)
	b.rest("PUT", "/settings", text{"good right\n"}, `"`+configedit.Tag([]byte("old"))+`"`).into(412, nil)
	b.rest("PUT", "/settings", text{"good invalid\n"}, tag).into(400, nil)
	if kept, err := os.ReadFile(b.cfg.File); err != nil || string(kept) != "fifo\n" {
		t.Fatalf("%q, %v", kept, err)
	}
	var v restapi.SettingsVersion
	first := tag
	tag = b.rest("PUT", "/settings", struct {
		text
		Comment string `json:"comment"`
	}{text{"good right\n"}, "a try"}, tag).into(200, &v).tag
	if kept, err := os.ReadFile(b.cfg.File); err != nil || string(kept) != "good right\n" || v.Version != 2 || *v.Comment != "a try" || v.Origin != configedit.Applied {
		t.Fatalf("%q, %v: %+v", kept, err, v)
	}
	b.policyWhen("the other decides", func(r *wire.PolicyReply) bool {
		return r.Policy == "good" && r.State == policyhost.Running && len(r.Problems) == 0
	})
	later := b.submit(1)
	for left := 3; ; left-- {
		if err := l.finish(held); err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			break
		}
		held = l.next()
	}
	if !succeeded(b.follow(job)) || !succeeded(b.follow(later)) || !b.says(`hamadryad_attempts_total{outcome="finished"} 4`) || b.says(`hamadryad_attempts_total{outcome="lost"} 1`) {
		t.Error("a job lost something")
	}
	b.rest("POST", "/settings/versions/1/rollback", nil, first).into(412, nil)
	b.rest("POST", "/settings/versions/9/rollback", nil, tag).into(404, nil)
	b.rest("POST", "/settings/versions/1/rollback", nil, tag).into(200, &v)
	b.policyWhen("the first decides again", func(r *wire.PolicyReply) bool { return r.Policy == "fifo" && r.State == policyhost.Running })
	if v.Version != 3 || v.Origin != "rolled back to 1" {
		t.Errorf("%+v", v)
	}

	b.stop()
	b.start()
	b.rest("GET", "/settings", nil, "").into(200, &now)
	var list restapi.SettingsVersionList
	b.rest("GET", "/settings/versions", nil, "").into(200, &list)
	b.rest("GET", "/settings/versions/2", nil, "").into(200, &v)
	if now.Version != 3 || list.Total != 3 || list.Versions[0].Version != 3 || *v.Text != "good right\n" {
		t.Errorf("after the restart it is version %d of %+v; %+v", now.Version, list, v)
	}
	b.launcher("a", 2, false)
	third := b.submit(1)
	if !succeeded(b.follow(third)) {
		t.Error("the third job did not succeed")
	}
	b.stop()
	for id, want := range map[uint64]uint64{job: 1, later: 2, third: 3} {
		if got := b.cameUnder(id); got != want {
			t.Errorf("job %d came under version %d, not %d", id, got, want)
		}
	}
}

// cameUnder is the version of the configuration that history has of a job, when no manager runs.
func (b *testbed) cameUnder(job uint64) uint64 {
	b.t.Helper()
	h, err := history.Open(history.Options{Folder: filepath.Join(b.cfg.Data, "history"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.t.Fatal(err)
	}
	defer h.Close()
	r, err := h.Open(b.ctx(), scheduler.JobID(job))
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Close()
	c, err := r.Course()
	if err != nil {
		b.t.Fatal(err)
	}
	return c.Settings
}

// A change by hand that the policy takes becomes a version, one that it refuses none; and what was
// handed over before the file changed again does nothing.
func TestSettingsByHand(t *testing.T) {
	b := newTestbed(t)
	configured(b, map[string]string{"fifo": b.cfg.Policy.Path}, "fifo\n")
	updates := make(chan Update)
	b.cfg.Updates = updates
	b.start()
	b.policyWhen("it runs", isRunning)
	write := func(file string) {
		if err := os.WriteFile(b.cfg.File, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hand := func(text string) {
		u, err := b.cfg.Reads([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		updates <- u
	}
	write("fifo nonsense: 1\n")
	hand("fifo nonsense: 1\n")
	b.policyWhen("it refuses", func(r *wire.PolicyReply) bool { return len(r.Problems) == 1 })
	write("fifo collect-after: 7s\n")
	hand("fifo collect-after: 8s\n")
	hand("fifo collect-after: 7s\n")
	eventually(t, "it is a version", func() bool {
		r, err := b.api.SettingsVersions(b.ctx(), &wire.VersionsRequest{})
		return err == nil && len(r.Versions) == 2 && r.Versions[0].Origin == configedit.ByHand && r.Versions[0].Tag == configedit.Tag([]byte("fifo collect-after: 7s\n"))
	})
	r := b.policyWhen("nothing is wrong", func(r *wire.PolicyReply) bool { return len(r.Problems) == 0 })
	if string(r.Settings.Text) != "collect-after: 7s" {
		t.Errorf("%v", r.Settings)
	}
}

// wholeConfigured has texts of the configuration with more than a policy's settings: one with "loose" has other
// roles, pools and limits than the first.
func wholeConfigured(t *testing.T) *ruled {
	b := newTestbed(t)
	configured(b, map[string]string{"fifo": b.cfg.Policy.Path}, "fifo\n")
	base := b.cfg.Reads
	b.cfg.Reads = func(text []byte) (Update, error) {
		of, loose := strings.CutSuffix(strings.TrimSpace(string(text)), " loose")
		u, err := base([]byte(of))
		if err != nil {
			return u, err
		}
		u.Text, u.Shown = text, append(policyhost.Shown{{Key: "core.jobsMax", Value: "9", From: "default"}}, u.Shown...)
		if loose {
			u.Core.Access = rules(t, "roles:\n  administrator: {users: [root]}\n  user: {groups: [staff]}\n  operator: {users: [bob]}\ngroups:\n  staff: [ann, bob]\ndefaultPool: lab\npools:\n  lab: {submit: {users: [ann]}}\n  closed: {submit: {users: [ann]}}\n")
			u.Core.JobsMax = 1
			u.Shown[0] = &wire.Setting{Key: "core.jobsMax", Value: "1", From: b.cfg.File + ":2"}
		}
		return u, nil
	}
	b.cfg.Shown = append(policyhost.Shown{{Key: "core.jobsMax", Value: "9", From: "default"}}, b.cfg.Shown...)
	return newRuledOn(t, b)
}

// loose says what of the other configuration is in force: bob kills as an operator, ann may use the closed
// pool, and no further job is taken. job is one of ann's that lives.
func (r *ruled) loose(job uint64) (roles, pools, limits, shown bool) {
	r.t.Helper()
	roles = r.who("bob").read(job) == nil
	pools = r.who("ann").move(job, "closed") == nil
	if pools {
		r.allowed(r.move(job, "lab"))
	}
	another, err := r.trySubmit()
	if limits = err != nil; !limits {
		r.allowed(r.kill(another))
	}
	s, err := r.who("root").api.Settings(r.ctx(), &wire.Empty{})
	r.allowed(err)
	shown = slices.ContainsFunc(s.Settings, func(x *wire.Setting) bool { return x.Key == "core.jobsMax" && x.Value == "1" })
	return roles, pools, limits, shown
}

// trySubmit submits a job of one bundle.
func (r *ruled) trySubmit() (uint64, error) {
	prepared, err := r.api.Prepare(r.ctx(), &wire.PrepareRequest{})
	if err != nil {
		return 0, err
	}
	_, err = r.api.Submit(r.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: &wire.JobSpec{
		Name: "job", Program: r.upload("program"), Plan: r.upload("plan"), Fingerprint: []byte("f"),
		Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 1, Slots: 1, Memory: 1}}},
	}})
	return prepared.Job, err
}

// A configuration takes effect as a whole when the policy accepts its settings, or not at all: by hand, over
// gRPC and over REST. The audit has a line of each, and while the file has what is not in force the
// manager says so.
func TestAChangeTakesEffectAsAWhole(t *testing.T) {
	const refused, accepted = "fifo nonsense: 1 loose\n", "fifo collect-after: 7s loose\n"
	change := map[string]func(r *ruled, text string) error{
		"by hand": func(r *ruled, text string) error {
			if err := os.WriteFile(r.cfg.File, []byte(text), 0o600); err != nil {
				return err
			}
			u, err := r.cfg.Reads([]byte(text))
			if err == nil {
				r.updates <- u
				eventually(r.t, "the audit has the change", func() bool { return r.changes()[0].After == configedit.Tag([]byte(text)) })
				if r.changes()[0].Result != audit.Done {
					err = errors.New(r.changes()[0].Why)
				}
			}
			return err
		},
		"gRPC": func(r *ruled, text string) error {
			_, err := r.who("root").api.ApplySettings(r.ctx(), &wire.ApplyRequest{Text: []byte(text), Tag: configedit.Tag([]byte("fifo\n"))})
			return err
		},
		"REST": func(r *ruled, text string) error {
			code, why := r.restAs("root", "PUT", "/settings", fmt.Sprintf(`{"text":%q}`, text), "If-Match", `"`+configedit.Tag([]byte("fifo\n"))+`"`)
			if code != http.StatusOK {
				return errors.New(why)
			}
			return nil
		},
	}
	for way, apply := range change {
		t.Run(way, func(t *testing.T) {
			r := wholeConfigured(t)
			r.who("root").policyWhen("it runs", isRunning)
			job := r.who("ann").submit(1)
			if err := apply(r, refused); err == nil || !strings.Contains(err.Error(), "nonsense") {
				t.Fatalf("got %v, want a refusal that names the setting", err)
			}
			if roles, pools, limits, shown := r.loose(job); roles || pools || limits || shown {
				t.Errorf("of a refused configuration are in force: roles %t, pools %t, limits %t, shown %t", roles, pools, limits, shown)
			}
			s, err := r.who("root").api.Settings(r.ctx(), &wire.Empty{})
			r.allowed(err)
			if wrong := way == "by hand"; (s.Problem != "") != wrong || r.fileWrong() != wrong || wrong && !strings.Contains(s.Problem, "nothing of the file is in force") {
				t.Errorf("got problem %q, metric %t", s.Problem, r.fileWrong())
			}
			if err := apply(r, accepted); err != nil {
				t.Fatal(err)
			}
			if roles, pools, limits, shown := r.loose(job); !roles || !pools || !limits || !shown {
				t.Errorf("of an accepted configuration are in force: roles %t, pools %t, limits %t, shown %t", roles, pools, limits, shown)
			}
			if s, err = r.who("root").api.Settings(r.ctx(), &wire.Empty{}); err != nil || s.Problem != "" || r.fileWrong() {
				t.Errorf("got problem %q, error %v, metric %t", s.Problem, err, r.fileWrong())
			}
			list := r.changes()
			if len(list) != 2 || list[0].After != configedit.Tag([]byte(accepted)) || list[0].Result != audit.Done || list[1].After != configedit.Tag([]byte(refused)) || list[1].Result != audit.Failed || list[0].Before == "" {
				t.Errorf("the audit has %+v", list)
			}
		})
	}
}

// changes are the lines of the audit about the configuration, the newest first, and at least one.
func (r *ruled) changes() (list []audit.Line) {
	for _, l := range r.audited() {
		if len(l.After) == len(configedit.Tag(nil)) {
			list = append(list, l)
		}
	}
	slices.Reverse(list)
	if len(list) == 0 {
		return []audit.Line{{}}
	}
	return list
}

// fileWrong is the value of the metric about the file.
func (r *ruled) fileWrong() bool {
	r.t.Helper()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: r.ca.Keys(auth.User, "root").Client(auth.Manager, ""), DisableKeepAlives: true}}
	answer, err := web.Get("https://" + r.http + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Contains(string(text), "hamadryad_config_wrong 1\n")
}

// After a restart the last configuration counts as a whole until the policy has accepted another, and when it
// refuses.
func TestAStartTakesEffectAsAWhole(t *testing.T) {
	r := wholeConfigured(t)
	r.who("root").policyWhen("it runs", isRunning)
	job := r.who("ann").submit(1)
	r.stop()
	last, err := r.cfg.Reads([]byte("fifo\n"))
	if err != nil {
		t.Fatal(err)
	}
	u, err := r.cfg.Reads([]byte("fifo nonsense: 1 loose\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Last = &last
	r.cfg.Text, r.cfg.Core, r.cfg.Policy, r.cfg.Shown = u.Text, u.Core, u.Policy, u.Shown
	if err := os.WriteFile(r.cfg.File, u.Text, 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.who("root").policyWhen("the last one runs", isRunning)
	if roles, pools, limits, shown := r.loose(job); roles || pools || limits || shown {
		t.Errorf("of a refused configuration are in force: roles %t, pools %t, limits %t, shown %t", roles, pools, limits, shown)
	}
	if !r.fileWrong() {
		t.Error("the metric does not say that the file is not in force")
	}
}

// A caller without the right to change the configuration neither sees its text nor has one checked,
// which would start programs; the audit has hashes of the changed values.
func TestWhoMayChangeSettings(t *testing.T) {
	b := newTestbed(t)
	configured(b, map[string]string{"fifo": b.cfg.Policy.Path}, "fifo\n")
	r := newRuledOn(t, b)
	old, other := configedit.Tag([]byte("fifo\n")), configedit.Tag([]byte("fifo \n"))
	for _, name := range []string{"ann", "olga", "nobody"} {
		for _, a := range [][2]string{{"PUT", "/settings"}, {"POST", "/settings/check"}, {"POST", "/settings/diff"}, {"POST", "/settings/versions/1/rollback"}, {"GET", "/settings/versions/1"}} {
			body := `{"text":"fifo \n"}`
			if a[0] == "GET" {
				body = ""
			}
			if code, _ := r.restAs(name, a[0], a[1], body, "If-Match", `"`+old+`"`); code != http.StatusForbidden {
				t.Errorf("%s %s as %s: %d", a[0], a[1], name, code)
			}
		}
	}
	s, err := r.who("olga").api.Settings(r.ctx(), &wire.Empty{})
	if err != nil || s.Text != nil || s.Tag != old {
		t.Errorf("olga sees %v, %v", s, err)
	}
	if s, err = r.who("root").api.Settings(r.ctx(), &wire.Empty{}); err != nil || string(s.Text) != "fifo\n" {
		t.Errorf("root sees %v, %v", s, err)
	}
	for code, tag := range map[int]string{http.StatusOK: old, http.StatusPreconditionFailed: configedit.Tag(nil)} {
		text := "fifo \n"
		if code != http.StatusOK {
			text = "fifo  \n"
		}
		if got, why := r.restAs("root", "PUT", "/settings", `{"text":"`+strings.TrimSuffix(text, "\n")+`\n"}`, "If-Match", `"`+tag+`"`); got != code {
			t.Errorf("%d %s", got, why)
		}
		said := r.audited()[len(r.audited())-1]
		if said.Who != "root" || said.After != configedit.Tag([]byte(text)) || (said.Before != old && said.Before != other) || (code == http.StatusOK) != (said.Result == audit.Done) {
			t.Errorf("%d: the audit says %+v", code, said)
		}
	}
	v, err := r.api.SettingsVersions(r.ctx(), &wire.VersionsRequest{})
	if err != nil || v.Versions[0].Who != "root" || v.Versions[0].Number != 2 {
		t.Errorf("%v, %v", v, err)
	}
	if code, _ := r.restAs("nobody", "GET", "/audit", ""); code != http.StatusForbidden {
		t.Errorf("who has no role reads the audit: %d", code)
	}
}
