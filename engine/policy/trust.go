package policy

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// usualEnvironment are the variables of the host that each plug-in gets: for finding programs,
// language, time zone, temporary files, and Go's own runtime. A plug-in gets no others of the
// host's variables, such as keys and passwords.
var usualEnvironment = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GOGC", "GOMAXPROCS", memoryLimitVariable, "GODEBUG", "GOTRACEBACK", "GOCOVERDIR",
}

// environment is a plug-in's environment: the usual and the named variables of the host, and
// go-plugin's own.
func environment(named, said []string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(usualEnvironment, name) || slices.Contains(named, name) {
			env = append(env, v)
		}
	}
	return append(env, said...)
}

// writeByOthers and writeByGroup are permissions to change a file, or the files in a folder.
const (
	writeByOthers = 0o002
	writeByGroup  = 0o020
)

// checkWriters refuses a program that users other than root could change or replace: the host, and
// so the plug-in, runs as root.
func checkWriters(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return err
	}
	folder := filepath.Dir(real)
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if err := checkWriter(at, info, at == real || at == folder); err != nil {
			return err
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// checkWriter checks the program, its folder or a folder above. For those above, root is trusted to
// know the owners of the folders on the way.
func checkWriter(path string, info fs.FileInfo, near bool) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !ok:
		return nil
	case near && st.Uid != 0:
		return fmt.Errorf("the plug-in would run as root, and %s belongs to user %d (mode %#o), who can change it: use chown root, or start the manager as another user", path, st.Uid, mode.Perm())
	case mode.IsDir() && mode&fs.ModeSticky != 0:
		return nil // only root can remove or rename root's files there
	case mode&writeByOthers != 0, near && mode&writeByGroup != 0 && st.Gid != 0:
		return fmt.Errorf("the plug-in would run as root, and others may change %s (mode %#o, group %d): use chmod go-w, or start the manager as another user", path, mode.Perm(), st.Gid)
	}
	return nil
}
