package storage

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

var registry = struct {
	sync.RWMutex
	stores map[string]Store
}{stores: map[string]Store{"": Local{}, "file": Local{}}}

// Register registers a store for URLs of a scheme, such as "hdfs". A second store for the same
// scheme replaces the first. The scheme "" (plain paths) and "file" are Local{} by default. Safe
// for concurrent use, but meant for init functions.
func Register(scheme string, s Store) {
	registry.Lock()
	defer registry.Unlock()
	registry.stores[scheme] = s
}

// For returns the store of a URL or path.
func For(url string) (Store, error) {
	scheme, _ := split(url)
	registry.RLock()
	defer registry.RUnlock()
	if s, ok := registry.stores[scheme]; ok {
		return s, nil
	}
	var known []string
	for _, name := range slices.Sorted(maps.Keys(registry.stores)) {
		if name != "" {
			known = append(known, name+"://")
		}
	}
	return nil, fmt.Errorf("no store for %s:// (of %q) is built into this program; it has %s: import the package that registers the scheme",
		scheme, url, strings.Join(known, ", "))
}

// Absolute returns a path that means the same in every process of this machine:
// a local path becomes absolute and clean, a URL of another scheme loses only
// trailing slashes.
func Absolute(url string) (string, error) {
	scheme, rest := split(url)
	if scheme != "" && scheme != "file" {
		return scheme + "://" + strings.TrimRight(rest, "/"), nil
	}
	if rest == "" {
		return "", fmt.Errorf("empty path")
	}
	return filepath.Abs(rest)
}

// Join returns the path of a name below a folder.
func Join(folder, name string) string {
	return strings.TrimRight(folder, "/") + "/" + name
}

// split cuts the scheme off a URL. A path has the scheme "".
func split(url string) (scheme, rest string) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || strings.ContainsAny(scheme, "/.*?[{") {
		return "", url
	}
	return scheme, rest
}
