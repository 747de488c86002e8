package join

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
)

// FuzzStranger sends arbitrary requests to the port for joining launchers, without a certificate
// and without a token. No certificate is issued, and the tokens stay valid.
func FuzzStranger(f *testing.F) {
	ca := certstest.New(f)
	s := &Server{Folder: f.TempDir(), Authority: ca.Authority, Keys: ca.Keys(auth.Manager, "m"), Log: slog.New(slog.DiscardHandler)}
	if _, err := Create(s.Folder, ca.Authority, "l1", Addresses{}, TTLMax, time.Now()); err != nil {
		f.Fatal(err)
	}
	entry, err := os.ReadFile(filepath.Join(s.Folder, open, "l1"))
	if err != nil {
		f.Fatal(err)
	}
	key, _, err := certs.NewKey()
	if err != nil {
		f.Fatal(err)
	}
	csr, err := requestToSign(key)
	if err != nil {
		f.Fatal(err)
	}
	for _, q := range []string{`{"launcher":"l1","secret":"SECRET","csr":"CSR"}`, `{"launcher":"../l1","secret":"x"}`, `{"launcher":"l1"}`, `{}`, ``, `[`} {
		f.Add(http.MethodPost, bytes.ReplaceAll([]byte(q), []byte("CSR"), []byte(base64.StdEncoding.EncodeToString(csr))))
	}
	f.Fuzz(func(t *testing.T, method string, body []byte) {
		r, err := http.NewRequest(method, "https://10.0.0.1/", bytes.NewReader(body))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden && w.Code != http.StatusBadRequest {
			t.Errorf("it is answered %d: %s", w.Code, w.Body)
		}
		if after, err := os.ReadFile(filepath.Join(s.Folder, open, "l1")); err != nil || !bytes.Equal(after, entry) {
			t.Errorf("the token of l1 is %s (%v), before %s", after, err, entry)
		}
		if used, err := os.ReadDir(filepath.Join(s.Folder, used)); err != nil || len(used) != 0 {
			t.Errorf("%v (%v) were used", used, err)
		}
	})
}
