package mini

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed pom.xml
var pom []byte

//go:embed Hdfs.java
var source []byte

const (
	// copyPlugin is what Maven copies the jars with.
	copyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
	// fetchTries and fetchPause bound how often Maven is asked for the jars.
	fetchTries = 3
	fetchPause = 5 * time.Second
	// lockEvery is how often one that waits for another process's fetch looks again.
	lockEvery = 100 * time.Millisecond
	// tailBytes of a program's output are shown when it fails.
	tailBytes = 4 << 10

	install = "install a JDK from 11 to 21 and Maven (Debian: apt-get install default-jdk-headless maven)"
)

// Kit is what a small HDFS runs from: Hadoop's jars and our daemon's classes.
type Kit struct {
	folder string
	java   string
}

// Prepare returns the kit, and makes it first when this version of it is not yet in
// the user's cache folder: that takes 64 MB and, from the network, about a minute.
// Processes that prepare at the same time wait for the first. Progress goes to log.
func Prepare(ctx context.Context, log io.Writer) (*Kit, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("a folder to keep Hadoop's jars in: %w; set HOME or XDG_CACHE_HOME", err)
	}
	java, err := tool("java")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append(bytes.Clone(pom), source...))
	k := &Kit{filepath.Join(cache, "hamadryad", fmt.Sprintf("hdfs-%x", sum[:6])), java}
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
	return k, k.make(ctx, log)
}

// make fills a folder beside the kit's and renames it when it is whole.
func (k *Kit) make(ctx context.Context, log io.Writer) error {
	fresh := k.folder + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	for _, d := range []string{"jars", "classes/webapps/hdfs", "classes/webapps/datanode"} { // the daemons want these, though empty
		if err := os.MkdirAll(filepath.Join(fresh, d), 0o755); err != nil {
			return err
		}
	}
	for name, content := range map[string][]byte{"pom.xml": pom, "Hdfs.java": source} {
		if err := os.WriteFile(filepath.Join(fresh, name), content, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(log, "fetching Hadoop's jars through Maven into %s\n", k.folder)
	if err := fetch(ctx, fresh, log); err != nil {
		return err
	}
	if err := run(ctx, fresh, "javac", "-cp", "jars/*", "-d", "classes", "Hdfs.java"); err != nil {
		return err
	}
	return os.Rename(fresh, k.folder)
}

// fetch asks Maven for the jars, and again when the network hiccups.
func fetch(ctx context.Context, folder string, log io.Writer) error {
	for try := 1; ; try++ {
		err := run(ctx, folder, "mvn", "--batch-mode", "--quiet", copyPlugin, "-DincludeScope=runtime", "-DoutputDirectory=jars")
		if err == nil {
			return nil
		}
		if try == fetchTries || errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("fetching Hadoop's jars, try %d of %d: %w", try, fetchTries, err)
		}
		fmt.Fprintf(log, "%v\ntrying again in %v\n", err, fetchPause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(fetchPause):
		}
	}
}

// run runs a tool in a folder; its error has the end of the output.
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

// tool finds a program, those of Java in JAVA_HOME first.
func tool(name string) (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if path, err := exec.LookPath(filepath.Join(home, "bin", name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("a small HDFS needs %s: %w: %s", name, err, install)
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

// program is a Java program of the kit: further flags of Java, class and arguments.
func (k *Kit) program(ctx context.Context, conf, heap string, args ...string) *exec.Cmd {
	all := append([]string{
		"-XX:+UseSerialGC", "-XX:-UsePerfData", heap,
		"--add-opens=java.base/java.lang=ALL-UNNAMED", // WebHDFS's old XML library looks inside
		"-cp", k.classPath(conf),
	}, args...)
	return exec.CommandContext(ctx, k.java, all...)
}

// classPath puts a folder with configuration before the jars.
func (k *Kit) classPath(conf string) string {
	return conf + ":" + filepath.Join(k.folder, "classes") + ":" + filepath.Join(k.folder, "jars", "*")
}
