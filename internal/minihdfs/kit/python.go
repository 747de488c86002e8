package kit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	// requirements names the file that pins packages of Python.
	requirements = "requirements.txt"
	// InstallPython names the remedy on a machine without Python, or without its venv.
	InstallPython = "install Python 3.10 or later with its modules venv and pip (Debian: apt-get install python3 python3-venv)"
)

// Python returns the Python of an environment with the packages that source's requirements.txt
// pins. It makes the environment first when the user's cache folder lacks it: pip fetches the
// packages from the network. Concurrent processes that want the same environment wait for the
// first. Progress goes to log. An error names what is missing.
func Python(ctx context.Context, name string, source fs.FS, log io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("a folder to keep Python's packages in: %w; set HOME or XDG_CACHE_HOME", err)
	}
	pins, err := fs.ReadFile(source, requirements)
	if err != nil {
		return "", err
	}
	system, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("the program python3 is needed: %w: %s", err, InstallPython)
	}
	folder := filepath.Join(cache, "hamadryad", fmt.Sprintf("%s-%x", name, sha256.Sum256(pins))[:len(name)+13])
	python := filepath.Join(folder, "bin", "python")
	if _, err := os.Stat(python); err == nil {
		return python, nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, folder+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(python); err == nil {
		return python, nil // another process has made it meanwhile
	}
	return python, environment(ctx, system, folder, pins, log)
}

// environment makes an environment beside its folder and renames it when it is complete.
func environment(ctx context.Context, system, folder string, pins []byte, log io.Writer) error {
	fresh := folder + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	fmt.Fprintf(log, "fetching Python's packages through pip into %s\n", folder)
	if out, err := exec.CommandContext(ctx, system, "-m", "venv", fresh).CombinedOutput(); err != nil {
		return fmt.Errorf("python3 -m venv: %w: %s\n%s", err, InstallPython, out[max(0, len(out)-tailBytes):])
	}
	list := filepath.Join(fresh, requirements)
	if err := os.WriteFile(list, pins, 0o644); err != nil {
		return err
	}
	pip := exec.CommandContext(ctx, filepath.Join(fresh, "bin", "python"), "-m", "pip", "install", "--no-cache-dir", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "-r", list)
	if out, err := pip.CombinedOutput(); err != nil {
		return fmt.Errorf("pip can't install these packages; the network, or the registry that pip is configured for, must have them: %w\n%s\n%s", err, pins, out[max(0, len(out)-tailBytes):])
	}
	return os.Rename(fresh, folder)
}
