package hadoopsite

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// namePort is the port that Hadoop uses where none is configured.
const namePort = "8020"

// Cluster is a cluster's NameNodes: one, or several that replace each other on failure.
type Cluster struct {
	Name      string   // the host and port, or the name service, of its URLs
	Addresses []string // of the NameNodes: host and port
}

// Cluster resolves the authority of an hdfs:// URL: a host with or without port, a name service, or
// nothing for the authority of fs.defaultFS.
func (s Site) Cluster(authority string) (Cluster, error) {
	byDefault := authority == ""
	if byDefault {
		var err error
		if authority, err = s.byDefault(); err != nil {
			return Cluster{}, err
		}
	}
	if slices.Contains(s.services(), authority) {
		return s.service(authority)
	}
	host, port, err := hostPort(authority, namePort)
	if err != nil {
		return Cluster{}, fmt.Errorf("hdfs://%s: %w", authority, err)
	}
	address := net.JoinHostPort(host, port)
	if byDefault && s["dfs.namenode.rpc-address"] != "" {
		if h, p, err := hostPort(s.Get("dfs.namenode.rpc-address"), namePort); err == nil && !anyHost(h) {
			address = net.JoinHostPort(h, p)
		}
	}
	return Cluster{Name: authority, Addresses: []string{address}}, nil
}

// byDefault is the authority of fs.defaultFS.
func (s Site) byDefault() (string, error) {
	value := s.Get("fs.defaultFS")
	if value == "" {
		value = s.Get("fs.default.name")
	}
	rest, ok := strings.CutPrefix(value, "hdfs://")
	if rest, _, _ = strings.Cut(rest, "/"); ok && rest != "" {
		return rest, nil
	}
	return "", fmt.Errorf("hdfs:/// needs a default file system, and fs.defaultFS is %q: set HADOOP_CONF_DIR to the folder of Hadoop's configuration, or write hdfs://NAMENODE:PORT/", value)
}

// services are the logical names of the configuration.
func (s Site) services() []string {
	return append(s.list("dfs.nameservices"), s.list("dfs.internal.nameservices")...)
}

// service is a cluster with a logical name: one NameNode, or several.
func (s Site) service(name string) (Cluster, error) {
	c := Cluster{Name: name}
	suffixes := []string{"." + name}
	if nodes := s.list("dfs.ha.namenodes." + name); len(nodes) > 0 {
		suffixes = nil
		for _, node := range nodes {
			suffixes = append(suffixes, "."+name+"."+node)
		}
	}
	for _, suffix := range suffixes {
		key := "dfs.namenode.rpc-address" + suffix
		if s[key] == "" && len(suffixes) == 1 {
			key = "dfs.namenode.rpc-address"
		}
		host, port, err := hostPort(s.Get(key), namePort)
		if err != nil {
			return c, fmt.Errorf("hdfs://%s: %s is %q: %w", name, key, s.Get(key), err)
		}
		c.Addresses = append(c.Addresses, net.JoinHostPort(host, port))
	}
	return c, nil
}

func anyHost(host string) bool { return host == "0.0.0.0" || host == "::" || host == "" }

// hostPort splits an address that may lack a port.
func hostPort(address, port string) (string, string, error) {
	host, p, err := net.SplitHostPort(address)
	if err == nil {
		port = p
	} else {
		host = strings.Trim(address, "[]")
	}
	if host == "" || strings.ContainsAny(host, "/@ ") || port == "" {
		return "", "", fmt.Errorf("%q is no host and port", address)
	}
	return host, port, nil
}
