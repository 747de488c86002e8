package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

const (
	// servingFile is in the data folder.
	servingFile = "serving"
	// servingVersion is the file's version.
	servingVersion = 1
	// ServingAddressesMax bounds Serving.Addresses.
	ServingAddressesMax = 16
)

// Serving is where the manager of a data folder serves, or served last. A copy of the folder says
// the same.
type Serving struct {
	Version   int      `json:"version"`
	Data      string   `json:"data"`      // identity of the data; a copy has the same
	Addresses []string `json:"addresses"` // host:port of gRPC; at most ServingAddressesMax
}

// ReadServing reads it from a data folder; without the file it has no addresses.
func ReadServing(folder string) (Serving, error) {
	path := filepath.Join(folder, servingFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Serving{}, nil
	}
	if err != nil {
		return Serving{}, err
	}
	var s Serving
	if err := json.Unmarshal(text, &s); err != nil {
		return Serving{}, fmt.Errorf("%s: %w", path, err)
	}
	if s.Version != servingVersion {
		return Serving{}, fmt.Errorf("%s has version %d, and this program reads %d", path, s.Version, servingVersion)
	}
	s.Addresses = s.Addresses[:min(len(s.Addresses), ServingAddressesMax)]
	return s, nil
}

// Write puts it into a data folder.
func (s Serving) Write(folder string) error {
	s.Version = servingVersion
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(folder, servingFile), append(text, '\n'))
}
