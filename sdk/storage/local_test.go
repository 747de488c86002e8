package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary run again with a small file size limit: a stand-in
// for a full disk that needs no file system of its own.
func TestMain(m *testing.M) {
	if path := os.Getenv("STORAGE_TEST_FULL"); path != "" {
		os.Exit(writeTooMuch(path))
	}
	os.Exit(m.Run())
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestFileAppearsOnlyWithCommit(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	path := dir + "/a"
	f, err := Local{}.Create(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "hello")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before commit: %v", err)
	}
	if infos, err := (Local{}).List(ctx, dir); err != nil || len(infos) != 0 {
		t.Fatalf("half a file is listed: %v %v", infos, err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Fatalf("abort after commit: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "hello" {
		t.Fatalf("content %q", got)
	}
	if _, err := (Local{}).Create(ctx, path); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("create over a file: %v, want ErrExist", err)
	}
	dropped, err := Local{}.Create(ctx, dir+"/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := dropped.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("left behind: %v", got)
	}
}

func TestOneOfManyCreatorsWins(t *testing.T) {
	const creators = 16
	dir := t.TempDir()
	var wg sync.WaitGroup
	errs := make([]error, creators)
	for i := range creators {
		wg.Go(func() {
			f, err := Local{}.Create(context.Background(), dir+"/x")
			if err == nil {
				fmt.Fprint(f, i)
				err = f.Commit()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Fatalf("creators %d and %d both won", winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, fs.ErrExist):
			t.Errorf("creator %d: %v, want ErrExist", i, err)
		}
	}
	if got, _ := os.ReadFile(dir + "/x"); string(got) != fmt.Sprint(winner) {
		t.Errorf("content %q, winner %d", got, winner)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

func TestOpenRange(t *testing.T) {
	path, ctx := t.TempDir()+"/f", context.Background()
	write(t, path, "0123456789")
	for _, c := range []struct {
		offset, length int64
		want           string
		err            error
	}{
		{0, -1, "0123456789", nil},
		{3, 4, "3456", nil},
		{10, -1, "", nil},
		{10, 0, "", nil},
		{8, 5, "89", io.ErrUnexpectedEOF},
		{11, -1, "", io.ErrUnexpectedEOF},
	} {
		r, err := Local{}.Open(ctx, path, c.offset, c.length)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("range %d+%d: %q %v, want %q %v", c.offset, c.length, got, err, c.want, c.err)
		}
		r.Close()
	}
	if _, err := (Local{}).Open(ctx, filepath.Dir(path), 0, -1); err == nil {
		t.Error("a folder opened as a file")
	}
}

func TestFileThatShrinksWhileRead(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, strings.Repeat("x", 1000))
	r, err := Local{}.Open(context.Background(), path, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 500); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, want ErrUnexpectedEOF", err)
	}
}

func TestVersionChangesWithContent(t *testing.T) {
	path, ctx := t.TempDir()+"/f", context.Background()
	write(t, path, "one")
	before, err := Local{}.Stat(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	// Same size and time: only the inode differs.
	write(t, path+".new", "two")
	if err := os.Chtimes(path+".new", before.Changed, before.Changed); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if after, _ := (Local{}).Stat(ctx, path); after.Version == before.Version {
		t.Error("a replaced file has the version of the old one")
	}
}

func TestListFoldersAndPatterns(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	for _, name := range []string{"b/2", "b/1", "b/_logs/x", "b/.hidden", "a/z", "a/deep/er/y", "c.txt", "d.txt", "[x]"} {
		write(t, dir+"/"+name, name)
	}
	os.Symlink(dir+"/c.txt", dir+"/a/link")
	os.Symlink(dir, dir+"/a/.ring") // hidden, so not followed
	for pattern, want := range map[string]string{
		"":          "[x] a/deep/er/y a/link a/z b/1 b/2 c.txt d.txt",
		"/b":        "b/1 b/2",
		"/b/":       "b/1 b/2",
		"/*.txt":    "c.txt d.txt",
		"/[ab]/?":   "a/z b/1 b/2",
		"/*/_logs":  "b/_logs/x",
		"/*/_*":     "b/_logs/x",
		"/[x]":      "[x]",
		"/b/.h*":    "b/.hidden",
		"/?/deep/*": "a/deep/er/y",
	} {
		for _, scheme := range []string{"", "file://"} {
			infos, err := Local{}.List(ctx, scheme+dir+pattern)
			var got []string
			for _, i := range infos {
				got = append(got, strings.TrimPrefix(i.Path, scheme+dir+"/"))
			}
			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("%q: %v %v, want %s", pattern, got, err, want)
			}
		}
	}
	for _, pattern := range []string{"/none", "/*.none", "/none/*", "/c.txt/*"} {
		if _, err := (Local{}).List(ctx, dir+pattern); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v, want ErrNotExist", pattern, err)
		}
	}
	if _, err := (Local{}).List(ctx, dir+"/*[z"); err == nil {
		t.Error("a bad pattern is no error")
	}
	os.Symlink(dir+"/gone", dir+"/b/dangling")
	if _, err := (Local{}).List(ctx, dir); err == nil || !strings.Contains(err.Error(), "symbolic link to "+dir+"/gone") {
		t.Errorf("dangling link: %v", err)
	}
}

func TestRenameNeverReplaces(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	write(t, dir+"/from/x", "x")
	write(t, dir+"/file", "f")
	if err := (Local{}).Mkdir(ctx, dir+"/empty"); err != nil {
		t.Fatal(err)
	}
	if err := (Local{}).Mkdir(ctx, dir+"/empty"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("mkdir of what exists: %v", err)
	}
	if err := (Local{}).Rename(ctx, dir+"/from", dir+"/empty"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("folder over an empty folder: %v, want ErrExist", err)
	}
	if err := (Local{}).Rename(ctx, dir+"/from/x", dir+"/file"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("file over a file: %v, want ErrExist", err)
	}
	if err := (Local{}).Rename(ctx, dir+"/gone", dir+"/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rename of nothing: %v, want ErrNotExist", err)
	}
	if err := (Local{}).Rename(ctx, dir+"/from", dir+"/to"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(dir + "/to/x"); string(got) != "x" {
		t.Errorf("content %q", got)
	}
}

// TestRenameByLinks: the way of file systems that can't rename without replacing.
func TestRenameByLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a", "a")
	write(t, dir+"/b", "b")
	write(t, dir+"/folder/x", "x")
	for _, test := range []struct {
		from, to string
		want     error
	}{
		{"a", "b", fs.ErrExist},
		{"a", "folder", fs.ErrExist},
		{"folder", "a", fs.ErrExist},
		{"none", "c", fs.ErrNotExist},
		{"a", "c", nil},
		{"folder", "moved", nil},
	} {
		if err := linkNew(dir+"/"+test.from, dir+"/"+test.to); !errors.Is(err, test.want) || test.want == nil && err != nil {
			t.Errorf("%s to %s: %v, want %v", test.from, test.to, err, test.want)
		}
	}
	// Cut off between its two steps, it goes on where it was.
	if err := os.Link(dir+"/b", dir+"/d"); err != nil {
		t.Fatal(err)
	}
	if err := linkNew(dir+"/b", dir+"/d"); err != nil {
		t.Error(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"c", "d", "moved"}) {
		t.Errorf("there is %v", got)
	}
}

