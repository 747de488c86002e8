package client

import (
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/internal/secretfile"
)

// readSecret reads a file with a secret, and trims white space. The file must be readable by its
// owner alone.
func readSecret(path string, bytesMax int64) (string, error) {
	text, err := secretfile.ReadFile(path, secretfile.Options{BytesMax: bytesMax})
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fmt.Errorf("%s is empty: write the secret into it, and nothing else", path)
	}
	return secret, nil
}
