package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hamadryad/hamadryad/internal/secretfile"
)

// fileBytesMax bounds each file: it is read while a connection waits.
const fileBytesMax = 1 << 20

// Files are the paths of a process's certificates and key.
type Files struct {
	CA          string // the trusted CA: one certificate, or several while the CA is being replaced
	Certificate string // the process's own
	Key         string // of Certificate; nobody else may read it
}

// Filled fills in empty paths by that of the certificate: ca.pem in its folder, and the key with
// its name and the ending .key.
func (f Files) Filled() Files {
	if f.Certificate == "" {
		return f
	}
	if f.CA == "" {
		f.CA = filepath.Join(filepath.Dir(f.Certificate), FileCA)
	}
	if f.Key == "" {
		f.Key = strings.TrimSuffix(f.Certificate, filepath.Ext(f.Certificate)) + ".key"
	}
	return f
}

// readFile reads a whole file. It refuses a secret that others may read, since it is no secret any
// more. It refuses a file that anybody may write, since anybody could choose whom to trust.
func readFile(path string, secret bool) ([]byte, error) {
	if secret {
		text, err := secretfile.ReadFile(path, secretfile.Options{BytesMax: fileBytesMax})
		if err != nil {
			return nil, fmt.Errorf("the key in %s: %w; issue a new one if somebody may have read it", path, err)
		}
		return text, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("%s may be written by anybody (mode %04o): look at what it holds, and chmod 644 %s", path, info.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err == nil && len(text) > fileBytesMax {
		err = fmt.Errorf("%s has more than %d bytes: it holds certificates, and nothing else", path, fileBytesMax)
	}
	return text, err
}

// errNoPEM is the error of a file that is cut off, empty or of another form.
var errNoPEM = errors.New("it is cut off or no PEM: copy it again, whole")

// parseCertificates reads all certificates of a PEM text. Nothing may follow the last one, so a
// half-written file is not taken for a shorter list.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for rest := text; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			if len(all) == 0 || strings.TrimSpace(string(rest)) != "" {
				return nil, errNoPEM
			}
			return all, nil
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it holds a %.40q, and certificates alone may be in it", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("it holds no certificate that can be read (%w): copy it again", err)
		}
		all = append(all, c)
	}
}

func parseKey(path string, text []byte) (crypto.Signer, error) {
	block, rest := pem.Decode(text)
	if block == nil || strings.TrimSpace(string(rest)) != "" {
		return nil, fmt.Errorf("%s holds no key: %w", path, errNoPEM)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s holds no key that can be read: make it with \"hamadryad ca issue\"", path)
	}
	signer, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a key of another kind than ECDSA: make it with \"hamadryad ca issue\"", path)
	}
	return signer, nil
}
