//go:build !amd64 && !arm64

package seccomp

const (
	architecture = 0 // there is no profile
	foreignBit   = 0
)

var ofThisArchitecture = map[string]uint32{}
