package client

import (
	"os"

	"github.com/hamadryad/hamadryad/engine/auth/kerberos"
)

// ServiceVariable is the environment variable that names the manager's Kerberos service, such as
// hamadryad/m1.example.com, for users who authenticate by their ticket cache.
const ServiceVariable = "HAMADRYAD_AUTH_SERVICE"

// Service is the service that the environment names; "": none.
func Service() string {
	if os.Getenv(ModeVariable) == "off" {
		return ""
	}
	return os.Getenv(ServiceVariable)
}

// negotiation authenticates the user by Kerberos, with a new token for each call: a token counts
// once. It is a proof.
type negotiation struct{ login *kerberos.Login }

func newNegotiation(service string) negotiation { return negotiation{kerberos.NewLogin(service)} }

// authorization implements proof.
func (n negotiation) authorization() (string, error) {
	c, err := n.login.Credential()
	return "Negotiate " + c, err
}
