package client

import (
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
)

// Environment variables that say what a program proves its user with. They are those of the
// keys of the section auth. With the certificate alone, ca.pem and the key are looked for
// beside it. ModeVariable with the value off has the others mean nothing, as within
// "hamadryad local".
const (
	CertificateVariable = "HAMADRYAD_AUTH_CERTIFICATE"
	caVariable          = "HAMADRYAD_AUTH_CA"
	keyVariable         = "HAMADRYAD_AUTH_KEY"
	ModeVariable        = "HAMADRYAD_AUTH_MODE"
)

// Certificate is what the environment says of the user's certificate.
func Certificate() certs.Files {
	if os.Getenv(ModeVariable) == "off" {
		return certs.Files{}
	}
	return certs.Files{CA: os.Getenv(caVariable), Certificate: os.Getenv(CertificateVariable), Key: os.Getenv(keyVariable)}
}

// socketPrefix begins the address of a manager's Unix socket, such as
// unix:/run/hamadryad.sock: there the kernel says who comes.
const socketPrefix = "unix:"

func targetOf(address string) string {
	if strings.HasPrefix(address, socketPrefix) {
		return address
	}
	return "passthrough:///" + address
}

// credentialsOf are what is shown to the manager and asked of it, and the user's name that
// they prove.
func credentialsOf(address string, files certs.Files) (credentials.TransportCredentials, string, error) {
	if files == (certs.Files{}) {
		files = Certificate()
	}
	if files.Certificate == "" || strings.HasPrefix(address, socketPrefix) {
		return insecure.NewCredentials(), "", nil
	}
	keys, err := certs.Open(files, certs.Options{Kinds: []auth.Kind{auth.User}})
	if err != nil {
		return nil, "", fmt.Errorf("the certificate to show the manager: %w", err)
	}
	return credentials.NewTLS(keys.Client(auth.Manager, "")), keys.Identity().Name, nil
}
