package client

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
)

// Environment variables with a program's credentials. They correspond to the keys of the section
// auth. With the certificate alone, ca.pem and the key are looked for beside it. ModeVariable with
// the value off disables the others, as within "hamadryad local".
const (
	CertificateVariable = "HAMADRYAD_AUTH_CERTIFICATE"
	caVariable          = "HAMADRYAD_AUTH_CA"
	keyVariable         = "HAMADRYAD_AUTH_KEY"
	ModeVariable        = "HAMADRYAD_AUTH_MODE"
)

// Certificate is the user's certificate by the environment.
func Certificate() certs.Files {
	if os.Getenv(ModeVariable) == "off" {
		return certs.Files{}
	}
	return certs.Files{CA: os.Getenv(caVariable), Certificate: os.Getenv(CertificateVariable), Key: os.Getenv(keyVariable)}
}

// socketPrefix begins the address of a manager's Unix socket, such as unix:/run/hamadryad.sock:
// there the kernel identifies the caller.
const socketPrefix = "unix:"

// checkAddress returns the fault of an address that can never answer.
func checkAddress(address string) error {
	if strings.HasPrefix(address, socketPrefix) {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil && strings.Trim(port, "0123456789") == "" { // else it is the name of a port
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is no address of a manager: write HOST:PORT, such as %s, or %s/run/hamadryad.sock", address, LocalAddress, socketPrefix)
	}
	return nil
}

// proof authenticates the user in the header of each call. It is sent over encrypted connections
// alone, since whoever reads it can use it.
type proof interface {
	// authorization is the header's value. It is called for each call, from any goroutine.
	authorization() (string, error)
}

// shown is the credentials that a client shows the manager, and its demands on the manager.
type shown struct {
	connection *tls.Config // nil: the connection is not encrypted
	call       proof       // nil: the connection has all credentials
	user       string      // the certificate's user; "": only the manager knows it
}

// add adds the proof to the header of a call.
func (s shown) add(h http.Header) error {
	if s.call == nil {
		return nil
	}
	value, err := s.call.authorization()
	if err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	h.Set("Authorization", value)
	return nil
}

// shownTo makes it of the options, or of the environment for missing ones.
func shownTo(address string, o Options) (shown, error) {
	files, token, service := o.Auth, bearer(cmp.Or(o.Bearer, Bearer())), cmp.Or(o.Service, Service())
	if files == (certs.Files{}) {
		files = Certificate()
	}
	switch {
	case strings.HasPrefix(address, socketPrefix):
		return shown{}, nil
	case token != "" && files.Certificate != "":
		return shown{}, fmt.Errorf("a certificate (%s) and a token (%s) are both set, and the manager takes one proof of a user: leave out $%s and --certificate, or $%s and --bearer", files.Certificate, token, CertificateVariable, BearerVariable)
	case service != "" && (token != "" || files.Certificate != ""):
		return shown{}, fmt.Errorf("a Kerberos service (%s) is set beside a certificate or a token, and the manager takes one proof of a user: leave out $%s and --service, or the others", service, ServiceVariable)
	case service != "":
		return shownByCall(files.CA, newNegotiation(service))
	case token != "":
		if _, err := token.token(); err != nil {
			return shown{}, err
		}
		return shownByCall(files.CA, token)
	case files.Certificate == "":
		return shown{}, nil
	}
	keys, err := certs.Open(files, certs.Options{Kinds: []auth.Kind{auth.User}})
	if err != nil {
		return shown{}, fmt.Errorf("the certificate to show the manager: %w", err)
	}
	return shown{connection: keys.Client(auth.Manager, ""), user: keys.Identity().Name}, nil
}

// shownByCall sends the credentials of each call to a manager of the cluster's CA alone.
func shownByCall(ca string, call proof) (shown, error) {
	if ca == "" {
		return shown{}, fmt.Errorf("a token or ticket goes only to a manager whose certificate the cluster's CA signed: name the CA's file by --ca or $%s", caVariable)
	}
	keys, err := certs.Trust(ca, certs.Options{})
	if err != nil {
		return shown{}, fmt.Errorf("the CA that a manager must be of: %w", err)
	}
	return shown{connection: keys.Client(auth.Manager, ""), call: call}, nil
}
