package kerberos

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
)

// Variables of a process's environment.
const (
	ConfigVariable = "KRB5_CONFIG" // file that says where KDCs are; without, /etc/krb5.conf
	CacheVariable  = "KRB5CCNAME"  // ticket cache, FILE:PATH or PATH; without, /tmp/krb5cc_UID
)

// Config reads the configuration of this process. The error names the file.
func Config() (*config.Config, error) {
	path := os.Getenv(ConfigVariable)
	if path == "" {
		path = "/etc/krb5.conf"
	}
	conf, err := config.Load(path)
	if err != nil {
		return nil, fmt.Errorf("its configuration %s: %w; set %s", path, err, ConfigVariable)
	}
	return conf, nil
}

// CachePath returns the path of this process's ticket cache, which need not exist. A cache that is
// no file is an error.
func CachePath() (string, error) {
	path := os.Getenv(CacheVariable)
	if path == "" {
		return "/tmp/krb5cc_" + strconv.Itoa(os.Getuid()), nil
	}
	kind, rest, ok := strings.Cut(path, ":")
	if !ok {
		return path, nil
	}
	if kind != "FILE" {
		return "", fmt.Errorf("the ticket cache %s is no file: set %s to FILE:PATH and use kinit again", path, CacheVariable)
	}
	return rest, nil
}
