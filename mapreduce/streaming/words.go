package streaming

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// program is a mapper, reducer or combiner: a command, or the name of one of the few supported
// Hadoop classes that need no Java.
type program struct {
	words []string // of a command
	class string   // of a class; "" with a command
}

func (p program) is(class string) bool { return p.class == class }

// The classes that are accepted in place of a command.
const (
	classIdentity  = "identity"
	classAggregate = "aggregate"
	classNone      = "NONE"
)

// classNames maps the names of these classes.
var classNames = map[string]string{
	"IdentityMapper":  classIdentity,
	"IdentityReducer": classIdentity,
	"org.apache.hadoop.mapred.lib.IdentityMapper":  classIdentity,
	"org.apache.hadoop.mapred.lib.IdentityReducer": classIdentity,
	"org.apache.hadoop.mapreduce.Mapper":           classIdentity,
	"org.apache.hadoop.mapreduce.Reducer":          classIdentity,
	"aggregate":                                    classAggregate,
	"NONE":                                         classNone,
}

// javaClass matches the name of a class in a package.
var javaClass = regexp.MustCompile(`^([a-z][a-z0-9_]*\.)+[A-Z][A-Za-z0-9_$]*$`)

// parseProgram reads the value of -mapper, -reducer or -combiner. classes are those that are
// accepted there.
func parseProgram(text string, classes ...string) (program, error) {
	text = strings.TrimSpace(text)
	class := classNames[text]
	switch {
	case class != "" && slices.Contains(classes, class):
		return program{class: class}, nil
	case class != "" || javaClass.MatchString(text):
		return program{}, fmt.Errorf("%s is no command, and there is no Java here: give a command", text)
	}
	words, err := splitWords(text)
	if err != nil {
		return program{}, err
	}
	if len(words) == 0 {
		return program{}, errors.New("the command is empty")
	}
	return program{words: words}, nil
}

// shellOnly are words that have a meaning only in a shell.
var shellOnly = []string{"|", "||", "&&", ";", "&", ">", ">>", "<", "2>", "2>&1"}

// splitWords splits a command as Hadoop streaming does, without a shell: at white space outside of
// quotes, single or double. Within quotes every character is literal. Unlike in Hadoop, quotes
// within a word do not end it, as in a shell.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune // 0 outside of quotes
	inWord, quoted := false, false
	end := func() error {
		if inWord && !quoted && slices.Contains(shellOnly, word.String()) {
			return fmt.Errorf("%q is for a shell, and commands run without one: write sh -c '...' round the command", word.String())
		}
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord, quoted = false, false
		return nil
	}
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord, quoted = r, true, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", r):
			if err := end(); err != nil {
				return nil, err
			}
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote (%c) has no end", quote)
	}
	return words, end()
}

// file is a local file that travels with the job.
type file struct {
	path string
	name string // in the command's folder
}

// parseFile reads PATH or PATH#NAME.
func parseFile(text string) (file, error) {
	path, name, renamed := strings.Cut(text, "#")
	path = strings.TrimPrefix(path, "file://")
	if strings.Contains(path, "://") {
		return file{}, fmt.Errorf("%s: only local files travel with a job: copy it here first, or let the command read it where it is", text)
	}
	if path == "" || renamed && (name == "" || name == ".." || strings.ContainsAny(name, "/\x00")) {
		return file{}, fmt.Errorf("%q: write PATH or PATH#NAME, where NAME is without a slash", text)
	}
	if !renamed {
		name = filepath.Base(path)
	}
	return file{path, name}, nil
}

// script prepares the job's files as Hadoop does and then executes the command: it links them under
// their names, and makes scripts executable. Its arguments are the number of links, pairs of target
// and link, the number of scripts, the scripts, and the command.
const script = `n=$1; shift; while [ $n -gt 0 ]; do ln -sf "./$1" "$2" || exit 126; shift 2; n=$((n-1)); done; ` +
	`n=$1; shift; while [ $n -gt 0 ]; do chmod u+x "$1" || exit 126; shift; n=$((n-1)); done; exec "$@"`

// command returns the command line to run, for a job with files.
func (p program) command(files []file) []string {
	words := slices.Clone(p.words)
	var links, scripts []string
	for _, f := range files {
		base := filepath.Base(f.path)
		if base != f.name {
			links = append(links, base, f.name)
		}
		// A file that travelled has moved: its path means the copy.
		if words[0] == f.name || words[0] == "./"+f.name || filepath.Clean(words[0]) == filepath.Clean(f.path) {
			words[0] = "./" + f.name
			scripts = []string{base}
		}
	}
	if links == nil && scripts == nil {
		return words
	}
	args := []string{"/bin/sh", "-c", script, "sh", fmt.Sprint(len(links) / 2)}
	args = append(append(args, links...), fmt.Sprint(len(scripts)))
	return append(append(args, scripts...), words...)
}
