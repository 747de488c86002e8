// Package rpc is the gRPC service of a policy plug-in and what host and
// plug-in agree on before they speak it.
//
// A plug-in in Go uses package serve and never sees this one. A plug-in in
// another language implements the service TaskScheduler of policy.proto and prints
// go-plugin's handshake line on its standard output: docs/PLUGINS.md tells how.
package rpc

// What go-plugin's handshake needs on both sides.
const (
	// CookieKey and CookieValue are the environment variable by which a plug-in
	// knows that a manager started it. They are no secret.
	CookieKey   = "HAMADRYAD_POLICY_PLUGIN"
	CookieValue = "scheduling-policy"
	// ProtocolVersion is the version of the service and its messages. Since version 2 the
	// service is named TaskScheduler; it was named Policy.
	ProtocolVersion = 2
	// PluginName is the name under which the service is dispensed.
	PluginName = "policy"
)

// HostPIDKey is the environment variable that tells a plug-in the process id of
// its host, so that a plug-in whose host died before it looked ends too.
const HostPIDKey = "HAMADRYAD_POLICY_HOST_PID"

// NoteBytesMax bounds the body of one note that a plug-in's shell posts.
const NoteBytesMax = 1 << 20