func TestDelete(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	write(t, dir+"/d/e/f", "x")
	for range 2 { // a missing file is no error
		if err := (Local{}).Delete(ctx, dir+"/d"); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if err := (Local{}).Delete(ctx, "/"); err == nil {
		t.Error("the root was deleted")
	}
}

func TestEndedContextStopsAll(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/f", "x")
	ctx, cancel := context.WithCancel(context.Background())
	f, err := Local{}.Create(ctx, dir+"/new")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Local{}.Open(ctx, dir+"/f", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, readErr := r.Read(make([]byte, 1))
	_, openErr := Local{}.Open(ctx, dir+"/f", 0, -1)
	_, listErr := Local{}.List(ctx, dir)
	_, statErr := Local{}.Stat(ctx, dir+"/f")
	_, createErr := Local{}.Create(ctx, dir+"/g")
	for i, err := range []error{
		readErr, openErr, listErr, statErr, createErr, f.Commit(),
		Local{}.Delete(ctx, dir+"/f"), Local{}.Mkdir(ctx, dir+"/m"), Local{}.Rename(ctx, dir+"/f", dir+"/h"),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	r.Close()
	if got := names(t, dir); !slices.Equal(got, []string{"f"}) {
		t.Errorf("folder holds %v", got)
	}
}

func TestForbiddenFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/secret/f", "x")
	if err := os.Chmod(dir+"/secret", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir+"/secret", 0o777) })
	done := make(chan error, 3)
	go func() {
		// The superuser may enter anything: this thread, which ends with its
		// goroutine, becomes somebody else for files.
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			unix.SetfsuidRetUid(65534)
		}
		ctx := context.Background()
		_, err := Local{}.List(ctx, dir)
		done <- err
		_, err = Local{}.Open(ctx, dir+"/secret/f", 0, -1)
		done <- err
		_, err = Local{}.Create(ctx, dir+"/secret/g")
		done <- err
	}()
	for range 3 {
		if err := <-done; !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%v, want ErrPermission that names the path", err)
		}
	}
}

