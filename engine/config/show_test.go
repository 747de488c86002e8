package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type coreLike struct {
	Tries  int           `json:"tries"`
	After  time.Duration `json:"after"`
	Hidden string        `json:"hidden"`
	Limits struct{ Bytes int }
}

// Every key has its value and where it came from.
func TestSettingsSayWhereTheyWereSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yaml")
	text := "manager:\n  lease: 12s\nlauncher:\n  slots: {map: 2, default: 1}\n  dataPort: 16000\ncore:\n  tries: 7\npolicy:\n  settings:\n    a: 1\n    b: [2]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := CoreKeys(coreLike{})[:2]
	c, err := Load(Sources{File: file, CoreKeys: keys, Environ: []string{"HAMADRYAD_POLICY_NAME=fair", "HAMADRYAD_CORE_TRIES=8"}, Flags: map[string]string{"manager.data": "/d", "manager.lease": "13s"}})
	if err != nil {
		t.Fatal(err)
	}
	core := coreLike{After: 3 * time.Second}
	if err := c.DecodeCore(&core); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, s := range c.Settings(core, keys) {
		shown[s.Key] = s.Value + " from " + s.From
		if s.Over != "" {
			shown[s.Key] += " over " + s.Over
		}
	}
	for key, want := range map[string]string{
		"manager.lease":     "13s from flag over " + file + ":2",
		"manager.heartbeat": "500ms from default",
		"manager.data":      "/d from flag",
		"policy.name":       "fair from HAMADRYAD_POLICY_NAME",
		"policy.settings":   "a: 1\nb: [2] from " + file + ":9",
		"launcher.slots":    "default=1,map=2 from " + file + ":4",
		"launcher.dataPort": "16000 from " + file + ":5",
		"core.tries":        "8 from HAMADRYAD_CORE_TRIES over " + file + ":7",
		"core.after":        "3s from default",
		"core.hidden":       "",
		"policy.memory":     "0 from default",
	} {
		if shown[key] != want {
			t.Errorf("%s: %q; want %q", key, shown[key], want)
		}
	}
}

// The data folder is found in a file that can't be read otherwise, since the last accepted
// configuration is kept there.
func TestDataFolderOfAWrongFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yaml")
	for name, text := range map[string]string{
		"right":         "manager:\n  data: /there\n",
		"unknown key":   "nonsense: 1\nmanager: {data: /there, lisen: 1}\n",
		"wrong type":    "manager:\n  lease: [1, 2]\n  data: /there\npolicy: 7\n",
		"no YAML":       "manager:\n  data: /there\npolicy:\n  name: [\n",
		"cut in a word": "manager:\n  data: /there\npolicy:\n  name: \"fi",
		"tab":           "manager:\n  data: /there\n\tlease: 1s\n" + strings.Repeat("a: 1\n", 1000),
	} {
		for _, section := range []string{"manager", "launcher"} {
			its := strings.ReplaceAll(text, "manager", section)
			if err := os.WriteFile(file, []byte(its), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := DataFolder(Sources{File: file}, section); got != "/there" {
				t.Errorf("%s, %s: %q", section, name, got)
			}
		}
	}
	for want, s := range map[string]Sources{
		"/flag":                  {File: file, Flags: map[string]string{"manager.data": "/flag"}, Environ: []string{"HAMADRYAD_MANAGER_DATA=/env"}},
		"/env":                   {File: file, Environ: []string{"HAMADRYAD_MANAGER_DATA=/env"}},
		"hamadryad-data/manager": {File: file + "-gone"},
	} {
		if got := DataFolder(s, "manager"); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

// The kept texts of a configuration make the same one again, even if the files changed.
func TestTextsStandInForFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "site.yaml")
	for name, text := range map[string]string{"site.yaml": "policy:\n  files: [pools.xml]\n  settings: {a: 1}\n", "pools.xml": "<pools/>"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	again, err := Load(Sources{File: file, Texts: first.Texts})
	if err != nil || fmt.Sprintf("%+v", again.Policy) != fmt.Sprintf("%+v", first.Policy) {
		t.Errorf("%+v, error %v; want %+v", again, err, first.Policy)
	}
}
