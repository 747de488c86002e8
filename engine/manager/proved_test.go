package manager

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
)

// newProved returns a manager with rules whose policy has an authenticator.
func newProved(t *testing.T) *ruled {
	t.Helper()
	return newProvedWith(t, func(*Config) {})
}

// newProvedWith is newProved with another configuration.
func newProvedWith(t *testing.T, change func(*Config)) *ruled {
	t.Helper()
	b := newTestbedWith(t, plugintest.Plugin(t, plugintest.Gated))
	b.cfg.Policy.Store = t.TempDir()
	change(&b.cfg)
	r := newRuledOn(t, b)
	r.who("eve").policyWhen("it runs", isRunning)
	return r
}

// The policy's authenticator must prove the certificate's user, or the call is refused.
func TestASignatureIsOfWhomTheCertificateIs(t *testing.T) {
	r := newProved(t)
	r.who("ann")
	_, err := r.signed("sesame bob")
	r.denied(err, `by certificate you are "ann", and what the policy wants proves "bob": use the key of the same user`)
	_, err = r.signed("sesame ann")
	r.allowed(err)
}

// Changes through the policy's own pages are in the audit, with the user and without the proof;
// reads are not.
func TestChangesThroughAPageAreInTheAudit(t *testing.T) {
	r := newProved(t)
	before := len(r.audited())
	ask := func(name, query string) int {
		t.Helper()
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: r.ca.Keys(auth.User, name).Client(auth.Manager, ""), DisableKeepAlives: true}}
		q, err := http.NewRequestWithContext(r.ctx(), http.MethodGet, "https://"+r.http+"/scheduler?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "sesame "+name)
		answer, err := web.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if a, b, c := ask("ann", "price"), ask("ann", "set=1&secret=hush"), ask("eve", "set=2"); a != http.StatusOK || b != http.StatusOK || c != http.StatusForbidden {
		t.Errorf("a page: %d; a change: %d; a change by who may only look: %d", a, b, c)
	}
	lines := r.audited()[before:]
	if len(lines) != 2 {
		t.Fatalf("the audit has %+v", lines)
	}
	for i, want := range []audit.Line{
		{Who: "ann", Method: "GET", What: "GET /?set=1", Result: audit.Done},
		{Who: "eve", Method: "GET", What: "GET /?set=2", Result: audit.Refused},
	} {
		if l := lines[i]; l.Who != want.Who || l.Proof != auth.Certificate || l.Method != want.Method || !strings.HasSuffix(l.What, want.What) || l.Result != want.Result {
			t.Errorf("the audit has %+v, want %+v", l, want)
		}
	}
}

// A page of another site can have a browser look at any address, with the certificate that it shows by itself: so
// nothing is changed by that, unless the request is signed, which such a page can't have done.
func TestLookingAtThePolicysPagesChangesNothing(t *testing.T) {
	for _, x := range []struct {
		name, method, authorization, site string
		off                               bool
		want                              int
		why                               string
	}{
		{"a page of another site", http.MethodGet, "", "cross-site", false, http.StatusForbidden, "a page of another site asks for a change"},
		{"an address that was typed, or an old browser", http.MethodGet, "", "", false, http.StatusForbidden, "GET changes nothing, unless the request is signed"},
		{"the same by HEAD", http.MethodHead, "", "", false, http.StatusForbidden, "HEAD changes nothing, unless the request is signed"},
		{"a page of another site, signed", http.MethodGet, "sesame ann", "cross-site", false, http.StatusForbidden, "a page of another site asks for a change"},
		{"a program, signed", http.MethodGet, "sesame ann", "", false, http.StatusOK, ""},
		{"a form", http.MethodPost, "", "same-origin", false, http.StatusOK, ""},
		{"actions are off", http.MethodGet, "sesame ann", "", true, http.StatusForbidden, "manager.web.actions is off"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := newProvedWith(t, func(c *Config) { c.WebActionsOff = x.off })
			before := len(r.audited())
			web := &http.Client{Transport: &http.Transport{TLSClientConfig: r.ca.Keys(auth.User, "ann").Client(auth.Manager, ""), DisableKeepAlives: true}}
			q, err := http.NewRequestWithContext(r.ctx(), x.method, "https://"+r.http+"/scheduler?set=known", nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"Authorization": x.authorization, "Sec-Fetch-Site": x.site} {
				if value != "" {
					q.Header.Set(name, value)
				}
			}
			answer, err := web.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			lines := r.audited()[before:]
			result := map[int]string{http.StatusOK: audit.Done, http.StatusForbidden: audit.Refused}[x.want]
			if answer.StatusCode != x.want || len(lines) != 1 || lines[0].Who != "ann" || lines[0].Result != result || !strings.Contains(lines[0].Why, x.why) {
				t.Errorf("%s; the audit has %+v", answer.Status, lines)
			}
		})
	}
}
