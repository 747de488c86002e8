package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// kernelPackage names the package of Debian that depends on its newest kernel for machines
// such as this one.
const kernelPackage = "linux-image-cloud-amd64"

// fetched are the files that the machine takes from Debian's packages.
type fetched struct{ kernel, busybox string }

// fetch finds them in a folder. What is not there comes from Debian.
func fetch(folder string) (fetched, error) {
	f, err := find(folder)
	if err == nil {
		return f, nil
	}
	said, err := exec.Command("apt-cache", "depends", kernelPackage).Output()
	if err != nil {
		return f, fmt.Errorf("apt-cache depends %s: %w; this program takes kernel and busybox from Debian", kernelPackage, err)
	}
	image := regexp.MustCompile(`linux-image-\S+-cloud-amd64`).FindString(string(said))
	if image == "" {
		return f, fmt.Errorf("apt-cache knows no kernel of %s: run apt-get update", kernelPackage)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return f, err
	}
	if err := in(folder, "apt-get", "download", "-q", image, "busybox-static"); err != nil {
		return f, err
	}
	packages, err := filepath.Glob(filepath.Join(folder, "*.deb"))
	if err != nil {
		return f, err
	}
	for _, p := range packages {
		if err := in(folder, "dpkg", "-x", p, "."); err != nil {
			return f, err
		}
	}
	return find(folder)
}

// find looks for the unpacked files.
func find(folder string) (f fetched, err error) {
	for pattern, at := range map[string]*string{"boot/vmlinuz-*": &f.kernel, "bin/busybox": &f.busybox} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return f, err
		}
		if len(found) != 1 {
			return f, fmt.Errorf("%d files %s in %s: remove the folder and try again", len(found), pattern, folder)
		}
		*at = found[0]
	}
	return f, nil
}

// in runs a program in a folder.
func in(folder, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	return nil
}
