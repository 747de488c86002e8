package manager

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/manager/audit"
	"github.com/hamadryad/hamadryad/engine/policy/policytest"
)

// newProved is a manager with rules whose policy has a gate, too.
func newProved(t *testing.T) *ruled {
	t.Helper()
	b := newTestbedWith(t, policytest.Plugin(t, policytest.Gated))
	b.cfg.Policy.Store = t.TempDir()
	r := newRuledOn(t, b)
	r.who("eve").policyWhen("it runs", isRunning)
	return r
}

// What the policy's gate wants proves the same user as the certificate does, or nobody.
func TestASignatureIsOfWhomTheCertificateIs(t *testing.T) {
	r := newProved(t)
	r.who("ann")
	_, err := r.signed("sesame bob")
	r.denied(err, `by certificate you are "ann", and what the policy wants proves "bob": use the key of the same user`)
	_, err = r.signed("sesame ann")
	r.allowed(err)
}

// What changes something through the policy's own pages is in the audit, with who did it and
// without what proved it; what only looks is not.
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
