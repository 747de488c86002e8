package client

import (
	"context"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth/kerberos"
)

// ServiceVariable is the environment variable that names the manager's Kerberos service, such
// as hamadryad/m1.example.com, for users who prove themselves by their ticket cache.
const ServiceVariable = "HAMADRYAD_AUTH_SERVICE"

// Service is what the environment says of it; "": nothing.
func Service() string {
	if os.Getenv(ModeVariable) == "off" {
		return ""
	}
	return os.Getenv(ServiceVariable)
}

// negotiation proves the user by Kerberos, anew for each call: what it shows counts once. It is
// a credentials.PerRPCCredentials.
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
