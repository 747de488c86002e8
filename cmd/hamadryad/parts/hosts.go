package parts

import (
	"strings"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/internal/minihdfs"
)

// place is a launcher's host and rack.
type place struct{ host, rack string }

// hdfsNodes is the number of DataNodes of --hdfs.
const hdfsNodes = 4

// PlaceLaunchers reads --hosts and settles the number of launchers.
func (o *Options) PlaceLaunchers() error {
	if o.HDFS && len(o.Hosts) == 0 {
		for i := range hdfsNodes {
			o.Hosts = append(o.Hosts, minihdfs.Host(i)+"="+minihdfs.Rack(i))
		}
	}
	for _, text := range o.Hosts {
		host, rack, _ := strings.Cut(text, "=")
		if host == "" {
			return client.Misuse("--hosts %q: write HOST or HOST=RACK, such as node0.test=/rack0", text)
		}
		o.places = append(o.places, place{host, rack})
	}
	if o.Launchers == 0 {
		o.Launchers = max(1, len(o.places))
	}
	if o.Launchers < 1 || o.Launchers > launchersMax {
		return client.Misuse("--launchers %d: use 1 to %d", o.Launchers, launchersMax)
	}
	return nil
}

// placeOf is the place of launcher i; with more launchers than hosts it begins again at the first.
func (o *Options) placeOf(i int) place {
	if len(o.places) == 0 {
		return place{}
	}
	return o.places[i%len(o.places)]
}
