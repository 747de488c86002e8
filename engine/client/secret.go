package client

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// readSecret reads a file with a secret, without the space round it. Nobody else may read the
// file.
func readSecret(path string, bytesMax int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others: chmod 600 %s", path, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, bytesMax+1))
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" || int64(len(text)) > bytesMax {
		return "", fmt.Errorf("%s is empty or has more than %d bytes: write the secret into it, and nothing else", path, bytesMax)
	}
	return secret, nil
}
