package client

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// BearerVariable is the environment variable that names the file with the bearer token, for users
// without a certificate. The issuer of the manager's auth.oidc signs the token.
const BearerVariable = "HAMADRYAD_AUTH_BEARER"

// Bearer is the token file that the environment names; "": none.
func Bearer() string {
	if os.Getenv(ModeVariable) == "off" {
		return ""
	}
	return os.Getenv(BearerVariable)
}

// bearerBytesMax bounds the file with a token; the manager takes a smaller one.
const bearerBytesMax = 32 << 10

// bearer is a file with a token. It is read for each call, so that a running program uses a renewed
// token. It is a proof.
type bearer string

func (b bearer) token() (string, error) {
	token, err := readSecret(string(b), bearerBytesMax)
	if err == nil && strings.ContainsAny(token, " \t\r\n,\"{") {
		err = errors.New("it holds more than one word: write the token into it, and nothing else of the issuer's answer")
	}
	if err != nil {
		return "", fmt.Errorf("the token to show the manager, in %s: %w", string(b), err)
	}
	return token, nil
}

// authorization implements proof.
func (b bearer) authorization() (string, error) {
	token, err := b.token()
	return "Bearer " + token, err
}
