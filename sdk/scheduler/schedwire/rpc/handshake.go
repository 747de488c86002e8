// Package rpc is the gRPC service of a policy plug-in and the handshake that precedes it.
//
// A plug-in in Go uses package serve and never this one. A plug-in in another language implements
// the service TaskScheduler of policy.proto and prints go-plugin's handshake line on its standard
// output: docs/PLUGINS.md describes how.
package rpc

// Parameters of go-plugin's handshake, for both sides.
const (
	// CookieKey and CookieValue are the environment variable that shows a plug-in that a manager
	// started it. They are no secret.
	CookieKey   = "HAMADRYAD_POLICY_PLUGIN"
	CookieValue = "scheduling-policy"
	// ProtocolVersion is the version of the service and its messages. Since version 2 the
	// service is named TaskScheduler; it was named Policy.
	ProtocolVersion = 2
	// PluginName is the name under which go-plugin dispenses the service.
	PluginName = "policy"
)

// HostPIDKey is the environment variable with the process id of a plug-in's host. So a plug-in ends
// too if its host died before it first checked.
const HostPIDKey = "HAMADRYAD_POLICY_HOST_PID"

// NoteBytesMax bounds the body of one note that a plug-in's shell posts, in bytes.
const NoteBytesMax = 1 << 20
