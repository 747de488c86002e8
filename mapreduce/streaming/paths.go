package streaming

import (
	"errors"
	"fmt"
	"strings"
)

// fileSystem sets the file system of paths without a scheme.
func (s *settings) fileSystem(v string) error {
	scheme, rest, ok := strings.Cut(v, "://")
	switch {
	case v == "local" || strings.HasPrefix(v, "file:"):
		s.root = ""
	case !ok || scheme == "" || strings.Trim(rest, "/") == "":
		return errors.New("give the URL of a file system, such as hdfs://namenode:8020, or local")
	default:
		s.root = scheme + "://" + strings.TrimRight(rest, "/")
	}
	return nil
}

// resolve converts paths on the default file system to URLs. A relative path lies in the user's
// home folder there.
func (j *Job) resolve() (err error) {
	if j.settings.root == "" {
		return nil
	}
	for i := range j.inputs {
		if j.inputs[i], err = j.settings.on(j.inputs[i]); err != nil {
			return err
		}
	}
	j.output, err = j.settings.on(j.output)
	return err
}

func (s *settings) on(path string) (string, error) {
	switch {
	case strings.Contains(path, "://"):
		return path, nil
	case strings.HasPrefix(path, "/"):
		return s.root + path, nil
	case s.user == "":
		return "", fmt.Errorf("%s lies in a home folder on %s, and whose is not known: write the whole path, or set %s", path, s.root, nameUser)
	}
	return s.root + "/user/" + s.user + "/" + path, nil
}
