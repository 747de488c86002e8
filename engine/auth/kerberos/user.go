package kerberos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Realms are those whose principals are users here. Each realm is trusted to give a name to the
// same person as the other realms and the CA do.
type Realms []string

// User is the user of a principal, by its realm and the parts of its name. ann@REALM is ann, where
// REALM is one of these. Other principals are no user: neither ann of another realm, nor ann/admin,
// which has rights of its own.
func User(realms Realms, realm string, parts []string) (string, error) {
	principal := strings.Join(parts, "/") + "@" + realm
	if !slices.Contains(realms, realm) {
		return "", fmt.Errorf("%.300q is of a realm that is not in auth.kerberos.realms of the manager's configuration: its users are those of %s", principal, strings.Join(realms, ", "))
	}
	if len(parts) != 1 {
		return "", fmt.Errorf("%.300q is no user: one has a name of a single part, such as ann@%s", principal, realm)
	}
	if err := auth.CheckName(parts[0]); err != nil {
		return "", fmt.Errorf("%.300q is no user: its name: %w", principal, err)
	}
	if strings.Contains(parts[0], "@") {
		return "", fmt.Errorf("%.300q is no user: its name has an @", principal)
	}
	return parts[0], nil
}
