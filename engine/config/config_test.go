package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultsAreValid(t *testing.T) {
	c, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Manager.Listen != "127.0.0.1:7070" || c.Manager.Lease != 10*time.Second || c.Manager.EventLog.FileSize != 64<<20 ||
		!c.Manager.EventLog.Sync || c.Policy.Name != "fifo" || len(c.Launcher.Slots) != 0 {
		t.Fatalf("%+v", c)
	}
}

func TestEachSourceOverridesTheOneBefore(t *testing.T) {
	file := write(t, "h.yaml", "manager:\n  listen: 127.0.0.1:1\n  http: 127.0.0.1:2\n  data: /file\nlauncher:\n  slots: {map: 3}\n")
	c, err := Load(Sources{
		File:    file,
		Environ: []string{"HAMADRYAD_MANAGER_HTTP=127.0.0.1:3", "HAMADRYAD_MANAGER_DATA=/env", "HAMADRYAD_MANAGER=elsewhere:1", "HOME=/x", "HAMADRYAD_MANAGER_EVENTLOG_SYNC=false"},
		Flags:   map[string]string{"manager.data": "/flag"},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := c.Manager
	if m.Listen != "127.0.0.1:1" || m.HTTP != "127.0.0.1:3" || m.Data != "/flag" || m.EventLog.Sync || len(c.Launcher.Slots) != 1 || c.Launcher.Slots["map"] != 3 {
		t.Fatalf("%+v", c)
	}
}

// The credentials of commands in a user's shell do not replace those of a manager or launcher.
func TestADaemonsOwnIdentityWins(t *testing.T) {
	shell := []string{"HAMADRYAD_AUTH_MODE=tls", "HAMADRYAD_AUTH_CERTIFICATE=/ann.pem", "HAMADRYAD_AUTH_KEY=/ann.key", "HAMADRYAD_AUTH_CA=/ann-ca.pem"}
	for name, test := range map[string]struct {
		file      string
		flags     map[string]string
		want      Auth
		isManager string
	}{
		"its file":         {"auth: {mode: tls, certificate: /m1.pem}\n", nil, Auth{Mode: "tls", Certificate: "/m1.pem"}, "shell:1"},
		"off in its file":  {"auth: {mode: \"off\"}\n", nil, Auth{Mode: "off", Certificate: "/ann.pem", Key: "/ann.key", CA: "/ann-ca.pem"}, "shell:1"},
		"its token":        {"log: {level: info}\n", map[string]string{"auth.token": "T", "auth.join": "j:1", "auth.mode": "tls", "launcher.data": "/l"}, Auth{Mode: "tls", Certificate: "/l/certificates/launcher.pem"}, "shell:1"},
		"nothing":          {"log: {level: info}\n", nil, Auth{Mode: "tls", Certificate: "/ann.pem", Key: "/ann.key", CA: "/ann-ca.pem"}, "shell:1"},
		"the file's place": {"auth: {certificate: /l.pem}\nlauncher: {manager: \"file:1\"}\n", map[string]string{"auth.mode": "tls"}, Auth{Mode: "tls", Certificate: "/l.pem"}, "file:1"},
	} {
		c, err := Load(Sources{File: write(t, "h.yaml", test.file), Environ: shell, Flags: test.flags, Manager: "shell:1"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := Auth{Mode: c.Auth.Mode, Certificate: c.Auth.Certificate, Key: c.Auth.Key, CA: c.Auth.CA}
		if !reflect.DeepEqual(got, test.want) || c.Launcher.Manager != test.isManager {
			t.Errorf("%s: %+v of manager %s, want %+v of %s", name, got, c.Launcher.Manager, test.want, test.isManager)
		}
	}
}

func TestMistakesNamePlaceAndRemedy(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"unknown key", "manager:\n  data: /x\n  lisen: 1\n", `h.yaml:3: there is no manager.lisen; did you mean manager.listen?`},
		{"unknown section", "manger:\n  data: /x\n", `h.yaml:1: there is no manger; did you mean manager?`},
		{"key of a section set twice", "manager:\n  data: /x\n  data: /y\n", `h.yaml`},
		{"no mapping", "- a\n", `h.yaml:1: a configuration is made of sections`},
		{"two documents", "manager:\n  data: /x\n---\nmanager:\n  lease: 5s\n", `h.yaml:3: a second document begins here`},
		{"no YAML", "manager:\n\tdata: x\n", `h.yaml:2: this begins with a character that YAML keeps for itself: indent with spaces`},
		{"a section as a value", "manager: 3\n", `h.yaml:1: manager is a section`},
		{"a value as a section", "manager:\n  data: {a: 1}\n", `h.yaml:2: manager.data is a single value`},
		{"duration without unit", "manager:\n\n  lease: 30\n", `h.yaml:3: manager.lease: 30 is no duration`},
		{"size", "launcher:\n  memory: lots\n", `h.yaml:2: launcher.memory: "lots" is no size`},
		{"negative size", "launcher:\n  memory: -4\n", `h.yaml:2: launcher.memory: "-4" is no size`},
		{"address", "manager:\n  listen: nowhere\n", `h.yaml:2: manager.listen is "nowhere": an address is HOST:PORT`},
		{"lease longer than lost", "manager:\n  lease: 1h\n", `manager.launcherLostAfter is 20s: it must be more than lease`},
		{"fraction", "policy:\n  failuresMax: 1.5\n", `h.yaml:2: policy.failuresMax: 1.5 is no whole number`},
		{"checksum", "policy:\n  checksum: abc\n", `h.yaml:2: policy.checksum is "abc": it is a SHA-256`},
		{"missing file of the policy", "policy:\n  files: [pools.xml]\n", `h.yaml:2: policy.files: there is no file`},
		{"level", "log:\n  level: loud\n", `h.yaml:2: log.level is "loud": it is one of debug, info, warn, error`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(Sources{File: write(t, "h.yaml", test.text)})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestUnknownVariable(t *testing.T) {
	_, err := Load(Sources{Environ: []string{"HAMADRYAD_MANAGER_LISTN=x"}})
	if err == nil || !strings.Contains(err.Error(), "HAMADRYAD_MANAGER_LISTN: there is no such setting; did you mean HAMADRYAD_MANAGER_LISTEN?") {
		t.Fatal(err)
	}
}

func TestMissingFile(t *testing.T) {
	if _, err := Load(Sources{File: "/nowhere/h.yaml"}); err == nil || !strings.Contains(err.Error(), "there is no file /nowhere/h.yaml") {
		t.Fatal(err)
	}
}

// A policy names lines in its own messages: the text must start on the line given.
func TestPolicySettingsKeepTheirLines(t *testing.T) {
	text := "policy:\n  name: fair\n  settings:\n    # about pools\n    pools:\n      - a\n\n      - b\n# at the margin\n    odd: 1\n  files: []\nmanager: {}\n"
	c, err := Load(Sources{File: write(t, "h.yaml", text)})
	if err != nil {
		t.Fatal(err)
	}
	want := "pools:\n  - a\n\n  - b\n# at the margin\nodd: 1\n"
	if got := c.Policy.Config; string(got.Text) != want || got.Line != 5 || !strings.HasSuffix(got.File, "h.yaml") {
		t.Fatalf("line %d\n%s", got.Line, got.Text)
	}
	c, err = Load(Sources{File: write(t, "h.yaml", "policy:\n  settings: {a: 1}\n")})
	if err != nil || strings.TrimSpace(string(c.Policy.Config.Text)) != "{a: 1}" || c.Policy.Config.Line != 2 {
		t.Fatalf("%+v %v", c, err)
	}
}

func TestPolicyFilesAreReadAndWatched(t *testing.T) {
	file := write(t, "h.yaml", "policy:\n  path: /opt/hamadryad-policy-mine\n  files: [pools.xml]\n")
	pools := filepath.Join(filepath.Dir(file), "pools.xml")
	os.WriteFile(pools, []byte("<a/>"), 0o600)
	c, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if f := c.Policy.Config.Files; len(f) != 1 || f[0].Name != "pools.xml" || string(f[0].Data) != "<a/>" || c.Policy.Name != "mine" {
		t.Fatalf("%+v", c.Policy)
	}
	if len(c.Watched) != 2 || c.Watched[1] != pools {
		t.Fatalf("watched %v", c.Watched)
	}
}

func TestFilesOfShadowsAreReadAndWatched(t *testing.T) {
	file := write(t, "h.yaml", "policy:\n  shadow: [fair, hfsp]\n  shadowFiles:\n    fair: [pools.xml]\n  shadowSettings:\n    fair: {a: 1}\n")
	pools := filepath.Join(filepath.Dir(file), "pools.xml")
	if _, err := Load(Sources{File: file}); err == nil || !strings.Contains(err.Error(), "h.yaml:3: policy.shadowFiles: there is no file") {
		t.Fatal(err)
	}
	os.WriteFile(pools, []byte("<a/>"), 0o600)
	c, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	of := c.Policy.ShadowConfigs["fair"]
	if len(of.Files) != 1 || of.Files[0].Name != "pools.xml" || string(of.Files[0].Data) != "<a/>" || strings.TrimSpace(string(of.Text)) != "{a: 1}" {
		t.Errorf("%+v", of)
	}
	if of := c.Policy.ShadowConfigs["hfsp"]; len(of.Files) != 0 || len(of.Text) != 0 || !slices.Contains(c.Watched, pools) {
		t.Errorf("%+v, watched %v", of, c.Watched)
	}
	for text, want := range map[string]string{
		"policy:\n  shadow: [fair]\n  shadowFiles:\n    hfsp: [pools.xml]\n": "h.yaml:3: policy.shadowFiles has files for hfsp, which is no shadow",
		"policy:\n  name: fallback\n":                                        "h.yaml:2: fallback is the name of the policy in the manager",
		"policy:\n  shadow: [fallback]\n":                                    "h.yaml:2: fallback is the name of the policy in the manager",
		"policy:\n  shadow: [fair, fair]\n":                                  "h.yaml:2: policy.shadow is [fair fair]: each may stand there once",
		"policy:\n  shadow: [fair]\n  shadowFiles: [pools.xml]\n":            "h.yaml:3: policy.shadowFiles",
	} {
		if _, err := Load(Sources{File: write(t, "h.yaml", text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestCoreSection(t *testing.T) {
	type bounds struct {
		AttemptsMax int           `json:"attemptsMax"`
		RoundGap    time.Duration `json:"roundGap"`
		Left        int           `json:"left"`
		Memory      int64         `json:"memory"`
	}
	keys := CoreKeys(bounds{})
	c, err := Load(Sources{File: write(t, "h.yaml", "core:\n  attemptsMax: 7\n  roundGap: 3ms\n  memory: 2KiB\n"), CoreKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	b := bounds{Left: 5}
	if err := c.DecodeCore(&b); err != nil || b != (bounds{7, 3 * time.Millisecond, 5, 2048}) {
		t.Fatalf("%+v %v", b, err)
	}
	if _, err := Load(Sources{File: write(t, "h.yaml", "core:\n  attemptMax: 7\n"), CoreKeys: keys}); err == nil ||
		!strings.Contains(err.Error(), "h.yaml:2: there is no core.attemptMax; did you mean core.attemptsMax?") {
		t.Fatal(err)
	}
	c, _ = Load(Sources{File: write(t, "h.yaml", "core:\n  roundGap: 3\n"), CoreKeys: keys})
	if err := c.DecodeCore(&b); err == nil || !strings.Contains(err.Error(), "h.yaml:2: core.roundGap: 3 is no duration") {
		t.Fatal(err)
	}
	c, _ = Load(Sources{File: write(t, "h.yaml", "core:\n  memory: much\n"), CoreKeys: keys})
	if err := c.DecodeCore(&b); err == nil || !strings.Contains(err.Error(), `h.yaml:2: core.memory: "much" is no size`) {
		t.Fatal(err)
	}
}

func TestSizesAndSlots(t *testing.T) {
	for text, want := range map[string]Size{"12": 12, "64KiB": 64 << 10, "1.5 GiB": 3 << 29, "2GB": 2e9, "0": 0} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "1e30GiB", "NaN", "4 parsecs"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
	if s, err := ParseSlots("default=4, map=2"); err != nil || s["default"] != 4 || s["map"] != 2 {
		t.Error(s, err)
	}
	for _, text := range []string{"x", "map=", "=2", "-1", "map=1,map=2"} {
		if s, err := ParseSlots(text); err == nil {
			t.Errorf("%q: %v", text, s)
		}
	}
}

func TestWatchSeesEveryWayOfSaving(t *testing.T) {
	file := write(t, "h.yaml", "a")
	hup := make(chan os.Signal, 1)
	changed := make(chan struct{}, 16)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Watch(ctx, func() []string { return []string{file} }, hup, func() { changed <- struct{}{} }, slog.Default())
	}()
	hup <- os.Interrupt // any signal: the watch stands when it is answered
	<-changed
	os.WriteFile(file, []byte("b"), 0o600)
	<-changed
	other := filepath.Join(filepath.Dir(file), "new")
	os.WriteFile(other, []byte("c"), 0o600)
	os.Rename(other, file)
	<-changed
	os.Remove(file)
	<-changed
	os.WriteFile(file, []byte("d"), 0o600)
	<-changed
	cancel()
	<-done
}

// A process that others can reach has to authenticate them.
func TestOpenDoorsNeedProof(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"the manager's port", "manager:\n  listen: 10.0.0.1:7070\n", `h.yaml:2: manager.listen is "10.0.0.1:7070", which others reach, and auth.mode is off (defaults)`},
		{"all addresses", "manager:\n  http: :7071\n", `h.yaml:2: manager.http is ":7071", which others reach`},
		{"any address", "launcher:\n  bind: 0.0.0.0\n", `h.yaml:2: launcher.bind is "0.0.0.0"`},
		{"a name", "auth: {mode: off}\nlauncher:\n  bind: node-7.example\n", `h.yaml:3: launcher.bind is "node-7.example", which others reach, and auth.mode is off (`},
		{"any of IPv6", "launcher:\n  bind: '::'\n", `Set auth.mode: tls`},
		{"no certificate", "auth:\n  mode: tls\n", `h.yaml:2: auth.mode is tls, and auth.certificate is empty`},
		{"no such mode", "auth:\n  mode: maybe\n", `h.yaml:2: auth.mode is "maybe": it is one of off, tls`},
	} {
		_, err := Load(Sources{File: write(t, "h.yaml", c.text)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, text := range []string{
		"manager: {listen: 'localhost:1', http: '[::1]:2'}\nlauncher: {bind: 127.3.2.1}\n",
		"auth: {mode: tls, certificate: m.pem}\nmanager: {listen: '0.0.0.0:1'}\nlauncher: {bind: node-7.example}\n",
	} {
		if _, err := Load(Sources{File: write(t, "h.yaml", text)}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// wrongTexts are texts with one mistake each, of every kind, and on which line it is.
var wrongTexts = []struct {
	text, want string
}{
	{"manager:\n\tlisten: x\n", "2: this begins with a character that YAML keeps for itself"},
	{"manager:\n  listen: @x\n", "2: this begins with a character that YAML keeps for itself"},
	{"manager:\n  listen: \"x\n  http: y\n", "2: a quotation mark opens here"},
	{"manager: {listen: x\n", "1: a brace opens here"},
	{"log: {level: info}\npolicy:\n  settings:\n    a: {b\n", "4: a brace opens here"},
	{"launcher:\n  names: [a\n", "2: a bracket opens here"},
	{"a: b: c\n", "1: a colon stands where no key can"},
	{"manager:\n listen: 1\n  http: 2\n", "3: a colon stands where no key can"},
	{"manager:\n  listen: a\n  http: b\n data: c\n", "4: this line is not indented as the keys before it"},
	{"launcher:\n  names:\n    - a\n    b\n", "4: "},
	{"manager:\n  listen\n  http: x\n", "3: "},
	{"manager:\n  listen: *nope\n", "2: nothing before this is named by the anchor"},
	{"log: {level: info}\npolicy:\n  settings: &a {b: *a}\n", "3: an anchor is used in what it stands for"},
	{"manager:\n  listen: \"\\y\"\n", "2: a backslash in double quotes"},
	{"log: {level: info}\npolicy:\n  settings:\n    a: 1\n    a: 2\n", "5: a key stands here twice"},
	{"%FOO\nmanager:\n", "1: this is no YAML"},
	{"log:\n  level: info\n\x01\n", "3: a character here is no text"},
	{"log:\n  level: \xff\n", "2: a character here is no text"},
	{"log:\r\n  level: loud\r\n", "2: log.level is"},
	{"log:\r\r\n  level: info\r\r\npolicy:\r\r\n  settings:\r\r\n    a: 1\r\r\n", "1: a line ends here by U+000D"},
	{"log: {level: info}\n# a\u0085# b\npolicy:\n  settings:\n    a: 1\n", "2: a line ends here by U+0085"},
	{"log: {level: info}\npolicy:\n  settings:\n    a: b\u2028\n    c: d\u2029\n", "4: a line ends here by U+2028"},
	{"manager:\n  listen: !foo bar\n", `2: a configuration has no values that are tagged "!foo"`},
	{"policy:\n  settings:\n    a: !!binary x\n", `3: a configuration has no values that are tagged "!!binary"`},
	{"policy:\n  settings:\n    a: !!int x\n", "3: a configuration has no values that are tagged"},
	{"manager:\n  ? [a]\n  : b\n", "2: a key has to be a name"},
	{"manager:\n  <<: 3\n", "2: "},
	{"- a\n", "1: a configuration is made of sections"},
	{"manager:\n  data: /x\n---\nmanager:\n", "3: a second document begins here"},
	{"manager:\n  lisen: x\n", "2: there is no manager.lisen; did you mean manager.listen?"},
	{"manger:\n", "1: there is no manger"},
	{"manager: 3\n", "1: manager is a section"},
	{"manager:\n  data: {a: 1}\n", "2: manager.data is a single value"},
	{"log:\n  level: info\n  level: info\n", "3: log.level is set twice"},
	{"log:\n  level: info\nlog:\n", "3: log is set twice"},
	{"", "1: nothing is set here"},
	{"# a comment\n---\n", "1: nothing is set here"},
	{"null\n", "1: nothing is set here"},
	{"manager:\nlog:\n", "1: nothing is set here"},
	{"manager:\n  listen: [a, b]\n", "2: manager.listen: a list stands where one value has to"},
	{"manager:\n  listen:\n", `2: manager.listen is ""`},
	{"manager:\n  lease: 30\n", "2: manager.lease: 30 is no duration"},
	{"manager:\n  lease: [3s]\n", "2: manager.lease: "},
	{"manager:\n  lease: 1h\n", "2: manager.launcherLostAfter is 20s: it must be more than lease"},
	{"manager:\n  versions: -5\n", "2: manager.versions is -5: at least"},
	{"manager:\n  versions: 1.5\n", "2: manager.versions: 1.5 is no whole number"},
	{"manager:\n  versions: many\n", `2: manager.versions: "many" is no whole number`},
	{"manager:\n  eventLog:\n    sync: maybe\n", `3: manager.eventLog.sync: "maybe" is neither true nor false`},
	{"launcher:\n  memory: lots\n", "2: launcher.memory: \"lots\" is no size"},
	{"launcher:\n  slots: {map: x}\n", `2: launcher.slots: "x" are no slots of kind "map"`},
	{"launcher:\n  slots: {map: -1}\n", `2: launcher.slots: -1 are no slots of kind "map"`},
	{"launcher:\n  resources: {gpu: x}\n", `2: launcher.resources: "x" is no amount of resource "gpu"`},
	{"launcher:\n  resources: {GPU: 1}\n", `2: launcher.resources: "GPU" is no kind of resource`},
	{"launcher:\n  resources: 3\n", "2: launcher.resources: 3 are no resources: write kinds with numbers"},
	{"launcher:\n  slots: [1]\n", "2: launcher.slots: "},
	{"log:\n  level: loud\n", "2: log.level is \"loud\": it is one of"},
	{"policy:\n  checksum: abc\n", "2: policy.checksum is \"abc\""},
	{"policy:\n  files: [none.xml]\n", "2: policy.files: there is no file"},
	{"policy:\n  files: {a: b}\n", "2: policy.files is a single value"},
	{"auth:\n  mode: tls\n", "2: auth.mode is tls, and auth.certificate is empty"},
	{"manager:\n  listen: 0.0.0.0:1\n", "2: manager.listen is \"0.0.0.0:1\", which others reach"},
	{"core:\n  limit: many\n", `2: core.limit: "many" is no whole number`},
	{"core:\n  graph: 3\n", "2: core.graph: 3 is a single value"},
	{"core:\n  graph: {nodes: x}\n", `2: core.graph: nodes: "x" is no whole number`},
	{"core:\n  graph: {edges: 3}\n", "2: core.graph: there is no key edges in it"},
}

// Every mistake has a file and a line, and a message in plain words.
func TestEveryMistakeHasALine(t *testing.T) {
	var core struct {
		Limit int `json:"limit"`
		Graph struct {
			Nodes int `json:"nodes"`
		} `json:"graph"`
	}
	for _, x := range wrongTexts {
		file := write(t, "h.yaml", x.text)
		c, err := Load(Sources{File: file, CoreKeys: CoreKeys(core)})
		if err == nil {
			err = c.DecodeCore(&core)
		}
		if err == nil || !strings.HasPrefix(err.Error(), file+":"+x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("of %q it says\n%v, and not\n%s:%s", x.text, err, file, x.want)
			continue
		}
		for _, word := range []string{"strconv", "unmarshal", "invalid", "interface {}", "expected type", "decod", "%!", "cannot parse"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("of %q it says %q: %v", x.text, word, err)
			}
		}
	}
}

// A configuration's meaning does not depend on its line ends, nor on empty sections.
func TestLineEndsMeanNothing(t *testing.T) {
	const text = "manager:\nlog:\n  level: debug\npolicy:\n  settings:\n    a: 1\n    # why\n\n    b:\n      - 2\nauth:\n  roles:\n    user: {users: [ann]}\n"
	plain, err := Load(Sources{File: write(t, "h.yaml", text)})
	if err != nil {
		t.Fatal(err)
	}
	other, err := Load(Sources{File: write(t, "h.yaml", strings.ReplaceAll(text, "\n", "\r\n"))})
	if err != nil {
		t.Fatal(err)
	}
	values := func(c *Config) (s string) {
		for _, x := range c.Settings(struct{}{}, nil) {
			s += x.Key + "=" + x.Value + "\n"
		}
		return s
	}
	if a, b := values(plain), values(other); a != b || plain.Manager.Listen == "" || !strings.Contains(a, "policy.settings=a: 1\n") {
		t.Errorf("%s\nand\n%q", a, b)
	}
}