func writeTooMuch(path string) int {
	limit := syscall.Rlimit{Cur: 4096, Max: 4096}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		return 2
	}
	f, err := Local{}.Create(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	_, err = f.Write(make([]byte, 10_000))
	fmt.Println("write:", err)
	fmt.Println("commit:", f.Commit())
	return 0
}

func TestDiskThatTakesNoMore(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORAGE_TEST_FULL="+dir+"/big")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if !strings.Contains(line, dir+"/big") || !strings.Contains(line, "ulimit") {
			t.Errorf("no path or no remedy in %q", line)
		}
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	if err := explain(unix.ENOSPC); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "free space") {
		t.Errorf("full disk: %v", err)
	}
}

func TestRegistry(t *testing.T) {
	for _, path := range []string{"a/b", "/a", "file:///a"} {
		if s, err := For(path); err != nil || s != (Local{}) {
			t.Errorf("%s: %v %v", path, s, err)
		}
	}
	_, err := For("tape://x/y")
	if err == nil || !strings.Contains(err.Error(), "tape://") || !strings.Contains(err.Error(), "import") {
		t.Errorf("unknown scheme: %v", err)
	}
	fast := Local{NoSync: true}
	Register("fast", fast)
	if s, err := For("fast://x"); err != nil || s != fast {
		t.Errorf("registered store: %v %v", s, err)
	}
	wd, _ := os.Getwd()
	for in, want := range map[string]string{"out/": wd + "/out", "file:///x/../y": "/y", "hdfs://h/a/": "hdfs://h/a"} {
		if got, err := Absolute(in); err != nil || got != want {
			t.Errorf("Absolute(%s) = %s %v, want %s", in, got, err, want)
		}
	}
}

// A link to nothing takes a name: nothing can be published there, and a job hears it before any work.
func TestLinkToNothingIsThere(t *testing.T) {
	link := filepath.Join(t.TempDir(), "out")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	_, err := Local{}.Stat(t.Context(), link)
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "symbolic link to nowhere") {
		t.Errorf("%v", err)
	}
}

// Links to folders are followed, by folder and by pattern; those that never end, pipes and
// sockets are errors with their names.
func TestListFollowsLinks(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	for _, name := range []string{"data/day/1", "data/day/deep/2", "in/3"} {
		write(t, dir+"/"+name, name)
	}
	os.Symlink("../data/day", dir+"/in/day")
	os.Symlink("day", dir+"/in/same")
	os.Mkdir(dir+"/_aside", 0o777)
	for pattern, want := range map[string]string{
		"/in":         "3 day/1 day/deep/2 same/1 same/deep/2",
		"/in/day":     "day/1 day/deep/2",
		"/in/**/[12]": "day/1 day/deep/2 same/1 same/deep/2",
		"/in/s*":      "same/1 same/deep/2",
	} {
		infos, err := Local{}.List(ctx, dir+pattern)
		var got []string
		for _, i := range infos {
			got = append(got, strings.TrimPrefix(i.Path, dir+"/in/"))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v %v, want %s", pattern, got, err, want)
		}
	}
	t.Chdir(dir)
	listen, err := net.Listen("unix", "_aside/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer listen.Close()
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"ring":   {func(path string) error { return os.Symlink("..", path) }, "which it lies in"},
		"far":    {func(path string) error { return os.Symlink(filepath.Dir(dir), path) }, "which it lies in"},
		"pipe":   {func(path string) error { return unix.Mkfifo(path, 0o666) }, "a named pipe"},
		"socket": {func(path string) error { return os.Rename("_aside/socket", path) }, "a socket"},
		"to":     {func(path string) error { return os.Symlink("/dev/null", path) }, "a device"},
	} {
		path := "data/day/deep/" + name
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []string{"in", dir + "/in"} {
			if _, err := (Local{}).List(ctx, pattern); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "/deep/"+name) {
				t.Errorf("%s in %s: %v", name, pattern, err)
			}
		}
		os.Remove(path)
	}
	if _, err := (Local{}).List(ctx, "in"); err != nil {
		t.Error(err)
	}
}

// Links that lead to one another make more and more paths: a bound ends it.
func TestListBoundsLinks(t *testing.T) {
	dir := t.TempDir()
	for i := range 16 {
		os.Mkdir(fmt.Sprintf("%s/%d", dir, i), 0o777)
		for _, name := range []string{"a", "b"} {
			os.Symlink(fmt.Sprintf("../%d", i+1), fmt.Sprintf("%s/%d/%s", dir, i, name))
		}
	}
	write(t, dir+"/16/file", "x")
	if _, err := (Local{}).List(t.Context(), dir+"/0"); err == nil || !strings.Contains(err.Error(), "more than 10000 folders") {
		t.Error(err)
	}
}
