package hdfstest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Realm is the Kerberos realm of a KDC.
const Realm = "HAMADRYAD.TEST"

const (
	kdcPort    = 8888
	kdcTimeout = 2 * time.Minute // bounds its start and each of its tools
	kdcEvery   = 50 * time.Millisecond
)

// KDC is a real MIT Kerberos server for one test.
type KDC struct {
	// Conf is the path of the client's configuration, the value of KRB5_CONFIG.
	Conf   string
	folder string
}

// StartKDC starts a Kerberos server on a loopback address and stops it at the test's
// end.
func StartKDC(t testing.TB, address string) *KDC {
	t.Helper()
	folder := t.TempDir()
	k := &KDC{filepath.Join(folder, "krb5.conf"), folder}
	at := fmt.Sprintf("%s:%d", address, kdcPort)
	k.put(t, "krb5.conf", fmt.Sprintf(`[libdefaults]
  default_realm = %[1]s
  dns_lookup_kdc = false
  dns_lookup_realm = false
  rdns = false
  udp_preference_limit = 1
[realms]
  %[1]s = {
    kdc = %[2]s
  }
`, Realm, at))
	k.put(t, "kdc.conf", fmt.Sprintf(`[kdcdefaults]
  kdc_listen = %[2]s
  kdc_tcp_listen = %[2]s
[realms]
  %[1]s = {
    database_name = %[3]s/principal
    key_stash_file = %[3]s/stash
    acl_file = %[3]s/acl
    max_renewable_life = 1d
  }
[logging]
  default = FILE:%[3]s/log
  kdc = FILE:%[3]s/log
`, Realm, at, folder))
	k.run(t, "kdb5_util", "create", "-s", "-r", Realm, "-P", "of this test")
	// The server ends with its input, and so with this process, however this process ends.
	server := k.command(context.Background(), "sh", "-c", `"$0" -n & read -r _; kill $!; wait`, program("krb5kdc"))
	stop, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stop.Close()  // a pipe
		_ = server.Wait() // how it ended is in its log
	})
	k.wait(t, at)
	return k
}

// wait returns when the server accepts connections.
func (k *KDC) wait(t testing.TB, at string) {
	t.Helper()
	timeout := time.After(kdcTimeout)
	for {
		conn, err := net.DialTimeout("tcp", at, kdcTimeout)
		if err == nil {
			err = conn.Close()
		}
		if err == nil {
			return
		}
		select {
		case <-timeout:
		case <-time.After(kdcEvery):
			continue
		}
		log, _ := os.ReadFile(filepath.Join(k.folder, "log"))
		t.Fatalf("the KDC does not serve: %v; its log:\n%s", err, log)
	}
}

// Keytab makes principals and returns a file with their keys.
func (k *KDC) Keytab(t testing.TB, name string, principals ...string) string {
	t.Helper()
	path := filepath.Join(k.folder, name+".keytab")
	for _, p := range principals {
		k.run(t, "kadmin.local", "-r", Realm, "-q", "addprinc -randkey "+p)
		k.run(t, "kadmin.local", "-r", Realm, "-q", "ktadd -k "+path+" "+p)
	}
	if _, err := os.Stat(path); err != nil { // kadmin.local knows no exit status
		t.Fatal(err)
	}
	return path
}

// Tickets logs in with a keytab, as kinit does with further arguments, and returns the path of a
// new ticket cache.
func (k *KDC) Tickets(t testing.TB, keytab, principal string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tickets")
	k.run(t, "kinit", append(args, "-k", "-t", keytab, "-c", "FILE:"+path, principal)...)
	return path
}

func (k *KDC) put(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(k.folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// program finds one of Kerberos's programs; most lie only in root's PATH.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return filepath.Join("/usr/sbin", name)
}

func (k *KDC) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program(name), args...)
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+k.Conf, "KRB5_KDC_PROFILE="+filepath.Join(k.folder, "kdc.conf"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (k *KDC) run(t testing.TB, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kdcTimeout)
	defer cancel()
	if out, err := k.command(ctx, name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}
