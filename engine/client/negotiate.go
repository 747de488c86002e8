package client

import (
	"context"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
// once. It is a credentials.PerRPCCredentials.
type negotiation struct{ login *kerberos.Login }

func newNegotiation(service string) negotiation { return negotiation{kerberos.NewLogin(service)} }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (n negotiation) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	c, err := n.login.Credential()
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	return map[string]string{"authorization": "Negotiate " + c}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (negotiation) RequireTransportSecurity() bool { return true }
