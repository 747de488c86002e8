package allocation

import (
	"cmp"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// testParts are the parts in the policy's registries.
var testParts = Parts{
	Selectors: []string{SelectorDefault}, LoadManagers: []string{LoadLevelSlots, LoadOfMachines, LoadMemory, LoadSlots},
	Adjusters: []string{NewJobBoost, AdjusterNone},
}

// TestBadSettings: each is refused with its line and a word about the problem.
func TestBadSettings(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		says string
	}{
		{"no-such: 1", 1, `unknown setting "no-such"`},
		{"- a", 1, "settings by name"},
		{"a: [", 1, "did not find"},
		{"update-interval: 1s\nupdate-interval: 2s", 2, "stands twice"},
		{"update-interval: 0s", 1, "at least 1ms"},
		{"update-interval: soon", 1, "time"},
		{"locality: {mode: luck}", 1, "delay, min-cost-flow, nearest, none"},
		{"locality:\n  node-delay: -1s", 2, "at least 0s"},
		{"locality: {cap: moon}", 1, "rack-local"},
		{"locality: {selector: mine}", 1, "default"},
		{"placement: {rules: [explicit, luck]}", 1, "luck"},
		{"placement: {rules: explicit}", 1, "list"},
		{"placement: {rules: [property]}", 1, "needs the name"},
		{"placement:\n  property-defaults: {a: \"${b}\", b: \"${a}\"}", 2, "refers to itself"},
		{"placement: {undeclared: perhaps}", 1, "create, own, refuse"},
		{"preemption: {mode: maim}", 1, "suspend"},
		{"preemption: {fair-share-threshold: 0}", 1, "above 0"},
		{"preemption: {fair-share-threshold: 1.5}", 1, "at most 1"},
		{"preemption: {dry-run: maybe}", 1, "true or false"},
		{"preemption: {times-max: -1}", 1, "from 0"},
		{"preemption: {sets-max: 0}", 1, "from 1 to 1000"},
		{"preemption:\n  sets-max: 1001", 2, "from 1 to 1000"},
		{"weights: {boost-factor: -3}", 1, "above 0"},
		{"weights: {adjuster: heavy}", 1, "new-job-boost"},
		{"load: {manager: guess}", 1, "level-slots"},
		{"load:\n  manager: load\n  cpu-max: 0", 3, "above 0"},
		{"load: {manager: load, cpu-max: .nan}", 1, "number"},
		{"load:\n  manager: load\n  memory-max: 1.01", 3, "at most 1"},
		{"load:\n  memory-max: 0.5", 2, `limits of the manager "load", and here it is "slots"`},
		{"load:\n  cpu-max: 0.5\n  manager: memory", 2, `set manager: load, or remove them`},
		{"trace: {size-max: 1}", 1, "from 4096"},
		{"allocation-file: pools.xml", 1, "policy.files"},
		{"allocations: {}\nallocation-file: pools.xml", 2, "keep one"},
		{"allocations:\n  pools:\n    a: {weight: 0}", 3, "above 0"},
		{"allocations:\n  pools:\n    a: {weight: -1}", 3, "above 0"},
		{"allocations:\n  pools:\n    a: {weight: .nan}", 3, "number"},
		{"allocations:\n  pools:\n    a: {weight: NaN}", 3, "above 0"},
		{"allocations:\n  pools:\n    a: {weight: 1e300}", 3, "at most"},
		{"allocations:\n  pools:\n    a: {min-share: -1}", 3, "from 0"},
		{"allocations:\n  pools:\n    a: {min-share: {map: few}}", 3, "whole number"},
		{"allocations:\n  pools:\n    a: {max-share: 0}", 3, "from 1"},
		{"allocations:\n  pools:\n    a: {min-share: 5, max-share: 4}", 3, "below its minimum"},
		{"allocations:\n  pools:\n    a: {order: lifo}", 3, "deficit, disco-fair, fair, fifo"},
		{"allocations:\n  top-order: lifo", 2, "deficit, disco-fair, fair, fifo"},
		{"allocations:\n  pools:\n    a: {}\n    b: {}\n    a: {}", 5, "stands twice"},
		{"allocations:\n  pools:\n    a: {pools: {x: {}}}\n    x: {parent: a}", 4, "declared twice"},
		{"allocations:\n  pools:\n    a: {parent: b}\n    b: {parent: a}", 3, "lies in itself"},
		{"allocations:\n  pools:\n    a: {parent: a}", 3, "lies in itself"},
		{"allocations:\n  pools:\n    a: {parent: b}", 3, "not declared"},
		{"allocations:\n  pools:\n    a/b: {}", 3, "among the pools"},
		{"allocations:\n  pools:\n    \"\": {}", 3, "no part is empty"},
		{"allocations:\n  pools:\n    a: {running-jobs-max: 0}", 3, "from 1"},
		{"allocations: {users: {ann: {weight: 2}}}", 1, "running-jobs-max"},
		{"allocations: {min-share-timeout: 10}", 1, "90s"},
		{"allocations: {}\n---\nallocations:\n  pools:\n    a: {}", 2, "a second document begins here"},
	} {
		config := scheduler.Config{File: "site.yaml", Line: 11, Text: []byte(c.text)}
		_, err := Parse(config, testParts)
		wantProblem(t, c.text, err, "site.yaml", c.line+10, c.says)
	}
}

func wantProblem(t *testing.T, text string, err error, file string, line int, says string) {
	t.Helper()
	var problems scheduler.Problems
	if !errors.As(err, &problems) {
		t.Errorf("%q: error %v", text, err)
		return
	}
	if p := problems[0]; p.File != file || p.Line != line || !strings.Contains(p.Message, says) {
		t.Errorf("%q: %+v, want line %d and %q", text, p, line, says)
	}
}

