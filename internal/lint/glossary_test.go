package lint_test

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// named matches what the glossary has in backticks: an identifier, alone or after its package's
// folder, or a value as people write it.
var named = regexp.MustCompile("`([^`]+)`")

// What the glossary names is in the code: a type, function, variable or constant that is
// declared (in that folder, where one is named), or a value that the code spells.
func TestGlossaryNamesWhatTheCodeHas(t *testing.T) {
	text, err := os.ReadFile("docs/GLOSSARY.md")
	if err != nil {
		t.Fatal(err)
	}
	declared, spelled := dictionary(t)
	names := named.FindAllStringSubmatch(string(text), -1)
	if len(names) == 0 {
		t.Fatal("no name was found in docs/GLOSSARY.md: does it still set them in backticks?")
	}
	for _, m := range names {
		if !declared[m[1]] && !spelled[m[1]] {
			t.Errorf("docs/GLOSSARY.md names %s, which the code has not: it has another name now", m[1])
		}
	}
}

// Each word has one row in the glossary, and so one meaning.
func TestGlossaryHasNoWordTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(mustRead(t, "docs/GLOSSARY.md"), -1) {
		for word := range strings.SplitSeq(regexp.MustCompile(`\(.*?\)`).ReplaceAllString(row[1], ""), ",") {
			if word = strings.TrimSpace(word); seen[word] {
				t.Errorf("docs/GLOSSARY.md has %q twice: name one of the two otherwise", word)
			}
			seen[word] = true
		}
	}
}

// replaced are words that the code once had of its own, and the field's words that it
// uses instead. Join this table when you replace another.
var replaced = map[string]string{
	"dealing":  "assignment",
	"deeds":    "what is held",
	"hirer":    "worker starter",
	"lookers":  "viewers",
	"obituary": "reason of a worker's end",
	"outbox":   "report queue",
	"reborn":   "new incarnation",
	"ghost":    "virtual job",
	"ghosts":   "virtual jobs",
	"seam":     "extension point",
	"seams":    "extension points",
	"sole":     "only",
	"standing": "what is counted: a rank, a request, what is in force",
	"strayed":  "undeclared",
	"twin":     "speculative attempt, or the other attempt",
	"twins":    "speculative attempts, or both attempts",
	"zoo":      "faulty policies",
}

// replacedNames are identifiers that the code once had, and those that it has instead. A name
// that is one word, or part of many others, stands here and not in replaced.
var replacedNames = map[string]string{
	"AbilityGate":       "AbilityAuthenticator",
	"AbilityPager":      "AbilityPageHandler",
	"AbilityPages":      "AbilityLoggedRequests",
	"AgainMemory":       "ForResumeMemory",
	"Animal":            "FaultyPolicy",
	"BundleWantedAgain": "BundleReopened",
	"Doubled":           "SpeculativeCount",
	"FitsAgain":         "FitsForResume",
	"FreeAgain":         "FreeForResume",
	"GiveBack":          "Release",
	"LauncherBlamed":    "LauncherExcluded",
	"MayBeDoubled":      "MaySpeculate",
	"Pager":             "PageHandler",
	"Resting":           "SuspendedAttempt",
	"Rests":             "WaitsForResume",
	"SetTwice":          "SetSpeculationOffered",
	"StandIn":           "Fallback",
	"TakeAgain":         "TakeForResume",
	"TakeBack":          "CancelLaunch, or ReclaimEarlyReaders",
	"TwiceEvent":        "SpeculationEvent",
	"WantAgain":         "Reopen",
	"WantTwice":         "OfferSpeculation",
}

// word is a part of an identifier, or a word of a comment.
var word = regexp.MustCompile(`[A-Z]?[a-z]+`)

// Identifiers and comments use the field's words, those of docs/GLOSSARY.md.
func TestReplacedWordsDoNotComeBack(t *testing.T) {
	for _, f := range sources(t) {
		refuse := func(text string) {
			for _, w := range word.FindAllString(text, -1) {
				if instead, ok := replaced[strings.ToLower(w)]; ok {
					t.Errorf("%s: %q has the word %s: say %s", f.path, text, w, instead)
				}
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				refuse(id.Name)
				if instead, is := replacedNames[id.Name]; is {
					t.Errorf("%s has the name %s: say %s", f.path, id.Name, instead)
				}
			}
			return true
		})
		for _, group := range f.tree.Comments {
			for _, c := range group.List {
				refuse(c.Text)
			}
		}
	}
}

// dictionary lists what the code declares at the top level, alone and as folder.Name, and
// the strings that it spells.
func dictionary(t *testing.T) (declared, spelled map[string]bool) {
	t.Helper()
	declared, spelled = map[string]bool{}, map[string]bool{}
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		declare := func(id *ast.Ident) { declared[id.Name], declared[f.folder+"."+id.Name] = true, true }
		for _, d := range f.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					declare(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						declare(s.Name)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							declare(id)
						}
					}
				}
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if s, err := strconv.Unquote(l.Value); err == nil {
					spelled[s] = true
				}
			}
			return true
		})
	}
	return declared, spelled
}
