package hadoopsite

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// Files are read in this order; a later one wins.
var files = []string{"core-site.xml", "hdfs-site.xml"}

// Site is a configuration: raw values by name. Safe for concurrent use once it is filled.
type Site map[string]string

// Folder finds the configuration's folder as Hadoop's scripts do: HADOOP_CONF_DIR,
// or etc/hadoop or conf below HADOOP_HOME. It is "" where neither is set.
func Folder(getenv func(string) string) string {
	if folder := getenv("HADOOP_CONF_DIR"); folder != "" {
		return folder
	}
	home := getenv("HADOOP_HOME")
	if home == "" {
		return ""
	}
	for _, below := range []string{"etc/hadoop", "conf"} {
		if folder := filepath.Join(home, below); exists(folder) {
			return folder
		}
	}
	return filepath.Join(home, "etc/hadoop")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Load reads a folder. A folder without either file is an error: it is most likely the wrong one.
func Load(folder string) (Site, error) {
	s := Site{}
	found := false
	for _, name := range files {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = true
		properties, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		maps.Copy(s, properties)
	}
	if !found {
		return nil, fmt.Errorf("no %s in %s: set HADOOP_CONF_DIR to the folder of Hadoop's configuration", strings.Join(files, " or "), folder)
	}
	return s, nil
}

func parse(text []byte) (Site, error) {
	var sheet struct {
		XMLName    xml.Name `xml:"configuration"`
		Properties []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
		Include []struct {
			File string `xml:"href,attr"`
		} `xml:"include"`
	}
	if err := xml.Unmarshal(text, &sheet); err != nil {
		return nil, err
	}
	if len(sheet.Include) > 0 {
		return nil, fmt.Errorf("it includes %s, which is not understood here: put the properties into the file itself", sheet.Include[0].File)
	}
	s := Site{}
	for _, p := range sheet.Properties {
		s[strings.TrimSpace(p.Name)] = strings.TrimSpace(p.Value)
	}
	return s, nil
}

// expansionsMax bounds how deep variables name variables: MAX_SUBST of Hadoop's
// Configuration.
const expansionsMax = 20

// Get returns a value with its ${variables} filled in, or "". As in Hadoop's Configuration, a
// variable is another property, env.NAME is an environment variable (env.NAME:-default where it is
// not set), user.name and user.home are the system's. Unknown variables stay as written.
func (s Site) Get(name string) string {
	value := s[name]
	for range expansionsMax {
		start := strings.Index(value, "${")
		found := false
		for start >= 0 {
			end := strings.Index(value[start:], "}")
			if end < 0 {
				break
			}
			end += start
			if with, ok := s.variable(value[start+2 : end]); ok {
				value, found = value[:start]+with+value[end+1:], true
				break
			}
			next := strings.Index(value[end:], "${")
			if next < 0 {
				break
			}
			start = end + next
		}
		if !found {
			return value
		}
	}
	return value
}

func (s Site) variable(name string) (string, bool) {
	if name, ok := strings.CutPrefix(name, "env."); ok {
		for _, mark := range []string{":-", "-"} {
			if name, otherwise, ok := strings.Cut(name, mark); ok {
				if v := os.Getenv(name); v != "" {
					return v, true
				}
				return otherwise, true
			}
		}
		return os.LookupEnv(name)
	}
	if v, ok := s[name]; ok {
		return v, true
	}
	switch name {
	case "user.name":
		if u, err := user.Current(); err == nil {
			return u.Username, true
		}
	case "user.home":
		if home, err := os.UserHomeDir(); err == nil {
			return home, true
		}
	}
	return "", false
}

// True reports whether a value is "true".
func (s Site) True(name string) bool { return strings.EqualFold(s.Get(name), "true") }

// list returns the parts of a value with commas.
func (s Site) list(name string) []string {
	return strings.FieldsFunc(s.Get(name), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
}
