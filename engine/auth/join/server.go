package join

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/internal/connlimit"
	"github.com/hamadryad/hamadryad/internal/logsample"
)

const (
	// LifeDefault is the validity of the certificate of a launcher that joined. It is renewed when
	// a third of that is left.
	LifeDefault = 90 * 24 * time.Hour
	// requestBytesMax bounds the request of a caller without a certificate, and requestMax its
	// time. The caller of Serve bounds how many there may be at once.
	requestBytesMax = 16 << 10
	requestMax      = 10 * time.Second
)

// Server issues certificates to launchers.
type Server struct {
	Folder    string // of tokens
	Authority *certs.Authority
	Keys      *certs.Keys      // the manager's own
	Life      time.Duration    // 0: LifeDefault
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // gets a line for each certificate and each refusal

	once    sync.Once
	sampled *slog.Logger // Log, sampled: for lines of which strangers can cause any number
}

// log makes the sampled log once, also where several listeners are served at once.
func (s *Server) log() *slog.Logger {
	s.once.Do(func() { s.sampled = logsample.New(s.Log) })
	return s.sampled
}

// request is what a launcher sends, and reply what it gets.
type request struct {
	Launcher string `json:"launcher"`
	Secret   string `json:"secret,omitempty"` // none: the certificate of the connection proves the launcher
	CSR      []byte `json:"csr"`              // PEM
}

type reply struct {
	Certificate []byte `json:"certificate"` // PEM
	CA          []byte `json:"ca"`
}

// Serve answers at a listener until that is closed; it closes it. The table bounds connections and
// requests. No caller is proven here, so the table counts all by address.
func (s *Server) Serve(l net.Listener, table *connlimit.Table) error {
	tls := s.Keys.Door(auth.Launcher)
	certs.ShowCA(tls)
	web := &http.Server{
		Handler: table.Requests(s, connlimit.Asker{Principal: func(*http.Request) string { return "" }}), TLSConfig: tls, ReadHeaderTimeout: requestMax, ReadTimeout: requestMax, WriteTimeout: requestMax, IdleTimeout: requestMax,
		MaxHeaderBytes: requestBytesMax, ErrorLog: slog.NewLogLogger(s.log().Handler(), slog.LevelDebug),
	}
	table.Attach(web)
	return web.ServeTLS(table.Listen(l), "", "")
}

func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// ServeHTTP answers one request, to any path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q request
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestBytesMax))
	body.DisallowUnknownFields()
	if err := body.Decode(&q); err != nil || r.Method != http.MethodPost {
		http.Error(w, "this port is for launchers that join", http.StatusBadRequest)
		return
	}
	text, id, err := s.certify(r, q)
	if err != nil {
		s.log().Warn("a launcher gets no certificate", "from", r.RemoteAddr, "launcher", fmt.Sprintf("%.*q", auth.NameMax, q.Launcher), "error", err)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	s.log().Info("a launcher got a certificate", "from", r.RemoteAddr, "identity", id.String(), "renewal", q.Secret == "")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply{Certificate: text, CA: s.Authority.Text()}) // a launcher that is gone asks again
}

// certify signs a launcher's key if its token or its certificate is valid.
func (s *Server) certify(r *http.Request, q request) ([]byte, auth.Identity, error) {
	key, err := keyOf(q.CSR)
	if err != nil {
		return nil, auth.Identity{}, err
	}
	id, err := auth.NewIdentity(s.Authority.Cluster(), auth.Launcher, q.Launcher)
	if err != nil {
		return nil, id, err
	}
	if until, ok := s.Keys.Revoked().Until(id.Kind, id.Name); ok && s.now().Before(until) {
		return nil, id, fmt.Errorf("certificates of launcher %s are revoked until %s (auth.revoked of the manager): change that first", q.Launcher, until.Format(time.RFC3339))
	}
	if q.Secret != "" {
		err = redeem(s.Folder, q.Launcher, q.Secret, s.now())
	} else {
		err = renewable(r, id)
	}
	if err != nil {
		return nil, id, err
	}
	life := s.Life
	if life == 0 {
		life = LifeDefault
	}
	text, err := s.Authority.Issue(id, key, s.now(), life)
	return text, id, err
}

// renewable returns an error unless the connection's certificate is the one to renew.
func renewable(r *http.Request, id auth.Identity) error {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return errors.New("neither a token nor a certificate came: make a token with \"hamadryad token create\"")
	}
	if has, err := certs.PeerIdentity(*r.TLS); err != nil || has != id {
		return fmt.Errorf("the certificate of %s does not renew that of %s", has, id)
	}
	return nil
}

// keyOf takes the public key out of a signing request, whose sender has the private key.
func keyOf(csr []byte) (*ecdsa.PublicKey, error) {
	block, _ := pem.Decode(csr)
	if block == nil {
		return nil, errors.New("the request to sign is no PEM")
	}
	q, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = q.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("the request to sign: %w", err)
	}
	key, ok := q.PublicKey.(*ecdsa.PublicKey)
	if !ok {
		return nil, errors.New("the request to sign has a key of another kind than ECDSA")
	}
	return key, nil
}
