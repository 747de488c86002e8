package client

import (
	"net/http"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// ForVariable is the environment variable that names the user in whose name a program calls. The
// manager's configuration (auth.impersonators) says which users may do so.
const ForVariable = "HAMADRYAD_FOR"

// actsFor is the user in whose name a client calls; "": its own user.
type actsFor string

// add adds it to the header of a call.
func (f actsFor) add(h http.Header) {
	if f != "" {
		h.Set(auth.ActsForKey, string(f))
	}
}
