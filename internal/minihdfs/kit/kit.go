package kit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pom = "pom.xml"
	// copyPlugin is Maven's plug-in that copies the jars.
	copyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
	// fetchTries and fetchPause bound the tries to fetch the jars with Maven.
	fetchTries = 3
	fetchPause = 5 * time.Second
	// lockEvery is how often a process that waits for another's fetch checks the lock.
	lockEvery = 100 * time.Millisecond
	// tailBytes of a program's output are shown when it fails.
	tailBytes = 4 << 10

	// Install names the remedy on a machine without Java or Maven.
	Install = "install a JDK from 11 to 21 and Maven (Debian: apt-get install default-jdk-headless maven)"
)

// Kit is jars and classes of our own for Java programs. Safe for concurrent use.
type Kit struct {
	folder string
	java   string
}

// Prepare returns the kit of that name. It makes the kit first when the user's cache folder lacks
// one of the same source. The source is a pom.xml, whose dependencies are fetched from the network,
// and .java files, which are compiled. Concurrent processes that prepare the same kit wait for the
// first. Progress goes to log. An error names what to install, where that is the remedy.
func Prepare(ctx context.Context, name string, source fs.FS, log io.Writer) (*Kit, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("a folder to keep jars in: %w; set HOME or XDG_CACHE_HOME", err)
	}
	java, err := tool("java")
	if err != nil {
		return nil, err
	}
	files, sum, err := read(source)
	if err != nil {
		return nil, err
	}
	k := &Kit{filepath.Join(cache, "hamadryad", name+"-"+sum), java}
	if _, err := os.Stat(k.folder); err == nil {
		return k, nil
	}
	if err := os.MkdirAll(filepath.Dir(k.folder), 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, k.folder+".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Stat(k.folder); err == nil {
		return k, nil // another process has made it meanwhile
	}
	return k, k.make(ctx, files, log)
}

// read returns a kit's sources by their names, and a short hash of them.
func read(source fs.FS) (map[string][]byte, string, error) {
	names, err := fs.Glob(source, "*.java")
	if err != nil {
		return nil, "", err
	}
	files, sum := map[string][]byte{}, sha256.New()
	for _, name := range append([]string{pom}, names...) {
		if files[name], err = fs.ReadFile(source, name); err != nil {
			return nil, "", err
		}
		sum.Write(files[name])
	}
	return files, fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// make fills a folder beside the kit's and renames it when it is complete.
func (k *Kit) make(ctx context.Context, files map[string][]byte, log io.Writer) error {
	fresh := k.folder + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	for _, d := range []string{"jars", "classes"} {
		if err := os.MkdirAll(filepath.Join(fresh, d), 0o755); err != nil {
			return err
		}
	}
	compile := []string{"-cp", "jars/*", "-d", "classes"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(fresh, name), files[name], 0o644); err != nil {
			return err
		}
		if name != pom {
			compile = append(compile, name)
		}
	}
	fmt.Fprintf(log, "fetching jars through Maven into %s\n", k.folder)
	if err := fetch(ctx, fresh, log); err != nil {
		return err
	}
	if err := run(ctx, fresh, "javac", compile...); err != nil {
		return err
	}
	return os.Rename(fresh, k.folder)
}

// fetch fetches the jars with Maven, and retries when the network fails.
func fetch(ctx context.Context, folder string, log io.Writer) error {
	for try := 1; ; try++ {
		err := run(ctx, folder, "mvn", "--batch-mode", "--quiet", copyPlugin, "-DincludeScope=runtime", "-DoutputDirectory=jars")
		if err == nil {
			return nil
		}
		if try == fetchTries || errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("fetching jars, try %d of %d: %w", try, fetchTries, err)
		}
		fmt.Fprintf(log, "%v\ntrying again in %v\n", err, fetchPause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(fetchPause):
		}
	}
}

// run runs a tool in a folder; its error contains the end of the output.
func run(ctx context.Context, folder, name string, args ...string) error {
	path, err := tool(name)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out[max(0, len(out)-tailBytes):])
	}
	return nil
}

// tool finds a program; Java's programs first in JAVA_HOME.
func tool(name string) (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if path, err := exec.LookPath(filepath.Join(home, "bin", name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("the program %s is needed: %w: %s", name, err, Install)
	}
	return path, nil
}

// lock takes a lock file, and waits for it until ctx ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("waiting for another process that holds %s: %w", path, ctx.Err()), f.Close())
		case <-time.After(lockEvery):
		}
	}
}

// Command is a Java program of the kit, not yet started: flags of Java, the class, its arguments.
// The folder ahead precedes the kit's in the class path.
func (k *Kit) Command(ctx context.Context, ahead string, args ...string) *exec.Cmd {
	path := filepath.Join(k.folder, "classes") + ":" + filepath.Join(k.folder, "jars", "*")
	if ahead != "" {
		path = ahead + ":" + path
	}
	all := append([]string{"-XX:+UseSerialGC", "-XX:-UsePerfData", "-cp", path}, args...)
	return exec.CommandContext(ctx, k.java, all...)
}
