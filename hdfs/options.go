package hdfs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/internal/hadoopsite"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Defaults of Options.
const (
	DialDefault = 10 * time.Second
	CallDefault = 30 * time.Second
	WaitDefault = time.Minute
	DataDefault = 30 * time.Second
)

// Options of a store. A zero field is taken from the environment variable named below, then from
// the default.
type Options struct {
	// ConfDir is the folder of Hadoop's configuration: HAMADRYAD_HDFS_CONF_DIR,
	// HADOOP_CONF_DIR, then etc/hadoop or conf below HADOOP_HOME.
	ConfDir string
	// Properties override those of the files. HAMADRYAD_HDFS_PROPERTIES adds others:
	// "dfs.replication=2,dfs.client.use.datanode.hostname=true".
	Properties map[string]string
	// User is the user without Kerberos: HAMADRYAD_HDFS_USER, HADOOP_USER_NAME, HAMADRYAD_USER (the
	// job's submitter), then the system's user.
	User string
	// Hosts maps the hosts of blocks, by host name or address, to the launchers' names of these
	// hosts. HAMADRYAD_HDFS_HOSTS: "node0.test=a,10.0.0.7=b".
	Hosts map[string]string
	// Keytab and Principal are the Kerberos login, if the configuration requires one:
	// HAMADRYAD_HDFS_KEYTAB and HAMADRYAD_HDFS_PRINCIPAL. Without them the ticket cache of
	// KRB5CCNAME is used.
	Keytab, Principal string
	// Dial is the timeout for opening a connection; HAMADRYAD_HDFS_DIAL, 10 s.
	Dial time.Duration
	// Call is the timeout for one try of a NameNode call; HAMADRYAD_HDFS_CALL, 30 s.
	Call time.Duration
	// Wait bounds all tries of a call, and the completion of a file; HAMADRYAD_HDFS_WAIT, 1 min.
	Wait time.Duration
	// Data is the timeout for a silent DataNode; HAMADRYAD_HDFS_DATA, 30 s.
	Data time.Duration
	// Log receives a warning once for each degraded function; slog.Default().
	Log *slog.Logger
}

// withEnvironment fills in the fields that are not set.
func (o Options) withEnvironment() (Options, error) {
	fill(&o.ConfDir, os.Getenv("HAMADRYAD_HDFS_CONF_DIR"), hadoopsite.Folder(os.Getenv))
	fill(&o.User, os.Getenv("HAMADRYAD_HDFS_USER"))
	if o.User == "" {
		var err error
		if o.User, err = storage.User(os.Getenv("HAMADRYAD_USER")); err != nil {
			return o, fmt.Errorf("the HDFS user: %w", err)
		}
	}
	fill(&o.Keytab, os.Getenv("HAMADRYAD_HDFS_KEYTAB"))
	fill(&o.Principal, os.Getenv("HAMADRYAD_HDFS_PRINCIPAL"))
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o, errors.Join(
		pairs(&o.Properties, "HAMADRYAD_HDFS_PROPERTIES"),
		pairs(&o.Hosts, "HAMADRYAD_HDFS_HOSTS"),
		duration(&o.Dial, "HAMADRYAD_HDFS_DIAL", DialDefault),
		duration(&o.Call, "HAMADRYAD_HDFS_CALL", CallDefault),
		duration(&o.Wait, "HAMADRYAD_HDFS_WAIT", WaitDefault),
		duration(&o.Data, "HAMADRYAD_HDFS_DATA", DataDefault),
	)
}

func fill(value *string, others ...string) {
	for _, other := range others {
		if *value == "" {
			*value = other
		}
	}
}

// pairs adds a variable's NAME=VALUE,… pairs to a map. Existing entries stay.
func pairs(to *map[string]string, variable string) error {
	all := map[string]string{}
	for pair := range strings.SplitSeq(os.Getenv(variable), ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return fmt.Errorf("%s: %q: write NAME=VALUE,NAME=VALUE", variable, pair)
		}
		all[name] = value
	}
	for name, value := range *to {
		all[name] = value
	}
	*to = all
	return nil
}

func duration(to *time.Duration, variable string, otherwise time.Duration) error {
	if *to == 0 {
		*to = otherwise
		if text := os.Getenv(variable); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil {
				return fmt.Errorf("%s: %w", variable, err)
			}
			*to = d
		}
	}
	if *to < 0 {
		return fmt.Errorf("%s: %v: use a duration above zero, such as %v", variable, *to, otherwise)
	}
	return nil
}
