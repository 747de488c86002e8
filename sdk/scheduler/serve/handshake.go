package serve

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
)

// certificateField is the number of the field of the handshake's line that has the certificate.
const certificateField = 5

// lineMax bounds the handshake's line, in bytes.
const lineMax = 64 << 10

// handshake brings a certificate of the plug-in's own into what go-plugin serves with. go-plugin makes
// none when it is given one, and then leaves its field of the line empty that the host reads.
type handshake struct {
	own tls.Certificate
}

// security returns the settings for TLS, which demand the host's certificate; nil: the host has none.
func (h *handshake) security() (*tls.Config, error) {
	text := os.Getenv(rpc.CertificateKey)
	if text == "" {
		return nil, nil //nolint:nilnil // go-plugin then serves without TLS
	}
	host := x509.NewCertPool()
	if !host.AppendCertsFromPEM([]byte(text)) {
		return nil, errors.New(rpc.CertificateKey + " in the environment is no certificate in PEM")
	}
	var err error
	if h.own, err = rpc.NewCertificate(); err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{h.own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: host, RootCAs: host,
		ServerName: rpc.CertificateName, MinVersion: tls.VersionTLS12,
	}, nil
}

// divertStdout has os.Stdout lead here until go-plugin has written its line, which goes on to the
// host with the certificate. go-plugin replaces os.Stdout after that.
func (h *handshake) divertStdout() error {
	host := os.Stdout
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	os.Stdout = w
	go func() {
		defer r.Close()
		line, err := bufio.NewReader(io.LimitReader(r, lineMax)).ReadString('\n')
		if err == nil {
			_, err = fmt.Fprintln(host, h.complete(strings.TrimSuffix(line, "\n")))
		}
		if err != nil {
			host.Close() // the host sees that nothing comes
		}
	}()
	return nil
}

// complete puts the certificate into the handshake's line.
func (h *handshake) complete(line string) string {
	fields := strings.Split(line, "|")
	if len(fields) > certificateField && fields[certificateField] == "" && len(h.own.Certificate) > 0 {
		fields[certificateField] = base64.RawStdEncoding.EncodeToString(h.own.Certificate[0])
	}
	return strings.Join(fields, "|")
}
