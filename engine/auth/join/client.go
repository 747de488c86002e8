package join

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

const (
	// callMax bounds one call of the manager.
	callMax = 30 * time.Second
	// replyBytesMax bounds the manager's reply.
	replyBytesMax = 1 << 20
	// renewAgain is the wait after a renewal, or life / renewPart where that is shorter, but at least
	// renewLeast. renewLook is the longest wait between two looks at the clock, which may be set.
	renewAgain = time.Minute
	renewPart  = 20
	renewLeast = 100 * time.Millisecond
	renewLook  = time.Hour
)

// Join sends a token to the manager at an address. It writes what it gets into files: the key and
// certificate of the launcher that the token names, and the CA.
func Join(ctx context.Context, address string, t Token, files certs.Files) error {
	key, keyText, err := certs.NewKey()
	if err != nil {
		return err
	}
	got, err := ask(ctx, address, certs.Pinned(t.Pin), request{Launcher: t.Launcher, Secret: t.secret}, key)
	if err != nil {
		return fmt.Errorf("join with the token for launcher %s at %s: %w", t.Launcher, address, err)
	}
	if err := certs.WriteFiles(files, got.CA, got.Certificate, keyText); err != nil {
		return err
	}
	return atomicfile.Replace(mark(files), []byte(hashOf(t.secret)))
}

// Joined reports whether Join wrote files, with the same token.
func Joined(t Token, files certs.Files) bool {
	text, err := os.ReadFile(mark(files))
	return err == nil && string(text) == hashOf(t.secret)
}

// mark is the path of the hash of the token that the certificate was issued for.
func mark(files certs.Files) string { return files.Certificate + ".token" }

// Renew has the manager sign the launcher's key again, proven by the current certificate, and
// replaces that certificate.
func Renew(ctx context.Context, address string, keys *certs.Keys, files certs.Files) error {
	key, ok := keys.Signer()
	if !ok {
		return errors.New("the launcher's key can't sign")
	}
	got, err := ask(ctx, address, keys.Client(auth.Manager, ""), request{Launcher: keys.Identity().Name}, key)
	if err != nil {
		return err
	}
	if err := certs.Replace(files, got.Certificate); err != nil { // a renewal must not change who is trusted
		return err
	}
	keys.LookAgain()
	return nil
}

// Keep renews a launcher's certificate whenever a third of its life is left, until ctx ends. A
// failed renewal is logged and retried.
func Keep(ctx context.Context, address string, keys *certs.Keys, files certs.Files, log *slog.Logger) {
	for {
		wait := min(time.Until(due(keys)), renewLook)
		if wait <= 0 {
			if err := Renew(ctx, address, keys, files); err != nil && ctx.Err() == nil {
				log.Error("the launcher's certificate can't be renewed; it is tried again", "ends", keys.Ends(), "error", err)
			}
			wait = max(renewLeast, min(renewAgain, keys.Life()/renewPart))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// due is when a certificate must be renewed.
func due(keys *certs.Keys) time.Time {
	return keys.Ends().Add(-keys.Life() / 3)
}

// requestToSign is a certificate signing request for a key, as PEM.
func requestToSign(key crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

// ask sends a signing request for a key and returns the reply.
func ask(ctx context.Context, address string, config *tls.Config, q request, key crypto.Signer) (reply, error) {
	var got reply
	var err error
	if q.CSR, err = requestToSign(key); err != nil {
		return got, err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return got, err
	}
	ctx, cancel := context.WithTimeout(ctx, callMax)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+"/", bytes.NewReader(body))
	if err != nil {
		return got, err
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	answer, err := web.Do(r)
	if err != nil {
		return got, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, replyBytesMax))
	if err != nil {
		return got, err
	}
	if answer.StatusCode != http.StatusOK {
		return got, errors.New(strings.TrimSpace(string(text)))
	}
	return got, json.Unmarshal(text, &got)
}
