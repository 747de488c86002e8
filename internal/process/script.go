package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// shellNotFound is the exit code of a shell that did not find a program or its interpreter.
	shellNotFound = 127
	// firstLineMax bounds what the kernel reads of a script's first line, in bytes.
	firstLineMax = 256
)

// scriptHint explains why a shell found no program, "" where it can't.
func (c *running) scriptHint(wait error) string {
	var ended *exec.ExitError
	if !errors.As(wait, &ended) || ended.ExitCode() != shellNotFound {
		return ""
	}
	return badScripts(c.cmd.Dir, c.spec.Args)
}

// badScripts looks among a command's words for a script in a folder that can't start. Its first
// line ends with a carriage return, or names an interpreter that this machine lacks. The kernel and
// shells report only that the script was not found.
func badScripts(folder string, args []string) string {
	for _, word := range strings.Fields(strings.Join(args, " ")) {
		word = strings.Trim(word, `"'`)
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, word)
		}
		if interpreter, crlf := shebang(path); crlf {
			return fmt.Sprintf("; the first line of %s ends with a carriage return, as Windows writes it, so no interpreter %q is found: take the carriage returns out (sed -i 's/\\r$//' %s)", word, interpreter+"\r", word)
		} else if interpreter != "" {
			if _, err := os.Stat(interpreter); errors.Is(err, os.ErrNotExist) {
				return fmt.Sprintf("; the first line of %s names the interpreter %s, which is not on this machine", word, interpreter)
			}
		}
	}
	return ""
}

// shebang returns the interpreter in a script's first line, "" for no script, and whether that line
// ends with a carriage return.
func shebang(path string) (interpreter string, crlf bool) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	head := make([]byte, firstLineMax)
	n, _ := f.Read(head)
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	rest, is := bytes.CutPrefix(line, []byte("#!"))
	if !is {
		return "", false
	}
	crlf = bytes.HasSuffix(rest, []byte("\r"))
	if words := strings.Fields(string(rest)); len(words) > 0 {
		return words[0], crlf
	}
	return "", crlf
}