// TestBadAllocationFiles are Hadoop's, with what is wrong in them.
func TestBadAllocationFiles(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		says string
	}{
		{"<allocations>\n<pool name='a'>\n<weight>-1</weight></pool></allocations>", 3, "above 0"},
		{"<allocations>\n<pool name='a'>\n<minMaps>5</minMaps><maxMaps>2</maxMaps></pool></allocations>", 2, "below its minimum"},
		{"<allocations>\n<pool name='a'/>\n<pool name='a'/></allocations>", 3, "declared twice"},
		{"<allocations>\n<pool/></allocations>", 2, "no part is empty"},
		{"<allocations>\n<pool name='a' color='red'/></allocations>", 2, "color"},
		{"<allocations>\n<user name='u'><weight>1</weight></user></allocations>", 2, "weight"},
		{"<allocations>\n<user name='u'/>\n<user name='u'/></allocations>", 3, "twice"},
		{"<allocations>\n<pool name='a'>\n</allocations>", 3, "element"},
		{"<allocations>", 1, "EOF"},
		{"<allocations/>\n<allocations/>", 2, "second root"},
	} {
		_, err := Read(scheduler.ConfigFile{Name: "fair.xml", Data: []byte(c.text)})
		wantProblem(t, c.text, err, "fair.xml", c.line, c.says)
	}
}

// TestEmptyAllocationFile: one without allocations is refused, because it may have been emptied.
// Who wants no pool says so.
func TestEmptyAllocationFile(t *testing.T) {
	for _, text := range []string{"", " \n\t\n", "# nothing\n", "null", "~\n", "---\n", "---\nnull\n...\n", "\xef\xbb\xbf", "\xef\xbb\xbf# nothing\n"} {
		_, err := Read(scheduler.ConfigFile{Name: "f", Data: []byte(text)})
		wantProblem(t, text, err, "f", 1, "no allocations")
	}
	for _, text := range []string{"{}", "pools: {}", "pools:\n", "<allocations/>", "<allocations></allocations>"} {
		if a, err := Read(scheduler.ConfigFile{Name: "f", Data: []byte(text)}); err != nil || len(a.pools) != 1 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRepeatedElements: each element of which one counts is refused when it stands twice.
func TestRepeatedElements(t *testing.T) {
	values := map[string]string{"schedulingMode": "fifo", "defaultPoolSchedulingMode": "fair"}
	for name := range textOnce {
		twice := strings.Repeat("<"+name+">"+cmp.Or(values[name], "3")+"</"+name+">\n", 2)
		texts := []string{"<allocations><pool name='a'>\n" + twice + "</pool></allocations>"}
		if strings.HasPrefix(strings.ToLower(name), "default") || strings.HasSuffix(name, "Default") {
			texts = []string{"<allocations>\n" + twice + "</allocations>"}
		}
		switch name {
		case "fairSharePreemptionTimeout":
			texts = append(texts, "<allocations>\n"+twice+"</allocations>")
		case "maxRunningJobs":
			texts = append(texts, "<allocations><user name='u'>\n"+twice+"</user></allocations>")
		}
		for _, text := range texts {
			_, err := Read(scheduler.ConfigFile{Name: "f.xml", Data: []byte(text)})
			wantProblem(t, text, err, "f.xml", 3, "<"+name+"> stands twice")
		}
	}
	_, err := Read(scheduler.ConfigFile{Name: "f.xml", Data: []byte("<allocations>\n<pool name='a' name='b'/></allocations>")})
	wantProblem(t, "two names", err, "f.xml", 2, "two names")
}

// TestEncodings: an allocation file is read in the encoding that its mark or its first line says,
// or refused by its cause.
func TestEncodings(t *testing.T) {
	utf16 := func(order binary.AppendByteOrder, text string) string {
		var b []byte
		for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
			b = order.AppendUint16(b, u)
		}
		return string(b)
	}
	const xml = "<?xml version=\"1.0\" encoding=\"utf-16\"?><allocations><pool name=\"café\"/></allocations>"
	for _, text := range []string{
		"\xef\xbb\xbf<?xml version=\"1.0\"?><allocations><pool name=\"café\"/></allocations>",
		"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><allocations><pool name=\"caf\xe9\"/></allocations>",
		"<?xml version=\"1.0\" encoding=\"windows-1252\"?><allocations><pool name=\"caf\xe9\"/></allocations>",
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?><allocations><pool name=\"café\"/></allocations>",
		utf16(binary.LittleEndian, xml), utf16(binary.BigEndian, xml), utf16(binary.LittleEndian, "pools: {café: {}}"),
		"\xef\xbb\xbfpools: {café: {}}",
	} {
		a, err := Read(scheduler.ConfigFile{Name: "f", Data: []byte(text)})
		if err != nil || !a.Declares("café") {
			t.Errorf("%q: error %v, pools %v", text, err, a.Open())
		}
	}
	for text, want := range map[string]string{
		"<?xml version=\"1.0\" encoding=\"ebcdic\"?><allocations/>":                  `encoding "ebcdic" is unknown`,
		"<?xml version=\"1.0\"?><allocations><pool name=\"caf\xe9\"/></allocations>": "invalid UTF-8",
		"<\x00a\x00l\x00": "UTF-16 without a byte order mark",
	} {
		_, err := Read(scheduler.ConfigFile{Name: "f", Data: []byte(text)})
		wantProblem(t, text, err, "f", 1, want)
	}
}
