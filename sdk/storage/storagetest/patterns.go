package storagetest

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// tree is the files that patterns are tried on. Some names hold special characters.
var tree = []string{
	"a/1.txt", "a/2.csv", "a/deep/3.txt", "a/deep/er/4.txt", "a/_logs/5.txt", "a/.hidden/6.txt",
	"b/1.txt", "b/_7.txt", "b/.8.txt", "c/x.txt", "c/deep/er/x.txt",
	"odd/{a,b}.txt", "odd/a.txt", "odd/[x]", "odd/x", "odd/s*r", "odd/**", "odd/q?", "odd/!", "odd/a b",
	"copies/deep/copies/9.txt", "star/*", "star/other",
}

// patterns maps each pattern to its matches, separated by spaces.
var patterns = map[string]string{
	"a":                    "a/1.txt a/2.csv a/deep/3.txt a/deep/er/4.txt",
	"a/*":                  "a/1.txt a/2.csv a/deep/3.txt a/deep/er/4.txt",
	"a/**":                 "a/1.txt a/2.csv a/deep/3.txt a/deep/er/4.txt",
	"a/**/*.txt":           "a/1.txt a/deep/3.txt a/deep/er/4.txt",
	"**/*.csv":             "a/2.csv",
	"**/1.txt":             "a/1.txt b/1.txt",
	"{a,c}/**/er/*":        "a/deep/er/4.txt c/deep/er/x.txt",
	"*/**/**/x.txt":        "c/deep/er/x.txt c/x.txt",
	"{a,b}/1.txt":          "a/1.txt b/1.txt",
	"{a/deep,b}/[13]*":     "a/deep/3.txt b/1.txt",
	"a/{1.t{x,s}t,2.*}":    "a/1.txt a/2.csv",
	"a/[!1]*":              "a/2.csv a/deep/3.txt a/deep/er/4.txt",
	"a/[^1].csv":           "a/2.csv",
	"[a-b]/1.*":            "a/1.txt b/1.txt",
	"a/deep{,/er}/*.txt":   "a/deep/3.txt a/deep/er/4.txt",
	"a/_*/*":               "a/_logs/5.txt",
	"a/_logs":              "a/_logs/5.txt",
	"a/\\_logs/*":          "a/_logs/5.txt",
	"a/**/_logs/*":         "a/_logs/5.txt",
	"a/.h*":                "a/.hidden/6.txt",
	"b/{.,_}*":             "b/.8.txt b/_7.txt",
	"b/[._]*":              "",
	"odd/\\{a,b\\}.txt":    "odd/{a,b}.txt",
	"odd/[{]a,b}.txt":      "",
	"odd/\\[x\\]":          "odd/[x]",
	"odd/[[]*":             "odd/[x]",
	"odd/s\\*r":            "odd/s*r",
	"odd/s*r":              "odd/s*r",
	"odd/?\\?":             "odd/q?",
	"odd/a b":              "odd/a b",
	"odd/!":                "odd/!",
	"**/copies":            "copies/deep/copies/9.txt",
	"copies/**/copies/*":   "copies/deep/copies/9.txt",
	"{a,a/deep,b}/**/3.*":  "a/deep/3.txt",
	"none/**":              "",
	"a/1.txt/**":           "",
	"a/1.txt/*":            "",
	"{none,nothing}/*.txt": "",
}

// patterns checks that each pattern finds the same in every store.
func (k *kit) patterns() {
	made := map[string]bool{}
	for _, file := range tree {
		for i, c := range file {
			if c == '/' && !made[file[:i]] {
				made[file[:i]] = true
				k.mkdir(file[:i])
			}
		}
		k.write(file, "")
	}
	for pattern, want := range patterns {
		infos, err := k.store.List(k.Context(), k.at(pattern))
		var got []string
		for _, i := range infos {
			got = append(got, strings.TrimPrefix(i.Path, k.folder+"/"))
		}
		if strings.Join(got, " ") != want {
			k.Errorf("%s: %q, %v; want %q", pattern, got, err, want)
		}
		if want == "" && !errors.Is(err, fs.ErrNotExist) && (err == nil || !strings.Contains(err.Error(), "}")) {
			k.Errorf("%s: %v, want one of a file that is not there", pattern, err)
		}
	}
	// The name or the pattern may be meant; reading either would leave out the other.
	for _, both := range []string{"odd/[x]", "odd/{a,b}.txt", "odd/**", "star/*"} {
		infos, err := k.store.List(k.Context(), k.at(both))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			k.Errorf("%s: %v, %v, want an error that tells of both", both, infos, err)
		}
	}
}

// patternsNotUnderstood checks that malformed patterns are errors that say what to write.
func (k *kit) patternsNotUnderstood() {
	k.write("file", "")
	for pattern, remedy := range map[string]string{
		"f**": "alone", "**e": "alone", "a/b**c/d": "alone", "{file,": "{", "file}": "}", "[file": "[", "file\\": "\\",
		"f[[:alpha:]]le": "[0-9]", "f{1..3}": "{1,2,3}", "f{}": "{}", "*/../*": "..",
		strings.Repeat("{a,b}", 20): "name fewer",
	} {
		infos, err := k.store.List(k.Context(), k.at(pattern))
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), remedy) {
			k.Errorf("%s: %v, %v, want a remedy with %q", pattern, infos, err, remedy)
		}
	}
}
