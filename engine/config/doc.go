// Package config reads a site's configuration: defaults, then a YAML file, then HAMADRYAD_
// environment variables, then flags. Each overrides the one before. Four variables do not override
// a file: HAMADRYAD_AUTH_MODE, _CERTIFICATE, _KEY and _CA. A user's commands authenticate with
// these. They count for a manager or launcher only if it has no certificate or token of its own.
//
//	manager:
//	  listen: 127.0.0.1:7070
//	  data: /var/lib/hamadryad/manager
//	launcher:
//	  slots: {default: 8}
//	  memory: 16GiB
//	policy:
//	  name: fifo
//	  settings:
//	    ...             # the policy's own; it checks them itself
//
// A key that does not exist is an error that names file, line and the nearest
// key that does. The environment variable of a key is HAMADRYAD_ and the key in
// capitals with _ for the dots: manager.listen is HAMADRYAD_MANAGER_LISTEN.
// Durations are written 30s, 5m or 1h30m; sizes 4096, 64KiB, 256MiB or 1GB.
//
// Watch reports when the file, or a file that the policy's settings name, may have changed. Load
// then gives a new Config. On an error the old one stays in force.
package config
