// Package buildinfo returns a program's version.
//
//	buildinfo.Read().Version // v1.2.0
package buildinfo

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// stamp is the version that a release was built with:
//
//	go build -ldflags "-X github.com/hamadryad/hamadryad/internal/buildinfo.stamp=v1.2.0"
var stamp string

// Unknown is the version of a program that was built outside of a repository, without a stamp.
const Unknown = "unknown"

// Info is what is known of a program's build, in the form of "hamadryad version -o json".
type Info struct {
	Version   string `json:"version"`          // of the release, such as v1.2.0; else Go's of the commit; else Unknown
	Commit    string `json:"commit,omitempty"` // of the source; "": built outside of a repository
	Committed string `json:"committed,omitempty"`
	Modified  bool   `json:"modified"` // the source had changes that are not in Commit
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"` // system and processor, such as linux/amd64
}

// Read returns the build of the running program.
func Read() Info {
	info := Info{Version: stamp, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		info.Version = cmp.Or(info.Version, Unknown)
		return info
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.time":
			info.Committed = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	known := build.Main.Version
	if known == "(devel)" {
		known = ""
	}
	info.Version = cmp.Or(info.Version, known, Unknown)
	return info
}

// Metric is the metric build_info below a prefix, such as hamadryad: always 1, with version, commit and Go's
// version as labels.
func Metric(prefix string) prometheus.Collector {
	info := Read()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "_build_info", Help: "Always 1: the version of the program, its commit and that of Go.",
		ConstLabels: prometheus.Labels{"version": info.Version, "commit": info.Commit, "goversion": info.GoVersion},
	})
	g.Set(1)
	return g
}
