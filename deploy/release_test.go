package deploy

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// version is the version of the release that the tests build.
const version = "v1.2.0"

// made has make make something of the release in a folder of its own. It is compiled without the profile: with it, all
// packages would be compiled once more.
func made(t *testing.T, target string, more ...string) (out string) {
	t.Helper()
	out = t.TempDir()
	run(t, nil, "make", append([]string{"--no-print-directory", "-C", "..", target, "OUT=" + out, "VERSION=" + version, "PROFILE=off", "PLATFORMS=linux/" + runtime.GOARCH}, more...)...)
	return out
}

// The compiler can read the profile that releases are compiled with, and it has calls of ours.
func TestProfile(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	run(t, nil, "go", "tool", "preprofile", "-i", "release/cpu.pgo", "-o", calls)
	for _, name := range []string{"hamadryad/engine/core", "hamadryad/engine/launcher"} {
		if !strings.Contains(string(content(t, calls)), name) {
			t.Errorf("the profile has no call of %s: record it anew by \"make profile\"", name)
		}
	}
}

// A release has archives of static programs that know their version, a list of all that is in them, and checksums. The
// same programs make the same archive.
func TestRelease(t *testing.T) {
	out := made(t, "release")
	files, platform := filepath.Join(out, "release", "files"), "linux-"+runtime.GOARCH
	run(t, nil, "sh", "-c", "cd "+files+" && sha256sum --check --strict SHA256SUMS")
	name := "hamadryad-" + version + "-" + platform
	run(t, nil, "tar", "-xzf", filepath.Join(files, name+".tar.gz"), "-C", out)
	for _, file := range []string{"bin/hamadryad-isolate", "bin/hamadryad-laboratory", "man/hamadryad-simulate.1", "bin/hamadryad-policy-fair", "man/hamadryad-jobs.1", "systemd/hamadryad-manager.service", "docs/ACCESS.md", "README.md"} {
		if _, err := os.Stat(filepath.Join(out, name, file)); err != nil {
			t.Error("the archive lacks", err)
		}
	}
	if page := string(content(t, filepath.Join(out, name, "man", "hamadryad-simulate.1"))); !strings.Contains(page, "resample") {
		t.Error("the man page of \"hamadryad simulate\" does not have its flags")
	}
	program := filepath.Join(out, name, "bin", "hamadryad")
	if text := run(t, nil, program, "version", "-o", "json"); !strings.Contains(text, `"version": "`+version+`"`) {
		t.Errorf("the program says of itself: %s", text)
	}
	static(t, program)

	again := t.TempDir()
	epoch := run(t, nil, "git", "show", "-s", "--format=%ct")
	run(t, []string{"SOURCE_DATE_EPOCH=" + epoch}, "release/archive", version, platform, filepath.Join(out, "release", platform), filepath.Join(out, "release", "man"), again)
	if !bytes.Equal(content(t, filepath.Join(files, name+".tar.gz")), content(t, filepath.Join(again, name+".tar.gz"))) {
		t.Error("the same programs make two archives")
	}
	lists(t, content(t, filepath.Join(files, "hamadryad-"+version+".cdx.json")))
}

func content(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// static fails where a program needs a loader of libraries.
func static(t *testing.T, program string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s is not static", program)
		}
	}
}

// lists fails where the list of what is in a release lacks a module that its programs have.
func lists(t *testing.T, sbom []byte) {
	t.Helper()
	var list struct {
		BOMFormat  string
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(sbom, &list); err != nil || list.BOMFormat != "CycloneDX" {
		t.Fatalf("%q: %v", list.BOMFormat, err)
	}
	has := map[string]string{}
	for _, c := range list.Components {
		has[c.Name] = c.Version
	}
	for _, module := range []string{"google.golang.org/grpc", "github.com/spf13/cobra", "github.com/coreos/go-systemd/v22"} {
		if want := run(t, nil, "go", "list", "-m", "-f", "{{.Version}}", module); has[module] != want {
			t.Errorf("%s is %q in the list, and %s in the programs", module, has[module], want)
		}
	}
}

// An image has static programs alone, and runs a whole cluster with them as a user without rights.
func TestContainer(t *testing.T) {
	image := "localhost/hamadryad-test:" + filepath.Base(t.TempDir()) + run(t, nil, "sh", "-c", "echo $$")
	out := made(t, "container", "IMAGE="+image)
	static(t, filepath.Join(out, "container", "programs", "hamadryad"))
	container := run(t, nil, "buildah", "from", image)
	t.Cleanup(func() {
		run(t, nil, "buildah", "rm", container)
		run(t, nil, "buildah", "rmi", image)
	})
	hamadryad := "/usr/lib/hamadryad/hamadryad"
	inside := func(args ...string) string {
		return run(t, nil, "buildah", append([]string{"run", "--isolation", "chroot", "--user", "65532:65532", container, "--"}, args...)...)
	}
	if text := inside(hamadryad, "version"); !strings.Contains(text, "hamadryad "+version) {
		t.Errorf("the image says %s", text)
	}
	if text := inside(hamadryad, "local", "--launchers", "2", "--", hamadryad, "launchers"); strings.Count(text, " up ") != 2 {
		t.Errorf("a cluster in the image has the launchers\n%s", text)
	}
}
